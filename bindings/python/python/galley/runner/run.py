"""The state of one run: what is open, what was said, and the one end it gets."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from .agent import Model, Outcome, Question, Task
from .approvals import Approvals
from .arguments import Arguments
from .commands import HistoryMessage
from .errors import Aborted, ErrorReport
from .stdio import EventWriter
from .wire import RESULT_PREVIEW, args_preview, clip, now

Risk = Literal["low", "medium", "high"]
ToolStatus = Literal["success", "failed", "denied", "cancelled"]


@dataclass
class Session:
    """What outlives a run."""

    arguments: Arguments
    approvals: Approvals
    writer: EventWriter
    history: list[HistoryMessage] = field(default_factory=list)
    model: Model | None = None


@dataclass
class Call:
    """One tool call."""

    tool: str
    args: Mapping[str, Any]
    id: str = field(default_factory=lambda: f"tc_{secrets.token_hex(6)}")
    started: float = field(default_factory=time.monotonic)

    def elapsed_ms(self) -> int:
        """Milliseconds since it started."""
        return round((time.monotonic() - self.started) * 1000)


class Run:
    """One run. What it writes it writes under the writer's lock, which also guards its state, so that
    nothing of it follows its `run_complete`. What it waits for is guarded by a lock of its own, so that
    an abort gets through while a write is stuck."""

    def __init__(self, session: Session, task: Task) -> None:
        self.session = session
        self.task = task
        self.step = 0
        self.settled = False
        self.stopped = False
        self._changed = threading.Condition()
        self._on_stop: list[Callable[[], None]] = []
        self._asking = False
        self._answer: str | None = None
        self._streamed: list[str] = []
        self._open_calls: dict[str, Call] = {}
        self._calls: list[Mapping[str, Any]] = []
        self._results: list[Mapping[str, Any]] = []

    # Its life.

    def begin(self) -> bool:
        """Opens the first step, unless the run was stopped before."""
        with self.session.writer.lock:
            if not self.settled and not self.stopped:
                self._begin_step()
            return self.step > 0

    def stop(self) -> None:
        """Marks the run as stopped: from here on no answer counts, and the agent gets `Aborted` from
        whatever it does."""
        with self._changed:
            self.stopped = True

    def interrupt(self) -> None:
        """Ends what the agent of a stopped run waits in."""
        with self._changed:
            callbacks, self._on_stop = self._on_stop, []
        for callback in callbacks:
            try:
                callback()
            except Exception as error:
                self.write_late("error", **ErrorReport.of(error, "abort").fields())
        self.wake()

    def settle(self, end: Outcome | Question) -> str | None:
        """Ends the run, once: what is open is closed, and `run_complete` is its last event. Returns the
        final answer."""
        question = end if isinstance(end, Question) else None
        outcome = end.outcome if isinstance(end, Question) else end
        with self.session.writer.lock:
            if self.settled:
                return None
            self.settled = True
            for call in list(self._open_calls.values()):
                self._end_call(call, "cancelled", None, call.elapsed_ms())
            exit_reason = {"result": outcome.result, "data": outcome.data}
            content = outcome.content if outcome.content is not None else "".join(self._streamed) or None
            if outcome.ends_step and self.step:
                self._end_step(outcome.summary, outcome.response or content, exit_reason, outcome.telemetry)
            if question is not None:
                self._write("ask_user", question=question.text, candidates=list(question.candidates))
            if outcome.error is not None:
                self._write("error", **outcome.error.fields())
            final = content if outcome.ends_step else None
            self._write("run_complete", exitReason=exit_reason, finalContent=final, totalTurns=self.step)
            return final

    # What it says.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the writer's lock, for a run that is neither stopped nor over."""
        with self.session.writer.lock:
            self.check()
            yield

    def check(self) -> None:
        """Raises `Aborted` if the run is stopped or over."""
        if self.stopped or self.settled:
            raise Aborted

    def write(self, kind: str, /, **fields: Any) -> None:
        """Writes an event of the run."""
        with self.writing():
            self._write(kind, **fields)

    def write_late(self, kind: str, /, **fields: Any) -> None:
        """Writes an event of a run that may have been stopped, though not of one that is over."""
        with self.session.writer.lock:
            if not self.settled:
                self._write(kind, **fields)

    def progress(self, text: str, source: str) -> None:
        """Streams a piece of the reply."""
        if text:
            with self.writing():
                self._streamed.append(text)
                self._write("turn_progress", delta=text, source=source)

    def next_step(self, summary: str | None, response: str | None) -> None:
        """Ends the step and begins the next."""
        with self.writing():
            self._end_step(summary, response, None, None)
            self._begin_step()

    # Its tools.

    def start_call(self, call: Call) -> None:
        """Starts a tool call."""
        with self.writing():
            call.started = time.monotonic()
            self._open_calls[call.id] = call
            self._record(call)
            self._write(
                "tool_call_start",
                toolCallId=call.id,
                turnIndex=self.step,
                toolName=call.tool,
                args=call.args,
                argsPreview=args_preview(call.args),
            )

    def end_call(self, call: Call, status: ToolStatus, result: str | None) -> None:
        """Ends a tool call; what has ended already stays as it is."""
        with self.session.writer.lock:
            if not self.settled and call.id in self._open_calls:
                self._end_call(call, status, result, call.elapsed_ms())

    def approve(self, call: Call, risk: Risk, reason: str | None) -> bool:
        """Asks for a tool call, unless a rule or the mode says yes, and waits for the answer. A no is
        recorded as the call's end."""
        self.check()
        approvals = self.session.approvals
        if approvals.allows(call.tool):
            return True
        approval_id = approvals.open(call.tool)
        try:
            self.write(
                "tool_call_pending",
                approvalId=approval_id,
                turnIndex=self.step,
                toolName=call.tool,
                args=call.args,
                argsPreview=args_preview(call.args),
                riskLevel=risk,
                reason=reason,
            )
            self.wait(lambda: approvals.decided(approval_id))
            allowed = approvals.allowed(approval_id)
        finally:
            approvals.close(approval_id)
        if not allowed:
            with self.writing():
                self._record(call)
                self._end_call(call, "denied", "The user denied this action", None)
        return allowed

    # What it waits for.

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        """Waits until `until` is true, for `seconds` at most.

        Raises:
            Aborted: the run was stopped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self.settled or until(), seconds)
        self.check()

    def wake(self) -> None:
        """Lets whoever waits look again."""
        with self._changed:
            self._changed.notify_all()

    def ask(self, question: str, candidates: Sequence[str]) -> str:
        """Asks the user and waits for the answer."""
        with self.writing():
            with self._changed:
                self._answer, self._asking = None, True
            self._write("ask_user", question=question, candidates=list(candidates), blocking=True)
        self.wait(lambda: self._answer is not None)
        return self._answer or ""

    def answer(self, text: str) -> bool:
        """Takes the answer to a question of `ask`; false if none is open."""
        with self._changed:
            if not self._asking or self.stopped:
                return False
            self._asking, self._answer = False, text
            self._changed.notify_all()
            return True

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the run is stopped, at once if it has been."""
        with self._changed:
            if not self.stopped:
                self._on_stop.append(callback)
                return
        callback()

    # Events, under the writer's lock.

    def _write(self, kind: str, /, **fields: Any) -> None:
        self.session.writer.write(kind, fields, now())

    def _begin_step(self) -> None:
        self.step += 1
        self._write("turn_start", turnIndex=self.step)

    def _end_step(
        self,
        summary: str | None,
        response: str | None,
        exit_reason: Mapping[str, Any] | None,
        telemetry: Mapping[str, Any] | None,
    ) -> None:
        self._write(
            "turn_end",
            turnIndex=self.step,
            summary=summary,
            toolCalls=self._calls,
            toolResults=self._results,
            exitReason=exit_reason,
            responseContent=response if response is not None else "".join(self._streamed) or None,
            telemetry=telemetry,
        )
        self._streamed, self._calls, self._results = [], [], []

    def _record(self, call: Call) -> None:
        self._calls.append({"id": call.id, "toolName": call.tool, "args": call.args})

    def _end_call(self, call: Call, status: ToolStatus, result: str | None, elapsed_ms: int | None) -> None:
        self._open_calls.pop(call.id, None)
        if result is not None:
            self._results.append({"toolUseId": call.id, "content": result})
        self._write(
            "tool_call_end",
            toolCallId=call.id,
            status=status,
            resultPreview=None if result is None else clip(result, RESULT_PREVIEW),
            **({} if elapsed_ms is None else {"elapsedMs": elapsed_ms}),
        )
