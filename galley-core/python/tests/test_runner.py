"""The runner SDK, with small agents as processes."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import termios
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_process import TREE, RunnerProcess, kinds, process_gone, streamed, wait_until

from galley.runner.wire import MAX_LINE, encode, is_side_question

Start = Callable[..., RunnerProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts an agent from its source, and waits until it is ready."""
    started: list[RunnerProcess] = []

    def begin(source: str, *arguments: str, wait: bool = True) -> RunnerProcess:
        script = tmp_path / f"agent{len(started)}.py"
        script.write_text("from galley.runner import *\n" + textwrap.dedent(source), encoding="utf-8")
        runner = RunnerProcess([sys.executable, str(script), *arguments], {"PYTHONPATH": str(TREE)})
        started.append(runner)
        if wait:
            runner.expect("ready")
        return runner

    yield begin
    for runner in started:
        runner.close()


FORMS = {
    "function": """
        def agent(task, ctx):
            ctx.progress("You said: ")
            ctx.progress(task.text)
        run(agent)
    """,
    "generator": """
        def agent(task, ctx):
            yield "You said: "
            yield task.text
        run(agent)
    """,
    "async function": """
        async def agent(task, ctx):
            ctx.progress("You said: ")
            ctx.progress(task.text)
        run(agent)
    """,
    "async generator": """
        async def agent(task, ctx):
            yield "You said: "
            yield task.text
        run(agent)
    """,
    "callable object": """
        class Agent:
            async def __call__(self, task, ctx):
                ctx.progress("You said: " + task.text)
        run(Agent())
    """,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_agent(start: Start, form: str) -> None:
    runner = start(FORMS[form])
    for text in ("hello", "grüß \u2028 Gott 🛠"):
        events = runner.run(text)
        assert kinds(events) == ["turn_start", "turn_progress", "turn_end", "run_complete"]
        assert streamed(events) == events[-1]["finalContent"] == events[-2]["responseContent"] == f"You said: {text}"
        assert events[-1]["exitReason"] == events[-2]["exitReason"] == {"result": "CURRENT_TASK_DONE", "data": None}


def test_a_returned_answer_needs_no_streaming(start: Start) -> None:
    runner = start("run(lambda task, ctx: task.text.upper())")
    events = runner.run("hello")
    assert events[-1]["finalContent"] == events[-2]["responseContent"] == "HELLO"


def test_what_an_agent_returns_is_looked_at(start: Start) -> None:
    runner = start("run(lambda task, ctx: 42)")
    assert "not int" in next(event for event in runner.run("hello") if event["kind"] == "error")["message"]


def test_ready_tells_what_the_agent_can_do(start: Start) -> None:
    runner = start(
        """run(lambda t, c: None, models=["small", Model("big", "Big One")], images=True, side_question=str)""",
        *["--llm-no", "1", "--ga-path", "/somewhere", "--unknown", "x"],
    )
    ready = runner.events[0]
    assert ready["capabilities"] == ["abort", "approvals", "btw", "history", "images", "models", "questions"]
    assert ready["llmName"] == "big" and ready["pid"] == runner.process.pid
    assert ready["availableLLMs"] == [
        {"index": 0, "name": "small", "displayName": "small", "isCurrent": False},
        {"index": 1, "name": "big", "displayName": "Big One", "isCurrent": True},
    ]


def test_models_are_chosen_between_runs(start: Start) -> None:
    runner = start("run(lambda task, ctx: ctx.model.name, models=['small', 'big'])")
    assert runner.run("which?")[-1]["finalContent"] == "small"
    runner.send("set_llm", llmIndex=1)
    assert runner.expect("llm_changed")["name"] == "big"
    assert runner.run("which?")[-1]["finalContent"] == "big"
    for index in (-1, 2):
        runner.send("set_llm", llmIndex=index)
        assert runner.expect("error")["category"] == "business"


STEPS = """
    def agent(task, ctx):
        yield "first"
        with ctx.tool("count", upto=3) as call:
            call.progress("one")
            call.result({"counted": 3})
        ctx.next_step("counted")
        yield "second"
        try:
            with ctx.tool("fail"):
                raise ValueError("no")
        except ValueError:
            pass
    run(agent)
"""


def test_steps_and_tools(start: Start) -> None:
    runner = start(STEPS)
    events = runner.run("go")
    assert kinds(events) == [
        *["turn_start", "turn_progress", "tool_call_start", "tool_call_progress", "tool_call_end", "turn_end"],
        *["turn_start", "turn_progress", "tool_call_start", "tool_call_end", "turn_end", "run_complete"],
    ]
    first, second = (event for event in events if event["kind"] == "turn_end")
    assert first["summary"] == "counted" and first["exitReason"] is None and first["responseContent"] == "first"
    assert first["toolCalls"][0]["toolName"] == "count" and first["toolCalls"][0]["args"] == {"upto": 3}
    assert first["toolResults"][0]["content"] == '{"counted": 3}'
    assert second["toolResults"][0]["content"] == "ValueError: no"
    ends = [event for event in events if event["kind"] == "tool_call_end"]
    assert [end["status"] for end in ends] == ["success", "failed"] and ends[0]["elapsedMs"] >= 0
    assert events[-1]["totalTurns"] == 2 and events[-1]["finalContent"] == "second"


APPROVE = {
    "sync": """
        def agent(task, ctx):
            return str(ctx.approve("burn", {"what": "paper"}, "high", "It is gone then"))
        run(agent)
    """,
    "async": """
        async def agent(task, ctx):
            return str(await ctx.approve("burn", {"what": "paper"}, "high", "It is gone then"))
        run(agent)
    """,
}


@pytest.mark.parametrize("form", APPROVE)
def test_approvals(start: Start, form: str) -> None:
    runner = start(APPROVE[form])
    for decision, answer in [("allow_once", "True"), ("deny", "False"), ("always_allow_project", "True")]:
        runner.send("user_message", text="burn it")
        pending = runner.expect("tool_call_pending")
        assert pending["args"] == {"what": "paper"} and pending["argsPreview"] == "what=paper"
        assert pending["riskLevel"] == "high" and pending["reason"] == "It is gone then"
        runner.send("approval_response", approvalId=pending["approvalId"], decision=decision)
        assert runner.expect("run_complete")["finalContent"] == answer
    assert [event["status"] for event in runner.events if event["kind"] == "tool_call_end"] == ["denied"]
    assert "tool_call_pending" not in kinds(runner.run("always allowed now"))
    runner.send("set_approval_rules", alwaysAllowGlobal=[], alwaysAllowProject=[])
    runner.send("set_yolo_mode", enabled=True)
    assert "tool_call_pending" not in kinds(runner.run("automatic"))


def test_an_answer_that_is_none_uses_nothing_up(start: Start) -> None:
    runner = start(APPROVE["sync"])
    runner.send("user_message", text="burn it")
    pending = runner.expect("tool_call_pending")
    bad: list[dict[str, Any]] = [
        {"approvalId": pending["approvalId"], "decision": "maybe"},
        {"approvalId": "appr_other", "decision": "allow_once"},
        {"approvalId": pending["approvalId"]},
        {"decision": "allow_once"},
    ]
    for fields in bad:
        runner.send("approval_response", **fields)
        runner.expect("error")
    runner.send("approval_response", approvalId=pending["approvalId"], decision="deny")
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    assert runner.expect("run_complete")["finalContent"] == "False"


@pytest.mark.parametrize("form", ["def agent(t, c): return c.ask", "async def agent(t, c): return await c.ask"])
def test_a_question_that_keeps_the_run_open(start: Start, form: str) -> None:
    runner = start(f"{form}('Which?', ['a', 'b'])\nrun(agent)")
    runner.send("user_message", text="go")
    asked = runner.expect("ask_user")
    assert asked["blocking"] is True and asked["candidates"] == ["a", "b"]
    runner.send("ask_user_response", text="b")
    assert runner.expect("run_complete")["finalContent"] == "b"
    assert kinds(runner.events).count("turn_start") == 1


def test_a_question_that_ends_the_run(start: Start) -> None:
    runner = start("run(lambda task, ctx: f'got {task.text}' if task.answers else Question('Which?', ['a']))")
    runner.send("user_message", text="go")
    asked = runner.expect("ask_user")
    assert "blocking" not in asked and runner.expect("run_complete")["exitReason"]["result"] == "EXITED"
    runner.send("ask_user_response", text="a")
    assert runner.expect("run_complete")["finalContent"] == "got a"


def test_history(start: Start) -> None:
    source = "run(lambda task, ctx: ' | '.join(f'{m.role}: {m.content}' for m in ctx.history))"
    runner = start(source)
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two", "toolCalls": None}]
    runner.send("load_history", messages=messages)
    assert runner.expect("history_loaded")["messageCount"] == 2
    assert runner.run("three")[-1]["finalContent"] == "user: one | assistant: two"
    assert runner.run("four")[-1]["finalContent"].endswith("user: three | assistant: user: one | assistant: two")
    runner.send("load_history", messages=[])
    assert runner.expect("error", context="load_history")["category"] == "business"


WAITS = {
    "in a question": "def agent(t, c):\n  c.progress('in')\n  c.ask('?')",
    "in an approval": "def agent(t, c):\n  c.progress('in')\n  c.approve('x', {})",
    "asleep": "def agent(t, c):\n  c.progress('in')\n  c.sleep(600)",
    "between steps": "def agent(t, c):\n  while True: c.next_step()",
    "in a tool": "def agent(t, c):\n  with c.tool('x'):\n    c.progress('in')\n    c.sleep(600)",
    "yielding": "def agent(t, c):\n  while True: yield 'x'",
    "in an async question": "async def agent(t, c):\n  c.progress('in')\n  await c.ask('?')",
    "async": "import asyncio\nasync def agent(t, c):\n  c.progress('in')\n  await asyncio.sleep(600)",
    "async yielding": (
        "import asyncio\nasync def agent(t, c):\n  while True:\n    yield 'x'\n    await asyncio.sleep(0)"
    ),
    "in a child": (
        "import subprocess\ndef agent(t, c):\n  p = subprocess.Popen(['sleep', '600'])\n  c.on_abort(p.kill)\n"
        "  c.progress('in')\n  p.wait()"
    ),
}


@pytest.mark.parametrize("where", WAITS)
def test_abort(start: Start, where: str) -> None:
    source = WAITS[where].replace("agent(t, c):", "agent(t, c):\n  if t.text == 'again': return\n")
    if "yield" in where:
        source = WAITS[where].replace("while True", "while t.text != 'again'")
    runner = start(source + "\nrun(agent)")
    runner.send("user_message", text="go")
    runner.expect("turn_start" if where == "between steps" else "turn_progress")
    runner.send("abort")
    complete = runner.expect("run_complete", seconds=5)
    assert complete["exitReason"]["result"] == "ABORTED"
    assert runner.run("again")[-1]["exitReason"]["result"] == "CURRENT_TASK_DONE"
    assert "error" not in kinds(runner.events)


def test_abort_cleans_up_in_the_agent(start: Start, tmp_path: Path) -> None:
    runner = start(
        f"""
        def agent(task, ctx):
            try:
                while True:
                    yield "x"
            except Exception:
                yield "an abort is no Exception"
            finally:
                open({str(tmp_path / "cleaned")!r}, "w").close()
        run(agent)
        """
    )
    runner.send("user_message", text="go")
    runner.expect("turn_progress")
    runner.send("abort")
    runner.expect("run_complete")
    assert (tmp_path / "cleaned").exists()


def test_an_agent_that_does_not_stop_holds_up_the_next_message(start: Start, tmp_path: Path) -> None:
    runner = start(
        f"""
        import pathlib, time
        def agent(task, ctx):
            ctx.progress(task.text)
            while task.text == "stubborn" and not pathlib.Path({str(tmp_path / "go")!r}).exists():
                time.sleep(0.01)
        run(agent)
        """
    )
    runner.send("user_message", text="stubborn")
    runner.expect("turn_progress")
    runner.send("abort")
    assert runner.expect("error", context="abort")["severity"] == "warning"
    assert runner.expect("run_complete")["exitReason"]["result"] == "ABORTED"
    # Stopped while it is queued: it never begins.
    runner.send_raw(b'{"kind":"user_message","text":"queued"}\n{"kind":"abort"}\n')
    assert runner.expect("run_complete", seconds=5)["totalTurns"] == 0
    runner.send("user_message", text="next")
    (tmp_path / "go").touch()
    runner.expect("turn_progress", delta="next")
    runner.expect("run_complete")
    assert "queued" not in streamed(runner.events)


def test_an_exception_ends_the_run(start: Start) -> None:
    runner = start("def agent(task, ctx):\n  yield 'half'\n  raise ValueError('broken\\nbadly')\nrun(agent)")
    events = runner.run("go")
    assert kinds(events) == ["turn_start", "turn_progress", "error", "run_complete"]
    error = events[-2]
    assert error["message"] == "ValueError: broken badly" and "agent0.py" in error["traceback"]
    assert error["category"] == "runtime" and error["severity"] == "error" and error["retryable"] is True
    assert events[-1]["exitReason"]["result"] == "EXITED"
    assert "error" in kinds(runner.run("again")), "and the runner goes on"


def test_an_agent_says_how_its_error_is_reported(start: Start) -> None:
    runner = start("def agent(task, ctx):\n  raise AgentError('no key', hint='check_llm_config')\nrun(agent)")
    error = runner.run("go")[-2]
    assert error["hint"] == "check_llm_config" and error["context"] == "user_message" and "traceback" not in error


def test_an_agent_that_exits_ends_its_run_only(start: Start) -> None:
    runner = start("import sys\ndef agent(task, ctx):\n  sys.exit(3)\nrun(agent)")
    assert "SystemExit" in runner.run("go")[-2]["message"]
    runner.run("again")


def test_side_questions(start: Start) -> None:
    runner = start(
        """
        def agent(task, ctx):
            ctx.ask("wait")
        def aside(question):
            if question == "fail":
                raise ValueError("no")
            return f"about {question}"
        run(agent, side_question=aside)
        """
    )
    runner.send("user_message", text="go")
    runner.expect("ask_user")
    runner.send("user_message", text="  /btw\twhat?")
    assert runner.expect("system_message") | {"timestamp": ""} == {
        "kind": "system_message",
        "sessionId": "sess_test",
        "timestamp": "",
        "content": "about what?",
        "variant": "side_question",
    }
    runner.send("user_message", text="/btw fail")
    assert runner.expect("error")["severity"] == "warning"
    runner.send("ask_user_response", text="ok")
    runner.expect("run_complete")


def test_what_an_agent_cannot_do_is_refused(start: Start) -> None:
    runner = start("run(lambda task, ctx: None)")
    wanted: dict[str, dict[str, Any]] = {"reinject_tools": {}, "attach_pet": {"port": 1}, "set_llm": {"llmIndex": 0}}
    for kind, fields in wanted.items():
        runner.send(kind, **fields)
        assert runner.expect("error", context=kind)["category"] == "business"
    runner.send("user_message", text="/btw what?")
    assert runner.expect("error")["category"] == "business"
    assert "turn_start" not in kinds(runner.events)


def test_lines_that_are_no_commands(start: Start) -> None:
    runner = start("run(lambda task, ctx: task.text)")
    for line in (b"nonsense", b"[]", b'{"kind":5}', b'{"kind":"user_message"}', b'{"kind":"user_message","text":7}'):
        runner.send_raw(line + b"\n")
        error = runner.expect("error", context="stdin")
        assert error["category"] == "bridge" and error["severity"] == "error"
    runner.send("fly", speed=3)
    assert runner.expect("error", context="stdin")["severity"] == "warning"
    runner.send_raw(b"[" * 100_000 + b"\n")
    runner.expect("error", context="stdin")
    runner.send_raw(b"\n\r\n" + b'{"kind":"user_message","text":"\xff bytes","new":1}\r\n')
    assert runner.expect("run_complete")["finalContent"] == "\ufffd bytes"


def test_a_line_that_is_too_long(start: Start) -> None:
    runner = start("run(lambda task, ctx: str(len(task.text)))")
    runner.send("user_message", text="x" * (MAX_LINE + 10))
    assert "too long" in runner.expect("error", context="stdin")["message"]
    runner.send("user_message", text="x" * (MAX_LINE - 100))
    assert runner.expect("run_complete")["finalContent"] == str(MAX_LINE - 100)


def test_what_an_agent_prints_and_reads_is_not_the_protocol(start: Start) -> None:
    runner = start(
        """
        import os, subprocess, sys
        def agent(task, ctx):
            print("from the agent")
            os.system("echo from a child; cat")
            os.write(1, b"from the descriptor\\n")
            return repr(sys.stdin.read())
        run(agent)
        """
    )
    assert runner.run("go")[-1]["finalContent"] == "''"
    assert all(text in runner.stderr for text in ("from the agent", "from a child", "from the descriptor"))


def test_shutdown_ends_what_the_agent_started(start: Start, tmp_path: Path) -> None:
    source = f"""
        import subprocess, time
        def agent(task, ctx):
            child = subprocess.Popen(["sh", "-c", "sleep 600 & echo $! > {tmp_path / "pid"}; wait"])
            ctx.ask("?")
        run(agent)
    """
    ways: dict[str, Callable[[RunnerProcess], None]] = {
        "shutdown": lambda runner: runner.send("shutdown"),
        "eof": lambda runner: runner.close_stdin(),
        "signal": lambda runner: runner.process.send_signal(signal.SIGTERM),
    }
    for way in ways.values():
        runner = start(source)
        runner.send("user_message", text="go")
        runner.expect("ask_user")
        pid = tmp_path / "pid"
        wait_until(lambda pid=pid: pid.exists() and pid.read_text().strip(), what="the child's start")
        child = int(pid.read_text())
        way(runner)
        assert runner.wait(5) == 0 and runner.events[-1]["exitReason"]["result"] == "ABORTED"
        wait_until(lambda child=child: process_gone(child), what="the child's end")
        pid.unlink()


def test_the_end_of_the_parent(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("from galley.runner import run\nrun(lambda task, ctx: None)")
    parent = subprocess.Popen(["sleep", "600"])
    runner = RunnerProcess([sys.executable, str(script)], {"PYTHONPATH": str(TREE)}, core_pid=parent.pid)
    runner.expect("ready")
    parent.kill()
    parent.wait()
    assert runner.wait(5) == 0
    runner.close()


@pytest.mark.parametrize("way", ["shutdown", "eof"])
def test_an_end_while_nobody_reads(tmp_path: Path, way: str) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "from galley.runner import run\ndef agent(task, ctx):\n  while True: yield 'x' * 10_000\nrun(agent)"
    )
    command = [sys.executable, str(script)]
    environment = {"PYTHONPATH": str(TREE), "PATH": "/usr/bin"}
    runner = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert runner.stdin is not None and runner.stdout is not None
    with runner:
        runner.stdin.write(b'{"kind":"user_message","text":"go"}\n')
        runner.stdin.flush()
        wait_until(lambda: waiting_bytes(runner.stdout) > 60_000, what="a full pipe")
        runner.stdin.write(b'{"kind":"abort"}\n')
        runner.stdin.flush()
        if way == "shutdown":
            runner.stdin.write(b'{"kind":"shutdown"}\n')
            runner.stdin.flush()
        else:
            runner.stdin.close()
        assert runner.wait(4) == 0


def waiting_bytes(pipe: Any) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)


