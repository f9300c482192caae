"""Standard input and output, claimed for the protocol so that nothing else can touch them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from .wire import MAX_LINE, encode

_READ = 64 * 1024


class LineTooLong(Exception):
    """A line beyond `MAX_LINE`; it was skipped whole."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a line of {size} bytes is too long; the limit is {MAX_LINE}")
        self.size = size


class EventWriter:
    """Writes events, whole and in order, from any thread.

    `lock` may be held around several writes that must not be interleaved.
    """

    def __init__(self, fd: int, session_id: str) -> None:
        self.lock = threading.RLock()
        self._fd = fd
        self._session_id = session_id
        self._broken = False

    def write(self, kind: str, fields: Mapping[str, Any], timestamp: str) -> None:
        """Writes one event. Once nobody reads any more, events are dropped."""
        event = {"kind": kind, "sessionId": self._session_id, **fields, "timestamp": timestamp}
        line = memoryview(encode(event))
        with self.lock:
            while line and not self._broken:
                try:
                    line = line[os.write(self._fd, line) :]
                except OSError:
                    self._broken = True


class LineReader:
    """Reads lines of bytes, split at `\\n` alone."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __iter__(self) -> Iterator[bytes | LineTooLong]:
        """Every line without its end; a line that is too long as `LineTooLong`. A last line without
        `\\n` is dropped: its end never came."""
        buffer = bytearray()
        skipped = 0
        while chunk := self._read():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                buffer += end
                size = skipped + len(buffer)
                if size > MAX_LINE:
                    yield LineTooLong(size)
                elif line := bytes(buffer).rstrip(b"\r"):
                    yield line
                buffer.clear()
                skipped = 0
            buffer += rest
            if skipped + len(buffer) > MAX_LINE:
                skipped += len(buffer)
                buffer.clear()

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _READ)
        except OSError:
            return b""


def claim(output: str) -> tuple[int, int]:
    """Takes descriptors 0 and 1 away from everybody else and returns private ones for the protocol.

    What the agent or its children read as standard input is empty from here on; what they print goes
    to standard error when `output` is `"stderr"`, and nowhere when it is `"discard"`. The private
    descriptors are not inherited by child processes.
    """
    private_in, private_out = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        for fd in (private_in, private_out):
            msvcrt.setmode(fd, os.O_BINARY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2 if output == "stderr" else nothing, 1)
    if nothing > 2:
        os.close(nothing)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    return private_in, private_out
