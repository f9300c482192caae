"""One task in GA: what its hooks saw, and how it ended.

Everything here happens on GA's worker thread unless it says otherwise, and nothing raises there: GA would
take it for a fault of its own.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from galley.runner import Aborted, ErrorReport, Outcome, Question
from galley.runner.run import Call, Run

from . import failures

_HEADER = re.compile(r"\s*\*\*LLM Running \(Turn (\d+)\) \.\.\.\*\*\s*")
#: What GA puts around a tool's output in its text: the call is told by events.
_DECORATION = re.compile(r"\s*(`{5}\s*|🛠️ .*)", re.DOTALL)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_NOT_ANSWER = re.compile(r"<(thinking|summary|tool_use|file_content)>.*?</\1>", re.DOTALL)
_SUMMARY_LIMIT = 100


@dataclass
class Reply:
    """The model's reply in one turn."""

    content: str = ""
    thinking: str = ""
    summary: str | None = None
    called_tools: bool = False
    questions: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def failure(self) -> str | None:
        """GA's error message, if that is what the reply is."""
        return failures.failure_in(self.content, self.called_tools)

    def whole(self) -> str | None:
        """Everything, with the thinking in its tag."""
        if self.failure:
            return None
        if self.thinking and "<thinking>" not in self.content:
            return f"<thinking>{self.thinking}</thinking>\n{self.content}"
        return self.content or None

    def answer(self) -> str | None:
        """What is for the user."""
        return _NOT_ANSWER.sub("", self.content).strip() or self.summary or None


