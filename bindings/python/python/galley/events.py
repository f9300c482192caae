# Generated from schema/galley-v1.json by `cargo xtask generate`.
"""What runners say: a frozen class per kind of the IPC protocol, for `match`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from .types import (
    ExitReason,
    Llm,
    RiskLevel,
    _maybe,
)

ApprovalOutcome: TypeAlias = Literal["allowed", "denied", "cancelled"] | str
Category: TypeAlias = Literal["bridge", "runtime", "business"] | str
Severity: TypeAlias = Literal["error", "warning", "info"] | str
SystemVariant: TypeAlias = Literal["side_question", "system"] | str
ToolStatus: TypeAlias = Literal["success", "failed", "denied", "cancelled"] | str


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a session's log."""

    kind: ClassVar[str]
    """The word on the wire; an `UnknownEvent` has its own."""
    index: int
    """Its place in the log, from 1; 0 when the stream has no indexes."""
    run: int
    """The run it belongs to, from 1; 0 before the first."""
    approval: str | None
    """Core's id of the approval that it asks for."""
    raw_line: bytes = field(repr=False)
    """The line as the runner wrote it, without its newline."""

    @property
    def raw(self) -> dict[str, Any]:
        """All its fields, those of newer versions included."""
        fields: dict[str, Any] = json.loads(self.raw_line)
        return fields


@dataclass(frozen=True, slots=True)
class UnknownEvent(Event):
    """An event of a kind, or of a shape, that this version does not know."""

    kind: str  # type: ignore[misc]
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were compacted away."""

    first: int
    """Index of the first of them."""
    last: int
    """Index of the last of them."""


def read_line(line: bytes, index: int = 0, run: int = 0, approval: str | None = None) -> Event:
    """The event of a runner's line."""
    raw = json.loads(line)
    return _read(raw, index, run, approval, line)


def _read(raw: dict[str, Any], index: int, run: int, approval: str | None, line: bytes) -> Event:
    kind: Any = raw.get("kind")
    try:
        return _KINDS[kind](raw, index, run, approval, line)
    except (KeyError, TypeError):
        return UnknownEvent(index=index, run=run, approval=approval, raw_line=line, kind=str(kind), fields=raw)


def read_batch(first: int, run: int, approvals: list[tuple[int, str]], lines: bytes) -> Iterator[Event]:
    """The events of consecutive lines, each ended by a newline."""
    asked = dict(approvals)
    lines = lines[:-1]
    # One list is parsed much faster than its items one by one.
    events = json.loads(b"[%b]" % lines.replace(b"\n", b","))
    for index, (raw, line) in enumerate(zip(events, lines.split(b"\n"), strict=True), first):
        yield _read(raw, index, run, asked.get(index), line)


@dataclass(frozen=True, slots=True)
class ApprovalResolved(Event):
    """Core's own: an approval ended."""

    kind: ClassVar[str] = "approval_resolved"
    approval_id: str
    """The runner's id of it."""
    id: str
    """Core's id of the approval."""
    outcome: ApprovalOutcome
    """How it ended."""
    source: str
    """Always `core`."""
    by: str | None
    """Who decided."""
    reason: str | None
    """Why."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ApprovalResolved:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["approvalId"],
            raw["id"],
            raw["outcome"],
            raw["source"],
            raw.get("by"),
            raw.get("reason"),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class AskUser(Event):
    """The agent asks the user (§4.8)."""

    kind: ClassVar[str] = "ask_user"
    question: str
    """The question."""
    blocking: bool | None
    """The run stays open until the answer comes (otherwise asking ends the run)."""
    candidates: tuple[str, ...] | None
    """Answers to choose from; empty for an open question."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> AskUser:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["question"],
            raw.get("blocking"),
            _maybe(tuple, raw.get("candidates")),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class ErrorEvent(Event):
    """Something went wrong and the runner goes on (§4.10)."""

    kind: ClassVar[str] = "error"
    message: str
    """One sentence for people."""
    category: Category | None
    """Where it belongs."""
    context: str | None
    """What the runner was doing."""
    exit_code: int | None
    """Core's `runner_exit`: the exit code."""
    hint: str | None
    """What to do about it: `check_llm_config`, `network`, `quota_exceeded`."""
    retryable: bool | None
    """Whether trying again may help."""
    session_id: str | None
    """The session, echoed by the runner."""
    severity: Severity | None
    """How bad it is."""
    signal: int | None
    """Core's `runner_exit`: the signal."""
    source: str | None
    """`core` on errors that Core reports about a runner."""
    stderr_tail: tuple[str, ...] | None
    """Core's `runner_exit`: the last lines of standard error."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    traceback: str | None
    """A trace for developers."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ErrorEvent:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["message"],
            raw.get("category"),
            raw.get("context"),
            raw.get("exitCode"),
            raw.get("hint"),
            raw.get("retryable"),
            raw.get("sessionId"),
            raw.get("severity"),
            raw.get("signal"),
            raw.get("source"),
            _maybe(tuple, raw.get("stderrTail")),
            raw.get("timestamp"),
            raw.get("traceback"),
        )


