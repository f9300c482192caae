"""The bridge as a process, on GenericAgent itself and on a tree with the newer surface."""

from __future__ import annotations

import json
import shutil
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest
from conftest import Lab
from model_server import Reply
from runner_process import Event, RunnerProcess, kinds, process_gone, streamed, wait_until

ANSWER = Reply("<summary>greeted</summary>\n\nHello, and nothing else to do.")
DONE = Reply("<summary>finished</summary>\n\nIt is finished, with a few words.")


def code(text: str, summary: str = "run code") -> Reply:
    return Reply(f"<summary>{summary}</summary>\n\nRunning code.", [("code_run", {"type": "python", "code": text})])


def only(events: list[Event], kind: str) -> Event:
    found = [event for event in events if event["kind"] == kind]
    assert len(found) == 1, f"{len(found)} {kind}"
    return found[0]


def auto(lab: Lab, *arguments: str, **options: Any) -> RunnerProcess:
    runner = lab.ready(*arguments, **options)
    runner.send("set_yolo_mode", enabled=True)
    return runner


def test_a_plain_answer(lab: Lab) -> None:
    runner = lab.start()
    ready = runner.expect("ready")
    assert [model["name"].split("/")[1] for model in ready["availableLLMs"]] == ["model-a", "model-b"]
    assert ready["availableLLMs"][0]["isCurrent"] and not ready["availableLLMs"][1]["isCurrent"]
    assert ready["gaPath"] == str(lab.tree) and ready["protocolVersion"] == "0.1"
    assert ready["gaCommit"] == "unknown" and Path(ready["cwd"]) == lab.tree / "temp"
    lab.server.script(ANSWER)
    events = runner.run("hello")
    assert kinds(events) == ["turn_start", "turn_progress", "turn_end", "run_complete"]
    assert streamed(events).strip() == ANSWER.text
    end, complete = events[-2:]
    assert end["summary"].endswith("greeted") and end["exitReason"]["result"] == "CURRENT_TASK_DONE"
    assert end["responseContent"] == ANSWER.text and end["telemetry"]["contextUsedChars"] > 0
    assert complete["finalContent"] == "Hello, and nothing else to do." and complete["totalTurns"] == 1
    assert runner.stderr == "", "GenericAgent's chatter is kept away"


