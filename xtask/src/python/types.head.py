"""What commands answer: a frozen class per shape, and the words they use.

Words are open: one of a newer Core is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

_T = TypeVar("_T")


def _maybe(read: Callable[[Any], _T], value: Any) -> _T | None:
    return None if value is None else read(value)


def _each(read: Callable[[Any], _T], values: Iterable[Any] | None) -> tuple[_T, ...] | None:
    return None if values is None else tuple(map(read, values))


@dataclass(frozen=True, slots=True)
class UnknownFrame:
    """A frame of a kind that this version does not know."""

    raw: Mapping[str, Any]
    """The frame."""