@dataclass(frozen=True, slots=True)
class HistoryLoaded(Event):
    """The answer to `load_history` (§4.11)."""

    kind: ClassVar[str] = "history_loaded"
    message_count: int
    """How many messages were taken."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> HistoryLoaded:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["messageCount"],
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class LlmChanged(Event):
    """The model changed (§4.12)."""

    kind: ClassVar[str] = "llm_changed"
    index_: int
    """Its position."""
    name: str
    """Its raw name."""
    display_name: str | None
    """Its name for people."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> LlmChanged:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["index"],
            raw["name"],
            raw.get("displayName"),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class Malformed(Event):
    """Core's own: a line of the runner that is no event."""

    kind: ClassVar[str] = "malformed"
    line: str
    """The line, or its beginning when it was over-long."""
    source: str
    """Always `core`."""
    bytes_: int | None
    """The line's length when it was over-long and cut."""
    reason: str | None
    """What was wrong with it."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> Malformed:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["line"],
            raw["source"],
            raw.get("bytes"),
            raw.get("reason"),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class PetAttached(Event):
    """The desktop pet runs (§4.14)."""

    kind: ClassVar[str] = "pet_attached"
    port: int
    """Its loopback HTTP port."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> PetAttached:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["port"],
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class PetDetached(Event):
    """The desktop pet is gone (§4.15)."""

    kind: ClassVar[str] = "pet_detached"
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> PetDetached:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class Ready(Event):
    """The first event of a runner (§4.1). Core sends nothing before it."""

    kind: ClassVar[str] = "ready"
    available_l_l_ms: tuple[Llm, ...]
    """Every model it can use. Not defaulted: a runner that misspells it is told so."""
    protocol_version: str
    """Must be [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION)."""
    capabilities: tuple[str, ...] | None
    """What it can do; absent means everything the specification has."""
    cwd: str | None
    """The runner's working directory."""
    ga_commit: str | None
    """Commit of the agent's checkout, or `unknown`."""
    ga_commit_date: str | None
    """When that commit was made, or `unknown`."""
    ga_path: str | None
    """Where the agent lives."""
    llm_name: str | None
    """Raw name of the model in use."""
    pid: int | None
    """The runner's process id."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> Ready:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            tuple(map(Llm.read, raw["availableLLMs"])),
            raw["protocolVersion"],
            _maybe(tuple, raw.get("capabilities")),
            raw.get("cwd"),
            raw.get("gaCommit"),
            raw.get("gaCommitDate"),
            raw.get("gaPath"),
            raw.get("llmName"),
            raw.get("pid"),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class RunComplete(Event):
    """The run ended (§4.9); the last event of a run."""

    kind: ClassVar[str] = "run_complete"
    exit_reason: ExitReason
    """Why."""
    final_content: str | None
    """The answer, Markdown."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    total_turns: int | None
    """How many steps it took."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> RunComplete:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            ExitReason.read(raw["exitReason"]),
            raw.get("finalContent"),
            raw.get("sessionId"),
            raw.get("timestamp"),
            raw.get("totalTurns"),
        )


@dataclass(frozen=True, slots=True)
class Stalled(Event):
    """Core's own: an open run has been silent."""

    kind: ClassVar[str] = "stalled"
    last_activity_at: str
    """When it was last heard of."""
    source: str
    """Always `core`."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> Stalled:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["lastActivityAt"],
            raw["source"],
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class SystemMessage(Event):
    """A message from outside the agent's loop (§4.16)."""

    kind: ClassVar[str] = "system_message"
    content: str
    """Markdown."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    variant: SystemVariant | None
    """Which kind of message."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> SystemMessage:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["content"],
            raw.get("sessionId"),
            raw.get("timestamp"),
            raw.get("variant"),
        )


@dataclass(frozen=True, slots=True)
class ToolCallEnd(Event):
    """A tool ended (§4.5)."""

    kind: ClassVar[str] = "tool_call_end"
    status: ToolStatus
    """How it ended."""
    tool_call_id: str
    """Which call."""
    elapsed_ms: int | None
    """How long it took, in milliseconds."""
    result_preview: str | None
    """The result in at most 500 characters."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ToolCallEnd:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["status"],
            raw["toolCallId"],
            raw.get("elapsedMs"),
            raw.get("resultPreview"),
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class ToolCallPending(Event):
    """A tool waits for an `approval_response` (§4.3)."""

    kind: ClassVar[str] = "tool_call_pending"
    approval_id: str
    """The runner's own id of this approval."""
    tool_name: str
    """The tool."""
    args: Any | None
    """Its full arguments."""
    args_preview: str | None
    """The arguments in at most 200 characters, for people."""
    reason: str | None
    """Why it needs approval."""
    risk_level: RiskLevel | None
    """How dangerous it is."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    turn_index: int | None
    """The step."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ToolCallPending:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["approvalId"],
            raw["toolName"],
            raw.get("args"),
            raw.get("argsPreview"),
            raw.get("reason"),
            raw.get("riskLevel"),
            raw.get("sessionId"),
            raw.get("timestamp"),
            raw.get("turnIndex"),
        )


