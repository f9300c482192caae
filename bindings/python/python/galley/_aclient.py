"""The client for asyncio."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._answers import Page, WaitOutcome, outcome
from ._aresources import (
    AsyncApprovals,
    AsyncEngine,
    AsyncLlms,
    AsyncMeta,
    AsyncProject,
    AsyncProjects,
    AsyncRuntimes,
    AsyncSession,
    AsyncSessions,
)
from ._encode import encode
from ._frames import FrameReader, RawEvent, WatchReader
from .errors import DbUnavailable
from .events import Event, Gap

if TYPE_CHECKING:
    from ._native import Client as Native
    from ._native import Pending, Stream

T = TypeVar("T")

Done = Callable[[Any, "BaseException | None"], None]
"""What the native module calls at the end, from a thread of its own."""


def begin(start: Callable[[Done], Pending]) -> asyncio.Future[Any]:
    """Starts a native operation; its future belongs to the running loop. Cancelling it stops the operation."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def done(value: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:
                # The loop was closed in between: nobody waits any more.
                return

    pending = start(done)
    future.add_done_callback(lambda future: pending.cancel() if future.cancelled() else None)
    return future


class AsyncClient(AsyncMeta):
    """A client of one Core, for asyncio. Any loop may use it; cancelling a call forgets the call."""

    def __init__(self, socket: str | os.PathLike[str] | None = None) -> None:
        """Of the Core that listens at `socket`, or where a Core listens by default. Nothing is opened yet."""
        from ._native import Client as Native

        self._use(Native.connect(socket))

    @classmethod
    def of(cls, native: Native) -> AsyncClient:
        """Around a native client."""
        client = cls.__new__(cls)
        client._use(native)
        return client

    def _use(self, native: Native) -> None:
        self._native = native
        self.sessions = AsyncSessions(self)
        self.approvals = AsyncApprovals(self)
        self.projects = AsyncProjects(self)
        self.llms = AsyncLlms(self)
        self.runtimes = AsyncRuntimes(self)
        self.core = AsyncEngine(self)

    def session(self, id: str) -> AsyncSession:
        """One session; nothing is asked yet."""
        return AsyncSession(self, id)

    def project(self, id: str) -> AsyncProject:
        """One project; nothing is asked yet."""
        return AsyncProject(self, id)

    async def call(self, command: str, /, **args: Any) -> Any:
        """Calls any command by its name on the wire, with arguments as on the wire; returns its JSON."""
        return await self.ask(command, lambda raw: raw, args)

    async def _answer(self, command: str, args: Mapping[str, Any]) -> tuple[Any, str | None]:
        encoded = encode(command, args)
        result, cursor = await begin(lambda done: self._native.start_call(command, encoded, done))
        return json.loads(result), cursor

    async def ask(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> T:
        """Calls a command and reads its result."""
        return read((await self._answer(command, args))[0])

    async def page(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> Page[T]:
        """Calls a command that lists, and reads its rows."""
        rows, cursor = await self._answer(command, args)
        return Page(map(read, rows), cursor)

    async def every(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> AsyncIterator[T]:
        """Goes through all pages of a list."""
        cursor: str | None = None
        while True:
            page = await self.page(command, read, {**args, "cursor": cursor})
            for row in page:
                yield row
            cursor = page.next_cursor
            if cursor is None:
                return

    def frames(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> AsyncFrameStream[T]:
        """Opens a stream."""
        return AsyncFrameStream(self._native.stream(command, encode(command, args), 0.0), FrameReader(read))

    def watch(self, args: Mapping[str, Any], reconnect: float = math.inf) -> AsyncWatch:
        """Opens a watch."""
        return AsyncWatch(self._native.stream("session.watch", encode("session.watch", args), reconnect))

    async def wait(self, args: Mapping[str, Any]) -> WaitOutcome:
        """Waits for a session's answer."""
        async with self.frames("session.wait", outcome, args) as frames:
            async for final in frames:
                if final is not None:
                    return final
        raise DbUnavailable("Galley Core went away during the wait", tag="db_unavailable", exit_code=4, retryable=True)

    @property
    def closed(self) -> bool:
        """Whether it is closed, by `close` or by a fork."""
        return self._native.closed

    def close(self) -> None:
        """Ends its calls and streams."""
        self._native.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _AsyncStream(Generic[T]):
    """An asynchronous iterator over a stream, which closes with it."""

    def __init__(self, stream: Stream, items: Callable[[Any], Iterator[T]]) -> None:
        self._stream = stream
        self._items = items
        self._ready: Iterator[T] = iter(())
        self._reading: asyncio.Future[Any] | None = None

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            for item in self._ready:
                return item
            batch = await self._next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._ready = self._items(batch)

    async def _next_batch(self) -> Any:
        """The next batch. One that arrives after its reader was cancelled waits for the next reader."""
        reading = self._reading = self._reading or begin(self._stream.start_next)
        await asyncio.wait((reading,))
        self._reading = None
        return reading.result()

    def close(self) -> None:
        """Closes its connection. Who waits for the next item finds the end."""
        self._ready = iter(())
        self._stream.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncFrameStream(_AsyncStream[T]):
    """The frames of a stream."""

    def __init__(self, stream: Stream, reader: FrameReader[T]) -> None:
        super().__init__(stream, reader.items)
        self._reader = reader

    @property
    def end_reason(self) -> str | None:
        """Why it ended; `None` before its end."""
        return self._reader.end_reason

    @property
    def revision(self) -> int | None:
        """The revision it started at, where it has revisions."""
        return self._reader.revision

    async def __aenter__(self) -> AsyncFrameStream[T]:
        return self


class AsyncWatch(_AsyncStream[Event | Gap]):
    """The events of a session, each exactly once, and the gaps where they were compacted away."""

    def __init__(self, stream: Stream) -> None:
        self._reader = WatchReader()
        super().__init__(stream, self._reader.items)

    @property
    def next_index(self) -> int | None:
        """Index of the event after the last one that was taken: where a later watch goes on."""
        return self._reader.next_index

    @property
    def end_reason(self) -> str | None:
        """Why it ended; `None` before its end."""
        return self._reader.end_reason

    async def raw(self) -> AsyncIterator[RawEvent]:
        """The rest of the events as `(index, run, line)`, the line as the runner wrote it; gaps show in the indexes."""
        while (batch := await self._next_batch()) is not None:
            for event in self._reader.raw(batch):
                yield event

    async def __aenter__(self) -> AsyncWatch:
        return self
