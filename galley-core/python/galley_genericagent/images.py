"""Pictures for models that take them. GA accepts a task's pictures and does not send them on."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from galley.runner import ErrorReport

from .locate import Tree
from .models import takes_pictures

Complain = Callable[[ErrorReport], None]


def attach(tree: Tree, client: Any, paths: Sequence[str], complain: Complain) -> Callable[[], None]:
    """Adds pictures to the next message `client` sends. Returns what takes back an unused addition.

    A picture that cannot be read or that the model cannot take is left out, and said to be.
    """
    if not paths:
        return _nothing
    if not takes_pictures(client):
        _complain(complain, "this model cannot be given pictures; they were left out")
        return _nothing
    backend = client.backend
    blocks = [block for path in paths if (block := _block(tree, backend, path, complain))]
    if not blocks:
        return _nothing
    original = backend.ask

    def ask_once(message: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        take_back()
        message = {**message, "content": [*message.get("content", []), *blocks]}
        return original(message, *args, **kwargs)

    def take_back() -> None:
        if vars(backend).get("ask") is ask_once:
            del backend.ask

    backend.ask = ask_once
    return take_back


def _block(tree: Tree, backend: Any, path: str, complain: Complain) -> dict[str, Any] | None:
    kind = mimetypes.guess_type(path)[0] or "image/png"
    try:
        data = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    except OSError as error:
        _complain(complain, f"the picture {path} cannot be read: {error.strerror}")
        return None
    if _wants_openai_blocks(tree, backend):
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _wants_openai_blocks(tree: Tree, backend: Any) -> bool:
    """Older trees send OpenAI's blocks as they are; newer ones, where that session is a kind of the
    Claude one, translate Anthropic's."""
    claude = getattr(tree.llmcore, "NativeClaudeSession", None)
    return "OAI" in type(backend).__name__ and not (isinstance(claude, type) and isinstance(backend, claude))


def _complain(complain: Complain, message: str) -> None:
    complain(ErrorReport(message, category="business", severity="warning", context="user_message"))


def _nothing() -> None:
    """No addition was made."""
