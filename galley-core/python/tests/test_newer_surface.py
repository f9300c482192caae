"""What newer GenericAgent trees offer beyond the oldest, on a tree of our own that has it."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

from conftest import Lab
from model_server import Reply
from runner_process import kinds, process_gone, wait_until
from test_bridge import ANSWER, DONE, auto, code, only


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_hook_gives_the_summary(fake: Lab) -> None:
    runner = fake.ready()
    fake.server.script(ANSWER)
    assert only(runner.run("hello"), "turn_end")["summary"] == "hook: greeted"


def test_capabilities_are_what_the_tree_has(fake: Lab) -> None:
    runner = fake.start()
    assert runner.expect("ready")["capabilities"] == [
        *["abort", "approvals", "btw", "history", "images", "models", "pet", "questions"],
        *["reinject_tools", "slash_commands", "workspace"],
    ]


def test_the_commit_of_a_checkout(fake: Lab) -> None:
    git(fake.tree, "init", "-q")
    git(fake.tree, "add", "agentmain.py")
    git(fake.tree, "commit", "-q", "-m", "begin")
    ready = fake.start(env={"GIT_DIR": "/nowhere"}).expect("ready")
    assert ready["gaCommit"] == git(fake.tree, "rev-parse", "HEAD")
    assert ready["gaCommitDate"] == git(fake.tree, "log", "-1", "--format=%cI")


def test_the_commit_of_a_project_around_the_tree_is_not_its_own(fake: Lab) -> None:
    git(fake.folder, "init", "-q")
    git(fake.folder, "add", "FakeAgent/agentmain.py")
    git(fake.folder, "commit", "-q", "-m", "begin")
    ready = fake.start().expect("ready")
    assert ready["gaCommit"] == ready["gaCommitDate"] == "unknown"


def test_a_slash_command_answers_without_the_model(fake: Lab) -> None:
    runner = fake.ready()
    events = runner.run("/session.read_timeout=7")
    assert kinds(events) == ["turn_start", "system_message", "run_complete"]
    assert events[1]["variant"] == "system" and events[1]["content"] == "session.read_timeout = 7"
    assert fake.server.requests == []
    fake.server.script(ANSWER)
    runner.run("hello")


def test_a_slash_command_that_kills_the_worker(fake: Lab) -> None:
    runner = fake.ready()
    events = runner.run("/session.broken=not json")
    assert "JSONDecodeError" in only(events, "error")["message"]
    fake.server.script(ANSWER)
    assert runner.run("hello")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"


def test_a_workspace(fake: Lab, tmp_path: Path) -> None:
    project = tmp_path / "my project"
    project.mkdir()
    runner = fake.ready("--workspace-root", str(project))
    fake.server.script(ANSWER)
    runner.run("hello")
    assert "[PROJECT MODE: my project]" in json.dumps(fake.server.requests[0])
    assert "error" not in kinds(runner.events)
    assert Path(f"/proc/{runner.process.pid}/cwd").readlink() == fake.tree


def test_a_workspace_that_is_not_there(fake: Lab) -> None:
    runner = fake.ready("--workspace-root", "/does/not/exist")
    error = runner.expect("error", context="workspace")
    assert error["severity"] == "warning" and error["category"] == "business"


def test_a_workspace_this_genericagent_cannot_have(real: Lab, tmp_path: Path) -> None:
    runner = real.ready("--workspace-root", str(tmp_path))
    assert "no workspaces" in runner.expect("error", context="workspace")["message"]


def test_tools_are_reinjected(fake: Lab) -> None:
    runner = fake.ready()
    runner.send("reinject_tools")
    assert runner.expect("tools_reinjected")["blocksAdded"] == 2
    fake.server.script(ANSWER)
    runner.run("hello")
    assert "Show me your tools." in json.dumps(fake.server.requests[0]["messages"])
    (fake.tree / "assets" / "tool_usable_history.json").write_text("[broken")
    runner.send("reinject_tools")
    assert runner.expect("error", context="reinject_tools")["category"] == "business"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_pet_is_told_how_it_goes(fake: Lab, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "pet.log"
    runner = auto(fake, env={"FAKE_PET_PORT": str(port), "FAKE_PET_LOG": str(log)})
    runner.send("attach_pet", port=port)
    assert runner.expect("pet_attached")["port"] == port
    fake.server.script(code("print(1)", summary="printed"), DONE)
    runner.run("print")

    def told() -> bool:
        text = log.read_text() if log.exists() else ""
        return "Turn 1\\nhook: printed" in text and "Turn 2\\nhook: finished\\nDONE" in text and "idle" in text

    wait_until(told, what="all that the pet is told")
    pet = child_of(runner.process.pid)
    runner.send("detach_pet")
    runner.expect("pet_detached")
    assert process_gone(pet)


def test_a_pet_ends_with_its_session(fake: Lab, tmp_path: Path) -> None:
    port = free_port()
    runner = fake.ready(env={"FAKE_PET_PORT": str(port), "FAKE_PET_LOG": str(tmp_path / "pet.log")})
    runner.send("attach_pet", port=port)
    runner.expect("pet_attached")
    pet = child_of(runner.process.pid)
    runner.close()
    assert process_gone(pet)


def test_a_pet_that_does_not_come(fake: Lab) -> None:
    runner = fake.ready()  # Without its environment the script fails at once.
    runner.send("attach_pet", port=free_port())
    assert runner.expect("error", context="attach_pet")["category"] == "business"


def test_an_entry_that_is_not_configured_well(fake: Lab) -> None:
    keys = json.loads(fake.key_file().read_text())
    (fake.tree / "mykey.json").write_text(json.dumps({"mixin_config": {}, **keys}))
    runner = fake.start()
    ready = runner.expect("ready")
    assert [model["isCurrent"] for model in ready["availableLLMs"]] == [False, True, False]
    assert "not configured well" in runner.expect("error", context="--llm-no")["message"]
    runner.send("set_llm", llmIndex=0)
    assert runner.expect("error", context="set_llm")["category"] == "business"
    fake.server.script(ANSWER)
    assert runner.run("hello")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"


def test_code_run_inside_the_agent_is_said_to_be(fake: Lab) -> None:
    runner = fake.ready()
    call = ("code_run", {"inline_eval": True, "script": "1 + 1"})
    fake.server.script(Reply("<summary>inline</summary>", [call]), DONE)
    runner.send("user_message", text="inline")
    pending = runner.expect("tool_call_pending")
    assert "inside the agent itself" in pending["reason"] and pending["riskLevel"] == "high"
    runner.send("approval_response", approvalId=pending["approvalId"], decision="deny")
    runner.expect("run_complete")


def child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pets = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
        if b"desktop_pet" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    assert len(pets) == 1, (pets, children)
    return pets[0]
