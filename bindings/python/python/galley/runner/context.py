"""A run as the agent sees it: what it can say, ask and wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from .agent import Model, Task
from .arguments import Arguments
from .commands import HistoryMessage
from .errors import Aborted, ErrorReport
from .run import Call, Risk, Run, ToolStatus
from .wire import as_text


class Told:
    """What every agent has of its run. Every method is safe from any thread, and raises `Aborted` once
    the run was stopped."""

    def __init__(self, run: Run) -> None:
        #: The run itself, for bridges to other agents, where the methods here do not fit.
        self.run = run

    @property
    def task(self) -> Task:
        """What is to be done."""
        return self.run.task

    @property
    def arguments(self) -> Arguments:
        """What the runner was started with; `workspace_root` is the user's project folder, if any."""
        return self.run.session.arguments

    @property
    def session_id(self) -> str:
        """The session in Galley."""
        return self.arguments.session_id

    @property
    def history(self) -> Sequence[HistoryMessage]:
        """The conversation before this task, oldest first."""
        return self.run.session.history

    @property
    def model(self) -> Model | None:
        """The model in use, of those the agent listed."""
        return self.run.session.model

    @property
    def step(self) -> int:
        """The number of the current step, from 1."""
        return self.run.step

    @property
    def aborted(self) -> bool:
        """Whether the run was stopped."""
        return self.run.stopped

    @property
    def settled(self) -> bool:
        """Whether the run is over; nothing of it is written any more."""
        return self.run.settled

    def progress(self, text: str, source: str = "workbench") -> None:
        """Streams a piece of text; the pieces of a step are its reply."""
        self.run.progress(text, source)

    def next_step(self, summary: str | None = None, response: str | None = None) -> None:
        """Ends the current step and begins the next. `response` is the step's whole reply; what was
        streamed, if absent."""
        self.run.next_step(summary, response)

    def system_message(self, content: str) -> None:
        """Says something that is not the agent's reply, as Markdown."""
        self.run.write("system_message", content=content, variant="system")

    def report(self, report: ErrorReport) -> None:
        """Reports something that went wrong; the run goes on."""
        self.run.write("error", **report.fields())

    def emit(self, kind: str, /, **fields: Any) -> None:
        """Writes an event of a kind of the agent's own."""
        self.run.write(kind, **fields)

    def tool(self, name: str, /, **args: Any) -> ToolCall:
        """A tool call, as a context manager: it starts on entry and ends on exit. It does not ask; see
        `approve`."""
        return ToolCall(self.run, Call(name, args))

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Calls `callback`, from another thread, when the run is stopped: to end what cannot notice it
        by itself, as a child process."""
        self.run.on_stop(callback)


class Context(Told):
    """One run, for an agent that is a plain function or generator."""

    def approve(self, tool: str, args: Mapping[str, Any], risk: Risk = "medium", reason: str | None = None) -> bool:
        """Whether the user lets `tool` run with `args`: asks, unless a rule or the session's mode says
        yes. Waits as long as it takes. A no is recorded as a denied tool call."""
        return self.run.approve(Call(tool, args), risk, reason)

    def ask(self, question: str, candidates: Sequence[str] = ()) -> str:
        """Asks the user and waits for the answer, as long as it takes; the run stays open."""
        return self.run.ask(question, candidates)

    def sleep(self, seconds: float) -> None:
        """Waits, unless the run is stopped meanwhile."""
        self.run.wait(lambda: False, seconds)


class AsyncContext(Told):
    """One run, for an agent that is an async function or generator. It is cancelled when the run is
    stopped."""

    async def approve(
        self, tool: str, args: Mapping[str, Any], risk: Risk = "medium", reason: str | None = None
    ) -> bool:
        """As `Context.approve`, awaited."""
        return await asyncio.to_thread(self.run.approve, Call(tool, args), risk, reason)

    async def ask(self, question: str, candidates: Sequence[str] = ()) -> str:
        """As `Context.ask`, awaited."""
        return await asyncio.to_thread(self.run.ask, question, candidates)


class ToolCall:
    """A tool call that runs: `with ctx.tool("count", path=path) as call: ...`.

    It ends as failed when its block raises or says so, as cancelled when the run is stopped, else as a
    success.
    """

    def __init__(self, run: Run, call: Call) -> None:
        self._run = run
        self._call = call
        self._result = ""
        self._status: ToolStatus = "success"

    def progress(self, text: str) -> None:
        """Says how it goes, in free words."""
        if text:
            self._run.write("tool_call_progress", toolCallId=self._call.id, text=text)

    def result(self, value: Any, status: ToolStatus = "success") -> None:
        """What came of it: text, or anything that can be JSON."""
        self._result, self._status = as_text(value), status

    def __enter__(self) -> ToolCall:
        self._run.start_call(self._call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._run.end_call(self._call, self._status, self._result)
        elif isinstance(error, (Aborted, asyncio.CancelledError, GeneratorExit)):
            self._run.end_call(self._call, "cancelled", None)
        else:
            self._run.end_call(self._call, "failed", f"{type(error).__name__}: {error}")
