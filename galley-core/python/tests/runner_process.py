"""A runner as Galley starts it: a process spoken to through its pipes, and the rules its events keep."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

TREE = Path(__file__).parents[1]

Event = dict[str, Any]

_SCHEMA = json.loads((TREE.parents[1] / "schema" / "galley-v1.json").read_text(encoding="utf-8"))
_EVENTS = Draft202012Validator({"$ref": "#/$defs/Event", "$defs": _SCHEMA["$defs"]})


class RunnerProcess:
    """A started runner. Every line it writes must be an event of the protocol, in the right order; that
    is checked when it is closed."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, *, core_pid: int | None = None
    ) -> None:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GALLEY_", "GENERICAGENT_"))
        }
        environment |= {
            "PYTHONIOENCODING": "utf-8",
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "GALLEY_CORE_PID": str(core_pid or os.getpid()),
            "GALLEY_SESSION_ID": "sess_test",
            **(env or {}),
        }
        self.process = subprocess.Popen(
            [*command, "--session-id", "sess_test"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.events: list[Event] = []
        self._seen = 0
        self._lines: queue.Queue[Event | None] = queue.Queue()
        self._stderr: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def stderr(self) -> str:
        return "".join(self._stderr)

    def send(self, kind: str, **fields: Any) -> None:
        self.send_raw(json.dumps({"kind": kind, **fields}).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def expect(self, kind: str, seconds: float = 15, **fields: Any) -> Event:
        """The next event of this kind, with these fields."""
        deadline = time.monotonic() + seconds
        while True:
            while self._seen < len(self.events):
                seen = self.events[self._seen]
                self._seen += 1
                if seen["kind"] == kind and all(seen.get(name) == value for name, value in fields.items()):
                    return seen
            try:
                event = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kind} {fields} within {seconds} s\n{self._told()}") from None
            if event is None:
                self._lines.put(None)
                raise AssertionError(f"the runner ended without {kind} {fields}\n{self._told()}")
            self.events.append(event)

    def run(self, text: str, **fields: Any) -> list[Event]:
        """Sends a message and returns the events of its run, once it is complete."""
        start = len(self.events)
        self.send("user_message", text=text, **fields)
        self.expect("run_complete")
        return self.events[start:]

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self, seconds: float = 10) -> int:
        """Waits for the runner's end; all it wrote is in `events` then."""
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        while (event := self._lines.get()) is not None:
            self.events.append(event)
        self._lines.put(None)
        return code

    def close(self) -> None:
        """Ends the runner, and checks the order of all it said."""
        if self.process.poll() is None:
            try:
                self.send("shutdown")
                assert self.wait(5) == 0, self._told()
            finally:
                if self.process.poll() is None:
                    self.process.kill()
                    self.process.wait()
        else:
            self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        check_order(self.events)
        for event in self.events:
            _EVENTS.validate(event)

    def _read_events(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._stderr.append(line.decode("utf-8", "replace"))

    def _told(self) -> str:
        events = "\n".join(json.dumps(event, ensure_ascii=False)[:400] for event in self.events[-40:])
        return f"{events}\nstderr: {self.stderr[-2000:]}"


def kinds(events: Sequence[Event]) -> list[str]:
    """The events' kinds, streamed text joined to one."""
    found: list[str] = []
    for event in events:
        if not (event["kind"] == "turn_progress" and found[-1:] == ["turn_progress"]):
            found.append(event["kind"])
    return found


def streamed(events: Sequence[Event]) -> str:
    return "".join(event["delta"] for event in events if event["kind"] == "turn_progress")


def check_order(events: Sequence[Event]) -> None:
    """What the protocol says about the order of events, for a whole life of a runner."""
    step: int | None = None
    ended = True
    calls: set[str] = set()
    pending: set[str] = set()
    ready = False
    for event in events:
        kind = event["kind"]
        assert event["sessionId"] == "sess_test", event
        assert event["timestamp"], event
        if kind == "ready":
            assert not ready and event is events[0], "ready comes first, and once"
            ready = True
        elif kind == "turn_start":
            assert event["turnIndex"] == (1 if step is None else step + 1), f"steps are counted from 1: {event}"
            assert ended, f"a step begins when the last has ended: {event}"
            step, ended = event["turnIndex"], False
        elif kind == "turn_progress":
            assert step is not None and not ended, f"text belongs to a step: {event}"
        elif kind == "turn_end":
            assert event["turnIndex"] == step and not ended, f"a step ends once: {event}"
            ended = True
        elif kind == "tool_call_pending":
            assert step is not None and not ended and event["approvalId"] not in pending, event
            pending.add(event["approvalId"])
        elif kind == "tool_call_start":
            assert step is not None and not ended and event["toolCallId"] not in calls, event
            calls.add(event["toolCallId"])
        elif kind == "tool_call_end":
            assert event["toolCallId"] in calls or event["status"] == "denied", f"a call ends once: {event}"
            calls.discard(event["toolCallId"])
        elif kind == "run_complete":
            assert not calls, f"calls end before their run: {calls}"
            assert event["totalTurns"] == (step or 0), event
            step, ended = None, True


def process_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if sys.platform == "linux":
            return True
        return _gone_by_signal(pid)
    return stat.rpartition(")")[2].split()[0] in "ZX"


def _gone_by_signal(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except OSError:
        return True
    return False


def wait_until(condition: Any, seconds: float = 10, what: str = "the condition") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(0.01)
