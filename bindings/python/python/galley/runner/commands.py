"""What Galley tells a runner (IPC protocol §5), read strictly where it matters and tolerant elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


class BadCommand(Exception):
    """A line that is no command, or a command without a field it needs."""


class UnknownCommand(BadCommand):
    """A command of a kind this version does not know."""


@dataclass(frozen=True)
class UserMessage:
    """Start a run (§5.1)."""

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskUserResponse:
    """The answer to a question (§5.3)."""

    text: str


@dataclass(frozen=True)
class ApprovalResponse:
    """The answer to `tool_call_pending` (§5.2)."""

    approval_id: str
    decision: str


@dataclass(frozen=True)
class Abort:
    """Stop the current run (§5.4)."""


@dataclass(frozen=True)
class HistoryMessage:
    """One message of an earlier conversation (§5.5)."""

    role: str
    content: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tool_results: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class LoadHistory:
    """Put an earlier conversation in place (§5.5)."""

    messages: tuple[HistoryMessage, ...]


@dataclass(frozen=True)
class SetApprovalRules:
    """The tools that need no approval (§5.6)."""

    everywhere: frozenset[str]
    project: frozenset[str]


@dataclass(frozen=True)
class SetYoloMode:
    """Run every tool without approval, or not (§5.7)."""

    enabled: bool


@dataclass(frozen=True)
class SetLlm:
    """Use another model (§5.8)."""

    index: int


@dataclass(frozen=True)
class Shutdown:
    """Finish and exit (§5.9)."""


@dataclass(frozen=True)
class ReinjectTools:
    """Put the tool definitions into the history again (§5.10)."""


@dataclass(frozen=True)
class AttachPet:
    """Start the desktop pet (§5.11)."""

    port: int


@dataclass(frozen=True)
class DetachPet:
    """Stop the desktop pet (§5.12)."""


Command = (
    UserMessage
    | AskUserResponse
    | ApprovalResponse
    | Abort
    | LoadHistory
    | SetApprovalRules
    | SetYoloMode
    | SetLlm
    | Shutdown
    | ReinjectTools
    | AttachPet
    | DetachPet
)


def parse(line: bytes) -> Command:
    """Reads one line. Bytes that are not UTF-8 are replaced, unknown fields ignored.

    Raises:
        UnknownCommand: the line's kind is not of this version.
        BadCommand: the line is not a command, or lacks what it needs.
    """
    try:
        command = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BadCommand(f"not JSON: {error}") from None
    if not isinstance(command, dict) or not isinstance(command.get("kind"), str):
        raise BadCommand("not a JSON object with a string `kind`")
    reader = _READERS.get(command["kind"])
    if reader is None:
        raise UnknownCommand(f"unknown command: {command['kind']}")
    return reader(_Fields(command))


@dataclass(frozen=True)
class _Fields:
    """A command's fields by name, with their types checked."""

    of: dict[str, Any] = field(default_factory=dict)

    def required(self, name: str, kind: type[T]) -> T:
        value = self.of.get(name)
        # A bool is an int in Python, and not in JSON.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise BadCommand(f"{self.of.get('kind', 'a message')}: `{name}` must be a {_JSON_NAMES[kind]}")
        return value

    def optional(self, name: str, kind: type[T], default: T) -> T:
        return default if self.of.get(name) is None else self.required(name, kind)

    def strings(self, name: str) -> tuple[str, ...]:
        items = self.optional(name, list, [])
        if not all(isinstance(item, str) for item in items):
            raise BadCommand(f"{self.of.get('kind')}: `{name}` must be a list of strings")
        return tuple(items)

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        return tuple(item for item in self.optional(name, list, []) if isinstance(item, dict))


_JSON_NAMES: dict[type, str] = {str: "string", int: "whole number", bool: "boolean", list: "list"}


def _history_message(message: Any) -> HistoryMessage:
    if not isinstance(message, dict):
        raise BadCommand("load_history: a message must be an object")
    fields = _Fields(message)
    return HistoryMessage(
        role=fields.required("role", str),
        content=fields.optional("content", str, ""),
        tool_calls=fields.objects("toolCalls"),
        tool_results=fields.objects("toolResults"),
    )


_READERS: dict[str, Callable[[_Fields], Command]] = {
    "user_message": lambda f: UserMessage(f.required("text", str), f.strings("images")),
    "ask_user_response": lambda f: AskUserResponse(f.required("text", str)),
    "approval_response": lambda f: ApprovalResponse(f.required("approvalId", str), f.required("decision", str)),
    "abort": lambda _: Abort(),
    "load_history": lambda f: LoadHistory(tuple(map(_history_message, f.required("messages", list)))),
    "set_approval_rules": lambda f: SetApprovalRules(
        frozenset(f.strings("alwaysAllowGlobal")), frozenset(f.strings("alwaysAllowProject"))
    ),
    "set_yolo_mode": lambda f: SetYoloMode(f.required("enabled", bool)),
    "set_llm": lambda f: SetLlm(f.required("llmIndex", int)),
    "shutdown": lambda _: Shutdown(),
    "reinject_tools": lambda _: ReinjectTools(),
    "attach_pet": lambda f: AttachPet(f.optional("port", int, 41983)),
    "detach_pet": lambda _: DetachPet(),
}
