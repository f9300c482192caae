"""Arguments on their way to the native module."""

import json
from collections.abc import Mapping
from typing import Any

from ._arguments import ARGUMENTS


def encode(command: str, args: Mapping[str, Any]) -> str:
    """The arguments as JSON, those that are `None` left out.

    Raises `TypeError`, naming the argument, when one is of a wrong type.
    """
    known = ARGUMENTS.get(command, {})
    given = {key: value for key, value in args.items() if value is not None}
    for key, value in given.items():
        if key in known:
            name, kinds = known[key]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"{command}: argument {name!r} must be {wanted}, not {type(value).__name__}")
    try:
        return json.dumps(given, default=dict)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{command}: the arguments are no JSON: {error}") from None


def reject_missing(command: str, args: Mapping[str, Any], required: tuple[str, ...]) -> None:
    """Raises `TypeError` for a required argument that is `None`."""
    for key in required:
        if args.get(key) is None:
            raise TypeError(f"{command}: argument {key!r} is required")
