"""Project Mode: working in a folder of the user's, for GA trees that have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from galley.runner import ErrorReport

from .locate import Tree


def able(tree: Tree) -> bool:
    """Whether the tree knows workspaces."""
    return hasattr(tree.frontend("workspace_cmd"), "prepare")


def enter(tree: Tree, agent: Any, root: str) -> ErrorReport | None:
    """Makes `root` the agent's workspace; returns what went wrong, and then it has none."""
    command = tree.frontend("workspace_cmd")
    if command is None or not hasattr(command, "prepare"):
        return _complaint("this GenericAgent has no workspaces; it works in its own folder")
    try:
        prepared = command.prepare(str(Path(root).expanduser().absolute()))
    except Exception as error:
        return _complaint(f"the workspace {root} cannot be used: {type(error).__name__}: {error}")
    if not prepared.get("ok"):
        return _complaint(f"the workspace {root} cannot be used: {prepared.get('error') or 'no reason given'}")
    agent._ga_project_mode_name = prepared.get("name")
    agent._ga_project_mode_workspace_path = prepared.get("target") or root
    return _complaint(str(prepared["warning"])) if prepared.get("warning") else None


def _complaint(message: str) -> ErrorReport:
    return ErrorReport(message, category="business", severity="warning", context="workspace")
