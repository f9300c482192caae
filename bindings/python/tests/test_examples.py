"""The examples, and the programs in the documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*args: str | Path) -> str:
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_supervisor_decides_and_reports(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    run(ROOT / "examples" / "supervisor.py", report, "echo one", "rm -rf /nowhere", "echo three")
    text = report.read_text()
    assert "## echo one\n\nallow_once; completed\n\n```\none\n```" in text
    assert "## rm -rf /nowhere\n\ndeny;" in text


def test_the_quickstart_runs() -> None:
    assert "hello from galley" in run(ROOT / "examples" / "quickstart.py")


@pytest.mark.parametrize("number", range(1))
def test_the_programs_of_the_documentation_run(number: int) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(programs) == 1
    assert run("-c", programs[number]).strip()
