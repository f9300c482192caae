"""Delegates a batch of shell tasks, decides on approvals by a policy, and writes a report.

    python supervisor.py REPORT TASK…

An approval is allowed when the command line uses none of the words that this supervisor forbids.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import galley

FORBIDDEN = ("rm", "sudo", "shutdown")


def decide(asked: galley.ToolCallPending) -> str:
    """The policy."""
    words = (asked.args_preview or "").split()
    return "deny" if any(word in FORBIDDEN for word in words) else "allow_once"


async def delegate(client: galley.AsyncClient, task: str) -> str:
    """Carries one task out; its part of the report."""
    new = await client.sessions.create(task, approval_mode="ask", supervisor="batch", reason="an example")
    session = client.session(new.session.id)
    decisions: list[str] = []
    async with session.watch(from_="start") as events:
        async for event in events:
            match event:
                case galley.ToolCallPending(approval=str(approval)):
                    decisions.append(decide(event))
                    await client.approvals.respond(decisions[-1], approval, supervisor="batch")
                case galley.RunComplete():
                    break
                case _:
                    pass
    outcome = await session.wait(until_idle=True)
    answer = (outcome.answer or "").strip()
    return f"## {task}\n\n{', '.join(decisions)}; {outcome.session.status}\n\n```\n{answer}\n```\n"


async def main(report: Path, tasks: list[str]) -> None:
    """Carries all tasks out at once."""
    with tempfile.TemporaryDirectory() as folder:
        async with galley.Core(Path(folder, "batch.db")) as core, core.aclient() as client:
            parts = await asyncio.gather(*(delegate(client, task) for task in tasks))
    report.write_text("# Report\n\n" + "\n".join(parts))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