@dataclass(frozen=True, slots=True)
class ToolCallProgress(Event):
    """Unstructured progress of a tool (§4.6)."""

    kind: ClassVar[str] = "tool_call_progress"
    text: str
    """What it said."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    tool_call_id: str | None
    """Which call."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ToolCallProgress:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["text"],
            raw.get("sessionId"),
            raw.get("timestamp"),
            raw.get("toolCallId"),
        )


@dataclass(frozen=True, slots=True)
class ToolCallStart(Event):
    """A tool starts (§4.4)."""

    kind: ClassVar[str] = "tool_call_start"
    tool_call_id: str
    """Ties it to its `tool_call_end`."""
    tool_name: str
    """The tool."""
    args: Any | None
    """Its full arguments."""
    args_preview: str | None
    """The arguments for people."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    turn_index: int | None
    """The step."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ToolCallStart:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["toolCallId"],
            raw["toolName"],
            raw.get("args"),
            raw.get("argsPreview"),
            raw.get("sessionId"),
            raw.get("timestamp"),
            raw.get("turnIndex"),
        )


@dataclass(frozen=True, slots=True)
class ToolsReinjected(Event):
    """The answer to `reinject_tools` (§4.13)."""

    kind: ClassVar[str] = "tools_reinjected"
    blocks_added: int
    """How many blocks were added."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> ToolsReinjected:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["blocksAdded"],
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class TurnEnd(Event):
    """A step ended (§4.7): alone enough for a correct transcript."""

    kind: ClassVar[str] = "turn_end"
    turn_index: int
    """The step within the run, from 1."""
    exit_reason: ExitReason | None
    """Set when the agent leaves its loop with this step."""
    response_content: str | None
    """The model's whole reply."""
    session_id: str | None
    """The session, echoed by the runner."""
    summary: str | None
    """One line about the step."""
    telemetry: Any | None
    """Figures about the run, on the last step only."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""
    tool_calls: tuple[Any, ...] | None
    """The step's tool calls, verbatim; see [`ToolCall`](super::ToolCall)."""
    tool_results: tuple[Any, ...] | None
    """The step's tool results, verbatim; see [`ToolResult`](super::ToolResult)."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> TurnEnd:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["turnIndex"],
            _maybe(ExitReason.read, raw.get("exitReason")),
            raw.get("responseContent"),
            raw.get("sessionId"),
            raw.get("summary"),
            raw.get("telemetry"),
            raw.get("timestamp"),
            _maybe(tuple, raw.get("toolCalls")),
            _maybe(tuple, raw.get("toolResults")),
        )


@dataclass(frozen=True, slots=True)
class TurnProgress(Event):
    """A piece of streamed text (§4.7a); append it. Pieces are neither tokens nor snapshots."""

    kind: ClassVar[str] = "turn_progress"
    delta: str
    """The text since the last piece."""
    session_id: str | None
    """The session, echoed by the runner."""
    source: str | None
    """Which part of the agent wrote it."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> TurnProgress:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["delta"],
            raw.get("sessionId"),
            raw.get("source"),
            raw.get("timestamp"),
        )


@dataclass(frozen=True, slots=True)
class TurnStart(Event):
    """A step begins (§4.2). It may be repeated or predicted: de-duplicate by run and `turnIndex`."""

    kind: ClassVar[str] = "turn_start"
    turn_index: int
    """The step within the run, from 1."""
    session_id: str | None
    """The session, echoed by the runner."""
    timestamp: str | None
    """When it happened, ISO 8601 with a zone."""

    @classmethod
    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> TurnStart:
        """From JSON, and where it was found."""
        return cls(
            index,
            run,
            approval,
            line,
            raw["turnIndex"],
            raw.get("sessionId"),
            raw.get("timestamp"),
        )


_KINDS = {
    "approval_resolved": ApprovalResolved.read,
    "ask_user": AskUser.read,
    "error": ErrorEvent.read,
    "history_loaded": HistoryLoaded.read,
    "llm_changed": LlmChanged.read,
    "malformed": Malformed.read,
    "pet_attached": PetAttached.read,
    "pet_detached": PetDetached.read,
    "ready": Ready.read,
    "run_complete": RunComplete.read,
    "stalled": Stalled.read,
    "system_message": SystemMessage.read,
    "tool_call_end": ToolCallEnd.read,
    "tool_call_pending": ToolCallPending.read,
    "tool_call_progress": ToolCallProgress.read,
    "tool_call_start": ToolCallStart.read,
    "tools_reinjected": ToolsReinjected.read,
    "turn_end": TurnEnd.read,
    "turn_progress": TurnProgress.read,
    "turn_start": TurnStart.read,
}
