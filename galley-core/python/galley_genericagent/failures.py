"""What went wrong at the model: GA reports that as the text of its reply, not as an exception."""

from __future__ import annotations

import re
from typing import Any

from galley.runner import AgentError, ErrorReport
from galley.runner.errors import Hint

#: First match wins. Status codes count as words only: a port in a quoted URL may hold one.
_HINTS: tuple[tuple[Hint, re.Pattern[str]], ...] = (
    (
        "check_llm_config",
        re.compile(
            r"\bHTTP (401|403)\b|\b(401|403) Client Error|\bstatus[ :]+(401|403)\b"
            r"|api[ _-]?key|unauthorized|authentication|forbidden|invalid key",
            re.IGNORECASE,
        ),
    ),
    (
        "quota_exceeded",
        re.compile(
            r"\bHTTP 429\b|\b429 Client Error|\bstatus[ :]+429\b|quota|rate[ _-]?limit|too many requests|insufficient",
            re.IGNORECASE,
        ),
    ),
    (
        "network",
        re.compile(
            r"ConnectionError|ReadTimeout|ConnectTimeout|timed? ?out|NameResolution|Failed to resolve|getaddrinfo"
            r"|Connection (refused|reset|aborted)|Max retries exceeded|ChunkedEncodingError|ended prematurely"
            r"|流异常中断|unreachable",
            re.IGNORECASE,
        ),
    ),
)

_AT_START = ("!!!Error:", "Error:")
_ANYWHERE_NEAR_END = ("!!!Error:", "[!!! 流异常中断", "[Error: Claude refusal]")
_AT_END = "Error: Response ended prematurely"
_NEAR = 600


def hint_for(text: str) -> Hint | None:
    """What the user can do about it, if that is known."""
    return next((hint for hint, pattern in _HINTS if pattern.search(text)), None)


def begins_failure(text: str) -> bool:
    """Whether a reply that begins with `text` is an error message of GA's."""
    return text.lstrip().startswith(_AT_START)


def failure_in(reply: str, called_tools: bool) -> str | None:
    """The error message a reply is, or ends with; None for a reply of a model.

    `called_tools`: whether the reply asked for tools; then it is one, whatever it begins with.
    """
    text = reply.strip()
    if begins_failure(text) and (text.startswith("!!!") or not called_tools):
        return text
    if text.endswith(_AT_END):
        return _AT_END
    end = text[-_NEAR:]
    places = [end.rfind(marker) for marker in _ANYWHERE_NEAR_END]
    return end[max(places) :] if max(places) >= 0 else None


def report(message: str, secrets: list[str], context: str = "user_message") -> ErrorReport:
    """A failed model call as an `error` event."""
    message = redacted(message.strip().lstrip("!").strip(), secrets)
    return ErrorReport(
        re.sub(r"^Error:\s*", "", message), retryable=True, hint=hint_for(message), context=context, category="runtime"
    )


def raised(error: BaseException, secrets: list[str], context: str = "user_message") -> ErrorReport:
    """An exception out of GA as an `error` event."""
    found = ErrorReport.of(error, context)
    return ErrorReport(
        redacted(found.message, secrets),
        found.category,
        found.severity,
        found.retryable,
        found.hint or (hint_for(found.message) if not isinstance(error, AgentError) else None),
        found.context,
        redacted(found.traceback or "", secrets) or None,
    )


def secrets_of(agent: Any) -> list[str]:
    """The keys of the agent's models."""
    backends = [getattr(client, "backend", None) for client in getattr(agent, "llmclients", None) or []]
    keys = [getattr(backend, "api_key", None) for backend in backends]
    return [key for key in keys if isinstance(key, str) and len(key) >= 6]


def redacted(text: str, secrets: list[str]) -> str:
    """`text` without any of `secrets`."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