def test_a_start_that_fails(start: Start) -> None:
    runner = start(
        """
        class Broken(Agent):
            def start(self, host):
                raise StartError("no_disk", "there is no disk", exit_code=9)
        serve(Broken())
        """,
        wait=False,
    )
    error = runner.expect("error")
    assert error["cause"] == "no_disk" and error["category"] == "bridge" and runner.wait() == 9
    assert "no_disk: there is no disk" in runner.stderr


def test_events_are_always_lines_of_json() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    event = {"a": float("nan"), "b": "\ud800", "c": object(), "d": cycle, "e": {1: {2}}, "f": b"x"}
    line = encode(event)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    read = json.loads(line.decode("utf-8"))
    assert read["a"] is None and read["b"] == "?" and read["e"] == {"1": [2]}
    assert len(encode({"text": "x" * (MAX_LINE + 1)})) < MAX_LINE


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("/btw", True), ("  /btw x", True), ("/btw\tx", True), ("/btwice", False), ("/BTW x", False), ("/btw\nx", False)],
)
def test_what_a_side_question_is(text: str, is_one: bool) -> None:
    assert is_side_question(text) is is_one


def test_the_example(tmp_path: Path) -> None:
    example = TREE.parents[1] / "examples" / "runner.py"
    assert len(example.read_text().splitlines()) < 60
    note = tmp_path / "note.txt"
    note.write_text("the cat and the dog and the bird")
    runner = RunnerProcess([sys.executable, str(example)])
    runner.send("user_message", text=str(note))
    runner.expect("ask_user")
    runner.send("ask_user_response", text="3")
    pending = runner.expect("tool_call_pending")
    assert pending["toolName"] == "file_write" and pending["args"]["path"] == f"{note}.words"
    runner.send("approval_response", approvalId=pending["approvalId"], decision="allow_once")
    answer = runner.expect("run_complete")["finalContent"]
    assert "note.txt has 8 words." in answer and "- the: 3" in answer and "Saved" in answer
    assert Path(f"{note}.words").read_text().startswith("- the: 3")
    runner.send("user_message", text=str(tmp_path / "missing"))
    assert "No such file" in runner.expect("error")["message"]
    runner.expect("run_complete")
    runner.close()
