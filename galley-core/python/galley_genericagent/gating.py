"""Which of GA's tools ask for approval, and what a tool call would really run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from galley.runner.run import Risk

from .locate import Tree

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


class Preview:
    """Shows tool calls as they will run. Some GA versions run a code block of the reply in place of the
    code in the arguments; which it is, is found by letting GA choose between two harmless ones."""

    def __init__(self, tree: Tree) -> None:
        self._runs_block = _runs_block(tree)

    def args(self, tool: str, args: Mapping[str, Any], reply: str) -> dict[str, Any]:
        """The arguments as a person should judge them."""
        shown = {name: value for name, value in args.items() if not name.startswith("_")}
        if tool == "code_run":
            self._show_code(shown, reply)
        elif tool == "file_write":
            _show_content(shown, reply)
        return shown

    def not_shown(self, shown: Mapping[str, Any], reply: str) -> frozenset[str]:
        """Code that GA might take for a `code_run` call and that its arguments, as shown, do not hold."""
        hidden = {str(shown["codeInArguments"]).strip()} if "codeInArguments" in shown else set()
        blocks = _code_blocks(shown, reply)
        seen = {str(shown.get(name, "")).strip() for name in ("code", "script", "codeInReply")}
        return frozenset((hidden | set(blocks[-1:])) - seen)

    def _show_code(self, shown: dict[str, Any], reply: str) -> None:
        in_args = shown.get("code") or shown.get("script")
        blocks = _code_blocks(shown, reply)
        if not blocks:
            return
        block = blocks[-1]
        if not in_args or self._runs_block is True:
            if in_args and str(in_args).strip() != block:
                shown["codeInArguments"] = in_args
            shown.pop("script", None)
            shown["code"] = block
        elif self._runs_block is None and str(in_args).strip() != block:
            shown["codeInReply"] = block


def _code_blocks(args: Mapping[str, Any], reply: str) -> list[str]:
    """The reply's fenced blocks in the language of the call."""
    language = re.escape(str(args.get("type", "python")))
    return [block.strip() for block in re.findall(rf"```{language}\n(.*?)\n```", reply, re.DOTALL)]


def _show_content(shown: dict[str, Any], reply: str) -> None:
    """The text to be written is in the reply, unless the arguments hold it; if both do, both are shown."""
    tagged = re.search(r"<file_content>(.*)</file_content>", reply, re.DOTALL)
    first, last = reply.find("```"), reply.rfind("```")
    if tagged:
        content = tagged.group(1).strip()
    elif 0 <= first < last:
        content = reply[reply.find("\n", first) + 1 : last].strip()
    else:
        return
    if not shown.get("content"):
        shown["content"] = content
    elif str(shown["content"]).strip() != content:
        shown["contentInReply"] = content


class _Reply:
    content = "```python\nblock = 1\n```"
    thinking = ""
    tool_calls: tuple[Any, ...] = ()


def _runs_block(tree: Tree) -> bool | None:
    """Whether `code_run` prefers the reply's block; None if GA does not let that be seen.

    GA's own function that starts code is held back while it is asked, so that nothing runs.
    """
    chosen: list[str] = []

    def record(code: str, *_args: Any, **_kwargs: Any) -> Any:
        chosen.append(code)
        yield ""
        return {"status": "success", "stdout": "", "exit_code": 0}

    runs = getattr(tree.tools, "code_run", None)
    handler_class = getattr(tree.agentmain, "GenericAgentHandler", None)
    if runs is None or handler_class is None:
        return None
    try:
        handler = handler_class(None, [], str(tree.root / "temp"))
        tree.tools.code_run = record  # type: ignore[attr-defined]
        for _ in handler.do_code_run({"type": "python", "code": "argument = 1", "script": "argument = 1"}, _Reply()):
            pass
    except Exception:
        return None
    finally:
        tree.tools.code_run = runs  # type: ignore[attr-defined]
    return "block" in chosen[0] if chosen else None
