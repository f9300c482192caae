"""What an author writes: an agent, and how its runs end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .arguments import Arguments
from .commands import HistoryMessage
from .errors import ErrorReport, Refused

if TYPE_CHECKING:
    from .context import Context


@dataclass(frozen=True)
class Task:
    """One message of the user."""

    text: str
    images: Sequence[str] = ()
    """Absolute paths of image files."""
    answers: bool = False
    """Whether it answers the question the last run ended with."""


@dataclass(frozen=True)
class Model:
    """A model the agent can use. `name` identifies it for good, `display_name` is for people."""

    name: str
    display_name: str | None = None

    def shown(self) -> str:
        """The name for people."""
        return self.display_name or self.name


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its answer, and `exitReason` (IPC protocol §4.9)."""

    content: str | None = None
    """The final answer, as Markdown."""
    result: str = "CURRENT_TASK_DONE"
    data: Any = None
    summary: str | None = None
    """One line about the last step."""
    response: str | None = None
    """The whole reply of the last step, if it is more than `content`."""
    telemetry: Mapping[str, Any] | None = None
    ends_step: bool = True
    """Whether the last step ended with it. A run that failed, or answered without the agent, has none."""
    error: ErrorReport | None = None
    """What made the run fail; reported right before the run is complete."""


@dataclass(frozen=True)
class Question:
    """Ends a run by asking the user; the answer starts the next run (`Task.answers`).

    To ask and go on in the same run, use `Context.ask`.
    """

    text: str
    candidates: Sequence[str] = ()
    outcome: Outcome = field(default_factory=lambda: Outcome(result="EXITED"))


#: What an agent may return: an answer, nothing (what it streamed is the answer), or more.
Result = Outcome | Question | str | None


@dataclass(frozen=True)
class Profile:
    """What `ready` tells (IPC protocol §4.1)."""

    models: Sequence[Model] = ()
    current: int = 0
    capabilities: Sequence[str] = ("abort", "approvals", "history")
    cwd: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of `ready`."""
    notices: Sequence[ErrorReport] = ()
    """What went wrong and did not keep the agent from starting."""


class Host(Protocol):
    """What an agent may use outside a run; safe from any thread."""

    @property
    def arguments(self) -> Arguments:
        """What the runner was started with."""

    def emit(self, kind: str, /, **fields: Any) -> None:
        """Writes an event that belongs to no run."""

    def report(self, report: ErrorReport) -> None:
        """Writes an `error` event."""


class Agent:
    """An agent with all it can do. `run` is called for each task, one at a time, on one thread of its
    own; everything else on another, and must be quick. What is not overridden is refused.

    Most agents are a function; see `galley.runner.run`.
    """

    def start(self, host: Host) -> Profile:
        """Gets ready. Raise `StartError` if that is impossible."""
        raise NotImplementedError

    def run(self, task: Task, ctx: Context) -> Result:
        """Does the task."""
        raise NotImplementedError

    def load_history(self, messages: Sequence[HistoryMessage]) -> None:
        """Takes over an earlier conversation; nothing was said before."""
        raise Refused("this agent takes no history")

    def select_model(self, index: int) -> Model:
        """Uses another model from now on. `index` is one of `Profile.models`; no run is open."""
        raise Refused("this agent has no choice of models")

    def side_question(self, question: str) -> str:
        """Answers a `/btw` question, also while a run is open; on a thread of its own."""
        raise Refused("this agent answers no side questions")

    def reinject_tools(self) -> int:
        """Puts the tool definitions into the history again; returns how many. No run is open."""
        raise Refused("this agent cannot put its tool definitions into the history again")

    def attach_pet(self, port: int) -> None:
        """Starts the desktop pet; writes `pet_attached` through its host when it is there."""
        raise Refused("this agent has no desktop pet")

    def detach_pet(self) -> None:
        """Ends the desktop pet, if there is one."""

    def close(self) -> None:
        """Lets go of what a run does not. No run is open any more, or the last did not end in time."""
