"""An agent for Galley: counts the words of a text file and offers to save the result beside it.

    galley runtime add words --command "python3 $PWD/examples/runner.py"
    galley run --runtime words README.md

`galley.runner` comes with the `galley` package; in a checkout it is in `galley-core/python`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

try:
    import galley.runner  # noqa: F401
except ModuleNotFoundError:
    sys.path.append(str(Path(__file__).parents[1] / "galley-core" / "python"))

from galley.runner import AgentError, Context, Task, run


def words(task: Task, ctx: Context) -> Iterator[str]:
    path = Path(task.text.strip()).expanduser()
    with ctx.tool("file_read", path=str(path)) as call:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise AgentError(f"cannot read {path}: {error.strerror}", retryable=False) from error
        call.result(f"{len(text)} characters")

    how_many = ctx.ask("How many of the most frequent words?", ["3", "10"])
    count = int(how_many) if how_many.isdigit() else 3
    common = Counter(text.lower().split()).most_common(count)
    report = "\n".join(f"- {word}: {times}" for word, times in common)
    yield f"{path.name} has {len(text.split())} words.\n\n{report}\n"

    target = path.with_suffix(path.suffix + ".words")
    args = {"path": str(target), "content": report}
    if ctx.approve("file_write", args, risk="medium", reason="Writes a file next to the one it read"):
        with ctx.tool("file_write", **args) as call:
            target.write_text(report + "\n", encoding="utf-8")
            call.result(f"{len(report)} characters written")
        yield f"\nSaved as {target.name}."
    else:
        yield "\nNot saved."


run(words)
