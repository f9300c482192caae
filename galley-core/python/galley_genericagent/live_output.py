"""What a tool's child prints, while it prints it.

GA reads a child's output on a thread of its own and prints it line by line. That thread is neither the
runner's nor GA's worker, and so can be told from everything else that GA prints.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

from .worker import THREAD_NAME

_OWN = (THREAD_NAME, "galley-")


class ToolOutput(io.TextIOBase):
    """Standard output inside the bridge: a child's output is passed on, the rest is dropped."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def install(self) -> None:
        """Takes the place of `sys.stdout`."""
        sys.stdout = self

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        thread = threading.current_thread()
        if thread is not threading.main_thread() and not thread.name.startswith(_OWN):
            self._tell(text)
        return len(text)
