"""Conversations in and out of GA's shapes.

Most of GA's sessions keep `history`, messages with a list of content blocks; the text-protocol sessions of
older trees keep `raw_msgs`, messages with a `prompt`. What the bridge puts in is text alone: older trees
send tool blocks to endpoints that do not know them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from galley.runner import HistoryMessage, Refused

#: `(role, text)`
Message = tuple[str, str]

#: How much of one tool result is put into a restored conversation, in characters.
_RESULT = 2000


def restored(messages: Sequence[HistoryMessage]) -> list[Message]:
    """What Galley kept, as a conversation for the model: it begins with the user, and roles alternate."""
    return _alternating((message.role, _with_tools(message)) for message in messages)


def conversation(backend: Any) -> list[Message]:
    """What a session holds."""
    if _keeps_blocks(backend):
        raw = [(message["role"], _text(message.get("content"))) for message in list(backend.history)]
    elif _keeps_prompts(backend):
        raw = [(message["role"], str(message.get("prompt", ""))) for message in list(backend.raw_msgs)]
    else:
        return []
    return _alternating(raw)


def put(backend: Any, messages: Sequence[Message]) -> None:
    """Replaces what a session holds.

    Raises:
        Refused: it keeps its conversation in no shape this bridge knows.
    """
    if _keeps_blocks(backend):
        backend.history = [blocks(role, text) for role, text in messages]
    elif _keeps_prompts(backend):
        backend.raw_msgs = [{"role": role, "prompt": text} for role, text in messages]
    else:
        raise Refused(f"{type(backend).__name__} keeps no conversation that could be restored")


def carry(old: Any, new: Any) -> None:
    """Takes a conversation along to another model's session, where GA has not done so itself."""
    if old is new:
        return
    before = conversation(old)
    if conversation(new) != before:
        put(new, before)


def remember(agent: Any, messages: Sequence[Message]) -> None:
    """Tells GA's working memory, a list of lines beside the conversation, about the past too."""
    lines = getattr(agent, "history", None)
    if isinstance(lines, list):
        for role, text in messages:
            line = " ".join(text.split())[:200]
            lines.append(f"[USER]: {line}" if role == "user" else f"[Agent] {line}")


def blocks(role: str, text: str) -> dict[str, Any]:
    """A message in GA's shape with blocks."""
    return {"role": role, "content": [{"type": "text", "text": text}]}


def size(backend: Any) -> tuple[int, int] | None:
    """Characters a session's conversation takes, and may take before GA trims it."""
    held = getattr(backend, "history", None) if _keeps_blocks(backend) else getattr(backend, "raw_msgs", None)
    window = getattr(backend, "context_win", None)
    if not isinstance(held, list) or not isinstance(window, int):
        return None
    used = sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in copy.copy(held))
    return used, window * 3


def _keeps_blocks(backend: Any) -> bool:
    return isinstance(getattr(backend, "history", None), list)


def _keeps_prompts(backend: Any) -> bool:
    return isinstance(getattr(backend, "raw_msgs", None), list)


def _alternating(messages: Iterable[Message]) -> list[Message]:
    joined: list[Message] = []
    for role, text in messages:
        if not text or role not in ("user", "assistant"):
            continue
        if joined and joined[-1][0] == role:
            joined[-1] = (role, f"{joined[-1][1]}\n\n{text}")
        elif joined or role == "user":
            joined.append((role, text))
    return joined


def _with_tools(message: HistoryMessage) -> str:
    parts = [message.content] if message.content else []
    results = {result.get("toolUseId"): result for result in message.tool_results}
    unmatched = dict(results)
    for call in message.tool_calls:
        name = call.get("toolName")
        if name in (None, "no_tool"):
            continue
        line = f"(I called {name} with {_json(call.get('args') or {})}"
        result = unmatched.pop(call.get("id"), None) if call.get("id") else None
        parts.append(f"{line}; it returned: {_clipped(result.get('content'))})" if result else f"{line})")
    parts += [f"(A tool returned: {_clipped(result.get('content'))})" for result in unmatched.values()]
    return "\n".join(parts)


def _text(content: Any) -> str:
    """A message's content as text, whatever its blocks are."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        if kind == "text":
            parts.append(str(block.get("text", "")))
        elif kind == "tool_use":
            parts.append(f"(I called {block.get('name')} with {_json(block.get('input') or {})})")
        elif kind == "tool_result":
            text = _text(block.get("content"))
            parts.append(f"(A tool returned: {_clipped(text)})" if text else "")
        elif kind in ("image", "image_url"):
            parts.append("(a picture)")
    return "\n".join(part for part in parts if part)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _clipped(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    return text if len(text) <= _RESULT else f"{text[:_RESULT]}…"
