"""What is put together from more than one line."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .types import MessageBrief, SessionBrief, WaitStatus

T = TypeVar("T")


class Page(tuple[T, ...]):
    """The rows of one page of a list."""

    next_cursor: str | None
    """The `cursor` of the next page; `None` on the last one."""

    def __new__(cls, rows: Iterable[T], next_cursor: str | None = None) -> "Page[T]":
        page = super().__new__(cls, rows)
        page.next_cursor = next_cursor
        return page


@dataclass(frozen=True, slots=True)
class WaitOutcome:
    """How a wait ended."""

    status: WaitStatus
    """Why the waiting stopped. It describes the wait, not the task."""
    session: SessionBrief
    """The session as it stood then."""
    messages: tuple[MessageBrief, ...]
    """Its last messages; empty with `final_show=False`."""

    @property
    def answer(self) -> str | None:
        """The agent's last words."""
        for message in reversed(self.messages):
            if message.role == "agent":
                return message.content
        return None


def outcome(raw: dict[str, Any]) -> WaitOutcome | None:
    """The outcome that a frame of a wait tells of; `None` when it is not the last payload."""
    if raw.get("stream") != "wait" or raw.get("phase") != "final":
        return None
    messages = tuple(map(MessageBrief.read, raw.get("messages") or ()))
    return WaitOutcome(raw["status"], SessionBrief.read(raw["session"]), messages)
