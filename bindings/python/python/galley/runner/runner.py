"""The runner: reads commands, drives the agent, and ends with everything it started."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from . import processes
from .agent import Agent, Outcome, Profile, Question, Result, Task
from .approvals import Approvals
from .arguments import Arguments
from .commands import (
    Abort,
    ApprovalResponse,
    AskUserResponse,
    AttachPet,
    BadCommand,
    Command,
    DetachPet,
    HistoryMessage,
    LoadHistory,
    ReinjectTools,
    SetApprovalRules,
    SetLlm,
    SetYoloMode,
    Shutdown,
    UnknownCommand,
    UserMessage,
    parse,
)
from .context import Context
from .errors import Aborted, AgentError, ErrorReport, Refused, StartError
from .run import Run, Session
from .stdio import EventWriter, LineReader, LineTooLong, claim
from .wire import PROTOCOL_VERSION, is_side_question, now

#: How long a stopped agent may take to stop before its run is ended without it, in seconds.
ABORT_GRACE = 3.0
#: How long `shutdown` lets the open run go on; Galley itself waits two seconds in all.
FINISH_GRACE = 1.0
#: How long a run that was stopped at the end may take to stop, and then whatever closes.
STOP_GRACE = 0.4
#: Side questions answered at the same time.
SIDE_QUESTIONS = 4

_ABORTED = Outcome(result="ABORTED", ends_step=False)


class Runner:
    """Serves one session. Commands are handled on the thread that reads them, runs on one of their own."""

    def __init__(self, agent: Agent, arguments: Arguments, writer: EventWriter) -> None:
        self._agent = agent
        self._session = Session(arguments, Approvals(), writer)
        self._profile = Profile()
        self._run: Run | None = None
        self._begun = False
        self._work = threading.Condition()
        self._next: Run | None = None
        self._side_questions = threading.Semaphore(SIDE_QUESTIONS)
        self._ending = threading.Lock()

    # What the agent sees of it (`Host`).

    @property
    def arguments(self) -> Arguments:
        """What the runner was started with."""
        return self._session.arguments

    def emit(self, kind: str, /, **fields: Any) -> None:
        """Writes an event that belongs to no run."""
        self._session.writer.write(kind, fields, now())

    def report(self, report: ErrorReport) -> None:
        """Writes an `error` event."""
        self.emit("error", **report.fields())

    # Its life.

    def serve(self, commands: LineReader) -> NoReturn:
        """Starts the agent, handles commands until `shutdown` or the end of the input, and ends the
        process."""
        # Signals reach this thread even while it waits for a command.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._terminated)
        processes.watch_parent(lambda: self._end(finish=False))
        try:
            self._profile = self._agent.start(self)
        except StartError as error:
            self._fail(error)
        except Exception as error:
            self._fail(StartError("start_failed", f"{type(error).__name__}: {error}"), error)
        self._say_ready()
        threading.Thread(target=self._work_off, name="galley-agent", daemon=True).start()
        for line in commands:
            if self._take(line):
                self._end(finish=True)
        self._end(finish=False)

    def _say_ready(self) -> None:
        profile = self._profile
        if profile.models:
            self._session.model = profile.models[profile.current]
        self.emit(
            "ready",
            protocolVersion=PROTOCOL_VERSION,
            pid=os.getpid(),
            cwd=profile.cwd or str(Path.cwd()),
            llmName=self._session.model.name if self._session.model else None,
            availableLLMs=[
                {
                    "index": index,
                    "name": model.name,
                    "displayName": model.shown(),
                    "isCurrent": index == profile.current,
                }
                for index, model in enumerate(profile.models)
            ],
            capabilities=sorted(profile.capabilities),
            **profile.extra,
        )
        for notice in profile.notices:
            self.report(notice)

    def _fail(self, error: StartError, origin: Exception | None = None) -> NoReturn:
        """Says why there is no `ready`, to Galley and on standard error, and ends the process."""
        details = ErrorReport.of(origin, "startup").traceback if origin else None
        self.report(
            ErrorReport(
                str(error),
                category="bridge",
                hint=error.hint,
                context="startup",
                traceback=details,
                extra={"cause": error.cause},
            )
        )
        print(f"{details or ''}{error.cause}: {error}", file=sys.stderr, flush=True)
        processes.end_descendants()
        os._exit(error.exit_code)

    def _terminated(self, _number: int, _frame: FrameType | None) -> None:
        # This thread may be the one that ends the process already.
        if not self._ending.locked():
            self._end(finish=False)

    def _end(self, *, finish: bool) -> NoReturn:
        """Ends the process, with all it started. With `finish` an open run may end by itself first."""
        if not self._ending.acquire(blocking=False):
            threading.Event().wait()  # Another thread ends the process.
        run = self._run
        if run is not None and not run.settled:
            if finish:
                _wait_for(lambda: run.settled, FINISH_GRACE)
            run.stop()
            threading.Thread(target=run.interrupt, daemon=True).start()
            _wait_for(lambda: run.settled, STOP_GRACE)
        closing = threading.Thread(target=self._close, args=(run,), daemon=True)
        closing.start()
        closing.join(STOP_GRACE)
        processes.end_descendants()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(0)

    def _close(self, run: Run | None) -> None:
        if run is not None:
            run.settle(_ABORTED)
        with suppress(Exception):
            self._agent.close()

    # Commands.

    def _take(self, line: bytes | LineTooLong) -> bool:
        """Handles one line; whether it asks for the end."""
        try:
            if isinstance(line, LineTooLong):
                raise BadCommand(str(line))
            command = parse(line)
        except UnknownCommand as error:
            self.report(ErrorReport(str(error), category="bridge", severity="warning", context="stdin"))
            return False
        except BadCommand as error:
            self.report(ErrorReport(f"not a command: {error}", category="bridge", context="stdin"))
            return False
        try:
            return self._handle(command)
        except AgentError as error:
            self.report(ErrorReport.of(error, _name(command)))
        except Exception as error:
            report = ErrorReport.of(error, _name(command))
            self.report(
                ErrorReport(report.message, category="business", context=report.context, traceback=report.traceback)
            )
        return False

    def _handle(self, command: Command) -> bool:
        match command:
            case UserMessage(text) if is_side_question(text):
                self._answer_aside(text)
            case UserMessage(text, images):
                self._accept(Task(text, images))
            case AskUserResponse(text):
                if self._run is None or not self._run.answer(text):
                    self._accept(Task(text, answers=True))
            case ApprovalResponse(approval_id, decision):
                self._session.approvals.answer(approval_id, decision)
                if self._run is not None:
                    self._run.wake()
            case Abort():
                self._abort()
            case LoadHistory(messages):
                self._load_history(messages)
            case SetApprovalRules():
                self._session.approvals.set_rules(command)
            case SetYoloMode(enabled):
                self._session.approvals.set_automatic(enabled)
            case SetLlm(index):
                self._select_model(index)
            case ReinjectTools():
                self._refuse_while_running("the tool definitions were not put into the history")
                self.emit("tools_reinjected", blocksAdded=self._agent.reinject_tools())
            case AttachPet(port):
                self._agent.attach_pet(port)
            case DetachPet():
                self._agent.detach_pet()
                self.emit("pet_detached")
            case Shutdown():
                return True
        return False

    def _running(self) -> bool:
        return self._run is not None and not self._run.settled

    def _refuse_while_running(self, consequence: str) -> None:
        if self._running():
            raise Refused(f"a run is open; {consequence}")

    def _accept(self, task: Task) -> None:
        self._refuse_while_running("the message was dropped")
        self._begun = True
        self._run = Run(self._session, task)
        with self._work:
            self._next = self._run
            self._work.notify()

    def _abort(self) -> None:
        run = self._run
        if run is None or run.settled or run.stopped:
            return
        run.stop()
        # On a thread of its own: whatever the agent does to stop, commands are read.
        threading.Thread(target=self._stop, args=(run,), name="galley-abort", daemon=True).start()

    def _stop(self, run: Run) -> None:
        run.interrupt()
        if run.step and not _wait_for(lambda: run.settled, ABORT_GRACE):
            message = "the agent has not stopped yet; the next message waits until it has"
            run.write_late("error", **ErrorReport(message, severity="warning", context="abort").fields())
        run.settle(_ABORTED)

    def _load_history(self, messages: tuple[HistoryMessage, ...]) -> None:
        if self._begun:
            raise Refused("a history can only be loaded before the first message")
        self._agent.load_history(messages)
        self._session.history = list(messages)
        self.emit("history_loaded", messageCount=len(messages))

    def _select_model(self, index: int) -> None:
        self._refuse_while_running("the model was not changed")
        count = len(self._profile.models)
        if not 0 <= index < count:
            raise Refused(f"there is no model {index}; there are {count}")
        model = self._agent.select_model(index)
        self._session.model = model
        self.emit("llm_changed", index=index, name=model.name, displayName=model.shown())

    def _answer_aside(self, text: str) -> None:
        if not self._side_questions.acquire(blocking=False):
            raise Refused(f"{SIDE_QUESTIONS} side questions are being answered; ask again later")

        def answer() -> None:
            try:
                content = self._agent.side_question(text.lstrip()[len("/btw") :].strip())
                self.emit("system_message", content=content, variant="side_question")
            except Refused as error:
                self.report(ErrorReport.of(error, "side_question"))
            except Exception as error:
                # A warning, whatever it was: the run beside it has not failed.
                self.report(replace(ErrorReport.of(error, "side_question"), severity="warning"))
            finally:
                self._side_questions.release()

        threading.Thread(target=answer, name="galley-btw", daemon=True).start()

    # Runs.

    def _work_off(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._next is not None)
                run, self._next = self._next, None
            if run is not None and run.begin():
                self._perform(run)

    def _perform(self, run: Run) -> None:
        """Lets the agent do a run, and ends it whatever the agent does."""
        try:
            end = _end_of(self._agent.run(run.task, Context(run)))
        except Aborted:
            end = _ABORTED
        except BaseException as error:
            # BaseException: an agent that calls sys.exit ends its run, not this thread.
            end = Outcome(result="EXITED", ends_step=False, error=ErrorReport.of(error, "user_message"))
        answer = run.settle(_ABORTED if run.stopped else end)
        if answer is not None:
            self._session.history = [
                *self._session.history,
                HistoryMessage("user", run.task.text),
                HistoryMessage("assistant", answer),
            ]


def _end_of(result: Result) -> Outcome | Question:
    return result if isinstance(result, (Outcome, Question)) else Outcome(result)


def _name(command: Command) -> str:
    """A command's kind on the wire."""
    name = type(command).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def serve(agent: Agent, arguments: Arguments | None = None, *, output: str = "stderr") -> NoReturn:
    """Serves `agent` and ends the process; `run` for an `Agent`.

    Call it before anything of the agent is imported that might print or read. `output` says where
    what is printed goes: `"stderr"`, or `"discard"`.
    """
    arguments = arguments or Arguments.parse()
    private_in, private_out = claim(output)
    runner = Runner(agent, arguments, EventWriter(private_out, arguments.session_id))
    runner.serve(LineReader(private_in))
