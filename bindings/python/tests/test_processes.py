"""Forks, exits and signals: programs that are run to their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import galley
import pytest
from conftest import Server, run_to_end

PRELUDE = "import galley, os, sys, signal, time, asyncio, threading\nsocket, session = sys.argv[1:3]\n"


def program(text: str, *args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + text, *args], capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture
def live(server: Server) -> tuple[str, str]:
    """A Core's socket, and a session in it that has a live runner."""
    with galley.connect(server.socket) as client:
        return str(server.socket), run_to_end(client, "done")


def test_the_native_module_is_loaded_late() -> None:
    text = "import galley, sys; assert not [name for name in sys.modules if name.startswith('galley.')]"
    assert subprocess.run([sys.executable, "-c", text], check=False, timeout=20).returncode == 0


def test_an_exit_with_open_watches_is_clean(live: tuple[str, str]) -> None:
    done = program(
        """
client = galley.connect(socket)
watch = client.session(session).watch(from_="start", stay=True)
next(watch)
thread = threading.Thread(target=lambda: list(client.session(session).watch(from_="start", stay=True)), daemon=True)
thread.start()
async def main():
    reader = galley.AsyncClient(socket)
    asyncio.ensure_future(anext(reader.session(session).watch(stay=True)))
    await reader.ping()
asyncio.run(main())
""",
        *live,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_two_hundred_short_processes_end_cleanly(live: tuple[str, str]) -> None:
    text = "client = galley.connect(socket); watch = client.session(session).watch(from_='start'); next(watch)"
    for _ in range(200):
        done = program(text, *live)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_engine_ends_with_its_program(tmp_path: Path) -> None:
    text = f"""
core = galley.Core({str(tmp_path / "own.db")!r}).start()
new = core.client().sessions.create("sleep 600", approval_mode="auto")
while not (pid := core.client().session(new.session.id).state().pid or core.client().core.info().pid): pass
"""
    done = program(text, "", "")
    assert (done.returncode, done.stderr) == (0, "")
    with galley.read_only(tmp_path / "own.db") as reader:
        assert reader.sessions.list()[0].status != "running"


def test_a_forked_child_is_told_and_may_start_anew(live: tuple[str, str], tmp_path: Path) -> None:
    done = program(
        f"""
core = galley.Core({str(tmp_path / "own.db")!r}).start()
inner, client = core.client(), galley.connect(socket)
watch = client.session(session).watch(from_="start", stay=True)
next(watch)
child = os.fork()
if child == 0:
    for what in (client.ping, inner.ping, core.client, lambda: client.session(session).watch()):
        try:
            what()
        except galley.Closed as error:
            assert "fork" in error.message
        else:
            os._exit(1)
    with galley.connect(socket) as again:
        assert again.ping().pong
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert client.ping().pong and inner.ping().pong
print(next(watch).index)
core.shutdown()
""",
        *live,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "2\n")


@pytest.mark.parametrize(
    "what",
    [
        "list(galley.connect(socket).session(session).watch(stay=True, from_='now'))",
        "galley.connect(socket).session(session).wait(after_turn=5)",
        "asyncio.run(galley.AsyncClient(socket).session(session).wait(after_turn=5))",
    ],
)
def test_ctrl_c_interrupts(live: tuple[str, str], what: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{PRELUDE}signal.signal(signal.SIGINT, signal.default_int_handler)\n"
         f"threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
         f"try:\n    {what}\nexcept KeyboardInterrupt:\n    print('interrupted')\n", *live],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "interrupted\n", "")


def test_the_command_is_installed(tmp_path: Path) -> None:
    galley_command = Path(sys.executable).with_name("galley")
    env = {**os.environ, "GALLEY_DB_PATH": str(tmp_path / "none.db"), "GALLEY_SOCKET_PATH": str(tmp_path / "none.sock")}
    done = subprocess.run(
        [galley_command, "session", "send", "x", "y"], capture_output=True, text=True, env=env, check=False, timeout=20
    )
    assert done.returncode == 4
    assert '"error":"db_unavailable"' in done.stdout
    assert subprocess.run([galley_command, "version"], check=False, timeout=20, env=env).returncode == 0


def test_the_command_ends_at_ctrl_c(tmp_path: Path) -> None:
    words = ["serve", "--db", str(tmp_path / "c.db"), "--socket", str(tmp_path / "c.sock")]
    process = subprocess.Popen(
        [sys.executable, "-m", "galley", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    server = Server(tmp_path)
    server.socket = tmp_path / "c.sock"
    while not server.socket.exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (0, 130)
    if process.stderr is not None:
        process.stderr.close()
