"""Write an agent for Galley as a function.

    from galley.runner import run

    def agent(task, ctx):
        yield f"You said: {task.text}"

    run(agent)

An agent is a function, a generator, an async function or an async generator of `(task, ctx)`. What it
yields is streamed, what it returns is the answer. The protocol, approvals (`ctx.approve`), questions
(`ctx.ask`), tool calls (`ctx.tool`), steps (`ctx.next_step`), history (`ctx.history`), models
(`ctx.model`), stopping and the end of everything are looked after. Standard input and output are moved
away before the agent is called: what it prints goes to standard error.

A stopped run raises `Aborted` in whatever the agent does with `ctx` (an async agent is cancelled);
clean up in `finally`, and use `ctx.on_abort` for what cannot notice it. An exception ends the run and
is reported; raise `AgentError` to say how. An agent that does not stop within three seconds has its run
ended without it, and the next task waits for it.

For more control subclass `Agent` and `serve` it. The standard library is all this package needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from . import processes
from .agent import Agent, Host, Model, Outcome, Profile, Question, Result, Task
from .arguments import Arguments
from .commands import HistoryMessage
from .context import AsyncContext, Context, ToolCall
from .errors import Aborted, AgentError, ErrorReport, Refused, StartError
from .functions import AsyncFunction, FunctionAgent, SideQuestion, SyncFunction
from .runner import serve
from .wire import PROTOCOL_VERSION

__all__ = [
    "PROTOCOL_VERSION",
    "Aborted",
    "Agent",
    "AgentError",
    "Arguments",
    "AsyncContext",
    "Context",
    "ErrorReport",
    "HistoryMessage",
    "Host",
    "Model",
    "Outcome",
    "Profile",
    "Question",
    "Refused",
    "Result",
    "StartError",
    "Task",
    "ToolCall",
    "processes",
    "run",
    "serve",
]


def run(
    function: SyncFunction | AsyncFunction,
    *,
    models: Sequence[str | Model] = (),
    images: bool = False,
    side_question: SideQuestion | None = None,
    arguments: Arguments | None = None,
) -> NoReturn:
    """Serves `function` as an agent, and ends the process when Galley says so.

    `models` are offered to the user (`ctx.model` is the chosen one), `images` says that the agent looks
    at `task.images`, `side_question` answers `/btw` questions, also while a run is open.
    """
    serve(FunctionAgent(function, models, images, side_question), arguments)
