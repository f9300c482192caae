"""What the tests share: GenericAgent in a virtual environment, a model to talk to, and trees to run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from runner_process import TREE, RunnerProcess

GA_PACKAGE = "genericagent==1.0.7"
_FIND = "import importlib.util as u; print(u.find_spec('genericagent').submodule_search_locations[0])"


@pytest.fixture(scope="session")
def ga_python() -> str:
    """An interpreter that has GenericAgent: GALLEY_TEST_GA_PYTHON, else one made once and kept."""
    given = os.environ.get("GALLEY_TEST_GA_PYTHON")
    if given:
        return given
    home = Path(os.environ.get("CARGO_TARGET_DIR") or TREE.parents[1] / "target") / "test-genericagent"
    python = home / "bin" / "python"
    if not python.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        # Made beside and moved into place, so that tests in parallel never see half of it.
        made = Path(tempfile.mkdtemp(prefix="test-genericagent-", dir=home.parent))
        subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
        pip = [str(made / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", GA_PACKAGE], check=True)
        subprocess.run([*pip, "requests", "beautifulsoup4"], check=True)
        try:
            made.rename(home)
        except OSError:
            shutil.rmtree(made)
    return str(python)


@pytest.fixture(scope="session")
def real_tree(ga_python: str) -> Path:
    """Where that interpreter has GenericAgent."""
    result = subprocess.run([ga_python, "-c", _FIND], check=True, capture_output=True, text=True)
    return Path(result.stdout.strip())


@pytest.fixture
def fake_tree(tmp_path: Path) -> Path:
    """A copy of the fake tree; it writes into itself."""
    return Path(shutil.copytree(TREE / "tests" / "fake_ga", tmp_path / "FakeAgent"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = ModelServer()
    yield model
    model.close()


@dataclass
class Lab:
    """Starts bridges on one GA tree, with two models at one server."""

    name: str
    tree: Path
    python: str
    kind: str
    server: ModelServer
    folder: Path
    started: list[RunnerProcess] = field(default_factory=list)

    @property
    def real(self) -> bool:
        return self.name == "real"

    def key_file(self, port: int | None = None, **settings: Any) -> Path:
        """Writes the key file: the model of the kind under test, then one of the other kind."""
        base = {
            "apikey": "sk-very-secret",
            "apibase": f"http://127.0.0.1:{port or self.server.port}/v1",
            "max_retries": 0,
            "connect_timeout": 3,
            "read_timeout": 5,
            **settings,
        }
        other = "claude" if self.kind == "oai" else "oai"
        keys = {
            f"native_{self.kind}_config_a": {**base, "name": "model-a", "model": "model-a"},
            f"native_{other}_config_b": {**base, "name": "model-b", "model": "model-b"},
        }
        path = (self.folder if self.real else self.tree) / "mykey.json"
        path.write_text(json.dumps(keys), encoding="utf-8")
        return path

    def command(self, *arguments: str) -> list[str]:
        bridge = str(TREE / "galley_genericagent" / "__main__.py")
        return [self.python, bridge, "--ga-path", str(self.tree), *arguments]

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None, core_pid: int | None = None
    ) -> RunnerProcess:
        """Starts a bridge; the key file is written unless there is one."""
        keys = (self.folder if self.real else self.tree) / "mykey.json"
        if not keys.exists():
            self.key_file()
        environment = {"GENERICAGENT_MYKEY": str(keys), "HOME": str(self.folder), **(env or {})}
        runner = RunnerProcess(self.command(*arguments), environment, core_pid=core_pid)
        self.started.append(runner)
        return runner

    def ready(self, *arguments: str, **options: Any) -> RunnerProcess:
        """Starts a bridge and waits until it is ready."""
        runner = self.start(*arguments, **options)
        runner.expect("ready")
        return runner


@pytest.fixture
def make_lab(ga_python: str, real_tree: Path, fake_tree: Path, server: ModelServer, tmp_path: Path) -> Iterator[Any]:
    made: list[Lab] = []

    def make(name: str, kind: str) -> Lab:
        lab = Lab(name, real_tree if name == "real" else fake_tree, ga_python, kind, server, tmp_path)
        made.append(lab)
        return lab

    yield make
    for lab in made:
        for runner in lab.started:
            runner.close()


@pytest.fixture(params=["real-oai", "real-claude", "fake-oai", "fake-claude"])
def lab(request: pytest.FixtureRequest, make_lab: Callable[[str, str], Lab]) -> Lab:
    """Every tree with every kind of model."""
    name, kind = request.param.split("-")
    return make_lab(name, kind)


@pytest.fixture
def real(make_lab: Callable[[str, str], Lab]) -> Lab:
    """GenericAgent itself."""
    return make_lab("real", "oai")


@pytest.fixture
def fake(make_lab: Callable[[str, str], Lab]) -> Lab:
    """The fake tree, which has what newer GenericAgents have."""
    return make_lab("fake", "oai")
