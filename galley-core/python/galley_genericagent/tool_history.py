"""Reminding the model of its tools, for GA trees that carry the conversation for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from galley.runner import Refused

from .locate import Tree


def able(tree: Tree) -> bool:
    """Whether the tree has it."""
    return _file(tree).is_file()


def reinject(tree: Tree, client: Any) -> int:
    """Adds it to the conversation; returns how many messages that were.

    Raises:
        Refused: the tree has none, or it cannot be read or added.
    """
    if not able(tree):
        raise Refused("this GenericAgent has no assets/tool_usable_history.json", context="reinject_tools")
    try:
        blocks = json.loads(_file(tree).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{_file(tree)} cannot be read: {error}", context="reinject_tools") from error
    held = getattr(client.backend, "history", None)
    if not isinstance(blocks, list) or not isinstance(held, list):
        raise Refused("this model's conversation cannot take the tool definitions", context="reinject_tools")
    client.last_tools = ""
    held.extend(blocks)
    return len(blocks)


def _file(tree: Tree) -> Path:
    return tree.root / "assets" / "tool_usable_history.json"
