# Generated from schema/galley-v1.json by `cargo xtask generate`.
"""What goes wrong: one exception class per stable tag of the Agent API."""

import json
from typing import Any


class GalleyError(Exception):
    """An error of Galley; of this very class when its tag is newer than this package."""

    message: str
    """What went wrong, for people."""
    tag: str
    """The stable name."""
    exit_code: int
    """The exit code that the `galley` command ends with."""
    retryable: bool
    """Whether the same call may work a little later."""
    detail: Any
    """Structure, when there is some."""

    def __init__(
        self,
        message: str,
        *,
        tag: str = "internal",
        exit_code: int = 1,
        retryable: bool = False,
        detail: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.tag = tag
        self.exit_code = exit_code
        self.retryable = retryable
        self.detail = detail

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (type(self), self.message, self.tag, self.exit_code, self.retryable, self.detail))


def _restore(kind: type[GalleyError], message: str, tag: str, code: int, retryable: bool, detail: Any) -> GalleyError:
    return kind(message, tag=tag, exit_code=code, retryable=retryable, detail=detail)


def of(tag: str, message: str, detail: str | None, exit_code: int, retryable: bool) -> GalleyError:
    """The exception for an error on the wire."""
    kind = _BY_TAG.get(tag, GalleyError)
    structure = None if detail is None else json.loads(detail)
    return kind(message, tag=tag, exit_code=exit_code, retryable=retryable, detail=structure)


class Closed(GalleyError):
    """What was used is closed: by its `close`, by the end of its Core, or by a fork."""

    def __init__(self, message: str, **other: Any) -> None:
        super().__init__(message, **{"tag": "closed", **other})


class Busy(GalleyError):
    """Tag `busy`, exit code 6 of the command."""


class DbUnavailable(GalleyError):
    """Tag `db_unavailable`, exit code 4 of the command."""


class IdleTimeout(GalleyError):
    """Tag `idle_timeout`, exit code 1 of the command."""


class Internal(GalleyError):
    """Tag `internal`, exit code 1 of the command."""


class InvalidArgs(GalleyError):
    """Tag `invalid_args`, exit code 2 of the command."""


class NotFound(GalleyError):
    """Tag `not_found`, exit code 3 of the command."""


class QueueFull(GalleyError):
    """Tag `queue_full`, exit code 1 of the command."""


class RunnerError(GalleyError):
    """Tag `runner_error`, exit code 5 of the command."""


class SchemaMismatch(GalleyError):
    """Tag `schema_mismatch`, exit code 2 of the command."""


class UnknownCommand(GalleyError):
    """Tag `unknown_command`, exit code 1 of the command."""


_BY_TAG: dict[str, type[GalleyError]] = {
    "busy": Busy,
    "db_unavailable": DbUnavailable,
    "idle_timeout": IdleTimeout,
    "internal": Internal,
    "invalid_args": InvalidArgs,
    "not_found": NotFound,
    "queue_full": QueueFull,
    "runner_error": RunnerError,
    "schema_mismatch": SchemaMismatch,
    "unknown_command": UnknownCommand,
}
