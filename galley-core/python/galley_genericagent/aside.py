"""`/btw` questions: answered from the conversation so far, without adding to it."""

from __future__ import annotations

import inspect
import time
from typing import Any

from galley.runner import AgentError, Refused

from . import failures, history
from .locate import Tree

_INSTRUCTION = (
    "This is a side question while you work. Answer it briefly, in plain text, from the conversation so far. "
    "Do not use tools and do not go on with the task."
)


def able(tree: Tree, client: Any) -> bool:
    """Whether side questions can be answered."""
    return tree.frontend("btw_cmd") is not None or hasattr(getattr(client, "backend", None), "raw_ask")


def answer(tree: Tree, agent: Any, question: str) -> str:
    """Asks the model in use beside whatever it does. Returns Markdown.

    Raises:
        AgentError: the model did not answer.
        Refused: this tree and model have no way for it.
    """
    command = tree.frontend("btw_cmd")
    if command is not None and hasattr(command, "handle_frontend_command"):
        text = str(command.handle_frontend_command(agent, f"/btw {question}".strip()))
        if text.startswith("❌"):
            raise _failure(agent, text.lstrip("❌ "))
        return text
    if not question:
        return "> 🟡 /btw\n\nAsk something after `/btw`; it is answered beside the task."
    begun = time.monotonic()
    reply = _ask(agent, question)
    if failures.begins_failure(reply):
        raise _failure(agent, reply)
    return f"> 🟡 /btw {question}\n\n{reply.strip()}\n\n*({time.monotonic() - begun:.1f}s)*"


def _ask(agent: Any, question: str) -> str:
    backend = getattr(agent.llmclient, "backend", None)
    if backend is None or not hasattr(backend, "raw_ask"):
        raise Refused("this model answers no side questions")
    lock = getattr(backend, "lock", None)
    if lock is not None:
        with lock:
            messages = history.conversation(backend)
    else:
        messages = history.conversation(backend)
    asked = f"{_INSTRUCTION}\n\n{question}"
    if messages and messages[-1][0] == "user":
        messages[-1] = ("user", f"{messages[-1][1]}\n\n{asked}")
    else:
        messages.append(("user", asked))
    if isinstance(getattr(backend, "history", None), list):
        request: Any = [history.blocks(role, text) for role, text in messages]
    else:
        request = backend.make_messages([{"role": role, "prompt": text} for role, text in messages])
    accepted = inspect.signature(backend.raw_ask).parameters
    options = {"system": backend.system} if "system" in accepted and getattr(backend, "system", None) else {}
    return "".join(str(chunk) for chunk in backend.raw_ask(request, **options))


def _failure(agent: Any, text: str) -> AgentError:
    report = failures.report(text, failures.secrets_of(agent))
    return AgentError(report.message, severity="warning", hint=report.hint, context="side_question")
