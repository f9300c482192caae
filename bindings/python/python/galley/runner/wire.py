"""The words of the IPC protocol: versions, limits, and events as bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

#: What `ready` announces (IPC protocol §9).
PROTOCOL_VERSION = "0.1"

#: The longest line either side accepts, in bytes.
MAX_LINE = 16 * 1024 * 1024

#: Characters of `argsPreview` (§4.3), `resultPreview` (§4.5) and an error's `message` (§4.10).
ARGS_PREVIEW = 200
RESULT_PREVIEW = 500
ERROR_MESSAGE = 200

#: How long a string may be, in characters, in an event that would not fit a line otherwise.
_SHORTENED = 64 * 1024


def now() -> str:
    """The time as the protocol writes it: ISO 8601 with the local zone."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def clip(text: str, limit: int) -> str:
    """`text` in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def args_preview(args: Mapping[str, Any]) -> str:
    """A tool's arguments for people: `path=a.txt, count=3`."""
    parts = (f"{name}={value if isinstance(value, str) else _dumps(value)}" for name, value in args.items())
    return clip(", ".join(parts), ARGS_PREVIEW)


def as_text(value: Any) -> str:
    """A tool's result as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else _dumps(value)


def encode(event: Mapping[str, Any]) -> bytes:
    """`event` as one line of strict JSON in UTF-8, with its newline.

    Values that JSON has no word for become their text, lone surrogates `?`, and the long strings of
    an event beyond `MAX_LINE` are cut: an event is always written.
    """
    line = _line(event)
    if len(line) > MAX_LINE:
        line = _line(_shortened(event))
    return line


def is_side_question(text: str) -> bool:
    """Whether a message is a `/btw` question: the word alone, or followed by a space or a tab."""
    text = text.lstrip()
    return text == "/btw" or text.startswith(("/btw ", "/btw\t"))


def _line(event: Any) -> bytes:
    return _dumps(event).encode("utf-8", "replace") + b"\n"


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any, depth: int = 0) -> Any:
    """`value` in JSON's own types; what is nested beyond reason, as a cycle is, becomes text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > 50:
        return f"<{type(value).__name__}>"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    return str(value)


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return clip(value, _SHORTENED)
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(item) for item in value]
    return value
