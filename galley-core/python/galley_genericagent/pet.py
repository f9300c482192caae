"""The desktop pet: a window of GA's that shows how the work goes, told over loopback HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from galley.runner import ErrorReport, Refused

from .locate import Tree

_SCRIPTS = ("desktop_pet_v2.pyw", "desktop_pet.pyw")
#: How long the pet may take to listen, in seconds.
_LISTENS = 5.0
_TELL = 2.0


def script(tree: Tree) -> Path | None:
    """The pet's program, if the tree has one."""
    candidates = (tree.root / "frontends" / name for name in _SCRIPTS)
    return next((path for path in candidates if path.is_file()), None)


class Pet:
    """At most one pet, attached to this session."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def pid(self) -> int | None:
        """The pet's process."""
        return self._process.pid if self._process else None

    def attach(self, port: int, attached: Callable[[], None], failed: Callable[[ErrorReport], None]) -> None:
        """Starts the pet in place of an earlier one; calls `attached` once it listens at `port`, or
        `failed`, from another thread.

        Raises:
            Refused: the tree has no pet, or it cannot be started.
        """
        program = script(self._tree)
        if program is None:
            raise Refused("this GenericAgent has no desktop pet", context="attach_pet")
        self.detach()
        try:
            process = subprocess.Popen(
                [sys.executable, str(program)],
                cwd=program.parent,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise Refused(f"the desktop pet cannot be started: {error}", context="attach_pet") from error
        with self._lock:
            self._process, self._port = process, port

        def watch() -> None:
            if _listening(process, port):
                attached()
            elif self._process is process:
                self.detach()
                message = f"the desktop pet did not listen at port {port}"
                failed(ErrorReport(message, category="business", context="attach_pet"))

        threading.Thread(target=watch, name="galley-pet", daemon=True).start()

    def detach(self) -> None:
        """Ends the pet, if there is one."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def tell(self, turn: int, summary: str | None, done: bool) -> None:
        """Tells the pet how far the work is; it may be asleep, and nobody waits for it."""
        if self._process is None:
            return
        lines = [f"Turn {turn}", summary or "", "DONE" if done else ""]
        queries = [urllib.parse.urlencode({"msg": "\n".join(line for line in lines if line)})]
        if done:
            queries.append("state=idle")
        url = f"http://127.0.0.1:{self._port}/?"

        def send() -> None:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            for query in queries:
                with suppress(OSError), opener.open(url + query, timeout=_TELL):
                    pass

        threading.Thread(target=send, name="galley-pet-tell", daemon=True).start()


def _listening(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + _LISTENS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
        time.sleep(0.05)
    return False
