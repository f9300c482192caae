"""The processes around a runner: the one that started it, and those it started itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

_POLL = 1.0


@dataclass(frozen=True)
class Process:
    """One running process. `started` tells it from a later one with the same id."""

    pid: int
    parent: int
    group: int
    started: str


def watch_parent(gone: Callable[[], None]) -> None:
    """Calls `gone` once, from a thread, when the process named by `GALLEY_CORE_PID` has ended.

    Standard input ends with it as well; this helps where somebody else keeps that pipe open.
    """
    try:
        pid = int(os.environ.get("GALLEY_CORE_PID", ""))
    except ValueError:
        return
    alive = _liveness(pid)

    def watch() -> None:
        while alive():
            time.sleep(_POLL)
        gone()

    threading.Thread(target=watch, name="galley-parent", daemon=True).start()


def _liveness(pid: int) -> Callable[[], bool]:
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.windll.kernel32
        kernel.OpenProcess.restype = ctypes.c_void_p
        # The handle keeps the id from being given to another process.
        handle = ctypes.c_void_p(kernel.OpenProcess(0x00100000, False, pid))
        running = 0x102
        return lambda: bool(handle) and kernel.WaitForSingleObject(handle, 0) == running
    if os.getppid() == pid:
        # Our own parent: an orphan gets another one, so a reused id cannot deceive.
        return lambda: os.getppid() == pid
    first = _process(pid)
    return lambda: first is not None and _process(pid) == first


def descendants() -> list[Process]:
    """What this process and its children have started: all below it, and all in its process group
    when it leads one. Empty on Windows, where Galley's job object holds them."""
    if sys.platform == "win32":
        return []
    table = _processes()
    own = os.getpid()
    found: dict[int, Process] = {}
    leads = os.getpgrp() == own
    parents = {own}
    while True:
        new = [
            process
            for process in table
            if process.pid != own
            and process.pid not in found
            and (process.parent in parents or (leads and process.group == own))
        ]
        if not new:
            return list(found.values())
        for process in new:
            found[process.pid] = process
            parents.add(process.pid)


def end_descendants(spare: Collection[Process] = ()) -> None:
    """Kills every descendant but those in `spare`, and what these start meanwhile; gives up after
    some rounds rather than race with a program that forks for ever."""
    if sys.platform == "win32":
        return
    for _ in range(5):
        doomed = [process for process in descendants() if process not in spare]
        if not doomed:
            return
        for process in doomed:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.01)


def _processes() -> list[Process]:
    if Path("/proc/self/stat").exists():
        found = (_process(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [process for process in found if process is not None]
    return _listed(["-A"])


def _process(pid: int) -> Process | None:
    """The process with this id, unless it has ended."""
    if not Path("/proc/self/stat").exists():
        return next(iter(_listed(["-p", str(pid)])), None)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything.
    fields = stat.rpartition(")")[2].split()
    state, parent, group, started = fields[0], fields[1], fields[2], fields[19]
    return None if state in "ZX" else Process(pid, int(parent), int(group), started)


def _listed(which: list[str]) -> list[Process]:
    """Processes as `ps` lists them, without itself and without the dead."""
    command = ["ps", *which, "-o", "pid=,ppid=,pgid=,state=,lstart="]
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        output = child.communicate(timeout=5)[0].decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = []
    for line in output.splitlines():
        pid, parent, group, state, started = line.split(None, 4)
        if int(pid) != child.pid and not state.startswith("Z"):
            found.append(Process(int(pid), int(parent), int(group), started))
    return found
