"""The scenarios that all clients share, over the socket and within the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import galley
import pytest

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def matches(pattern: Any, value: Any) -> bool:
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(key in value and matches(one, value[key]) for key, one in pattern.items())
    if isinstance(pattern, list):
        return isinstance(value, list) and len(pattern) == len(value) and all(map(matches, pattern, value))
    return bool(pattern == value)


def point(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


class Scenario:
    """A scenario on its way."""

    def __init__(self, client: galley.Client) -> None:
        self.client = client
        self.saved: dict[str, Any] = {}

    def filled(self, value: Any) -> Any:
        """With the saved values in the places of their names."""
        if isinstance(value, dict):
            return {key: self.filled(one) for key, one in value.items()}
        return self.saved[value[1:]] if isinstance(value, str) and value.startswith("$") else value

    def step(self, step: dict[str, Any]) -> None:
        if "call" in step:
            self.call(step)
        elif "watch" in step:
            self.watch(step)
        else:
            args = dict(self.filled(step["wait"]))
            outcome = self.client.wait(args)
            assert (outcome.status, outcome.answer) == (step["status"], step["answer"])

    def call(self, step: dict[str, Any]) -> None:
        args = self.filled(step["args"])
        if "error" in step:
            with pytest.raises(galley.GalleyError) as failed:
                self.client.call(step["call"], **args)
            assert failed.value.tag == step["error"]
            return
        result = self.client.call(step["call"], **args)
        assert matches(step.get("result", {}), result), (step, result)
        self.saved.update({name: point(result, pointer) for name, pointer in step.get("save", {}).items()})

    def watch(self, step: dict[str, Any]) -> None:
        kinds: list[str] = []
        indexes: list[int] = []
        with self.client.session(self.filled(step["watch"])).watch(from_=step["from"]) as watch:
            for event in watch:
                assert isinstance(event, galley.Event)
                kinds.append(event.kind)
                indexes.append(event.index)
                if event.kind == step["until"]:
                    raw = event.raw
                    self.saved.update({name: point(raw, pointer) for name, pointer in step.get("save", {}).items()})
                    break
        assert kinds == step["kinds"]
        assert indexes == list(range(indexes[0], indexes[0] + len(indexes)))


@pytest.mark.parametrize("transport", ["embedded", "socket"])
@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.json")), ids=lambda path: path.stem)
def test_scenario(core: galley.Core, path: Path, transport: str) -> None:
    with core.client() if transport == "embedded" else galley.connect(core.socket) as client:
        scenario = Scenario(client)
        for step in json.loads(path.read_text())["steps"]:
            scenario.step(step)