class GaRun:
    """What is known of one task."""

    def __init__(self, run: Run) -> None:
        self.run = run
        #: Set when GA has said its last word on it.
        self.finished = threading.Event()
        self.looping = False
        self.exit: Mapping[str, Any] | None = None
        self.error: BaseException | None = None
        self._reply = Reply()
        self._open_call: Call | None = None
        self._dispatching = False
        self._muted = False

    # The loop.

    def enter(self) -> bool:
        """GA begins; false when it should not, because the run was stopped before."""
        self.looping = True
        return not self.run.stopped

    def leave(self, exit_reason: Any, error: BaseException | None = None) -> None:
        """GA's loop ended."""
        self.looping = False
        self.exit = exit_reason if isinstance(exit_reason, Mapping) else None
        self.error = error

    def said(self, chunk: Any) -> None:
        """GA's loop yielded a piece of text, or in newer trees a word about its turn."""
        with suppress(Aborted):
            if isinstance(chunk, Mapping):
                self._turn(chunk.get("turn"))
                return
            text = str(chunk)
            header = _HEADER.search(text)
            if header:
                self._turn(int(header.group(1)))
                text = _HEADER.sub("", text)
            if self._dispatching or _DECORATION.fullmatch(text):
                return
            self._muted = self._muted or failures.begins_failure(text)
            if not self._muted:
                self.run.progress(text, "workbench")

    def _turn(self, number: Any) -> None:
        if isinstance(number, int) and number > max(self.run.step, 1):
            self.run.next_step(self._reply.summary, self._reply.whole())
            self._reply = Reply()
            self._muted = False

    def turn_ended(self, summary: Any) -> None:
        """GA's own hook told of the end of a turn; its summary counts before ours."""
        if isinstance(summary, str) and summary.strip() and not self._reply.failure:
            self._reply.summary = summary.strip()

    # Tools.

    def replied(self, response: Any) -> None:
        """The model's reply is complete; GA dispatches what it asks for."""
        reply = self._reply
        reply.content = str(getattr(response, "content", None) or "")
        reply.thinking = str(getattr(response, "thinking", None) or "")
        calls = list(getattr(response, "tool_calls", None) or [])
        reply.called_tools = bool(calls)
        reply.questions = [args for name, args in map(_named, calls) if name == "ask_user"]
        found = _SUMMARY.search(reply.content)
        if found and reply.summary is None:
            reply.summary = " ".join(found.group(1).split())[:_SUMMARY_LIMIT]

    @property
    def reply_text(self) -> str:
        """The reply of this turn, as GA's tools see it."""
        return self._reply.content

    @contextmanager
    def dispatching(self) -> Iterator[None]:
        """While this is open, what the loop yields is a tool's."""
        self._dispatching = True
        try:
            yield
        finally:
            self._dispatching = False

    def call_started(self, call: Call) -> None:
        """A tool begins to run."""
        self._open_call = call
        with suppress(Aborted):
            self.run.start_call(call)

    def call_said(self, text: Any) -> None:
        """The running tool says something; from any thread."""
        call = self._open_call
        if call is not None and str(text).strip():
            with suppress(Aborted):
                self.run.write("tool_call_progress", toolCallId=call.id, text=str(text))

    def call_ended(self, call: Call, outcome: Any) -> None:
        """A tool returned GA's `StepOutcome`."""
        self._open_call = None
        data, prompt = getattr(outcome, "data", None), getattr(outcome, "next_prompt", None)
        if data is None and isinstance(prompt, str):
            failed, result = prompt.startswith("未知工具"), prompt.strip()
        else:
            failed, result = _failed(data), _result(data)
        self.run.end_call(call, "failed" if failed else "success", result)

    def call_raised(self, call: Call, error: BaseException) -> None:
        """A tool raised."""
        self._open_call = None
        self.run.end_call(call, "failed", f"{type(error).__name__}: {error}")

    # The end, on the runner's thread.

    def end(self, last_word: str, secrets: list[str], telemetry: Mapping[str, Any]) -> Outcome | Question:
        """How the task ended, from all that was seen of it."""
        if self.error is not None:
            return _failed_run(failures.raised(self.error, secrets))
        if self._reply.failure:
            return _failed_run(failures.report(self._reply.failure, secrets))
        if self.exit is None:
            lines = [line for line in last_word.splitlines() if line.strip("` ")] or ["it said nothing"]
            return _failed_run(failures.report(f"GenericAgent gave up: {lines[-1]}", secrets))
        result, data = str(self.exit.get("result")), self.exit.get("data")
        whole, summary = self._reply.whole(), self._reply.summary
        question = _question_in(data)
        if question is not None:
            text, candidates = _merged(question, self._reply.questions)
            asking = Outcome(self._reply.answer(), "EXITED", data, summary, whole, telemetry)
            return Question(text, candidates, asking)
        data = data if isinstance(data, (dict, list, str, int, float)) and result != "CURRENT_TASK_DONE" else None
        return Outcome(self._reply.answer(), result, data, summary, whole, telemetry)


def _failed_run(report: ErrorReport) -> Outcome:
    return Outcome(result="EXITED", ends_step=False, error=report)


def _named(call: Any) -> tuple[str, Mapping[str, Any]]:
    """A tool call of the model's: its name and arguments."""
    function = getattr(call, "function", None)
    try:
        args = json.loads(getattr(function, "arguments", None) or "{}")
    except (TypeError, ValueError):
        args = {}
    return str(getattr(function, "name", "")), args if isinstance(args, Mapping) else {}


def _failed(data: Any) -> bool:
    if isinstance(data, Mapping):
        return data.get("status") == "error"
    return isinstance(data, str) and data.startswith(("Error:", "[Error]"))


def _result(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, default=str) if isinstance(data, (dict, list)) else str(data)


def _question_in(data: Any) -> Mapping[str, Any] | None:
    if isinstance(data, Mapping) and data.get("intent") == "HUMAN_INTERVENTION":
        question = data.get("data")
        return question if isinstance(question, Mapping) else {}
    return None


def _merged(asked: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The question and its candidates. Models split one question into several calls with one candidate
    each, of which GA serves the first."""
    question = str(asked.get("question") or "")
    candidates: list[str] = []
    same = [call.get("candidates") for call in calls if call.get("question") == question]
    for some in [asked.get("candidates"), *same]:
        for candidate in some if isinstance(some, list) else [some]:
            if candidate is not None and str(candidate) not in candidates:
                candidates.append(str(candidate))
    return question, candidates
