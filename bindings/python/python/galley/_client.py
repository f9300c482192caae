"""The client that blocks."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._answers import Page, WaitOutcome, outcome
from ._encode import encode
from ._frames import FrameReader, RawEvent, WatchReader
from ._resources import Approvals, Engine, Llms, Meta, Project, Projects, Runtimes, Session, Sessions
from .errors import DbUnavailable
from .events import Event, Gap

if TYPE_CHECKING:
    from ._native import Client as Native
    from ._native import Stream

T = TypeVar("T")


class Client(Meta):
    """A client of one Core. Threads may share it; a call lets other threads run."""

    def __init__(self, socket: str | os.PathLike[str] | None = None) -> None:
        """Of the Core that listens at `socket`, or where a Core listens by default. Nothing is opened yet."""
        from ._native import Client as Native

        self._use(Native.connect(socket))

    @classmethod
    def of(cls, native: Native) -> Client:
        """Around a native client."""
        client = cls.__new__(cls)
        client._use(native)
        return client

    def _use(self, native: Native) -> None:
        self._native = native
        self.sessions = Sessions(self)
        self.approvals = Approvals(self)
        self.projects = Projects(self)
        self.llms = Llms(self)
        self.runtimes = Runtimes(self)
        self.core = Engine(self)

    def session(self, id: str) -> Session:
        """One session; nothing is asked yet."""
        return Session(self, id)

    def project(self, id: str) -> Project:
        """One project; nothing is asked yet."""
        return Project(self, id)

    def call(self, command: str, /, **args: Any) -> Any:
        """Calls any command by its name on the wire, with arguments as on the wire; returns its JSON."""
        return self.ask(command, lambda raw: raw, args)

    def ask(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> T:
        """Calls a command and reads its result."""
        return read(json.loads(self._native.call(command, encode(command, args))[0]))

    def page(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> Page[T]:
        """Calls a command that lists, and reads its rows."""
        result, cursor = self._native.call(command, encode(command, args))
        return Page(map(read, json.loads(result)), cursor)

    def every(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> Iterator[T]:
        """Goes through all pages of a list."""
        cursor: str | None = None
        while True:
            page = self.page(command, read, {**args, "cursor": cursor})
            yield from page
            cursor = page.next_cursor
            if cursor is None:
                return

    def frames(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> FrameStream[T]:
        """Opens a stream."""
        return FrameStream(self._native.stream(command, encode(command, args), 0.0), FrameReader(read))

    def watch(self, args: Mapping[str, Any], reconnect: float = math.inf) -> Watch:
        """Opens a watch."""
        return Watch(self._native.stream("session.watch", encode("session.watch", args), reconnect))

    def wait(self, args: Mapping[str, Any]) -> WaitOutcome:
        """Waits for a session's answer."""
        with self.frames("session.wait", outcome, args) as frames:
            for final in frames:
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

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Stream(Generic[T]):
    """An iterator over a stream, which closes with it."""

    def __init__(self, stream: Stream, items: Callable[[Any], Iterator[T]]) -> None:
        self._stream = stream
        self._items = items
        self._ready: Iterator[T] = iter(())

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            for item in self._ready:
                return item
            batch = self._stream.next()
            if batch is None:
                raise StopIteration
            self._ready = self._items(batch)

    def close(self) -> None:
        """Closes its connection. A thread that waits for the next item finds the end."""
        self._ready = iter(())
        self._stream.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FrameStream(_Stream[T]):
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

    def __enter__(self) -> FrameStream[T]:
        return self


class Watch(_Stream[Event | Gap]):
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

    def raw(self) -> Iterator[RawEvent]:
        """The rest of the events as `(index, run, line)`, the line as the runner wrote it; gaps show in the indexes."""
        while (batch := self._stream.next()) is not None:
            yield from self._reader.raw(batch)

    def __enter__(self) -> Watch:
        return self
