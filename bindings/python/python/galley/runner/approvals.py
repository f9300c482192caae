"""Which tools may run: the rules Galley sends, and the approvals that wait for a person."""

from __future__ import annotations

import secrets
import threading
from typing import Literal, get_args

from .commands import SetApprovalRules
from .errors import Refused

Decision = Literal["allow_once", "deny", "always_allow_project", "always_allow_global"]
_DECISIONS = get_args(Decision)


class Approvals:
    """The approval state of a session (IPC protocol §5.2, §5.6, §5.7).

    Only a known decision about an approval that waits changes anything; a lost or late answer, the end
    of the input and an abort never mean yes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._automatic = False
        self._everywhere: set[str] = set()
        self._project: set[str] = set()
        self._waiting: dict[str, str] = {}
        self._decided: dict[str, str] = {}

    def set_rules(self, rules: SetApprovalRules) -> None:
        """Replaces the tools that need no approval."""
        with self._lock:
            self._everywhere, self._project = set(rules.everywhere), set(rules.project)

    def set_automatic(self, enabled: bool) -> None:
        """Turns automatic execution on or off. It does not answer what already waits."""
        with self._lock:
            self._automatic = enabled

    def allows(self, tool: str) -> bool:
        """Whether `tool` may run without asking."""
        with self._lock:
            return self._automatic or tool in self._everywhere or tool in self._project

    def open(self, tool: str) -> str:
        """Begins to wait for an answer about `tool`; returns the new approval's id."""
        approval_id = f"appr_{secrets.token_hex(6)}"
        with self._lock:
            self._waiting[approval_id] = tool
        return approval_id

    def close(self, approval_id: str) -> None:
        """Waits no longer; an answer from here on is refused."""
        with self._lock:
            self._waiting.pop(approval_id, None)
            self._decided.pop(approval_id, None)

    def answer(self, approval_id: str, decision: str) -> None:
        """Takes an answer. An `always_allow` one is remembered until the next `set_rules`.

        Raises:
            Refused: nothing of this id waits, or the decision is none; what waits goes on waiting.
        """
        if decision not in _DECISIONS:
            raise Refused(f"no such decision: {decision}")
        with self._lock:
            if approval_id not in self._waiting or approval_id in self._decided:
                raise Refused(f"no approval {approval_id} is waiting")
            self._decided[approval_id] = decision
            if decision == "always_allow_global":
                self._everywhere.add(self._waiting[approval_id])
            elif decision == "always_allow_project":
                self._project.add(self._waiting[approval_id])

    def decided(self, approval_id: str) -> bool:
        """Whether the approval has its answer."""
        with self._lock:
            return approval_id in self._decided

    def allowed(self, approval_id: str) -> bool:
        """Whether the answer was yes; no answer is no."""
        with self._lock:
            return self._decided.get(approval_id, "deny") != "deny"
