"""Agents that are a function: plain, generator, async, or async generator."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from typing import Any

from .agent import Agent, Host, Model, Outcome, Profile, Question, Result, Task
from .commands import HistoryMessage
from .context import AsyncContext, Context
from .errors import Aborted

#: `(task, ctx)`: returns the answer, or yields it piece by piece.
SyncFunction = Callable[[Task, Context], Result | Iterator[str] | Generator[str, None, Result]]
AsyncFunction = Callable[[Task, AsyncContext], Awaitable[Result] | AsyncIterator[str]]
SideQuestion = Callable[[str], str]


class FunctionAgent(Agent):
    """Runs a function as an agent."""

    def __init__(
        self,
        function: SyncFunction | AsyncFunction,
        models: Sequence[str | Model] = (),
        images: bool = False,
        side_question: SideQuestion | None = None,
    ) -> None:
        self._function: Callable[[Task, Any], Any] = function
        self._models = [model if isinstance(model, Model) else Model(model) for model in models]
        self._images = images
        self._side_question = side_question

    def start(self, host: Host) -> Profile:
        able = {
            "abort": True,
            "approvals": True,
            "btw": self._side_question is not None,
            "history": True,
            "images": self._images,
            "models": bool(self._models),
            "questions": True,
        }
        current = host.arguments.llm_no if 0 <= host.arguments.llm_no < len(self._models) else 0
        return Profile(self._models, current, capabilities=[name for name, yes in able.items() if yes])

    def run(self, task: Task, ctx: Context) -> Result:
        if _is_async(self._function):
            return asyncio.run(self._run_async(task, ctx))
        result = self._function(task, ctx)
        if isinstance(result, Iterator):
            return _exhaust(result, ctx)
        return _checked(result)

    async def _run_async(self, task: Task, ctx: Context) -> Result:
        loop, own = asyncio.get_running_loop(), asyncio.current_task()
        assert own is not None, "a coroutine runs in a task"
        ctx.on_abort(lambda: _cancel(loop, own))
        result = self._function(task, AsyncContext(ctx.run))
        try:
            if isinstance(result, AsyncIterator):
                async for piece in result:
                    ctx.progress(piece)
                return None
            return _checked(await result)
        except asyncio.CancelledError:
            if ctx.aborted:
                raise Aborted from None
            raise
        finally:
            close = getattr(result, "aclose", None)
            if close is not None:
                await close()

    def load_history(self, messages: Sequence[HistoryMessage]) -> None:
        """Taken: `Context.history` holds it."""

    def select_model(self, index: int) -> Model:
        return self._models[index]

    def side_question(self, question: str) -> str:
        return self._side_question(question) if self._side_question else super().side_question(question)


def _is_async(function: Callable[..., Any]) -> bool:
    function = inspect.unwrap(function)
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        function = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _exhaust(pieces: Iterator[str], ctx: Context) -> Result:
    """Streams what `pieces` yields and returns what it returns. A stop is raised inside it, where it
    yielded."""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return _checked(end.value)
        try:
            ctx.progress(piece)
        except Aborted as stop:
            if isinstance(pieces, Generator):
                pieces.throw(stop)
            raise


def _checked(result: Any) -> Result:
    """The result, if it is one."""
    if result is None or isinstance(result, (str, Outcome, Question)):
        return result
    raise TypeError(f"an agent returns a string, None, an Outcome or a Question, not {type(result).__name__}")
