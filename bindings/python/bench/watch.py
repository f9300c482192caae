"""How fast a watch is: typed events and raw events per second, from a Core in a process of its own.

    python bench/watch.py RUNNER [EVENTS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import galley


def main(runner: str, events: int) -> None:
    """Stores events once, then reads them in each way."""
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder, "s.sock")
        Path(folder, "config.toml").write_text(f"[runtimes.scripted]\nbackend = 'process'\ncommand = ['{runner}']\n")
        words = ["serve", "--db", f"{folder}/g.db", "--socket", str(socket)]
        core = subprocess.Popen([sys.executable, "-m", "galley", *words], stderr=subprocess.DEVNULL)
        try:
            while not socket.exists():
                time.sleep(0.01)
            with galley.connect(socket) as client:
                new = client.sessions.create(f"!emit {events} 200; done", runtime="scripted", approval_mode="auto")
                session = client.session(new.session.id)
                session.wait(until_idle=True)
                for name, read in {"typed": typed, "raw": raw}.items():
                    measure(name, lambda read=read: read(session))  # type: ignore[misc]
        finally:
            core.terminate()
            core.wait()


def measure(name: str, read: Callable[[], int]) -> None:
    """Prints the best of five."""
    best = 0.0
    for _ in range(5):
        begun = time.perf_counter()
        count = read()
        best = max(best, count / (time.perf_counter() - begun))
    print(f"{name}: {best:,.0f} events/s")


def typed(session: galley.Session) -> int:
    """Reads every event as an object."""
    count = 0
    with session.watch(from_="start") as watch:
        for event in watch:
            count += 1
            if isinstance(event, galley.RunComplete):
                break
    return count


def raw(session: galley.Session) -> int:
    """Reads every event as a line."""
    count = 0
    with session.watch(from_="start") as watch:
        for _, _, line in watch.raw():
            count += 1
            if line.startswith(b'{"kind":"run_complete"') or b'"run_complete"' in line:
                break
    return count


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
