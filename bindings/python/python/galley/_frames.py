"""What the lines of a stream are, for streams that block and streams that are awaited."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from .events import Event, Gap, read_batch
from .types import EndReason

T = TypeVar("T")

Batch: TypeAlias = "bytes | tuple[int, int, list[tuple[int, str]], bytes] | None"
"""What the native module hands over: frames, events, or nothing after the last."""

RawEvent: TypeAlias = tuple[int, int, bytes]
"""Index, run and the runner's own line."""


class FrameReader(Generic[T]):
    """Reads the frames of a stream other than a watch."""

    end_reason: EndReason | None = None
    """Why the stream ended; `None` before its end."""
    revision: int | None = None
    """The revision a feed starts at."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read

    def items(self, batch: "Batch") -> Iterator[T]:
        """The frames of a batch, but those that begin and end the stream."""
        assert isinstance(batch, bytes)
        for line in batch.splitlines():
            raw = json.loads(line)
            match raw.get("stream"):
                case "end":
                    self.end_reason = raw.get("reason")
                case "start":
                    self.revision = raw.get("revision")
                case "event" if "kind" in raw.get("data", ()) and "revision" in raw["data"]:
                    yield self._read(raw["data"])
                case _:
                    yield self._read(raw)


class WatchReader:
    """Reads the events of a watch."""

    next_index: int | None = None
    """Index of the next event, once one is known."""
    end_reason: EndReason | None = None
    """Why the watch ended; `None` before its end."""

    def items(self, batch: "Batch") -> "Iterator[Event | Gap]":
        """The events of a batch, and the gaps between them."""
        if isinstance(batch, tuple):
            for event in read_batch(*batch):
                self.next_index = event.index + 1
                yield event
        else:
            yield from self._frames(batch or b"")

    def raw(self, batch: "Batch") -> "Iterator[RawEvent]":
        """The events of a batch, unread."""
        if isinstance(batch, tuple):
            first, run, _, lines = batch
            for index, line in enumerate(lines[:-1].split(b"\n"), first):
                self.next_index = index + 1
                yield index, run, line
        else:
            deque(self._frames(batch or b""), maxlen=0)

    def _frames(self, lines: bytes) -> "Iterator[Gap]":
        for line in lines.splitlines():
            raw = json.loads(line)
            match raw["stream"]:
                case "start":
                    self.next_index = raw["nextIndex"]
                case "gap":
                    self.next_index = raw["to"] + 1
                    yield Gap(raw["from"], raw["to"])
                case "end":
                    self.end_reason = raw["reason"]
                case _:
                    pass
