"""Waking a request that waits for its model: GA's own stop is not noticed before an answer arrives."""

from __future__ import annotations

import importlib
import socket
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_INTERVAL = 0.1
#: Sockets remembered for each thread; a request uses one.
_REMEMBERED = 8


class Connections:
    """Remembers which thread opened which connection, through the library GA makes its requests with."""

    def __init__(self) -> None:
        self._sockets: dict[int, deque[weakref.ref[socket.socket]]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._cut: set[int] = set()

    def install(self) -> None:
        """Begins to remember; without that library there is nothing to remember."""
        try:
            connection = importlib.import_module("urllib3.connection")
        except ImportError:
            return
        for name in ("HTTPConnection", "HTTPSConnection"):
            kind = getattr(connection, name, None)
            if kind is not None and "connect" in vars(kind):
                kind.connect = self._remembering(kind.connect)

    def cut_until(self, done: threading.Event, thread: int) -> None:
        """Shuts what `thread` has open, and keeps it from opening more, until `done`."""
        self._cut.add(thread)
        try:
            while True:
                for reference in list(self._sockets.get(thread, ())):
                    opened = reference()
                    if opened is not None:
                        with suppress(OSError):
                            opened.shutdown(socket.SHUT_RDWR)
                if done.wait(_INTERVAL):
                    return
        finally:
            self._cut.discard(thread)

    def _remembering(self, connect: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def connect_and_remember(connection: Any) -> Any:
            thread = threading.get_ident()
            if thread in self._cut:
                raise ConnectionAbortedError("the run was stopped")
            result = connect(connection)
            opened = getattr(connection, "sock", None)
            if isinstance(opened, socket.socket):
                self._sockets[thread].append(weakref.ref(opened))
            return result

        return connect_and_remember
