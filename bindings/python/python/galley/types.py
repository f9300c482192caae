# Generated from schema/galley-v1.json by `cargo xtask generate`.
"""What commands answer: a frozen class per shape, and the words they use.

Words are open: one of a newer Core is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

_T = TypeVar("_T")


def _maybe(read: Callable[[Any], _T], value: Any) -> _T | None:
    return None if value is None else read(value)


def _each(read: Callable[[Any], _T], values: Iterable[Any] | None) -> tuple[_T, ...] | None:
    return None if values is None else tuple(map(read, values))


@dataclass(frozen=True, slots=True)
class UnknownFrame:
    """A frame of a kind that this version does not know."""

    raw: Mapping[str, Any]
    """The frame."""


ApprovalMode: TypeAlias = Literal["ask", "auto", "default"] | str
ApprovalState: TypeAlias = Literal["pending", "answered", "allowed", "denied", "cancelled"] | str
ApprovalStateFilter: TypeAlias = Literal["pending", "all"] | str
ArchiveIfBusy: TypeAlias = Literal["stop", "reject"] | str
Archived: TypeAlias = Literal["active", "archived", "all"] | str
Backend: TypeAlias = Literal["shell", "process", "genericagent"] | str
Decision: TypeAlias = Literal["allow_once", "deny", "always_allow_project", "always_allow_global"] | str
Dispatch: TypeAlias = Literal["dispatched", "queued", "persisted_only"] | str
EndReason: TypeAlias = (
    Literal[
        "subprocess_exited",
        "subprocess_error",
        "not_live",
        "cancelled",
        "archived",
        "deleted",
        "moved",
        "core_shutdown",
        "completed",
        "timeout",
        "session_error",
        "session_cancelled",
        "core_unavailable",
        "project_idle",
        "all_live_sessions_ended",
        "no_live_sessions",
    ]
    | str
)
ExportFormat: TypeAlias = Literal["json", "markdown"] | str
CheckStatus: TypeAlias = Literal["ok", "warn", "fail", "deferred_b4"] | str
IfBusy: TypeAlias = Literal["queue", "jump", "reject"] | str
KillDispatch: TypeAlias = Literal["shutdown_sent", "already_stopped"] | str
LlmDispatch: TypeAlias = Literal["dispatched", "persisted_only", "deferred"] | str
AttachmentKind: TypeAlias = Literal["image"] | str
MessageRole: TypeAlias = Literal["user", "agent", "system"] | str
MessageState: TypeAlias = (
    Literal[
        "queued",
        "pending",
        "dispatched",
        "answered",
        "failed",
        "cancelled",
        "superseded",
    ]
    | str
)
ModelKind: TypeAlias = Literal["openai", "anthropic"] | str
QueueAction: TypeAlias = Literal["remove", "jump", "edit"] | str
RiskLevel: TypeAlias = Literal["low", "medium", "high"] | str
RuntimeKind: TypeAlias = Literal["managed", "external"] | str
Ranking: TypeAlias = Literal["bm25", "recent"] | str
ExitResult: TypeAlias = Literal["CURRENT_TASK_DONE", "EXITED", "MAX_TURNS_EXCEEDED", "ABORTED"] | str
SessionStatus: TypeAlias = (
    Literal[
        "idle",
        "connecting",
        "running",
        "waiting_approval",
        "error",
        "completed",
        "cancelled",
        "archived",
    ]
    | str
)
StopDispatch: TypeAlias = Literal["abort_sent", "already_stopped"] | str
Via: TypeAlias = Literal["gui", "cli", "supervisor", "system"] | str
Visibility: TypeAlias = Literal["visible", "internal"] | str
WaitPhase: TypeAlias = Literal["initial", "final"] | str
WaitStatus: TypeAlias = Literal["completed", "timed_out", "session_error", "session_cancelled"] | str


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval."""

    approval_id: str
    """The runner's id of it."""
    created_at: str
    """When it was asked."""
    id: str
    """Core's id of it."""
    run: int
    """The run."""
    session_id: str
    """The session."""
    state: ApprovalState
    """Where it stands."""
    tool_name: str
    """The tool."""
    args: Any | None
    """Its full arguments."""
    args_preview: str | None
    """The arguments for people."""
    by: str | None
    """Who decided."""
    decided_at: str | None
    """When it was decided."""
    decision: Decision | None
    """What was decided."""
    reason: str | None
    """Why it needs approval."""
    risk_level: RiskLevel | None
    """How dangerous it is."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Approval:
        """From JSON."""
        return cls(
            raw["approvalId"],
            raw["createdAt"],
            raw["id"],
            raw["run"],
            raw["sessionId"],
            raw["state"],
            raw["toolName"],
            raw.get("args"),
            raw.get("argsPreview"),
            raw.get("by"),
            raw.get("decidedAt"),
            raw.get("decision"),
            raw.get("reason"),
            raw.get("riskLevel"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ApprovalModeResult:
    """The mode in force."""

    mode: ApprovalMode
    """The mode that was set."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ApprovalModeResult:
        """From JSON."""
        return cls(
            raw["mode"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ApprovalRespondResult:
    """An approval that was answered."""

    approval: Approval
    """As it stands now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ApprovalRespondResult:
        """From JSON."""
        return cls(
            Approval.read(raw["approval"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class CoreInfo:
    """A running Core."""

    counters: CoreCounters
    """What it counts."""
    galley_version: str
    """Its version."""
    limits: CoreLimits
    """What it bounds."""
    paths: CorePaths
    """Where its files are."""
    pid: int
    """Its process id."""
    started_at: str
    """When it started."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> CoreInfo:
        """From JSON."""
        return cls(
            CoreCounters.read(raw["counters"]),
            raw["galleyVersion"],
            CoreLimits.read(raw["limits"]),
            CorePaths.read(raw["paths"]),
            raw["pid"],
            raw["startedAt"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class CoreCounters:
    """What a Core counts."""

    active_sessions: int
    """Sessions with an actor in memory."""
    connections: int
    """Open connections, in process included."""
    live_runners: int
    """Live runners."""
    streams: int
    """Open streams."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> CoreCounters:
        """From JSON."""
        return cls(
            raw["activeSessions"],
            raw["connections"],
            raw["liveRunners"],
            raw["streams"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class CoreLimits:
    """What a Core bounds."""

    max_line: int
    """Bytes of one line."""
    max_live_runners: int
    """Live runners it keeps before it ends the least recently used idle one."""
    max_queued: int
    """Messages one session may have waiting."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> CoreLimits:
        """From JSON."""
        return cls(
            raw["maxLine"],
            raw["maxLiveRunners"],
            raw["maxQueued"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class CorePaths:
    """Where a Core's files are."""

    config: str
    """The configuration."""
    db: str
    """The database."""
    socket: str | None
    """The socket, unless it serves in process only."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> CorePaths:
        """From JSON."""
        return cls(
            raw["config"],
            raw["db"],
            raw.get("socket"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class CoreShutdownResult:
    """Core is on its way out."""

    shutting_down: bool
    """Always true."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> CoreShutdownResult:
        """From JSON."""
        return cls(
            raw["shuttingDown"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class DispatchResult:
    """Something the runner was told."""

    dispatch: Dispatch
    """Always `dispatched`."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> DispatchResult:
        """From JSON."""
        return cls(
            raw["dispatch"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class FeedSnapshot:
    """Where things stand at a revision. A large snapshot comes in parts of one revision."""

    approvals: tuple[Approval, ...]
    """Approvals that wait for an answer, oldest first."""
    more: bool
    """Another part follows. A snapshot after a part without it replaces everything."""
    sessions: tuple[SessionBrief, ...]
    """Sessions that are not archived, in the order of `sessions.list`."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedSnapshot:
        """From JSON."""
        return cls(
            tuple(map(Approval.read, raw["approvals"])),
            raw["more"],
            tuple(map(SessionBrief.read, raw["sessions"])),
            raw,
        )


@dataclass(frozen=True, slots=True)
class HealthReport:
    """One probe after the other (§5.7)."""

    checks: tuple[HealthCheck, ...]
    """The probes."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> HealthReport:
        """From JSON."""
        return cls(
            tuple(map(HealthCheck.read, raw["checks"])),
            raw,
        )


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One probe."""

    id: str
    """Stable name."""
    status: CheckStatus
    """How it went."""
    detail: str | None
    """For people."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> HealthCheck:
        """From JSON."""
        return cls(
            raw["id"],
            raw["status"],
            raw.get("detail"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class KillResult:
    """What a kill did."""

    dispatch: KillDispatch
    """What a kill did."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> KillResult:
        """From JSON."""
        return cls(
            raw["dispatch"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class LlmRow:
    """One model."""

    display_name: str
    """Name for people."""
    index: int
    """Position in the runner's list; it may point elsewhere after a restart."""
    is_current: bool
    """Whether the runner used it when it became ready."""
    key: str
    """What identifies it across restarts; the raw name, where the runner has no key."""
    name: str
    """Raw name."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> LlmRow:
        """From JSON."""
        return cls(
            raw["displayName"],
            raw["index"],
            raw["isCurrent"],
            raw["key"],
            raw["name"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class LlmSetResult:
    """A session whose model was chosen."""

    dispatch: LlmDispatch
    """When the choice takes effect."""
    session: SessionBrief
    """Its row as it stands now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> LlmSetResult:
        """From JSON."""
        return cls(
            raw["dispatch"],
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class MessageBrief:
    """One message of a transcript (§5.5)."""

    content: str
    """Markdown."""
    created_at: str
    """When it was stored."""
    id: str
    """Opaque id."""
    role: MessageRole
    """Who speaks."""
    session_id: str
    """Its session."""
    ask_user: Any | None
    """The question the step ended with."""
    attachments: tuple[MessageAttachment, ...] | None
    """Images."""
    final_answer: str | None
    """The run's answer, on the row that ended it."""
    origin: Origin | None
    """Where it came from."""
    partial: bool | None
    """The text was cut off by a stop or a crash."""
    state: MessageState | None
    """What became of a user message."""
    step_index: int | None
    """The step of its run, from 1, on agent rows."""
    summary: str | None
    """The agent's one-line digest of the step."""
    telemetry: Any | None
    """Figures about the run."""
    thinking: str | None
    """The model's thinking, taken out of the content."""
    tool_calls: Any | None
    """The step's tool calls, as the runner reported them."""
    tool_results: Any | None
    """The step's tool results, as the runner reported them."""
    turn_index: int | None
    """The user turn it belongs to, from 0."""
    visibility: Visibility | None
    """Set on rows that ordinary reads leave out."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> MessageBrief:
        """From JSON."""
        return cls(
            raw["content"],
            raw["createdAt"],
            raw["id"],
            raw["role"],
            raw["sessionId"],
            raw.get("askUser"),
            _each(MessageAttachment.read, raw.get("attachments")),
            raw.get("finalAnswer"),
            _maybe(Origin.read, raw.get("origin")),
            raw.get("partial"),
            raw.get("state"),
            raw.get("stepIndex"),
            raw.get("summary"),
            raw.get("telemetry"),
            raw.get("thinking"),
            raw.get("toolCalls"),
            raw.get("toolResults"),
            raw.get("turnIndex"),
            raw.get("visibility"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class MessageAttachment:
    """An image that belongs to a message."""

    byte_size: int
    """Size in bytes."""
    created_at: str
    """When it was stored."""
    id: str
    """Its id."""
    kind: AttachmentKind
    """What it is."""
    message_id: str
    """The message."""
    mime_type: str
    """`image/png`, `image/jpeg` or `image/webp`."""
    path: str
    """Absolute path below Galley's data directory."""
    session_id: str
    """The session."""
    height: int | None
    """Height in pixels, when known."""
    width: int | None
    """Width in pixels, when known."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> MessageAttachment:
        """From JSON."""
        return cls(
            raw["byteSize"],
            raw["createdAt"],
            raw["id"],
            raw["kind"],
            raw["messageId"],
            raw["mimeType"],
            raw["path"],
            raw["sessionId"],
            raw.get("height"),
            raw.get("width"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is reached. The key is written to a file that only its owner can read, and nowhere else."""

    api_key: str
    """The key."""
    base_url: str
    """Where it is."""
    kind: ModelKind
    """The provider's wire."""
    model: str
    """The model's name."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ModelSettings:
        """From JSON."""
        return cls(
            raw["apiKey"],
            raw["baseUrl"],
            raw["kind"],
            raw["model"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that was created."""

    dispatch: Dispatch
    """What happened to it."""
    message: MessageBrief
    """The first message."""
    session: SessionBrief
    """Its row as it stands after the dispatch."""
    warning: WriteWarning | None
    """Something to know."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> NewSession:
        """From JSON."""
        return cls(
            raw["dispatch"],
            MessageBrief.read(raw["message"]),
            SessionBrief.read(raw["session"]),
            _maybe(WriteWarning.read, raw.get("warning")),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something came from."""

    via: Via
    """The door."""
    reason: str | None
    """Why."""
    supervisor: str | None
    """The supervisor's label."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Origin:
        """From JSON."""
        return cls(
            raw["via"],
            raw.get("reason"),
            raw.get("supervisor"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to [`Ping`]."""

    pong: bool
    """Always true."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Pong:
        """From JSON."""
        return cls(
            raw["pong"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectBrief:
    """One project."""

    created_at: str
    """When it was created."""
    id: str
    """Opaque id."""
    last_activity_at: str
    """The latest of everything that happened in its sessions; its creation, without any."""
    name: str
    """Its name."""
    pinned: bool
    """Sorts first."""
    updated_at: str
    """When its row was last written."""
    workspace_enabled: bool
    """Whether runners get the folder as their workspace. It is never their working directory."""
    color: str | None
    """A colour, in whatever form the caller likes."""
    icon: str | None
    """A picture, in whatever form the caller likes."""
    root_path: str | None
    """Its folder, absolute."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectBrief:
        """From JSON."""
        return cls(
            raw["createdAt"],
            raw["id"],
            raw["lastActivityAt"],
            raw["name"],
            raw["pinned"],
            raw["updatedAt"],
            raw["workspaceEnabled"],
            raw.get("color"),
            raw.get("icon"),
            raw.get("rootPath"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectDeleted:
    """A project that is gone. Its sessions are ungrouped now."""

    deleted: bool
    """Always true."""
    detached_session_ids: tuple[str, ...]
    """Which ones."""
    detached_sessions: int
    """How many sessions it had, archived ones included."""
    project_id: str
    """Which project it was."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectDeleted:
        """From JSON."""
        return cls(
            raw["deleted"],
            tuple(raw["detachedSessionIds"]),
            raw["detachedSessions"],
            raw["projectId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectOverview:
    """How a project stands. Archived sessions are not counted."""

    last_activity_at: str
    """The latest of everything that happened in it."""
    project: ProjectBrief
    """The project."""
    running_sessions: tuple[SessionBrief, ...]
    """Those with a run in hand: `connecting`, `running` or `waiting_approval`."""
    schema_version: int
    """The schema version."""
    session_count: int
    """How many sessions it has."""
    status_counts: Mapping[str, int]
    """How many of them are in each status; statuses without a session are left out."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectOverview:
        """From JSON."""
        return cls(
            raw["lastActivityAt"],
            ProjectBrief.read(raw["project"]),
            tuple(map(SessionBrief.read, raw["runningSessions"])),
            raw["schemaVersion"],
            raw["sessionCount"],
            raw["statusCounts"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectResult:
    """A project that was created or changed."""

    project: ProjectBrief
    """Its row as it stands now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectResult:
        """From JSON."""
        return cls(
            ProjectBrief.read(raw["project"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectTranscripts:
    """How a project stands, and the conversations in it."""

    last_activity_at: str
    """The latest of everything that happened in it."""
    project: ProjectBrief
    """The project."""
    running_sessions: tuple[SessionBrief, ...]
    """As in [`ProjectOverview`]."""
    schema_version: int
    """The schema version."""
    session_count: int
    """As in [`ProjectOverview`]."""
    sessions: tuple[Transcript, ...]
    """Its sessions, in the order of `sessions.list`."""
    status_counts: Mapping[str, int]
    """As in [`ProjectOverview`]."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectTranscripts:
        """From JSON."""
        return cls(
            raw["lastActivityAt"],
            ProjectBrief.read(raw["project"]),
            tuple(map(SessionBrief.read, raw["runningSessions"])),
            raw["schemaVersion"],
            raw["sessionCount"],
            tuple(map(Transcript.read, raw["sessions"])),
            raw["statusCounts"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A message that waits."""

    content: str
    """Its text."""
    created_at: str
    """When it was stored."""
    message_id: str
    """The message."""
    position: int
    """Its place, from 1."""
    state: MessageState
    """`pending` or `queued`; pending ones come first."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> QueueItem:
        """From JSON."""
        return cls(
            raw["content"],
            raw["createdAt"],
            raw["messageId"],
            raw["position"],
            raw["state"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session that has a runner again."""

    dispatch: Dispatch
    """`dispatched`: the runner is up and has the first held message, if there was one; `queued`: a run is
    open, and what was held waits behind it; `persisted_only`: the message was stopped or taken out before the
    runner had it.
    """
    session: SessionBrief
    """Its row as it stands now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Resumed:
        """From JSON."""
        return cls(
            raw["dispatch"],
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A tool that needs no approval."""

    created_at: str
    """When."""
    scope: str
    """Where: `global`, `ungrouped` (sessions without a project), or a project's id."""
    tool: str
    """The tool."""
    by: str | None
    """Who said so."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Rule:
        """From JSON."""
        return cls(
            raw["createdAt"],
            raw["scope"],
            raw["tool"],
            raw.get("by"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class RuntimeBrief:
    """One runtime."""

    backend: Backend
    """How it is spoken to."""
    current: bool
    """Whether new sessions use it."""
    label: str
    """Its name for people."""
    name: str
    """Its name."""
    runtime_kind: RuntimeKind
    """Whose it is."""
    command: tuple[str, ...] | None
    """The program and its arguments, for `process`."""
    ga_path: str | None
    """The agent's folder, when it has one."""
    key_file: str | None
    """The file with its models' settings that was named for it."""
    problem: str | None
    """Why it cannot be used, when it cannot."""
    python: str | None
    """The interpreter that was named for it."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> RuntimeBrief:
        """From JSON."""
        return cls(
            raw["backend"],
            raw["current"],
            raw["label"],
            raw["name"],
            raw["runtimeKind"],
            _maybe(tuple, raw.get("command")),
            raw.get("gaPath"),
            raw.get("keyFile"),
            raw.get("problem"),
            raw.get("python"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class RuntimeCheckResult:
    """A runtime that started."""

    llms: tuple[Llm, ...]
    """Its models."""
    name: str
    """Which one."""
    ok: bool
    """Always true; a failure is an error."""
    protocol_version: str
    """The protocol it speaks."""
    ready_ms: int
    """How long the start took, in milliseconds."""
    capabilities: tuple[str, ...] | None
    """What it can do; absent means everything the specification has."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> RuntimeCheckResult:
        """From JSON."""
        return cls(
            tuple(map(Llm.read, raw["llms"])),
            raw["name"],
            raw["ok"],
            raw["protocolVersion"],
            raw["readyMs"],
            _maybe(tuple, raw.get("capabilities")),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Llm:
    """One model the runner can use (§4.1)."""

    display_name: str
    """Name for people."""
    index: int
    """Position in the runner's list; it may point elsewhere after a restart."""
    name: str
    """Raw name, the stable identity of an external runtime's model."""
    is_current: bool | None
    """Whether the runner uses it now."""
    key: str | None
    """Stable key, where the runner has one; otherwise `name` is the key."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Llm:
        """From JSON."""
        return cls(
            raw["displayName"],
            raw["index"],
            raw["name"],
            raw.get("isCurrent"),
            raw.get("key"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class RuntimeRemoved:
    """A runtime that is no longer configured."""

    name: str
    """Which one it was."""
    removed: bool
    """Always true."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> RuntimeRemoved:
        """From JSON."""
        return cls(
            raw["name"],
            raw["removed"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit."""

    message_id: str
    """The message."""
    rank: float
    """The index's score (lower is better); 0.0 whenever not `bm25`."""
    session_id: str
    """The session."""
    snippet: str
    """An excerpt, HTML-escaped, matches in `<mark>`."""
    incomplete: bool | None
    """The search ran into its deadline: there may be more."""
    ranking: Ranking | None
    """How the hits are ordered."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SearchHit:
        """From JSON."""
        return cls(
            raw["messageId"],
            raw["rank"],
            raw["sessionId"],
            raw["snippet"],
            raw.get("incomplete"),
            raw.get("ranking"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class SessionBrief:
    """One row of a session list (§5.2)."""

    created_at: str
    """When it was created."""
    ga_runtime_kind: RuntimeKind
    """The same as `runtimeKind`, under its older name."""
    id: str
    """Opaque id."""
    last_activity_at: str
    """The latest of everything that happened in it."""
    runtime_kind: RuntimeKind
    """`managed` or `external`."""
    runtime_label: str
    """The runtime's name for people."""
    status: SessionStatus
    """Where it stands."""
    title: str
    """From the first message, unless renamed."""
    updated_at: str
    """When its row was last written."""
    approval_mode: ApprovalMode | None
    """How approvals are handled, when the session has a choice of its own."""
    ask_pending: bool | None
    """A question of the agent waits for its answer."""
    cwd: str | None
    """Working directory it was created with."""
    ga_runtime_id: str | None
    """The runtime's name in the configuration."""
    has_unread: bool | None
    """The agent said something since it was last read."""
    last_exit: ExitReason | None
    """How the last run ended, verbatim."""
    last_index: int | None
    """Index of the last event in its log; 0 when there is none."""
    origin: Origin | None
    """Who created it."""
    pending_count: int | None
    """Messages waiting for a runner."""
    pinned: bool | None
    """Sorts first."""
    project_id: str | None
    """The project it belongs to; absent when ungrouped."""
    prompt_profile: str | None
    """The managed prompt profile, when one applies."""
    queued_count: int | None
    """Messages waiting behind the open run."""
    selected_llm_display_name: str | None
    """Its name for people."""
    selected_llm_index: int | None
    """Legacy index of the chosen model."""
    selected_llm_key: str | None
    """Stable key of the chosen model."""
    summary: str | None
    """The agent's one-line digest of its last turn."""
    turn_count: int | None
    """Accepted visible user messages; the next message's `turnIndex`."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SessionBrief:
        """From JSON."""
        return cls(
            raw["createdAt"],
            raw["gaRuntimeKind"],
            raw["id"],
            raw["lastActivityAt"],
            raw["runtimeKind"],
            raw["runtimeLabel"],
            raw["status"],
            raw["title"],
            raw["updatedAt"],
            raw.get("approvalMode"),
            raw.get("askPending"),
            raw.get("cwd"),
            raw.get("gaRuntimeId"),
            raw.get("hasUnread"),
            _maybe(ExitReason.read, raw.get("lastExit")),
            raw.get("lastIndex"),
            _maybe(Origin.read, raw.get("origin")),
            raw.get("pendingCount"),
            raw.get("pinned"),
            raw.get("projectId"),
            raw.get("promptProfile"),
            raw.get("queuedCount"),
            raw.get("selectedLlmDisplayName"),
            raw.get("selectedLlmIndex"),
            raw.get("selectedLlmKey"),
            raw.get("summary"),
            raw.get("turnCount"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ExitReason:
    """Why a run ended, with whatever the agent adds (§4.7, §4.9)."""

    result: ExitResult
    """The result word."""
    data: Any | None
    """The agent's own data, verbatim."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ExitReason:
        """From JSON."""
        return cls(
            raw["result"],
            raw.get("data"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class SessionDeleted:
    """A session that is gone."""

    deleted: bool
    """Always true."""
    session_id: str
    """Which session it was."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SessionDeleted:
        """From JSON."""
        return cls(
            raw["deleted"],
            raw["sessionId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class SessionGone:
    """A session that is gone, with its messages and approvals."""

    session_id: str
    """Which session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SessionGone:
        """From JSON."""
        return cls(
            raw["sessionId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class SessionResult:
    """A session that was changed."""

    session: SessionBrief
    """Its row as it stands now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SessionResult:
        """From JSON."""
        return cls(
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class SessionState:
    """What Core has in hand for a session."""

    approvals: tuple[str, ...]
    """Ids of pending approvals."""
    busy: bool
    """A run is reserved or open, or messages are queued."""
    last_index: int
    """Index of the last event; 0 when there is none."""
    pending_count: int
    """Messages waiting for a runner."""
    queued_count: int
    """Messages waiting behind the run."""
    runner_alive: bool
    """A runner is up and not known dead."""
    session_id: str
    """Which session."""
    ask: AskState | None
    """The agent's open question."""
    last_exit: ExitReason | None
    """How the last run ended."""
    llm: LlmChoice | None
    """The model in use."""
    open_run: int | None
    """The open run's number."""
    pid: int | None
    """Its process id, when it is a process."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SessionState:
        """From JSON."""
        return cls(
            tuple(raw["approvals"]),
            raw["busy"],
            raw["lastIndex"],
            raw["pendingCount"],
            raw["queuedCount"],
            raw["runnerAlive"],
            raw["sessionId"],
            _maybe(AskState.read, raw.get("ask")),
            _maybe(ExitReason.read, raw.get("lastExit")),
            _maybe(LlmChoice.read, raw.get("llm")),
            raw.get("openRun"),
            raw.get("pid"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class AskState:
    """A question of the agent."""

    blocking: bool
    """Whether the run stays open until the answer."""
    candidates: tuple[str, ...]
    """Answers to choose from."""
    question: str
    """The question."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> AskState:
        """From JSON."""
        return cls(
            raw["blocking"],
            tuple(raw["candidates"]),
            raw["question"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class LlmChoice:
    """A chosen model."""

    key: str
    """Stable key."""
    display_name: str | None
    """Name for people."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> LlmChoice:
        """From JSON."""
        return cls(
            raw["key"],
            raw.get("displayName"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """Counts over the sessions that are not archived (§5.6)."""

    errored: int
    """In status `error`."""
    running: int
    """In status `running`."""
    total: int
    """All of them."""
    waiting_input: int
    """In status `waiting_approval`."""
    live: LiveSummary | None
    """What only a running Core knows; absent without one, which does not mean idle."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> StatusSummary:
        """From JSON."""
        return cls(
            raw["errored"],
            raw["running"],
            raw["total"],
            raw["waitingInput"],
            _maybe(LiveSummary.read, raw.get("live")),
            raw,
        )


@dataclass(frozen=True, slots=True)
class LiveSummary:
    """What a running Core has in hand."""

    busy: int
    """Sessions with a run open, reserved or queued."""
    queued: int
    """Messages waiting in queues."""
    runners: int
    """Live runners."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> LiveSummary:
        """From JSON."""
        return cls(
            raw["busy"],
            raw["queued"],
            raw["runners"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class StopResult:
    """What a stop did."""

    dispatch: StopDispatch
    """What a stop did."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> StopResult:
        """From JSON."""
        return cls(
            raw["dispatch"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class StreamCancelled:
    """Whether there was such a stream."""

    cancelled: bool
    """Whether there was such a stream."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> StreamCancelled:
        """From JSON."""
        return cls(
            raw["cancelled"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class Submitted:
    """A message that was accepted. A side question has no `message`."""

    dispatch: Dispatch
    """What happened to it."""
    message: MessageBrief | None
    """The stored row."""
    queue: QueuePosition | None
    """Where it waits."""
    warning: WriteWarning | None
    """Something to know."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Submitted:
        """From JSON."""
        return cls(
            raw["dispatch"],
            _maybe(MessageBrief.read, raw.get("message")),
            _maybe(QueuePosition.read, raw.get("queue")),
            _maybe(WriteWarning.read, raw.get("warning")),
            raw,
        )


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a queued message stands."""

    position: int
    """From 1."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> QueuePosition:
        """From JSON."""
        return cls(
            raw["position"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session and its messages."""

    messages: tuple[MessageBrief, ...]
    """Its messages, oldest first."""
    session: SessionBrief
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Transcript:
        """From JSON."""
        return cls(
            tuple(map(MessageBrief.read, raw["messages"])),
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class Version:
    """The versions of a Galley (§5.1)."""

    accepted_schema_versions: tuple[int, ...]
    """The Agent API versions it accepts."""
    galley_version: str
    """The program's version."""
    protocol_version: str
    """The IPC version it speaks with runners."""
    schema_version: int
    """The Agent API's version."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Version:
        """From JSON."""
        return cls(
            tuple(raw["acceptedSchemaVersions"]),
            raw["galleyVersion"],
            raw["protocolVersion"],
            raw["schemaVersion"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class WriteWarning:
    """Something to know about a write that worked."""

    id: str
    """Stable name: `non_current_runtime`, or a runner start failure's cause."""
    message: str
    """For people."""
    detail: Any | None
    """Structure."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> WriteWarning:
        """From JSON."""
        return cls(
            raw["id"],
            raw["message"],
            raw.get("detail"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FollowSnapshot:
    """The session and its messages, at the start and at the end."""

    messages: tuple[MessageBrief, ...]
    """Its messages, oldest first."""
    phase: WaitPhase
    """Which of the two."""
    session: SessionBrief
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FollowSnapshot:
        """From JSON."""
        return cls(
            tuple(map(MessageBrief.read, raw["messages"])),
            raw["phase"],
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FollowEvent:
    """One event."""

    data: Any
    """The line, as the runner wrote it."""
    session_id: str
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FollowEvent:
        """From JSON."""
        return cls(
            raw["data"],
            raw["sessionId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class FollowEnd:
    """Last frame."""

    reason: EndReason
    """Why."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FollowEnd:
        """From JSON."""
        return cls(
            raw["reason"],
            raw,
        )


FollowFrame: TypeAlias = FollowSnapshot | FollowEvent | FollowEnd | UnknownFrame

_FOLLOW_FRAME: dict[Any, Callable[[Mapping[str, Any]], FollowFrame]] = {
    "snapshot": FollowSnapshot.read,
    "event": FollowEvent.read,
    "end": FollowEnd.read,
}


def read_follow_frame(raw: Mapping[str, Any]) -> FollowFrame:
    """From JSON."""
    return _FOLLOW_FRAME.get(raw.get("stream"), UnknownFrame)(raw)


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """The project and its sessions, at the start and, if asked for, at the end."""

    last_activity_at: str
    """The latest of everything that happened in it."""
    phase: WaitPhase
    """Which of the two."""
    project: ProjectBrief
    """The project."""
    running_sessions: tuple[SessionBrief, ...]
    """As in [`ProjectOverview`]."""
    session_count: int
    """As in [`ProjectOverview`]."""
    sessions: tuple[Transcript, ...]
    """Its sessions, in the order of `sessions.list`."""
    status_counts: Mapping[str, int]
    """As in [`ProjectOverview`]."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectSnapshot:
        """From JSON."""
        return cls(
            raw["lastActivityAt"],
            raw["phase"],
            ProjectBrief.read(raw["project"]),
            tuple(map(SessionBrief.read, raw["runningSessions"])),
            raw["sessionCount"],
            tuple(map(Transcript.read, raw["sessions"])),
            raw["statusCounts"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectEvent:
    """One event of one session."""

    data: Any
    """The line, as the runner wrote it."""
    session_id: str
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectEvent:
        """From JSON."""
        return cls(
            raw["data"],
            raw["sessionId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectSessionEnd:
    """The runner of one session is gone; the stream goes on with the others."""

    reason: EndReason
    """Why, as a watch of that session would end."""
    session_id: str
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectSessionEnd:
        """From JSON."""
        return cls(
            raw["reason"],
            raw["sessionId"],
            raw,
        )


@dataclass(frozen=True, slots=True)
class ProjectEnd:
    """Last frame."""

    reason: EndReason
    """`project_idle`, `all_live_sessions_ended`, `no_live_sessions`, or why the stream as such could not go on."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ProjectEnd:
        """From JSON."""
        return cls(
            raw["reason"],
            raw,
        )


ProjectFrame: TypeAlias = ProjectSnapshot | ProjectEvent | ProjectSessionEnd | ProjectEnd | UnknownFrame

_PROJECT_FRAME: dict[Any, Callable[[Mapping[str, Any]], ProjectFrame]] = {
    "snapshot": ProjectSnapshot.read,
    "event": ProjectEvent.read,
    "sessionEnd": ProjectSessionEnd.read,
    "end": ProjectEnd.read,
}


def read_project_frame(raw: Mapping[str, Any]) -> ProjectFrame:
    """From JSON."""
    return _PROJECT_FRAME.get(raw.get("stream"), UnknownFrame)(raw)


@dataclass(frozen=True, slots=True)
class WaitWait:
    """The session and its last messages, at the start and at the end."""

    phase: WaitPhase
    """Which payload."""
    session: SessionBrief
    """The session."""
    messages: tuple[MessageBrief, ...] | None
    """Its last messages; absent with `finalShow: false` on the last payload."""
    status: WaitStatus | None
    """How the wait ended, on the last payload."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> WaitWait:
        """From JSON."""
        return cls(
            raw["phase"],
            SessionBrief.read(raw["session"]),
            _each(MessageBrief.read, raw.get("messages")),
            raw.get("status"),
            raw,
        )


@dataclass(frozen=True, slots=True)
class WaitEnd:
    """Last frame."""

    reason: EndReason
    """Why."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> WaitEnd:
        """From JSON."""
        return cls(
            raw["reason"],
            raw,
        )


WaitFrame: TypeAlias = WaitWait | WaitEnd | UnknownFrame

_WAIT_FRAME: dict[Any, Callable[[Mapping[str, Any]], WaitFrame]] = {
    "wait": WaitWait.read,
    "end": WaitEnd.read,
}


def read_wait_frame(raw: Mapping[str, Any]) -> WaitFrame:
    """From JSON."""
    return _WAIT_FRAME.get(raw.get("stream"), UnknownFrame)(raw)


@dataclass(frozen=True, slots=True)
class FeedSnapshotEvent:
    """`snapshot`."""

    revision: int
    value: FeedSnapshot
    """What it is now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedSnapshotEvent:
        """From JSON."""
        return cls(
            raw["revision"],
            FeedSnapshot.read(raw),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FeedSessionChanged:
    """`session_changed`."""

    revision: int
    value: SessionBrief
    """What it is now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedSessionChanged:
        """From JSON."""
        return cls(
            raw["revision"],
            SessionBrief.read(raw),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FeedSessionDeleted:
    """`session_deleted`."""

    revision: int
    value: SessionGone
    """What it is now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedSessionDeleted:
        """From JSON."""
        return cls(
            raw["revision"],
            SessionGone.read(raw),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FeedMessageAdded:
    """`message_added`."""

    revision: int
    value: MessageBrief
    """What it is now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedMessageAdded:
        """From JSON."""
        return cls(
            raw["revision"],
            MessageBrief.read(raw),
            raw,
        )


@dataclass(frozen=True, slots=True)
class FeedApprovalChanged:
    """`approval_changed`."""

    revision: int
    value: Approval
    """What it is now."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> FeedApprovalChanged:
        """From JSON."""
        return cls(
            raw["revision"],
            Approval.read(raw),
            raw,
        )


FeedEvent: TypeAlias = FeedSnapshotEvent | FeedSessionChanged | FeedSessionDeleted | FeedMessageAdded | FeedApprovalChanged | UnknownFrame

_FEED_EVENT: dict[Any, Callable[[Mapping[str, Any]], FeedEvent]] = {
    "snapshot": FeedSnapshotEvent.read,
    "session_changed": FeedSessionChanged.read,
    "session_deleted": FeedSessionDeleted.read,
    "message_added": FeedMessageAdded.read,
    "approval_changed": FeedApprovalChanged.read,
}


def read_feed_event(raw: Mapping[str, Any]) -> FeedEvent:
    """From JSON."""
    return _FEED_EVENT.get(raw.get("kind"), UnknownFrame)(raw)


@dataclass(frozen=True, slots=True)
class ExportedJson:
    """The session's row and its messages."""

    messages: tuple[MessageBrief, ...]
    """Every visible message, oldest first."""
    schema_version: int
    """The schema version of the rows; an export outlives the program that wrote it."""
    session: SessionBrief
    """The session."""
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ExportedJson:
        """From JSON."""
        return cls(
            tuple(map(MessageBrief.read, raw["messages"])),
            raw["schemaVersion"],
            SessionBrief.read(raw["session"]),
            raw,
        )


@dataclass(frozen=True, slots=True)
class ExportedMarkdown:
    """One document."""

    content: str
    """The document: the title as its heading, then every visible message, oldest first, under a heading that
    says who speaks and when.
    """
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it as Core wrote it, fields of newer versions included."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ExportedMarkdown:
        """From JSON."""
        return cls(
            raw["content"],
            raw,
        )


Exported: TypeAlias = ExportedJson | ExportedMarkdown


def read_exported(raw: Mapping[str, Any]) -> Exported:
    """From JSON."""
    return ExportedMarkdown.read(raw) if raw["format"] == "markdown" else ExportedJson.read(raw)
