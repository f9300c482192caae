"""An engine within this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._aclient import AsyncClient, begin
from ._client import Client

if TYPE_CHECKING:
    from ._native import Core as Native

StrPath = str | os.PathLike[str]


class Core:
    """An engine within this process: `with galley.Core(…) as core`, or `async with`.

    It owns its database. Leaving the block ends it, politely and in bounded time; so does the end of the
    interpreter.
    """

    def __init__(
        self,
        database: StrPath | None = None,
        *,
        socket: StrPath | None = None,
        config: StrPath | None = None,
        max_live_runners: int | None = None,
        runtimes: Mapping[str, Sequence[str] | Mapping[str, Any]] | None = None,
    ) -> None:
        """An engine to be.

        `database` is its file, the user's by default; `socket` where it listens besides, nowhere by
        default; `config` its configuration, `config.toml` beside the database by default. `runtimes`
        are ways to start an agent for this engine only, by name: a command as a list of words, or
        `{"backend": …, "command": […], "ga_path": …}`.
        """
        self._options = {
            "database": database,
            "socket": socket,
            "config": config,
            "max_live_runners": max_live_runners,
            "runtimes": list(_runtimes(runtimes or {})),
        }
        self._native: Native | None = None

    def start(self) -> Core:
        """Starts it, unless it runs."""
        if self._native is None:
            from ._native import Core as Native

            self._native = Native.start(self._options)
        return self

    async def astart(self) -> Core:
        """Starts it, unless it runs."""
        if self._native is None:
            from ._native import Core as Native

            self._native = await begin(lambda done: Native.start_async(self._options, done))
        return self

    def _running(self) -> Native:
        if self._native is None:
            raise RuntimeError("this Core has not been started; use `with`, or call start()")
        return self._native

    @property
    def database(self) -> Path:
        """Its database."""
        return Path(self._running().database)

    @property
    def socket(self) -> Path | None:
        """The socket it listens on, if it does."""
        path = self._running().socket
        return None if path is None else Path(path)

    def client(self) -> Client:
        """A client that reaches it within this process."""
        return Client.of(self._running().client())

    def aclient(self) -> AsyncClient:
        """A client for asyncio that reaches it within this process."""
        return AsyncClient.of(self._running().client())

    def wait(self) -> None:
        """Waits until it has ended, because a client asked for it."""
        self._running().wait()

    async def await_end(self) -> None:
        """Waits until it has ended, because a client asked for it."""
        await begin(self._running().start_wait)

    def shutdown(self) -> None:
        """Ends it, and waits until everything is stored."""
        if self._native is not None:
            self._native.shutdown()

    async def ashutdown(self) -> None:
        """Ends it, and waits until everything is stored."""
        if self._native is not None:
            await begin(self._native.start_shutdown)

    def __enter__(self) -> Core:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    async def __aenter__(self) -> Core:
        return await self.astart()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.ashutdown()


def _runtimes(
    runtimes: Mapping[str, Sequence[str] | Mapping[str, Any]],
) -> Iterable[tuple[str, str, list[str], StrPath | None]]:
    for name, runtime in runtimes.items():
        if isinstance(runtime, str):
            raise TypeError(f"runtime {name!r}: the command must be a list of words, not str")
        if isinstance(runtime, Mapping):
            yield name, runtime.get("backend", "process"), list(runtime.get("command", ())), runtime.get("ga_path")
        else:
            yield name, "process", list(runtime), None
