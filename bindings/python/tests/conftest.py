"""Engines and runners for the tests; every one is ended with its test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import galley
import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(os.environ.get("GALLEY_PROGRAMS", ROOT / "target" / "debug"))


@pytest.fixture
def runner() -> list[str]:
    """The command of the scripted runner."""
    return [str(PROGRAMS / "galley-testkit-runner")]


@pytest.fixture
def core(tmp_path: Path, runner: list[str]) -> Iterator[galley.Core]:
    """An engine within this process, which also listens."""
    with galley.Core(tmp_path / "g.db", socket=tmp_path / "g.sock", runtimes={"scripted": runner}) as core:
        yield core


@pytest.fixture
def client(core: galley.Core) -> Iterator[galley.Client]:
    """A client within this process."""
    with core.client() as client:
        yield client


class Server:
    """`galley serve` in a folder, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "s.sock"
        self.database = folder / "s.db"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = ["serve", "--db", str(self.database), "--socket", str(self.socket)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "galley", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._answers)

    def _answers(self) -> bool:
        try:
            galley.connect(self.socket).close()
        except galley.DbUnavailable:
            return False
        return True

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            self._process.wait(20)
            self._process = None


@pytest.fixture
def server(tmp_path: Path, runner: list[str]) -> Iterator[Server]:
    """A Core in a process of its own."""
    (tmp_path / "config.toml").write_text(f"[runtimes.scripted]\nbackend = 'process'\ncommand = ['{runner[0]}']\n")
    server = Server(tmp_path)
    server.start()
    yield server
    server.end()


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.01)


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    """Threads of this process, those of the native module included."""
    return len(os.listdir("/proc/self/task"))


def run_to_end(client: galley.Client, steps: str) -> str:
    """A new session in which the scripted runner has carried out its steps; its id."""
    new = client.sessions.create(f"!{steps}", runtime="scripted", approval_mode="auto")
    client.session(new.session.id).wait(until_idle=True)
    return new.session.id
