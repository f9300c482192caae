"""Which of GA's tools ask for approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from galley.runner.run import Risk

#: What GA dispatches in place of a tool; never shown.
PSEUDO_TOOLS = frozenset({"no_tool", "bad_json"})

_HARMLESS = frozenset({"ask_user", "file_read", "update_working_checkpoint", "web_scan"})


@dataclass(frozen=True)
class Gate:
    """How a tool asks."""

    risk: Risk
    reason: str


_GATES = {
    "code_run": Gate("high", "Running code can change files and reach the network"),
    "start_long_term_update": Gate("high", "It changes what the agent remembers in every later session"),
    "file_write": Gate("medium", "It writes a file"),
    "file_patch": Gate("medium", "It changes a file"),
    "web_execute_js": Gate("medium", "It runs a script in your browser"),
}
_INLINE = Gate("high", "It runs code inside the agent itself, with everything the agent can reach")
_UNKNOWN = Gate("medium", "A tool this bridge does not know")


def gate(tool: str, args: Mapping[str, Any]) -> Gate | None:
    """How `tool` asks; None for one that cannot do harm."""
    if tool in _HARMLESS:
        return None
    if tool == "code_run" and args.get("inline_eval"):
        return _INLINE
    return _GATES.get(tool, _UNKNOWN)