def test_thinking_is_no_part_of_the_answer(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(Reply("<thinking>deep</thinking>\n<summary>thought</summary>\n\nAn answer after thinking."))
    end, complete = runner.run("think")[-2:]
    assert complete["finalContent"] == "An answer after thinking." and end["summary"].endswith("thought")
    assert "<thinking>deep</thinking>" in end["responseContent"]


def test_a_tool_call_that_is_allowed(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(code("print('six times seven', 6 * 7)"), DONE)
    runner.send("user_message", text="compute")
    pending = runner.expect("tool_call_pending")
    assert pending["toolName"] == "code_run" and pending["riskLevel"] == "high" and pending["turnIndex"] == 1
    assert pending["args"] == {"type": "python", "code": "print('six times seven', 6 * 7)"}
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    runner.expect("run_complete")
    assert kinds([event for event in runner.events if event["kind"] != "tool_call_progress"]) == [
        *["ready", "turn_start", "turn_progress", "tool_call_pending", "tool_call_start", "tool_call_end", "turn_end"],
        *["turn_start", "turn_progress", "turn_end", "run_complete"],
    ]
    end = only(runner.events, "tool_call_end")
    assert end["status"] == "success" and "six times seven 42" in end["resultPreview"]
    assert "Running python" in only_progress(runner.events)
    step = next(event for event in runner.events if event["kind"] == "turn_end")
    assert [call["toolName"] for call in step["toolCalls"]] == ["code_run"] and step["exitReason"] is None
    assert step["toolResults"][0]["toolUseId"] == step["toolCalls"][0]["id"] == end["toolCallId"]
    assert "six times seven 42" in json.dumps(lab.server.requests[1]), "the model is told the result"
    assert streamed(runner.events).count("code_run") == 0, "a call is told by events, not by text"


def only_progress(events: list[Event]) -> str:
    return "".join(event["text"] for event in events if event["kind"] == "tool_call_progress")


def test_a_tool_call_that_is_denied(lab: Lab, tmp_path: Path) -> None:
    runner = lab.ready()
    touched = tmp_path / "touched"
    lab.server.script(code(f"open({str(touched)!r}, 'w')"), DONE)
    runner.send("user_message", text="touch")
    pending = runner.expect("tool_call_pending")
    runner.send("approval_response", approvalId=pending["approvalId"], decision="deny")
    runner.expect("run_complete", exitReason={"result": "CURRENT_TASK_DONE", "data": None})
    assert only(runner.events, "tool_call_end")["status"] == "denied"
    assert "tool_call_start" not in kinds(runner.events) and not touched.exists()
    assert "denied" in json.dumps(lab.server.requests[1]), "the model is told"


@pytest.mark.parametrize("decision", ["always_allow_project", "always_allow_global"])
def test_a_tool_that_is_always_allowed(lab: Lab, decision: str) -> None:
    runner = lab.ready()
    lab.server.script(code("print(1)"), code("print(2)"), DONE)
    runner.send("user_message", text="twice")
    pending = runner.expect("tool_call_pending")
    runner.send("approval_response", approvalId=pending["approvalId"], decision=decision)
    runner.expect("run_complete")
    assert kinds(runner.events).count("tool_call_pending") == 1
    assert kinds(runner.events).count("tool_call_start") == 2


def test_rules_and_automatic_mode_ask_nothing(real: Lab) -> None:
    runner = real.ready()
    runner.send("set_approval_rules", alwaysAllowGlobal=[], alwaysAllowProject=["code_run"])
    real.server.script(code("print(1)"), DONE, code("print(2)"), DONE)
    assert "tool_call_pending" not in kinds(runner.run("one"))
    runner.send("set_approval_rules", alwaysAllowGlobal=[], alwaysAllowProject=[])
    runner.send("set_yolo_mode", enabled=True)
    assert "tool_call_pending" not in kinds(runner.run("two"))
    runner.send("set_yolo_mode", enabled=False)
    real.server.script(code("print(3)"), DONE)
    runner.send("user_message", text="three")
    runner.send("approval_response", approvalId=runner.expect("tool_call_pending")["approvalId"], decision="deny")
    runner.expect("run_complete")


def test_a_question_and_its_answer(lab: Lab) -> None:
    runner = lab.ready()
    question = {"question": "Delete it all?", "candidates": ["yes", "no"]}
    lab.server.script(Reply("<summary>unsure</summary>\n\nI must ask.", [("ask_user", question)]), DONE)
    runner.send("user_message", text="clean up")
    asked = runner.expect("ask_user")
    assert asked["question"] == "Delete it all?" and asked["candidates"] == ["yes", "no"]
    assert "blocking" not in asked
    assert runner.expect("run_complete")["exitReason"]["result"] == "EXITED"
    runner.send("ask_user_response", text="no, keep it")
    runner.expect("turn_start", turnIndex=1)
    runner.expect("run_complete", exitReason={"result": "CURRENT_TASK_DONE", "data": None})
    assert "no, keep it" in json.dumps(lab.server.requests[1]["messages"][-1])


def test_a_question_split_into_calls_is_one(fake: Lab) -> None:
    runner = fake.ready()
    calls = [("ask_user", {"question": "Which?", "candidates": [one]}) for one in ("red", "blue")]
    fake.server.script(Reply("<summary>ask</summary>", [*calls, ("ask_user", {"question": "And?"})]))
    asked = only(runner.run("paint"), "ask_user")
    assert asked["question"] == "Which?" and asked["candidates"] == ["red", "blue"]


def test_abort_before_genericagent_begins(lab: Lab) -> None:
    runner = lab.ready()
    runner.send_raw(b'{"kind":"user_message","text":"go"}\n{"kind":"abort"}\n')
    assert runner.expect("run_complete", seconds=5)["exitReason"]["result"] == "ABORTED"
    lab.server.script(ANSWER, ANSWER, ANSWER)
    assert runner.run("again")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"


def test_abort_while_the_model_has_not_answered(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(Reply(held=True))
    runner.send("user_message", text="think long")
    lab.server.wait_asked(1)
    runner.send("abort")
    assert runner.expect("run_complete", seconds=5)["exitReason"]["result"] == "ABORTED"
    lab.server.script(ANSWER)
    events = runner.run("again")
    assert events[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE" and "error" not in kinds(events)


def test_abort_inside_a_tool_ends_what_it_started(lab: Lab) -> None:
    runner = auto(lab)
    pids = lab.folder / "pid"
    lab.server.script(
        code(
            "import subprocess, time, pathlib\n"
            f"pathlib.Path({str(pids)!r}).write_text(str(subprocess.Popen(['sleep', '600']).pid))\n"
            "time.sleep(600)"
        )
    )
    runner.send("user_message", text="sleep")
    runner.expect("tool_call_start")
    wait_until(lambda: pids.exists() and pids.read_text(), what="the child's start")
    runner.send("abort")
    assert runner.expect("tool_call_end", seconds=5)["status"] == "cancelled"
    assert runner.expect("run_complete", seconds=5)["exitReason"]["result"] == "ABORTED"
    wait_until(lambda: process_gone(int(pids.read_text())), what="the grandchild's end")
    lab.server.script(ANSWER)
    assert runner.run("again")[-1]["finalContent"] == "Hello, and nothing else to do."


def test_abort_inside_an_approval(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(code("print('never')"))
    runner.send("user_message", text="run")
    pending = runner.expect("tool_call_pending")
    runner.send("abort")
    assert runner.expect("run_complete", seconds=5)["exitReason"]["result"] == "ABORTED"
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    assert runner.expect("error")["category"] == "business"
    assert "tool_call_start" not in kinds(runner.events)
    lab.server.script(ANSWER)
    assert runner.run("again")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"


def test_another_model_gets_the_conversation(lab: Lab) -> None:
    runner = lab.ready()
    looking = Reply("<summary>look</summary>\n\nLooking it up.", [("file_read", {"path": "nothing.txt"})])
    lab.server.script(looking, Reply("<summary>noted</summary>\n\nThe word is marzipan, noted."), ANSWER)
    runner.run("remember the word marzipan")
    runner.send("set_llm", llmIndex=1)
    changed = runner.expect("llm_changed")
    assert changed["index"] == 1 and changed["name"].endswith("/model-b")
    runner.run("which word?")
    request = lab.server.requests[2]
    roles = [message["role"] for message in request["messages"] if message["role"] != "system"]
    assert request["model"] == "model-b" and roles == ["user", "assistant"] * 2 + ["user"]
    assert "The word is marzipan" in json.dumps(request["messages"])
    if lab.real:
        # It does not carry the conversation itself, and sends one model's blocks to another as they are.
        assert '"tool_use"' not in json.dumps(request["messages"])
    runner.send("set_llm", llmIndex=2)
    assert runner.expect("error")["category"] == "business"
    runner.send("set_llm", llmIndex=-1)
    assert runner.expect("error")["category"] == "business"


def test_a_model_chosen_at_the_start(real: Lab) -> None:
    runner = real.start("--llm-no", "1")
    ready = runner.expect("ready")
    assert [model["isCurrent"] for model in ready["availableLLMs"]] == [False, True]
    assert ready["llmName"].endswith("/model-b")


def test_a_conversation_is_resumed_in_a_new_process(lab: Lab) -> None:
    runner = lab.ready()
    messages = [
        {"role": "user", "content": "My cat is called Nepomuk.", "toolCalls": [], "toolResults": []},
        {
            "role": "assistant",
            "content": "A fine name.",
            "toolCalls": [{"id": "t1", "toolName": "file_read", "args": {"path": "cat.txt"}}],
            "toolResults": [{"toolUseId": "t1", "content": "a tabby"}],
        },
    ]
    runner.send("load_history", messages=messages)
    assert runner.expect("history_loaded")["messageCount"] == 2
    lab.server.script(ANSWER)
    runner.run("what is my cat called?")
    sent = [message for message in lab.server.requests[0]["messages"] if message["role"] != "system"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert "Nepomuk" in json.dumps(sent[0]) and "A fine name." in json.dumps(sent[1])
    assert "a tabby" in json.dumps(sent[1]) and "what is my cat called?" in json.dumps(sent[2])
    runner.send("load_history", messages=[])
    assert runner.expect("error", context="load_history")["category"] == "business"


@pytest.mark.parametrize(
    ("status", "body", "hint"),
    [
        (401, '{"error":{"message":"invalid api_key sk-very-secret"}}', "check_llm_config"),
        (429, '{"error":{"message":"slow down"}}', "quota_exceeded"),
        (500, "boom", None),
    ],
)
def test_a_refusal_of_the_model(lab: Lab, status: int, body: str, hint: str | None) -> None:
    runner = lab.ready()
    # A newer tree tries three times when the message is short.
    lab.server.script(*[Reply(status=status, body=body)] * (1 if lab.real else 3))
    events = runner.run("hello")
    error = only(events, "error")
    assert error.get("hint") == hint and error["category"] == "runtime" and error["retryable"], error
    assert str(status) in error["message"] and "sk-very-secret" not in json.dumps(events)
    assert events[-2] is error, "the error is the last word before the end, so that the run counts as failed"
    assert events[-1]["finalContent"] is None and streamed(events).strip() == "" and "turn_end" not in kinds(events)
    lab.server.script(ANSWER)
    assert runner.run("again")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"


def test_an_answer_that_speaks_of_errors_is_an_answer(lab: Lab) -> None:
    runner = lab.ready()
    text = "<summary>read</summary>" + "\n" + "The log says\nError: 1" + "\nError: and Error: more. Harmless."
    lab.server.script(Reply(text))
    events = runner.run("read the log")
    assert "error" not in kinds(events) and streamed(events).strip() == text


def test_a_model_that_refuses_connections(lab: Lab) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        lab.key_file(port=nobody.getsockname()[1])
        runner = lab.ready()
        assert only(runner.run("hello"), "error")["hint"] == "network"


@pytest.mark.parametrize("name", ["real-oai", "fake-oai", "fake-claude"])
def test_a_model_that_never_answers(make_lab: Any, name: str) -> None:
    # GenericAgent 1.0.7 waits 120 s in its native Claude session whatever it is told, so not that one.
    lab = make_lab(*name.split("-"))
    lab.key_file(read_timeout=1 if name.startswith("fake") else 5)
    runner = lab.ready()
    lab.server.script(*[Reply(held=True)] * 3)
    runner.send("user_message", text="hello")
    assert runner.expect("error", seconds=30)["hint"] == "network"
    runner.expect("run_complete")


def test_a_task_without_end(lab: Lab) -> None:
    runner = lab.ready()
    again = Reply("<summary>again</summary>\n\nOnce more.", [("file_read", {"path": "nothing.txt"})])
    lab.server.script(*[again] * 50)
    runner.send("user_message", text="loop")
    complete = runner.expect("run_complete", seconds=60)
    assert complete["exitReason"]["result"] == "MAX_TURNS_EXCEEDED"
    assert complete["totalTurns"] == (40 if lab.real else 12)


def test_pictures_reach_the_model(lab: Lab, tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG dot")
    runner = lab.ready()
    lab.server.script(ANSWER, ANSWER)
    runner.run("what is this?", images=[str(picture)])
    sent = json.dumps(lab.server.requests[0]["messages"][-1])
    assert "iVBORyBkb3Q=" in sent and ("image_url" in sent) == (lab.kind == "oai")
    runner.send("user_message", text="and this?", images=[str(tmp_path / "missing.png")])
    assert runner.expect("error")["severity"] == "warning"
    runner.expect("run_complete")
    assert "iVBORyBkb3Q=" not in json.dumps(lab.server.requests[1]["messages"][-1])


def test_a_side_question_beside_a_run(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(ANSWER, Reply(held=True))
    lab.server.aside("side", Reply("Half of it is done."))
    runner.run("hello")
    runner.send("user_message", text="a long one")
    lab.server.wait_asked(2)
    runner.send("user_message", text=" /btw how far?")
    message = runner.expect("system_message")
    assert message["variant"] == "side_question" and "Half of it is done." in message["content"]
    assert "Hello, and nothing else" in json.dumps(lab.server.requests[2]), "it knows the conversation"
    runner.send("abort")
    runner.expect("run_complete")
    lab.server.script(ANSWER)
    runner.run("next")
    assert "Half of it" not in json.dumps(lab.server.requests[3]), "and the conversation does not know it"


def test_a_dead_worker_is_reported_and_revived(real: Lab, tmp_path: Path) -> None:
    real.tree = Path(shutil.copytree(real.tree, tmp_path / "genericagent"))
    prompt, away = real.tree / "assets" / "sys_prompt.txt", tmp_path / "away"
    runner = real.ready()
    # GenericAgent reads it for every task, outside of what catches its faults.
    prompt.rename(away)
    runner.send("user_message", text="hello")
    error = runner.expect("error")
    assert "worker thread died: FileNotFoundError" in error["message"] and "get_system_prompt" in error["traceback"]
    assert error["category"] == "runtime" and error["retryable"]
    assert runner.expect("run_complete")["exitReason"]["result"] == "EXITED"
    away.rename(prompt)
    real.server.script(ANSWER)
    assert runner.run("again")[-1]["finalContent"] == "Hello, and nothing else to do."


def test_a_tool_that_ends_the_worker(fake: Lab) -> None:
    runner = auto(fake)
    fake.server.script(Reply("<summary>quit</summary>\n\nQuitting.", [("quit", {})]))
    events = runner.run("quit")
    assert only(events, "tool_call_end")["status"] == "failed" and "SystemExit" in only(events, "error")["message"]
    fake.server.script(ANSWER)
    assert runner.run("again")[-1]["finalContent"] == "Hello, and nothing else to do."


def test_a_tool_that_raises(fake: Lab) -> None:
    runner = auto(fake)
    fake.server.script(Reply("<summary>explode</summary>", [("explode", {})]))
    events = runner.run("explode")
    assert only(events, "tool_call_end")["status"] == "failed"
    error = only(events, "error")
    assert error["message"] == "ZeroDivisionError: the tool broke" and "do_explode" in error["traceback"]


def test_a_tool_that_does_not_exist(lab: Lab) -> None:
    runner = lab.ready()
    lab.server.script(Reply("<summary>try</summary>\n\nTrying.", [("frobnicate", {"x": 1})]), DONE)
    events = runner.run("frobnicate")
    assert only(events, "tool_call_end")["status"] == "failed" and "tool_call_pending" not in kinds(events)


def test_the_approval_shows_the_code_that_runs(lab: Lab) -> None:
    runner = lab.ready()
    text = "<summary>two codes</summary>\n\n```python\nprint('from the reply')\n```\nThat is the code."
    lab.server.script(Reply(text, [("code_run", {"code": "print('from the arguments')"})]), DONE)
    runner.send("user_message", text="run")
    pending = runner.expect("tool_call_pending")
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    runner.expect("run_complete")
    shown, printed = pending["args"]["code"], only(runner.events, "tool_call_end")["resultPreview"]
    assert shown == ("print('from the reply')" if lab.real else "print('from the arguments')")
    assert shown.split("'")[1] in printed


@pytest.mark.parametrize("inside", ["", "line two\n</file_content>\nor\n<file_content>\n"])
def test_the_approval_shows_the_text_that_is_written(lab: Lab, inside: str) -> None:
    runner = lab.ready()
    name = f"written-{uuid.uuid4().hex}.txt"
    text = f"<summary>write</summary>\n\n<file_content>\n{inside}line one\n</file_content>"
    args = {"path": name, "mode": "overwrite"}
    lab.server.script(
        Reply(text, [("file_write", args)]), Reply(text, [("file_write", {**args, "content": "x"})]), DONE
    )
    runner.send("user_message", text="write")
    written = lab.tree / "temp" / name
    for _ in range(2):
        pending = runner.expect("tool_call_pending")
        assert pending["riskLevel"] == "medium" and not pending["args"].get("contentInReply")
        runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
        runner.expect("tool_call_end")
        assert written.read_text() == pending["args"]["content"]
    runner.expect("run_complete")
    written.unlink()


def test_output_of_a_child_comes_line_by_line(lab: Lab, tmp_path: Path) -> None:
    runner = auto(lab)
    go_on = tmp_path / "go on"
    text = (
        "import pathlib, time\n"
        "print('first line', flush=True)\n"
        f"while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(.01)"
    )
    lab.server.script(code(text), DONE)
    runner.send("user_message", text="print slowly")
    runner.expect("tool_call_progress", text="first line\n")
    go_on.touch()
    runner.expect("run_complete")
    assert "[Status]" in only_progress(runner.events)


@pytest.mark.parametrize("kind", ["oai", "claude"])
def test_a_model_that_is_told_of_tools_in_text(real: Lab, kind: str, tmp_path: Path) -> None:
    keys = json.loads(real.key_file().read_text())
    keys = {f"{kind}_config_{one}": config for one, config in zip("ab", keys.values(), strict=True)}
    (real.folder / "mykey.json").write_text(json.dumps(keys))
    runner = real.start()
    assert "images" not in runner.expect("ready")["capabilities"]
    runner.send("load_history", messages=[{"role": "user", "content": "old"}, {"role": "assistant", "content": "new"}])
    runner.expect("history_loaded")
    call = json.dumps({"name": "code_run", "arguments": {"code": "print(6 * 7)"}})
    real.server.script(Reply(f"<summary>run</summary>\n\nRun.\n<tool_use>\n{call}\n</tool_use>"), DONE, ANSWER)
    runner.send("user_message", text="compute", images=[str(tmp_path / "picture.png")])
    assert "cannot be given pictures" in runner.expect("error")["message"]
    pending = runner.expect("tool_call_pending")
    assert pending["args"] == {"code": "print(6 * 7)"}
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    assert runner.expect("run_complete")["finalContent"] == "It is finished, with a few words."
    assert [message["role"] for message in real.server.requests[0]["messages"]] == ["user", "assistant", "user"]
    assert "old" in json.dumps(real.server.requests[0]) and "42" in json.dumps(real.server.requests[1])
    real.server.aside("side question", Reply("So far so good."))
    runner.send("user_message", text="/btw how far?")
    assert "So far so good." in runner.expect("system_message")["content"]
    runner.send("set_llm", llmIndex=1)
    runner.expect("llm_changed")
    runner.run("go on")
    assert real.server.requests[-1]["model"] == "model-b" and "old" in json.dumps(real.server.requests[-1])


def test_what_a_tool_starts_cannot_read_commands(real: Lab) -> None:
    runner = auto(real)
    real.server.script(code("import sys; print('read', repr(sys.stdin.read()))"), DONE)
    runner.send("user_message", text="steal")
    runner.expect("tool_call_start")
    runner.send("approval_response", approvalId="appr_none", decision="deny")
    runner.expect("error", context="approval_response")
    runner.expect("run_complete")
    assert "read ''" in only(runner.events, "tool_call_end")["resultPreview"]


def test_a_message_in_a_run_is_refused(real: Lab) -> None:
    runner = real.ready()
    real.server.script(Reply(held=True))
    runner.send("user_message", text="one")
    real.server.wait_asked(1)
    refused: dict[str, dict[str, Any]] = {
        "user_message": {"text": "two"},
        "set_llm": {"llmIndex": 1},
        "reinject_tools": {},
    }
    for kind, fields in refused.items():
        runner.send(kind, **fields)
        assert runner.expect("error", context=kind)["category"] == "business"
    runner.send("abort")
    runner.expect("run_complete")


def test_what_this_genericagent_cannot_do(real: Lab) -> None:
    runner = real.start()
    assert runner.expect("ready")["capabilities"] == [
        *["abort", "approvals", "btw", "history", "images", "models", "questions"]
    ]
    for kind, fields in [("reinject_tools", {}), ("attach_pet", {"port": 41983})]:
        runner.send(kind, **fields)
        error = runner.expect("error", context=kind)
        assert error["category"] == "business" and not error["retryable"]
    runner.send("detach_pet")
    runner.expect("pet_detached")
