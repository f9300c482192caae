"""What a tool call would really do, for the person who is asked.

Code and text may be in a call's arguments, in the reply around it, or in both, and GA's versions choose
differently. Which way the given one chooses is found by letting it choose between harmless ones.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .locate import Tree

_ARGUMENT, _FIRST, _LAST = "argument = 1", "first = 1", "last = 1"


class Preview:
    """Shows tool calls as the given tree runs them. Where that could not be found out, both are shown."""

    def __init__(self, tree: Tree, agent: Any) -> None:
        self._code_in_reply = _prefers_code_in_reply(tree, agent)
        self._text_in_reply, self._last_text = _choice_of_text(tree, agent)

    def args(self, tool: str, args: Mapping[str, Any], reply: str) -> dict[str, Any]:
        """The arguments as a person should judge them."""
        shown = {name: value for name, value in args.items() if not name.startswith("_")}
        if tool == "code_run":
            _show(shown, "code", shown.pop("script", None), _block(shown, reply), self._code_in_reply)
        elif tool == "file_write":
            _show(shown, "content", None, _text(reply, last=self._last_text is True), self._text_in_reply)
        return shown

    def not_shown(self, shown: Mapping[str, Any], reply: str) -> frozenset[str]:
        """Code that GA might take for a `code_run` call and that its arguments, as shown, do not hold."""
        candidates = {shown.get("codeInArguments"), _block(shown, reply)}
        seen = {shown.get("code"), shown.get("codeInReply")}
        return frozenset(str(code).strip() for code in candidates - seen if code)


def _show(shown: dict[str, Any], name: str, other_name: Any, in_reply: str | None, from_reply: bool | None) -> None:
    """Puts what will be used under `name`; the other, if it differs, where its place is told."""
    in_args = shown.get(name) or other_name
    if in_args is not None:
        shown[name] = in_args
    if in_reply is None or str(in_args or "").strip() == in_reply:
        return
    if not in_args or from_reply:
        shown[name] = in_reply
        if in_args:
            shown[f"{name}InArguments"] = in_args
    elif from_reply is None:
        shown[f"{name}InReply"] = in_reply


def _block(args: Mapping[str, Any], reply: str) -> str | None:
    """The reply's last fenced block in the language of the call."""
    language = re.escape(str(args.get("type", "python")))
    blocks = re.findall(rf"```{language}\n(.*?)\n```", reply, re.DOTALL)
    return blocks[-1].strip() if blocks else None


def _text(reply: str, *, last: bool) -> str | None:
    """The text for a file in a reply: in its tag, else between fences. With several, the last alone or
    all from the first on."""
    if last:
        found = re.findall(r"<file_content[^>]*>(.*?)</file_content>", reply, re.DOTALL)
        found = found or re.findall(r"```[^\n]*\n(.*?)```", reply, re.DOTALL)
        return found[-1].strip() if found else None
    tagged = re.search(r"<file_content[^>]*>(.*)</file_content>", reply, re.DOTALL)
    if tagged:
        return tagged.group(1).strip()
    begin, end = reply.find("```"), reply.rfind("```")
    return reply[reply.find("\n", begin) + 1 : end].strip() if 0 <= begin < end else None


class _Reply:
    thinking = ""
    tool_calls: tuple[Any, ...] = ()

    def __init__(self, content: str) -> None:
        self.content = content


def _prefers_code_in_reply(tree: Tree, agent: Any) -> bool | None:
    args = {"type": "python", "code": _ARGUMENT, "script": _ARGUMENT}
    with _recorded_code(tree) as chosen:
        _try(tree, agent, str(tree.root / "temp"), "do_code_run", args, f"```python\n{_LAST}\n```")
    return chosen[0].strip() == _LAST if chosen else None


@contextmanager
def _recorded_code(tree: Tree) -> Iterator[list[str]]:
    """Holds back GA's function that runs code; what it would have run is recorded."""
    chosen: list[str] = []

    def record(code: str, *_args: Any, **_kwargs: Any) -> Any:
        chosen.append(code)
        yield ""
        return {"status": "success", "stdout": "", "exit_code": 0}

    runs: Callable[..., Any] | None = getattr(tree.tools, "code_run", None)
    if runs is None:
        yield chosen
        return
    tree.tools.code_run = record  # type: ignore[attr-defined]
    try:
        yield chosen
    finally:
        tree.tools.code_run = runs  # type: ignore[attr-defined]


def _choice_of_text(tree: Tree, agent: Any) -> tuple[bool | None, bool | None]:
    """Whether `file_write` prefers the reply's text, and takes the last alone of several."""
    reply = "".join(f"<file_content>\n{text}\n</file_content>\n" for text in (_FIRST, _LAST))
    with tempfile.TemporaryDirectory() as folder:
        _try(tree, agent, folder, "do_file_write", {"path": "both", "content": _ARGUMENT, "mode": "overwrite"}, reply)
        _try(tree, agent, folder, "do_file_write", {"path": "reply", "mode": "overwrite"}, reply)
        both, alone = (_read(Path(folder) / name) for name in ("both", "reply"))
    return (None if both is None else _ARGUMENT not in both), (None if alone is None else _FIRST not in alone)


def _try(tree: Tree, agent: Any, cwd: str, tool: str, args: dict[str, Any], reply: str) -> None:
    """Lets a tool of GA's do its work on what is harmless. A tool that cannot is none to learn from."""
    try:
        handler = tree.agentmain.GenericAgentHandler(agent, [], cwd)
        handler.current_turn = 1
        for _ in getattr(handler, tool)(args, _Reply(reply)):
            pass
    except Exception:
        return


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
