"""The wrappers put around GA's loop and tools: two names in its `agentmain` module, which GA looks up at
every task, and the function that starts code.

GA abandons the loop of a stopped task; Python closes it when the next task begins. So everything belongs to
the task it was begun for, never to the current one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any

from galley.runner import Aborted
from galley.runner.run import Call

from .ga_run import GaRun
from .gating import PSEUDO_TOOLS, Preview, gate
from .locate import Tree

_DENIED = {"status": "denied", "msg": "The user denied this tool call"}
_NOT_SHOWN = {"status": "denied", "msg": "Not run: the code is not what the user was shown"}


class Seam:
    """Where the hooks find the task they see. `current` is set before GA is handed a task."""

    def __init__(self) -> None:
        self.current: GaRun | None = None
        #: Makes GA leave its loop at the next piece of text.
        self.stop: Callable[[], None] | None = None
        #: Code that must not run in the tool call that runs: the user approved other code.
        self.forbidden: frozenset[str] = frozenset()

    def turn_ended(self, seen: Any) -> None:
        """GA's own hook at the end of a turn, for trees that have one; `seen` holds its local names."""
        if self.current is not None and isinstance(seen, dict):
            self.current.turn_ended(seen.get("summary"))


def install(tree: Tree, seam: Seam) -> None:
    """Puts the wrappers in place, for every agent made from here on."""
    preview = Preview(tree)
    runs = getattr(tree.tools, "code_run", None)
    if inspect.isgeneratorfunction(runs):
        tree.tools.code_run = _guarded(runs, seam)  # type: ignore[attr-defined]
    tree.agentmain.agent_runner_loop = _observed_loop(  # type: ignore[attr-defined]
        tree.agentmain.agent_runner_loop, seam
    )
    tree.agentmain.GenericAgentHandler = _gated_handler(tree, seam, preview)  # type: ignore[attr-defined]


def observe_turns(agent: Any, name: str, hook: Callable[[Any], None]) -> None:
    """Registers a hook for the end of each turn. The table is replaced, not changed: GA may be walking
    through it. Trees without such hooks ignore it."""
    agent._turn_end_hooks = {**(getattr(agent, "_turn_end_hooks", None) or {}), name: hook}


def _observed_loop(loop: Callable[..., Any], seam: Seam) -> Callable[..., Any]:
    def agent_runner_loop(*args: Any, **kwargs: Any) -> Generator[Any, None, Any]:
        run = seam.current
        if run is None:
            return (yield from loop(*args, **kwargs))
        if not run.enter() and seam.stop is not None:
            seam.stop()
        try:
            end = yield from _tapped(loop(*args, **kwargs), run.said)
        except GeneratorExit:
            raise
        except BaseException as error:
            run.leave(None, error)
            raise
        run.leave(end)
        return end

    return agent_runner_loop


def _tapped(pieces: Any, tell: Callable[[Any], None]) -> Generator[Any, None, Any]:
    """`yield from pieces`, telling each piece before it goes on."""
    try:
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                return end.value
            tell(piece)
            yield piece
    finally:
        pieces.close()


def _guarded(code_run: Callable[..., Any], seam: Seam) -> Callable[..., Any]:
    def guarded(code: Any, *args: Any, **kwargs: Any) -> Generator[Any, None, Any]:
        if str(code).strip() in seam.forbidden:
            yield "[Denied]\n"
            return dict(_NOT_SHOWN)
        return (yield from code_run(code, *args, **kwargs))

    return guarded


def _gated_handler(tree: Tree, seam: Seam, preview: Preview) -> type:
    base: Any = tree.agentmain.GenericAgentHandler
    outcome_class = tree.agent_loop.StepOutcome

    class GatedHandler(base):  # type: ignore[misc]
        """GA's handler, with approvals and reports around every tool."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._galley = seam.current
            if self._galley is not None:
                # Newer trees pass a child's output on line by line through this.
                self.print = self._galley.call_said

        def dispatch(self, tool_name: str, args: Any, response: Any, *rest: Any, **named: Any) -> Any:
            run = self._galley
            inner = super().dispatch
            if run is None:
                return (yield from inner(tool_name, args, response, *rest, **named))
            run.replied(response)
            with run.dispatching():
                if tool_name in PSEUDO_TOOLS:
                    return (yield from inner(tool_name, args, response, *rest, **named))
                call = Call(tool_name, preview.args(tool_name, args, run.reply_text))
                try:
                    allowed = self._ask(run, call)
                except Aborted:
                    # GA looks whether it was stopped when it gets this.
                    yield "[Stopped]\n"
                    return outcome_class(dict(_DENIED), next_prompt="\n")
                if not allowed:
                    yield "[Denied]\n"
                    return self._denied(tool_name, args, response, rest[0] if rest else named.get("index", 0))
                run.call_started(call)
                try:
                    outcome = yield from _tapped(inner(tool_name, args, response, *rest, **named), run.call_said)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    run.call_raised(call, error)
                    raise
                finally:
                    seam.forbidden = frozenset()
                run.call_ended(call, outcome)
                return outcome

        def _ask(self, run: GaRun, call: Call) -> bool:
            how = gate(call.tool, call.args)
            if how is None or not hasattr(self, f"do_{call.tool}"):
                run.run.check()
                return True
            asks = not run.run.session.approvals.allows(call.tool)
            allowed = run.run.approve(call, how.risk, how.reason)
            if asks and allowed and call.tool == "code_run":
                seam.forbidden = preview.not_shown(call.args, run.reply_text)
            return allowed

        def _denied(self, tool_name: str, args: Any, response: Any, index: int) -> Any:
            outcome = outcome_class(dict(_DENIED), next_prompt="\n")
            # Where GA keeps its working memory in a callback after the tool, it is not called for this one.
            after = getattr(self, "tool_after_callback", None)
            if after is not None:
                remembered = after(tool_name, {**args, "_index": index}, response, outcome)
                if inspect.isgenerator(remembered):
                    for _ in remembered:
                        pass
            return outcome

    return GatedHandler
