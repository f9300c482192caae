"""What can go wrong, and how it is told (IPC protocol §4.10)."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .wire import ERROR_MESSAGE, clip

Category = Literal["bridge", "runtime", "business"]
Severity = Literal["error", "warning", "info"]
Hint = Literal["check_llm_config", "network", "quota_exceeded"]


@dataclass(frozen=True)
class ErrorReport:
    """The body of an `error` event.

    `category` says where it belongs: `bridge` is a fault of the runner itself, `runtime` one of the
    agent, its model or its tools, `business` a request that cannot be met; only the first two, with
    severity `error`, make a run a failed one. `extra` holds further fields.
    """

    message: str
    category: Category = "runtime"
    severity: Severity = "error"
    retryable: bool = False
    hint: Hint | None = None
    context: str | None = None
    traceback: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The event's fields, without those that are absent."""
        optional = {"hint": self.hint, "context": self.context, "traceback": self.traceback}
        return {
            "message": clip(" ".join(self.message.split()) or "unknown error", ERROR_MESSAGE),
            "category": self.category,
            "severity": self.severity,
            "retryable": self.retryable,
            **{name: value for name, value in optional.items() if value is not None},
            **self.extra,
        }

    @classmethod
    def of(cls, error: BaseException, context: str) -> ErrorReport:
        """What to report of an exception: its own report if it carries one, else the exception."""
        if isinstance(error, AgentError):
            report = error.report
            return report if report.context else replace(report, context=context)
        return cls(
            message=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__,
            category="runtime",
            retryable=True,
            context=context,
            traceback="".join(traceback.format_exception(type(error), error, error.__traceback__)),
        )


class AgentError(Exception):
    """An error that says how it is to be reported. Raised by an agent, it ends the run."""

    def __init__(
        self,
        message: str,
        *,
        category: Category = "runtime",
        severity: Severity = "error",
        retryable: bool = True,
        hint: Hint | None = None,
        context: str | None = None,
    ) -> None:
        super().__init__(message)
        self.report = ErrorReport(message, category, severity, retryable, hint, context)


class Refused(AgentError):
    """A command that is fine in itself and cannot be met now, or by this agent."""

    def __init__(self, message: str, context: str | None = None) -> None:
        super().__init__(message, category="business", retryable=False, context=context)


class StartError(Exception):
    """The agent cannot start. It is reported as an `error` event with `cause` in place of `ready`,
    and the process ends with `exit_code`."""

    def __init__(self, cause: str, message: str, exit_code: int = 1, hint: Hint | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.exit_code = exit_code
        self.hint = hint


class Aborted(BaseException):
    """The run was stopped. Raised inside the agent wherever it touches its context.

    Not an `Exception`, so that an agent's `except Exception` lets it pass; clean up in `finally`.
    """
