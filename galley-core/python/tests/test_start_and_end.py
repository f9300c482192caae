"""How a bridge starts, or says why it cannot; and that nothing of it is left when it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Lab
from model_server import Reply
from runner_process import RunnerProcess, process_gone, wait_until
from test_bridge import auto, code


def failed_start(runner: RunnerProcess, cause: str, code: int, hint: str | None = None) -> str:
    error = runner.expect("error", context="startup")
    assert error["cause"] == cause and error["category"] == "bridge" and error.get("hint") == hint, error
    assert runner.wait() == code
    assert f"{cause}: " in runner.stderr and [event["kind"] for event in runner.events] == ["error"]
    return str(error["message"])


def test_a_folder_that_is_not_there(fake: Lab) -> None:
    fake.key_file()
    fake.tree = fake.folder / "nothing"
    failed_start(RunnerProcess(fake.command()), "ga_path_invalid", 3)


def test_a_folder_that_is_not_genericagent(fake: Lab) -> None:
    (fake.tree / "agentmain.py").unlink()
    assert "no agentmain.py" in failed_start(fake.start(), "ga_path_invalid", 3)


def test_a_working_directory_that_is_not_there(fake: Lab) -> None:
    failed_start(fake.start("--cwd", "/does/not/exist"), "cwd_invalid", 3)


def test_a_package_that_is_not_installed(fake: Lab, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    fake.python = str(tmp_path / "bare" / "bin" / "python")
    assert "pip install urllib3" in failed_start(fake.start(), "dependency_missing", 4)


def test_a_tree_that_does_not_import(fake: Lab) -> None:
    (fake.tree / "ga.py").write_text("raise RuntimeError('no')")
    assert "RuntimeError: no" in failed_start(fake.start(), "import_failed", 1)


@pytest.mark.parametrize("which", ["real", "fake"])
def test_no_key_file(make_lab: Callable[[str, str], Lab], which: str) -> None:
    lab = make_lab(which, "oai")
    lab.key_file().unlink()
    environment = {"HOME": str(lab.folder)}
    runner = RunnerProcess(lab.command(), environment)
    lab.started.append(runner)
    assert "GENERICAGENT_MYKEY" in failed_start(runner, "key_file_missing", 5, "check_llm_config")


@pytest.mark.parametrize("which", ["real", "fake"])
def test_a_broken_key_file(make_lab: Callable[[str, str], Lab], which: str) -> None:
    lab = make_lab(which, "oai")
    lab.key_file().write_text('{"native_oai_config": {"apikey": "sk-very-secret"')
    runner = lab.start()
    failed_start(runner, "key_file_broken", 5, "check_llm_config")
    assert "sk-very-secret" not in runner.stderr + json.dumps(runner.events)


@pytest.mark.parametrize("which", ["real", "fake"])
def test_a_key_file_without_a_model(make_lab: Callable[[str, str], Lab], which: str) -> None:
    lab = make_lab(which, "oai")
    lab.key_file().write_text('{"proxy": ""}')
    failed_start(lab.start(), "no_usable_model", 5, "check_llm_config")


def test_only_entries_that_are_not_configured_well(fake: Lab) -> None:
    fake.key_file().write_text('{"mixin_config": {}}')
    failed_start(fake.start(), "no_usable_model", 5, "check_llm_config")


def test_bad_arguments(fake: Lab) -> None:
    fake.key_file()
    command = [fake.python, fake.command()[1]]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    assert result.returncode == 2 and "--ga-path" in result.stderr and result.stdout == ""


def test_arguments_nobody_knows_are_no_reason_to_fail(fake: Lab) -> None:
    fake.ready("--reasoning-effort", "high", "--new-flag")


def sleeping(lab: Lab, **options: int) -> tuple[RunnerProcess, int, int]:
    """A bridge inside a tool, with the tool's process and what that started, in a session of its own."""
    runner = auto(lab, **options)
    file = lab.folder / "pids"
    text = (
        "import subprocess, time, pathlib, os\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"path = pathlib.Path({str(file)!r})\n"
        "path.with_suffix('.new').write_text(f'{os.getpid()} {child.pid}')\n"
        "path.with_suffix('.new').rename(path)\n"
        "time.sleep(600)"
    )
    lab.server.script(code(text))
    runner.send("user_message", text="sleep")
    wait_until(file.exists, what="the tool's start")
    tool, child = map(int, file.read_text().split())
    return runner, tool, child


def assert_gone(runner: RunnerProcess, *pids: int) -> None:
    assert runner.wait(5) == 0
    for pid in pids:
        wait_until(lambda pid=pid: process_gone(pid), 2, "the end of what the runner started")
    assert runner.events[-1]["kind"] == "run_complete"
    assert runner.events[-1]["exitReason"]["result"] == "ABORTED"


def test_shutdown_leaves_nothing(lab: Lab) -> None:
    runner, *pids = sleeping(lab)
    runner.send("shutdown")
    assert_gone(runner, *pids)


def test_the_end_of_the_input_leaves_nothing(lab: Lab) -> None:
    runner, *pids = sleeping(lab)
    runner.close_stdin()
    assert_gone(runner, *pids)


def test_a_signal_leaves_nothing(real: Lab) -> None:
    runner, *pids = sleeping(real)
    runner.process.send_signal(signal.SIGTERM)
    assert_gone(runner, *pids)


def test_the_death_of_its_parent_leaves_nothing(real: Lab) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    runner, *pids = sleeping(real, core_pid=parent.pid)
    parent.kill()
    parent.communicate()
    # Its input is still open: that is not what ends it.
    assert_gone(runner, *pids)


def test_shutdown_while_waiting_for_approval(real: Lab, tmp_path: Path) -> None:
    runner = real.ready()
    touched = tmp_path / "touched"
    real.server.script(code(f"open({str(touched)!r}, 'w')"))
    runner.send("user_message", text="touch")
    runner.expect("tool_call_pending")
    runner.send("shutdown")
    assert runner.wait(5) == 0 and not touched.exists()


def test_shutdown_lets_a_run_finish(real: Lab) -> None:
    runner = real.ready()
    real.server.script(Reply("<summary>late</summary>\n\nA late answer.", held=True))
    runner.send("user_message", text="hello")
    real.server.wait_asked(1)
    runner.send("shutdown")
    real.server.release()
    assert runner.wait(5) == 0
    assert runner.events[-1]["finalContent"] == "A late answer."
