"""What a runner is started with (IPC protocol §3)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Arguments:
    """The command line, read."""

    session_id: str
    ga_path: str | None = None
    workspace_root: str | None = None
    llm_no: int = 0
    cwd: str | None = None
    rest: tuple[str, ...] = ()
    """Arguments the protocol does not know: the agent's own."""

    @classmethod
    def parse(cls, argv: Sequence[str] | None = None, *, require_ga_path: bool = False) -> Arguments:
        """Reads `argv`, the process's own by default. Unknown arguments are kept in `rest`.

        A bad argument ends the process with code 2 and a line on standard error.
        """
        parser = argparse.ArgumentParser(description="A Galley runner; it is started by Galley.", allow_abbrev=False)
        parser.add_argument("--session-id", default=os.environ.get("GALLEY_SESSION_ID", ""))
        parser.add_argument("--ga-path", required=require_ga_path)
        parser.add_argument("--workspace-root")
        parser.add_argument("--llm-no", type=int, default=0)
        parser.add_argument("--cwd")
        known, rest = parser.parse_known_args(argv)
        return cls(
            session_id=known.session_id,
            ga_path=known.ga_path,
            workspace_root=known.workspace_root,
            llm_no=known.llm_no,
            cwd=known.cwd,
            rest=tuple(rest),
        )
