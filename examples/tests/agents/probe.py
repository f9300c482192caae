"""An agent that does what the conformance suite asks for: its task's first word says what."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "galley-core" / "python"))

from galley.runner import AgentError, Context, Model, Task, run


def probe(task: Task, ctx: Context) -> str:
    match task.text.strip():
        case "approval":
            if not ctx.approve("burn", {"what": "paper"}, "high", "It is gone then"):
                return "kept"
            with ctx.tool("burn", what="paper") as call:
                call.result("burnt")
        case "question":
            return ctx.ask("Which?", ["red", "blue"])
        case "long":
            # A child that nobody waits for: it is the runner's to end.
            subprocess.Popen(["sleep", "600"])
            ctx.progress("working")
            ctx.sleep(600)
        case "print":
            print("from the agent")
            subprocess.run(["echo", "from a child"], check=True)
        case "fail":
            raise AgentError("told to fail", hint="network")
        case "panic":
            raise TypeError("told to panic")
        case "stubborn":
            ctx.progress("deaf")
            time.sleep(4.5)
        case "history":
            return " | ".join(message.content for message in ctx.history)
        case "model":
            return ctx.model.name if ctx.model else ""
        case "steps":
            ctx.progress("first")
            ctx.next_step("one")
            ctx.progress("second")
            return "second"
        case other:
            ctx.progress(f"You said: {other}")
    return "done"


run(probe, models=["small", Model("big", "Big One")], side_question=lambda question: f"about {question}")
