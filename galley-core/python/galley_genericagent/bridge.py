"""The agent that `galley.runner` serves: GenericAgent behind the IPC protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from galley.runner import (
    Agent,
    Arguments,
    Context,
    ErrorReport,
    HistoryMessage,
    Host,
    Model,
    Outcome,
    Profile,
    Question,
    Task,
    processes,
    serve,
)

from . import aside, failures, history, hooks, images, locate, pet, tool_history, workspace
from .connections import Connections
from .ga_run import GaRun
from .models import Models
from .worker import Worker, WorkerDied

_SOURCE = "workbench"


class GenericAgentBridge(Agent):
    """One GA agent in one GA tree."""

    _host: Host
    _tree: locate.Tree
    _agent: Any
    _models: Models
    _worker: Worker
    _pet: pet.Pet

    def __init__(self) -> None:
        self._seam = hooks.Seam()
        self._connections = Connections()

    def start(self, host: Host) -> Profile:
        arguments = host.arguments
        assert arguments.ga_path is not None, "the command line demands it"
        self._host = host
        self._tree = tree = locate.load(arguments.ga_path, arguments.cwd)
        hooks.install(tree, self._seam)
        self._connections.install()
        self._agent = agent = locate.construct(tree)
        self._seam.stop = self._stop_loop
        hooks.observe_turns(agent, "galley", self._seam.turn_ended)
        # Text piece by piece, as the model writes it.
        agent.verbose = agent.inc_out = True
        self._models = Models(agent)
        self._worker = Worker(agent)
        self._pet = pet.Pet(tree)
        notices = []
        if (notice := self._models.begin_with(arguments.llm_no)) is not None:
            notices.append(ErrorReport(notice, category="business", severity="warning", context="--llm-no"))
        if arguments.workspace_root:
            complaint = workspace.enter(tree, agent, arguments.workspace_root)
            notices += [complaint] if complaint else []
        return Profile(
            models=self._models.all(),
            current=self._models.current,
            capabilities=self._capabilities(),
            cwd=str(tree.root / "temp"),
            extra={"gaPath": str(tree.root), **locate.commit(tree.root)},
            notices=notices,
        )

    def run(self, task: Task, ctx: Context) -> Outcome | Question:
        begun = time.monotonic()
        run = GaRun(ctx.run)
        before = processes.descendants()
        self._seam.current = run
        ctx.on_abort(lambda: self._abort(run, before))
        take_back = images.attach(self._tree, self._agent.llmclient, task.images, ctx.report)
        try:
            last = self._worker.perform(task.text, _SOURCE)
        except WorkerDied as death:
            report = failures.raised(death, failures.secrets_of(self._agent))
            return Outcome(result="EXITED", ends_step=False, error=report)
        finally:
            run.finished.set()
            take_back()
        if last.get("source") == "system":
            ctx.system_message(str(last["done"]))
            return Outcome(ends_step=False)
        end = run.end(str(last["done"]), failures.secrets_of(self._agent), self._telemetry(begun))
        outcome = end.outcome if isinstance(end, Question) else end
        self._pet.tell(ctx.step, outcome.summary, done=True)
        return end

    def load_history(self, messages: Sequence[HistoryMessage]) -> None:
        conversation = history.restored(messages)
        history.put(self._models.backend, conversation)
        history.remember(self._agent, conversation)

    def select_model(self, index: int) -> Model:
        return self._models.select(index)

    def side_question(self, question: str) -> str:
        return aside.answer(self._tree, self._agent, question)

    def reinject_tools(self) -> int:
        return tool_history.reinject(self._tree, self._agent.llmclient)

    def attach_pet(self, port: int) -> None:
        self._pet.attach(port, lambda: self._host.emit("pet_attached", port=port), self._host.report)
        hooks.observe_turns(self._agent, f"galley_pet_{self._host.arguments.session_id}", self._tell_pet)

    def detach_pet(self) -> None:
        self._pet.detach()

    def close(self) -> None:
        self._pet.detach()

    def _capabilities(self) -> list[str]:
        able = {
            "abort": True,
            "approvals": True,
            "btw": aside.able(self._tree, self._agent.llmclient),
            "history": True,
            "images": self._models.take_pictures(),
            "models": True,
            "pet": pet.script(self._tree) is not None,
            "questions": True,
            "reinject_tools": tool_history.able(self._tree),
            "slash_commands": hasattr(self._agent, "_handle_slash_cmd"),
            "workspace": workspace.able(self._tree),
        }
        return [name for name, yes in able.items() if yes]

    def _abort(self, run: GaRun, before: Sequence[processes.Process]) -> None:
        """Stops a task wherever it is: in GA's loop, in a request, in what a tool has started. A task that
        GA has not taken up yet is stopped when it does."""
        if run.looping:
            self._agent.abort()
        if (thread := self._worker.thread) is not None:
            threading.Thread(
                target=self._connections.cut_until, args=(run.finished, thread), name="galley-cut", daemon=True
            ).start()
        processes.end_descendants(spare=[*before, *self._pet_processes()])

    def _pet_processes(self) -> list[processes.Process]:
        return [process for process in processes.descendants() if process.pid == self._pet.pid]

    def _stop_loop(self) -> None:
        self._agent.stop_sig = True

    def _tell_pet(self, seen: Any) -> None:
        if isinstance(seen, dict) and not seen.get("exit_reason"):
            self._pet.tell(int(seen.get("turn") or 0), seen.get("summary"), done=False)

    def _telemetry(self, begun: float) -> dict[str, int]:
        telemetry = {"elapsedMs": round((time.monotonic() - begun) * 1000)}
        if (size := history.size(self._models.backend)) is not None:
            telemetry["contextUsedChars"], telemetry["contextLimitChars"] = size
        return telemetry


def main() -> NoReturn:
    """Serves the GA tree named on the command line. What GA prints goes nowhere: it prints a lot, and
    standard error is where the reason of a crash is looked for."""
    serve(GenericAgentBridge(), Arguments.parse(require_ga_path=True), output="discard")
