// Generated from schema/galley-v1.json by `cargo xtask generate`.

/** Any JSON. */
export type AnyJson = unknown;

/** A word that this version does not know. */
export type UnknownWord = string & {};

/** A kind that this version does not know. It is a string; nothing is compared to it by mistake. */
export declare enum UnknownKind {
  _ = "",
}

/** Stops the current run (§5.4). */
export type Abort = { [name: string]: AnyJson };

/** One approval. */
export interface Approval {
  /** The runner's id of it. */
  approvalId: string;
  /** Its full arguments. */
  args?: AnyJson | null;
  /** The arguments for people. */
  argsPreview?: string | null;
  /** Who decided. */
  by?: string | null;
  /** When it was asked. */
  createdAt: string;
  /** When it was decided. */
  decidedAt?: string | null;
  /** What was decided. */
  decision?: Decision | null;
  /** Core's id of it. */
  id: string;
  /** Why it needs approval. */
  reason?: string | null;
  /** How dangerous it is. */
  riskLevel?: RiskLevel | null;
  /** The run. */
  run: number;
  /** The session. */
  sessionId: string;
  /** Where it stands. */
  state: ApprovalState;
  /** The tool. */
  toolName: string;
}

/** Lists approvals, oldest first. */
export interface ApprovalList {
  /** One session. */
  sessionId?: string | null;
  /** `pending` by default, which includes those answered and not yet delivered. */
  state?: ApprovalStateFilter | null;
}

export type ApprovalMode = "ask" | "auto" | "default" | UnknownWord;

/** The mode in force. */
export interface ApprovalModeResult {
  /** The mode that was set. */
  mode: ApprovalMode;
}

/** Sets how approvals are handled: for one session, or the app default. */
export interface ApprovalModeSet {
  /** The mode. */
  mode: ApprovalMode;
  /** Why. */
  reason?: string | null;
  /** One session; absent for the app default. */
  sessionId?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

export type ApprovalOutcome = "allowed" | "denied" | "cancelled" | UnknownWord;

/** Core's own: an approval ended. */
export interface ApprovalResolved {
  /** The runner's id of it. */
  approvalId: string;
  /** Who decided. */
  by?: string | null;
  /** Core's id of the approval. */
  id: string;
  /** How it ended. */
  outcome: ApprovalOutcome;
  /** Why. */
  reason?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** Always `core`. */
  source: string;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** Answers an approval. The first answer wins. */
export interface ApprovalRespond {
  /** The answer. */
  decision: Decision;
  /** Core's id, or the runner's together with `sessionId`. */
  id: string;
  /** Why. */
  reason?: string | null;
  /** The session, for a runner's id. */
  sessionId?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** An approval that was answered. */
export interface ApprovalRespondResult {
  /** As it stands now. */
  approval: Approval;
}

/** Answers an approval (§5.2). */
export interface ApprovalResponse {
  /** The runner's id of the approval. */
  approvalId: string;
  /** The answer. */
  decision: Decision;
}

/** Takes a rule back, in live runners too; answered by the rules that remain in its scope. `not_found` if there is no such rule. */
export interface ApprovalRevoke {
  /** Why. */
  reason?: string | null;
  /** The rule's scope, as in [`Rule`]. */
  scope: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** The tool. */
  tool: string;
}

/** Lists the rules, by scope and tool. */
export interface ApprovalRules {
  /** Only those of this scope, as in [`Rule`]. */
  scope?: string | null;
}

export type ApprovalState = "pending" | "answered" | "allowed" | "denied" | "cancelled" | UnknownWord;

export type ApprovalStateFilter = "pending" | "all" | UnknownWord;

export type ArchiveIfBusy = "stop" | "reject" | UnknownWord;

export type Archived = "active" | "archived" | "all" | UnknownWord;

/** A question of the agent. */
export interface AskState {
  /** Whether the run stays open until the answer. */
  blocking: boolean;
  /** Answers to choose from. */
  candidates: string[];
  /** The question. */
  question: string;
}

/** The agent asks the user (§4.8). */
export interface AskUser {
  /** The run stays open until the answer comes (otherwise asking ends the run). */
  blocking?: boolean | null;
  /** Answers to choose from; empty for an open question. */
  candidates?: string[] | null;
  /** The question. */
  question: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** Answers a question (§5.3); starts a run, unless the question was blocking. */
export interface AskUserResponse {
  /** The turn this answer has in the session, from 0; runners may ignore it. */
  absoluteTurnIndex?: number | null;
  /** The answer. */
  text: string;
}

/** Starts the desktop pet (§5.11). */
export interface AttachPet {
  /** The loopback HTTP port it listens on. */
  port: number;
}

export type AttachmentKind = "image" | UnknownWord;

export type Backend = "shell" | "process" | "genericagent" | UnknownWord;

export type Category = "bridge" | "runtime" | "business" | UnknownWord;

export type CheckStatus = "ok" | "warn" | "fail" | "deferred_b4" | UnknownWord;

/** One command to a runner. */
export type Command = UserMessage & {
  kind: "user_message";
} | ApprovalResponse & {
  kind: "approval_response";
} | AskUserResponse & {
  kind: "ask_user_response";
} | Abort & {
  kind: "abort";
} | LoadHistory & {
  kind: "load_history";
} | SetApprovalRules & {
  kind: "set_approval_rules";
} | SetYoloMode & {
  kind: "set_yolo_mode";
} | SetLlm & {
  kind: "set_llm";
} | Shutdown & {
  kind: "shutdown";
} | ReinjectTools & {
  kind: "reinject_tools";
} | AttachPet & {
  kind: "attach_pet";
} | DetachPet & {
  kind: "detach_pet";
};

/** What a Core counts. */
export interface CoreCounters {
  /** Sessions with an actor in memory. */
  activeSessions: number;
  /** Open connections, in process included. */
  connections: number;
  /** Live runners. */
  liveRunners: number;
  /** Open streams. */
  streams: number;
}

/** A running Core. */
export interface CoreInfo {
  /** What it counts. */
  counters: CoreCounters;
  /** Its version. */
  galleyVersion: string;
  /** What it bounds. */
  limits: CoreLimits;
  /** Where its files are. */
  paths: CorePaths;
  /** Its process id. */
  pid: number;
  /** When it started. */
  startedAt: string;
}

/** Asks a running Core about itself. */
export type CoreInfoGet = { [name: string]: AnyJson };

/** What a Core bounds. */
export interface CoreLimits {
  /** Bytes of one line. */
  maxLine: number;
  /** Live runners it keeps before it ends the least recently used idle one. */
  maxLiveRunners: number;
  /** Messages one session may have waiting. */
  maxQueued: number;
}

/** Where a Core's files are. */
export interface CorePaths {
  /** The configuration. */
  config: string;
  /** The database. */
  db: string;
  /** The socket, unless it serves in process only. */
  socket?: string | null;
}

/** Asks a running Core to end: runners are shut down, streams end with `core_shutdown`. */
export type CoreShutdown = { [name: string]: AnyJson };

/** Core is on its way out. */
export interface CoreShutdownResult {
  /** Always true. */
  shuttingDown: boolean;
}

export type Decision = "allow_once" | "deny" | "always_allow_project" | "always_allow_global" | UnknownWord;

/** Stops the desktop pet (§5.12). */
export type DetachPet = { [name: string]: AnyJson };

/** The commands of the IPC protocol that clients may give: those that touch neither the conversation nor its approvals, which are Core's to keep. Any other kind is `invalid_args`. */
export type DirectCommand = ReinjectTools & {
  kind: "reinject_tools";
} | AttachPet & {
  kind: "attach_pet";
} | DetachPet & {
  kind: "detach_pet";
};

export type Dispatch = "dispatched" | "queued" | "persisted_only" | UnknownWord;

/** Something the runner was told. */
export interface DispatchResult {
  /** Always `dispatched`. */
  dispatch: Dispatch;
}

export type EndReason = "subprocess_exited" | "subprocess_error" | "not_live" | "cancelled" | "archived" | "deleted" | "moved" | "core_shutdown" | "completed" | "timeout" | "session_error" | "session_cancelled" | "core_unavailable" | "project_idle" | "all_live_sessions_ended" | "no_live_sessions" | UnknownWord;

/** An error as the command line prints it: the tag, the message, and the message again under `detail`, where the Agent API's examples have it. */
export interface ErrorBody {
  /** `message`, and whatever structure the error carries. */
  detail: { [name: string]: AnyJson };
  /** What went wrong. */
  error: ErrorTag;
  /** The same for people. */
  message: string;
}

/** Something went wrong and the runner goes on (§4.10). */
export interface ErrorEvent {
  /** Where it belongs. */
  category?: Category | null;
  /** What the runner was doing. */
  context?: string | null;
  /** Core's `runner_exit`: the exit code. */
  exitCode?: number | null;
  /** What to do about it: `check_llm_config`, `network`, `quota_exceeded`. */
  hint?: string | null;
  /** One sentence for people. */
  message: string;
  /** Whether trying again may help. */
  retryable?: boolean | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** How bad it is. */
  severity?: Severity | null;
  /** Core's `runner_exit`: the signal. */
  signal?: number | null;
  /** `core` on errors that Core reports about a runner. */
  source?: string | null;
  /** Core's `runner_exit`: the last lines of standard error. */
  stderrTail?: string[] | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** A trace for developers. */
  traceback?: string | null;
}

export type ErrorTag = "internal" | "invalid_args" | "not_found" | "db_unavailable" | "runner_error" | "busy" | "schema_mismatch" | "unknown_command" | "idle_timeout" | "queue_full" | UnknownWord;

/** One event, typed. Fields this version does not know are dropped from the typed view; keep the line to keep them. */
export type Event = Ready & {
  kind: "ready";
} | TurnStart & {
  kind: "turn_start";
} | ToolCallPending & {
  kind: "tool_call_pending";
} | ToolCallStart & {
  kind: "tool_call_start";
} | ToolCallEnd & {
  kind: "tool_call_end";
} | ToolCallProgress & {
  kind: "tool_call_progress";
} | TurnEnd & {
  kind: "turn_end";
} | TurnProgress & {
  kind: "turn_progress";
} | AskUser & {
  kind: "ask_user";
} | RunComplete & {
  kind: "run_complete";
} | ErrorEvent & {
  kind: "error";
} | HistoryLoaded & {
  kind: "history_loaded";
} | LlmChanged & {
  kind: "llm_changed";
} | ToolsReinjected & {
  kind: "tools_reinjected";
} | PetAttached & {
  kind: "pet_attached";
} | PetDetached & {
  kind: "pet_detached";
} | SystemMessage & {
  kind: "system_message";
} | Stalled & {
  kind: "stalled";
} | ApprovalResolved & {
  kind: "approval_resolved";
} | Malformed & {
  kind: "malformed";
} | UnknownEvent;

/** Why a run ended, with whatever the agent adds (§4.7, §4.9). */
export interface ExitReason {
  /** The agent's own data, verbatim. */
  data?: AnyJson | null;
  /** The result word. */
  result: ExitResult;
}

export type ExitResult = "CURRENT_TASK_DONE" | "EXITED" | "MAX_TURNS_EXCEEDED" | "ABORTED" | UnknownWord;

export type ExportFormat = "json" | "markdown" | UnknownWord;

/** An exported conversation. `format` says which of the two it is. */
export type Exported = {
  format: "json";
  /** Every visible message, oldest first. */
  messages: MessageBrief[];
  /** The schema version of the rows; an export outlives the program that wrote it. */
  schemaVersion: number;
  /** The session. */
  session: SessionBrief;
} | {
  /** The document: the title as its heading, then every visible message, oldest first, under a heading that says who speaks and when. */
  content: string;
  format: "markdown";
};

export type FeedEvent = FeedSnapshot & {
  kind: "snapshot";
  revision: number;
} | SessionBrief & {
  kind: "session_changed";
  revision: number;
} | SessionGone & {
  kind: "session_deleted";
  revision: number;
} | MessageBrief & {
  kind: "message_added";
  revision: number;
} | Approval & {
  kind: "approval_changed";
  revision: number;
} | {
  kind: UnknownKind;
  revision: number;
};

/** One frame of the feed. */
export type FeedFrame = {
  /** The request's id, or null. */
  requestId?: string | null;
  /** The revision that was asked for. */
  revision: number;
  stream: "start";
} | {
  /** The change. */
  data: FeedEvent;
  /** The request's id, or null. */
  requestId?: string | null;
  stream: "event";
} | {
  /** Why. */
  reason: EndReason;
  /** The request's id, or null. */
  requestId?: string | null;
  stream: "end";
};

/** Where things stand at a revision. A large snapshot comes in parts of one revision. */
export interface FeedSnapshot {
  /** Approvals that wait for an answer, oldest first. */
  approvals: Approval[];
  /** Another part follows. A snapshot after a part without it replaces everything. */
  more: boolean;
  /** Sessions that are not archived, in the order of `sessions.list`. */
  sessions: SessionBrief[];
}

/** One frame of a follow. */
export type FollowFrame = {
  /** Its messages, oldest first. */
  messages: MessageBrief[];
  /** Which of the two. */
  phase: WaitPhase;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  /** The session. */
  session: SessionBrief;
  stream: "snapshot";
} | {
  /** The line, as the runner wrote it. */
  data: AnyJson;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  /** The session. */
  sessionId: string;
  stream: "event";
} | {
  /** Why. */
  reason: EndReason;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  stream: "end";
};

/** One probe. */
export interface HealthCheck {
  /** For people. */
  detail?: string | null;
  /** Stable name. */
  id: string;
  /** How it went. */
  status: CheckStatus;
}

/** Asks for a health report. */
export type HealthGet = { [name: string]: AnyJson };

/** One probe after the other (§5.7). */
export interface HealthReport {
  /** The probes. */
  checks: HealthCheck[];
}

/** The answer to `load_history` (§4.11). */
export interface HistoryLoaded {
  /** How many messages were taken. */
  messageCount: number;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** One message of a resumed conversation (§5.5). */
export interface HistoryMessage {
  /** What was said. */
  content: string;
  /** Who said it. */
  role: HistoryRole;
  /** The step's tool calls, as the runner reported them. */
  toolCalls?: AnyJson[] | null;
  /** The step's tool results, as the runner reported them. */
  toolResults?: AnyJson[] | null;
}

export type HistoryRole = "user" | "assistant" | UnknownWord;

export type IfBusy = "queue" | "jump" | "reject" | UnknownWord;

export type InstallEnd = "installed" | "failed" | UnknownWord;

/** One line of an installation. */
export type InstallFrame = {
  /** For people. */
  message: string;
  /** The request's id, when it had one. */
  requestId?: string | null;
  /** The step. */
  step: InstallStep;
  stream: "progress";
} | {
  /** More about the error. */
  detail?: AnyJson;
  /** The error's tag, when it failed. */
  error?: ErrorTag | null;
  /** For people, when it failed. */
  message?: string | null;
  /** How it ended. */
  reason: InstallEnd;
  /** The request's id, when it had one. */
  requestId?: string | null;
  /** The runtime, when it is installed. */
  runtime?: RuntimeBrief | null;
  stream: "end";
};

export type InstallStep = "python" | "environment" | "packages" | "model" | "check" | UnknownWord;

export type KillDispatch = "shutdown_sent" | "already_stopped" | UnknownWord;

/** What a kill did. */
export interface KillResult {
  /** What a kill did. */
  dispatch: KillDispatch;
}

/** What a running Core has in hand. */
export interface LiveSummary {
  /** Sessions with a run open, reserved or queued. */
  busy: number;
  /** Messages waiting in queues. */
  queued: number;
  /** Live runners. */
  runners: number;
}

/** One model the runner can use (§4.1). */
export interface Llm {
  /** Name for people. */
  displayName: string;
  /** Position in the runner's list; it may point elsewhere after a restart. */
  index: number;
  /** Whether the runner uses it now. */
  isCurrent?: boolean | null;
  /** Stable key, where the runner has one; otherwise `name` is the key. */
  key?: string | null;
  /** Raw name, the stable identity of an external runtime's model. */
  name: string;
}

/** The model changed (§4.12). */
export interface LlmChanged {
  /** Its name for people. */
  displayName?: string | null;
  /** Its position. */
  index: number;
  /** Its raw name. */
  name: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** A chosen model. */
export interface LlmChoice {
  /** Name for people. */
  displayName?: string | null;
  /** Stable key. */
  key: string;
}

export type LlmDispatch = "dispatched" | "persisted_only" | "deferred" | UnknownWord;

/** Lists the models of a runtime, as its last `ready` had them; none before the first. */
export interface LlmList {
  /** `current`, `managed` or `external` (all of that kind), `all`, or a runtime's name; `current` by default. */
  runtime?: string | null;
}

/** One model. */
export interface LlmRow {
  /** Name for people. */
  displayName: string;
  /** Position in the runner's list; it may point elsewhere after a restart. */
  index: number;
  /** Whether the runner used it when it became ready. */
  isCurrent: boolean;
  /** What identifies it across restarts; the raw name, where the runner has no key. */
  key: string;
  /** Raw name. */
  name: string;
}

/** Chooses a session's model. */
export interface LlmSet {
  /** The model: its display name, name or key, in upper or lower case. */
  llm: string;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** A session whose model was chosen. */
export interface LlmSetResult {
  /** When the choice takes effect. */
  dispatch: LlmDispatch;
  /** Its row as it stands now. */
  session: SessionBrief;
}

/** Puts an earlier conversation in place (§5.5): after `ready`, before the first message. */
export interface LoadHistory {
  /** The conversation, oldest first. */
  messages: HistoryMessage[];
}

/** Core's own: a line of the runner that is no event. */
export interface Malformed {
  /** The line's length when it was over-long and cut. */
  bytes?: number | null;
  /** The line, or its beginning when it was over-long. */
  line: string;
  /** What was wrong with it. */
  reason?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** Always `core`. */
  source: string;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** An image that belongs to a message. */
export interface MessageAttachment {
  /** Size in bytes. */
  byteSize: number;
  /** When it was stored. */
  createdAt: string;
  /** Height in pixels, when known. */
  height?: number | null;
  /** Its id. */
  id: string;
  /** What it is. */
  kind: AttachmentKind;
  /** The message. */
  messageId: string;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  mimeType: string;
  /** Absolute path below Galley's data directory. */
  path: string;
  /** The session. */
  sessionId: string;
  /** Width in pixels, when known. */
  width?: number | null;
}

/** One message of a transcript (§5.5). */
export interface MessageBrief {
  /** The question the step ended with. */
  askUser?: AnyJson | null;
  /** Images. */
  attachments?: MessageAttachment[] | null;
  /** Markdown. */
  content: string;
  /** When it was stored. */
  createdAt: string;
  /** The run's answer, on the row that ended it. */
  finalAnswer?: string | null;
  /** Opaque id. */
  id: string;
  /** Where it came from. */
  origin?: Origin | null;
  /** The text was cut off by a stop or a crash. */
  partial?: boolean | null;
  /** Who speaks. */
  role: MessageRole;
  /** Its session. */
  sessionId: string;
  /** What became of a user message. */
  state?: MessageState | null;
  /** The step of its run, from 1, on agent rows. */
  stepIndex?: number | null;
  /** The agent's one-line digest of the step. */
  summary?: string | null;
  /** Figures about the run. */
  telemetry?: AnyJson | null;
  /** The model's thinking, taken out of the content. */
  thinking?: string | null;
  /** The step's tool calls, as the runner reported them. */
  toolCalls?: AnyJson | null;
  /** The step's tool results, as the runner reported them. */
  toolResults?: AnyJson | null;
  /** The user turn it belongs to, from 0. */
  turnIndex?: number | null;
  /** Set on rows that ordinary reads leave out. */
  visibility?: Visibility | null;
}

export type MessageRole = "user" | "agent" | "system" | UnknownWord;

export type MessageState = "queued" | "pending" | "dispatched" | "answered" | "failed" | "cancelled" | "superseded" | UnknownWord;

export type ModelKind = "openai" | "anthropic" | UnknownWord;

/** How a model is reached. The key is written to a file that only its owner can read, and nowhere else. */
export interface ModelSettings {
  /** The key. */
  apiKey: string;
  /** Where it is. */
  baseUrl: string;
  /** The provider's wire. */
  kind: ModelKind;
  /** The model's name. */
  model: string;
}

/** A session that was created. */
export interface NewSession {
  /** What happened to it. */
  dispatch: Dispatch;
  /** The first message. */
  message: MessageBrief;
  /** Its row as it stands after the dispatch. */
  session: SessionBrief;
  /** Something to know. */
  warning?: Warning | null;
}

/** Where something came from. */
export interface Origin {
  /** Why. */
  reason?: string | null;
  /** The supervisor's label. */
  supervisor?: string | null;
  /** The door. */
  via: Via;
}

/** The desktop pet runs (§4.14). */
export interface PetAttached {
  /** Its loopback HTTP port. */
  port: number;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** The desktop pet is gone (§4.15). */
export interface PetDetached {
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** Asks whether anybody is there. */
export type Ping = { [name: string]: AnyJson };

/** The answer to [`Ping`]. */
export interface Pong {
  /** Always true. */
  pong: boolean;
}

/** One project. */
export interface ProjectBrief {
  /** A colour, in whatever form the caller likes. */
  color?: string | null;
  /** When it was created. */
  createdAt: string;
  /** A picture, in whatever form the caller likes. */
  icon?: string | null;
  /** Opaque id. */
  id: string;
  /** The latest of everything that happened in its sessions; its creation, without any. */
  lastActivityAt: string;
  /** Its name. */
  name: string;
  /** Sorts first. */
  pinned: boolean;
  /** Its folder, absolute. */
  rootPath?: string | null;
  /** When its row was last written. */
  updatedAt: string;
  /** Whether runners get the folder as their workspace. It is never their working directory. */
  workspaceEnabled: boolean;
}

/** Asks how a project stands. */
export interface ProjectBriefGet {
  /** Which project. */
  projectId: string;
}

/** Creates a project. */
export interface ProjectCreate {
  /** A colour, in whatever form the caller likes. */
  color?: string | null;
  /** A picture, in whatever form the caller likes. */
  icon?: string | null;
  /** Its name; not blank. */
  name: string;
  /** Why. */
  reason?: string | null;
  /** Its folder, absolute. */
  rootPath?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** Whether runners get the folder as their workspace; false by default. Needs a folder. */
  workspaceEnabled?: boolean | null;
}

/** Deletes a project. Its sessions stay, ungrouped; its approval rules go. */
export interface ProjectDelete {
  /** Which project. */
  projectId: string;
  /** Why. */
  reason?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** A project that is gone. Its sessions are ungrouped now. */
export interface ProjectDeleted {
  /** Always true. */
  deleted: boolean;
  /** Which ones. */
  detachedSessionIds: string[];
  /** How many sessions it had, archived ones included. */
  detachedSessions: number;
  /** Which project it was. */
  projectId: string;
}

/** Streams what happens in all sessions of a project, from a snapshot on. */
export interface ProjectFollow {
  /** Archived sessions too. */
  all?: boolean | null;
  /** A second snapshot before the end; false by default. */
  finalShow?: boolean | null;
  /** Which project. */
  projectId: string;
  /** Only the last N messages of each session in a snapshot. */
  tail?: number | null;
  /** End with `project_idle` once no session is busy; otherwise the stream lasts as long as a runner does. */
  untilIdle?: boolean | null;
}

/** One frame of a project's follow. */
export type ProjectFrame = {
  /** The latest of everything that happened in it. */
  lastActivityAt: string;
  /** Which of the two. */
  phase: WaitPhase;
  /** The project. */
  project: ProjectBrief;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** As in [`ProjectOverview`]. */
  runningSessions: SessionBrief[];
  /** The schema version. */
  schemaVersion: number;
  /** As in [`ProjectOverview`]. */
  sessionCount: number;
  /** Its sessions, in the order of `sessions.list`. */
  sessions: Transcript[];
  /** As in [`ProjectOverview`]. */
  statusCounts: { [name: string]: number };
  stream: "snapshot";
} | {
  /** The line, as the runner wrote it. */
  data: AnyJson;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  /** The session. */
  sessionId: string;
  stream: "event";
} | {
  /** Why, as a watch of that session would end. */
  reason: EndReason;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  /** The session. */
  sessionId: string;
  stream: "sessionEnd";
} | {
  /** `project_idle`, `all_live_sessions_ended`, `no_live_sessions`, or why the stream as such could not go on. */
  reason: EndReason;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  stream: "end";
};

/** Lists projects: pinned first, then by last activity, newest first, then by id. */
export type ProjectList = { [name: string]: AnyJson };

/** How a project stands. Archived sessions are not counted. */
export interface ProjectOverview {
  /** The latest of everything that happened in it. */
  lastActivityAt: string;
  /** The project. */
  project: ProjectBrief;
  /** Those with a run in hand: `connecting`, `running` or `waiting_approval`. */
  runningSessions: SessionBrief[];
  /** The schema version. */
  schemaVersion: number;
  /** How many sessions it has. */
  sessionCount: number;
  /** How many of them are in each status; statuses without a session are left out. */
  statusCounts: { [name: string]: number };
}

/** A project that was created or changed. */
export interface ProjectResult {
  /** Its row as it stands now. */
  project: ProjectBrief;
}

/** Asks for the conversations of a project. */
export interface ProjectShow {
  /** Archived sessions too, also in the counts. */
  all?: boolean | null;
  /** Which project. */
  projectId: string;
  /** Only the last N messages of each session. */
  tail?: number | null;
}

/** How a project stands, and the conversations in it. */
export interface ProjectTranscripts {
  /** The latest of everything that happened in it. */
  lastActivityAt: string;
  /** The project. */
  project: ProjectBrief;
  /** As in [`ProjectOverview`]. */
  runningSessions: SessionBrief[];
  /** The schema version. */
  schemaVersion: number;
  /** As in [`ProjectOverview`]. */
  sessionCount: number;
  /** Its sessions, in the order of `sessions.list`. */
  sessions: Transcript[];
  /** As in [`ProjectOverview`]. */
  statusCounts: { [name: string]: number };
}

/** Changes a project. What is absent stays as it is; an empty `rootPath`, `icon` or `color` takes the old one away. */
export interface ProjectUpdate {
  /** A colour. */
  color?: string | null;
  /** A picture. */
  icon?: string | null;
  /** Its name; not blank. */
  name?: string | null;
  /** Whether it sorts first. */
  pinned?: boolean | null;
  /** Which project. */
  projectId: string;
  /** Why. */
  reason?: string | null;
  /** Its folder, absolute. */
  rootPath?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** Whether runners get the folder as their workspace. Needs a folder. */
  workspaceEnabled?: boolean | null;
}

export type QueueAction = "remove" | "jump" | "edit" | UnknownWord;

/** A message that waits. */
export interface QueueItem {
  /** Its text. */
  content: string;
  /** When it was stored. */
  createdAt: string;
  /** The message. */
  messageId: string;
  /** Its place, from 1. */
  position: number;
  /** `pending` or `queued`; pending ones come first. */
  state: MessageState;
}

/** Where a queued message stands. */
export interface QueuePosition {
  /** From 1. */
  position: number;
}

export type Ranking = "bm25" | "recent" | UnknownWord;

/** The first event of a runner (§4.1). Core sends nothing before it. */
export interface Ready {
  /** Every model it can use. Not defaulted: a runner that misspells it is told so. */
  availableLLMs: Llm[];
  /** What it can do; absent means everything the specification has. */
  capabilities?: string[] | null;
  /** The runner's working directory. */
  cwd?: string | null;
  /** Commit of the agent's checkout, or `unknown`. */
  gaCommit?: string | null;
  /** When that commit was made, or `unknown`. */
  gaCommitDate?: string | null;
  /** Where the agent lives. */
  gaPath?: string | null;
  /** Raw name of the model in use. */
  llmName?: string | null;
  /** The runner's process id. */
  pid?: number | null;
  /** Must be [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION). */
  protocolVersion: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** Puts the tool definitions into the history again (§5.10). */
export type ReinjectTools = { [name: string]: AnyJson };

/** A request as it is written. */
export interface Request {
  /** The command's arguments. */
  args?: AnyJson | null;
  /** Dotted name. */
  command: string;
  /** Echoed in the response. Requests with one may be answered out of order. */
  requestId?: string | null;
  /** Absent means the current one. */
  schemaVersion?: number | null;
}

/** A response. */
export interface Response {
  /** Structure added to the error. */
  detail?: AnyJson | null;
  /** What went wrong. */
  error?: ErrorTag | null;
  /** The same for people. */
  message?: string | null;
  /** Where the next page of a list starts. */
  nextCursor?: string | null;
  /** Whether it worked: then `result` is set, else `error` and `message`. */
  ok: boolean;
  /** The request's id, if it had one. */
  requestId?: string | null;
  /** The command's result. */
  result?: AnyJson | null;
}

/** A session that has a runner again. */
export interface Resumed {
  /** `dispatched`: the runner is up and has the first held message, if there was one; `queued`: a run is open, and what was held waits behind it; `persisted_only`: the message was stopped or taken out before the runner had it. */
  dispatch: Dispatch;
  /** Its row as it stands now. */
  session: SessionBrief;
}

export type RiskLevel = "low" | "medium" | "high" | UnknownWord;

/** A tool that needs no approval. */
export interface Rule {
  /** Who said so. */
  by?: string | null;
  /** When. */
  createdAt: string;
  /** Where: `global`, `ungrouped` (sessions without a project), or a project's id. */
  scope: string;
  /** The tool. */
  tool: string;
}

/** The run ended (§4.9); the last event of a run. */
export interface RunComplete {
  /** Why. */
  exitReason: ExitReason;
  /** The answer, Markdown. */
  finalContent?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** How many steps it took. */
  totalTurns?: number | null;
}

/** Adds a runtime to the configuration. A GenericAgent is checked first: its folder, interpreter, packages, key file, and a real start; nothing is written when a check fails. */
export interface RuntimeAdd {
  /** How it is spoken to; `process` by default. */
  backend?: Backend | null;
  /** Whether a GenericAgent is checked before it is written down; true by default. */
  check?: boolean | null;
  /** The command line, split as a shell splits words; no shell runs. */
  command?: string | null;
  /** Variables for its environment. */
  env?: { [name: string]: string } | null;
  /** The agent's folder. */
  gaPath?: string | null;
  /** The file with its models' settings, for `genericagent`; by default it is looked for where the agent looks. */
  keyFile?: string | null;
  /** Its name. */
  name: string;
  /** The interpreter, for `genericagent`; by default the one of the folder's virtual environment, else `python3`. */
  python?: string | null;
  /** Replace one that is configured already. */
  replace?: boolean | null;
}

/** One runtime. */
export interface RuntimeBrief {
  /** How it is spoken to. */
  backend: Backend;
  /** The program and its arguments, for `process`. */
  command?: string[] | null;
  /** Whether new sessions use it. */
  current: boolean;
  /** The agent's folder, when it has one. */
  gaPath?: string | null;
  /** The file with its models' settings that was named for it. */
  keyFile?: string | null;
  /** Its name for people. */
  label: string;
  /** Its name. */
  name: string;
  /** Why it cannot be used, when it cannot. */
  problem?: string | null;
  /** The interpreter that was named for it. */
  python?: string | null;
  /** Whose it is. */
  runtimeKind: RuntimeKind;
}

/** Starts a runtime for real, waits until it is ready, and stops it. */
export interface RuntimeCheck {
  /** Which one. */
  name: string;
}

/** A runtime that started. */
export interface RuntimeCheckResult {
  /** What it can do; absent means everything the specification has. */
  capabilities?: string[] | null;
  /** Its models. */
  llms: Llm[];
  /** Which one. */
  name: string;
  /** Always true; a failure is an error. */
  ok: boolean;
  /** The protocol it speaks. */
  protocolVersion: string;
  /** How long the start took, in milliseconds. */
  readyMs: number;
}

/** Installs a GenericAgent into Galley's data directory, in a virtual environment of its own, and configures it as a runtime. What is there already is brought up to date. */
export interface RuntimeInstall {
  /** The model to use. Without it the settings of an earlier installation stay. */
  model?: ModelSettings | null;
  /** The runtime's name: `managed`. */
  name: string;
  /** The interpreter to build upon; `python3` by default. */
  python?: string | null;
}

export type RuntimeKind = "managed" | "external" | UnknownWord;

/** Lists the runtimes. */
export type RuntimeList = { [name: string]: AnyJson };

/** Takes a runtime out of the configuration. Its sessions stay; they can be read, and started again once a runtime of that name is there. */
export interface RuntimeRemove {
  /** Which one. */
  name: string;
}

/** A runtime that is no longer configured. */
export interface RuntimeRemoved {
  /** Which one it was. */
  name: string;
  /** Always true. */
  removed: boolean;
}

/** Asks for one runtime. */
export interface RuntimeShow {
  /** Which one. */
  name: string;
}

/** Makes a runtime the one that new sessions use. */
export interface RuntimeUse {
  /** Which one. */
  name: string;
}

/** One hit. */
export interface SearchHit {
  /** The search ran into its deadline: there may be more. */
  incomplete?: boolean | null;
  /** The message. */
  messageId: string;
  /** The index's score (lower is better); 0.0 whenever not `bm25`. */
  rank: number;
  /** How the hits are ordered. */
  ranking?: Ranking | null;
  /** The session. */
  sessionId: string;
  /** An excerpt, HTML-escaped, matches in `<mark>`. */
  snippet: string;
}

/** Puts a session away (§5.11): its run is stopped, its runner shut down, and what was queued becomes pending. Nothing is lost; `session.restore` takes it back. */
export interface SessionArchive {
  /** What to do if it is busy; `stop` by default. */
  ifBusy?: ArchiveIfBusy | null;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** One row of a session list (§5.2). */
export interface SessionBrief {
  /** How approvals are handled, when the session has a choice of its own. */
  approvalMode?: ApprovalMode | null;
  /** A question of the agent waits for its answer. */
  askPending?: boolean | null;
  /** When it was created. */
  createdAt: string;
  /** Working directory it was created with. */
  cwd?: string | null;
  /** The runtime's name in the configuration. */
  gaRuntimeId?: string | null;
  /** The same as `runtimeKind`, under its older name. */
  gaRuntimeKind: RuntimeKind;
  /** The agent said something since it was last read. */
  hasUnread?: boolean | null;
  /** Opaque id. */
  id: string;
  /** The latest of everything that happened in it. */
  lastActivityAt: string;
  /** How the last run ended, verbatim. */
  lastExit?: ExitReason | null;
  /** Index of the last event in its log; 0 when there is none. */
  lastIndex?: number | null;
  /** Who created it. */
  origin?: Origin | null;
  /** Messages waiting for a runner. */
  pendingCount?: number | null;
  /** Sorts first. */
  pinned?: boolean | null;
  /** The project it belongs to; absent when ungrouped. */
  projectId?: string | null;
  /** The managed prompt profile, when one applies. */
  promptProfile?: string | null;
  /** Messages waiting behind the open run. */
  queuedCount?: number | null;
  /** `managed` or `external`. */
  runtimeKind: RuntimeKind;
  /** The runtime's name for people. */
  runtimeLabel: string;
  /** Its name for people. */
  selectedLlmDisplayName?: string | null;
  /** Legacy index of the chosen model. */
  selectedLlmIndex?: number | null;
  /** Stable key of the chosen model. */
  selectedLlmKey?: string | null;
  /** Where it stands. */
  status: SessionStatus;
  /** The agent's one-line digest of its last turn. */
  summary?: string | null;
  /** From the first message, unless renamed. */
  title: string;
  /** Accepted visible user messages; the next message's `turnIndex`. */
  turnCount?: number | null;
  /** When its row was last written. */
  updatedAt: string;
}

/** Asks for one session's row. */
export interface SessionBriefGet {
  /** Which session. */
  sessionId: string;
}

/** Asks a side question (§5.9). Nothing is stored, no run is opened; without a live runner it is `runner_error`. */
export interface SessionBtw {
  /** The question, without the `/btw` in front; not blank. */
  question: string;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Gives the runner a command of the IPC protocol. Without a live runner it is `runner_error`. */
export interface SessionCommand {
  /** The command. */
  command: DirectCommand;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Deletes a session with everything that belongs to it, its runner stopped first. It is gone for every reader at once and cannot be restored. */
export interface SessionDelete {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** A session that is gone. */
export interface SessionDeleted {
  /** Always true. */
  deleted: boolean;
  /** Which session it was. */
  sessionId: string;
}

/** Asks for a session's whole visible conversation. */
export interface SessionExport {
  /** `json` by default. */
  format?: ExportFormat | null;
  /** Which session. */
  sessionId: string;
}

/** Streams a session from a snapshot to a snapshot (§5.5c): its row and messages, every event of its runner from then on, and its row and messages again when the runner is gone. Where there was nothing to follow, the first snapshot is the only one. No event is missing between the snapshot and the first event, and none is in both. */
export interface SessionFollow {
  /** Which session. */
  sessionId: string;
  /** Only the last N messages in each snapshot. */
  tail?: number | null;
}

/** A session that is gone, with its messages and approvals. */
export interface SessionGone {
  /** Which session. */
  sessionId: string;
}

/** Ends a session's runner. An open run is cancelled first; the answer comes when the runner is gone. */
export interface SessionKill {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Moves a session into a project, or out of the one it is in (§5.13). */
export interface SessionMove {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** The project; absent to leave it ungrouped. `projectId` is read as the same field: a caller who uses that word must not find the session ungrouped. */
  to?: string | null;
}

/** Creates a session and starts its first task (§5.8). */
export interface SessionNew {
  /** How approvals are handled; otherwise the app default. */
  approvalMode?: ApprovalMode | null;
  /** The same id again gets the same answer and has no second effect. */
  clientRequestId?: string | null;
  /** Working directory of the built-in shell; absolute. */
  cwd?: string | null;
  /** A model, by display name. */
  llm?: string | null;
  /** The project it belongs to. */
  projectId?: string | null;
  /** Why. */
  reason?: string | null;
  /** A runtime, by name; `current` by default. */
  runtime?: string | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** The first message. */
  task: string;
  /** A title; otherwise the first 80 characters of the task. */
  title?: string | null;
}

/** Sorts a session first, or no longer. */
export interface SessionPin {
  /** True by default. */
  pinned?: boolean | null;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Asks what waits in a session, in the order it will be handed over. */
export interface SessionQueue {
  /** Which session. */
  sessionId: string;
}

/** Changes the queue of a session; answered by the queue as it is then. A message that no longer waits is `invalid_args`. */
export interface SessionQueueEdit {
  /** What to do with it. */
  action: QueueAction;
  /** The new text, for `edit`; not blank. */
  content?: string | null;
  /** Which message. */
  messageId: string;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Marks a session as read: `hasUnread` becomes false. */
export interface SessionRead {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Gives a session another title. */
export interface SessionRename {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
  /** The title; not blank. */
  title: string;
}

/** Takes an archived session back, as `idle` (§5.12). One that is not archived is unchanged. */
export interface SessionRestore {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** A session that was changed. */
export interface SessionResult {
  /** Its row as it stands now. */
  session: SessionBrief;
}

/** Starts a runner if none is alive and delivers the messages that are held. */
export interface SessionResume {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Sends an earlier message again, as a new one; the rows of its turn become `superseded`. */
export interface SessionRetry {
  /** Which user message; the last one by default. */
  messageId?: string | null;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Sends a message (§5.5a). */
export interface SessionSend {
  /** The same id again gets the same answer and has no second effect. */
  clientRequestId?: string | null;
  /** The message. */
  content: string;
  /** What to do while a run is open; `queue` by default. */
  ifBusy?: IfBusy | null;
  /** Absolute paths of local image files, which are copied. `invalid_args` where the runner takes no images. */
  images?: string[] | null;
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Whether to start a runner when none is alive; true by default. */
  spawn?: boolean | null;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Asks for a transcript, oldest first. */
export interface SessionShow {
  /** Only messages before this message id. */
  before?: string | null;
  /** Internal rows too. */
  internal?: boolean | null;
  /** At most this many, the last ones. */
  limit?: number | null;
  /** Which session. */
  sessionId: string;
  /** Only the last N messages. */
  tail?: number | null;
}

/** What Core has in hand for a session. */
export interface SessionState {
  /** Ids of pending approvals. */
  approvals: string[];
  /** The agent's open question. */
  ask?: AskState | null;
  /** A run is reserved or open, or messages are queued. */
  busy: boolean;
  /** How the last run ended. */
  lastExit?: ExitReason | null;
  /** Index of the last event; 0 when there is none. */
  lastIndex: number;
  /** The model in use. */
  llm?: LlmChoice | null;
  /** The open run's number. */
  openRun?: number | null;
  /** Messages waiting for a runner. */
  pendingCount: number;
  /** Its process id, when it is a process. */
  pid?: number | null;
  /** Messages waiting behind the run. */
  queuedCount: number;
  /** A runner is up and not known dead. */
  runnerAlive: boolean;
  /** Which session. */
  sessionId: string;
}

/** Asks for what Core has in hand for a session: one atomic answer. */
export interface SessionStateGet {
  /** Which session. */
  sessionId: string;
}

export type SessionStatus = "idle" | "connecting" | "running" | "waiting_approval" | "error" | "completed" | "cancelled" | "archived" | UnknownWord;

/** Stops the current run (§5.10). */
export interface SessionStop {
  /** Why. */
  reason?: string | null;
  /** Which session. */
  sessionId: string;
  /** Who asks: a supervisor's label. */
  supervisor?: string | null;
}

/** Waits for an answer (§5.5d). */
export interface SessionWait {
  /** Only answers of this turn or later. */
  afterTurn?: number | null;
  /** Messages in the last payload too; true by default. */
  finalShow?: boolean | null;
  /** The end of this message's run. */
  messageId?: string | null;
  /** Upper bound, in seconds, between two looks at the database; 5 by default, at least 1. */
  poll?: number | null;
  /** Which session. */
  sessionId: string;
  /** Messages in each payload; 20 by default. */
  tail?: number | null;
  /** Seconds until the wait gives up; 300 by default. */
  timeout?: number | null;
  /** The end of everything the session has in hand. */
  untilIdle?: boolean | null;
}

/** Streams a session's events (§5.5b). */
export interface SessionWatch {
  /** Where to start; absent: live events only, and `not_found` without a live runner. */
  from?: WatchFrom | null;
  /** Which session. */
  sessionId: string;
  /** Keep the stream across runners. */
  stay?: boolean | null;
}

/** Lists sessions: pinned first, then by last activity, newest first, then by id (§5.2). */
export interface SessionsList {
  /** `active` by default. */
  archived?: Archived | null;
  /** The `nextCursor` of the page before. */
  cursor?: string | null;
  /** At most this many rows. */
  limit?: number | null;
  /** One project. */
  projectId?: string | null;
  /** `current`, `managed`, `external`, `all`, or a runtime's name; `current` by default. */
  runtime?: string | null;
  /** One status; `archived` implies archived sessions. */
  status?: SessionStatus | null;
}

/** Searches message bodies (§5.3): under two characters nothing, two by substring, more by index. */
export interface SessionsSearch {
  /** Archived sessions too. */
  all?: boolean | null;
  /** At most this many hits; 20 by default. */
  limit?: number | null;
  /** One project. */
  projectId?: string | null;
  /** The words; taken literally. */
  query: string;
  /** As in [`SessionsList`]. */
  runtime?: string | null;
  /** One session. */
  sessionId?: string | null;
}

/** Streams every change to a session, a message or an approval, whatever its runtime or project. The stream begins with a snapshot, unless `sinceRevision` is of this life of Core and not too old: then it begins with a start frame and goes on with the first change after that revision. */
export interface SessionsWatch {
  /** The revision of the last change the client has seen. */
  sinceRevision?: number | null;
}

/** Replaces the runner's lists of tools that need no approval (§5.6). */
export interface SetApprovalRules {
  /** Tools allowed everywhere. */
  alwaysAllowGlobal?: string[] | null;
  /** Tools allowed in this session's project (or in ungrouped sessions). */
  alwaysAllowProject?: string[] | null;
}

/** Chooses a model (§5.8); only between runs. */
export interface SetLlm {
  /** Position in `availableLLMs`. */
  llmIndex: number;
}

/** Turns automatic execution on or off (§5.7). */
export interface SetYoloMode {
  /** Whether tools run without approval. */
  enabled: boolean;
}

export type Severity = "error" | "warning" | "info" | UnknownWord;

/** Asks the runner to finish and exit (§5.9). */
export type Shutdown = { [name: string]: AnyJson };

/** Core's own: an open run has been silent. */
export interface Stalled {
  /** When it was last heard of. */
  lastActivityAt: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** Always `core`. */
  source: string;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** Asks for counts. */
export type StatusGet = { [name: string]: AnyJson };

/** Counts over the sessions that are not archived (§5.6). */
export interface StatusSummary {
  /** In status `error`. */
  errored: number;
  /** What only a running Core knows; absent without one, which does not mean idle. */
  live?: LiveSummary | null;
  /** In status `running`. */
  running: number;
  /** All of them. */
  total: number;
  /** In status `waiting_approval`. */
  waitingInput: number;
}

export type StopDispatch = "abort_sent" | "already_stopped" | UnknownWord;

/** What a stop did. */
export interface StopResult {
  /** What a stop did. */
  dispatch: StopDispatch;
}

/** Ends a stream of this connection. */
export interface StreamCancel {
  /** The stream's request id. */
  requestId: string;
}

/** Whether there was such a stream. */
export interface StreamCancelled {
  /** Whether there was such a stream. */
  cancelled: boolean;
}

/** One frame of a watch. */
export type StreamFrame = {
  /** The index the stream starts at. */
  nextIndex: number;
  /** The request's id, or null. */
  requestId?: string | null;
  stream: "start";
} | {
  /** Core's id of the approval, on `tool_call_pending`. */
  approval?: string | null;
  /** The line, as the runner wrote it. */
  data: AnyJson;
  /** Its place in the session's log, from 1. */
  index?: number | null;
  /** The request's id, or null. */
  requestId?: string | null;
  /** The run it belongs to, from 1; 0 before the first. */
  run?: number | null;
  stream: "event";
} | {
  /** First index of the span. */
  from: number;
  /** The request's id, or null. */
  requestId?: string | null;
  stream: "gap";
  /** Last index of the span. */
  to: number;
} | {
  /** Why. */
  reason: EndReason;
  /** The request's id, or null. */
  requestId?: string | null;
  stream: "end";
};

/** A message that was accepted. A side question has no `message`. */
export interface Submitted {
  /** What happened to it. */
  dispatch: Dispatch;
  /** The stored row. */
  message?: MessageBrief | null;
  /** Where it waits. */
  queue?: QueuePosition | null;
  /** Something to know. */
  warning?: Warning | null;
}

/** A message from outside the agent's loop (§4.16). */
export interface SystemMessage {
  /** Markdown. */
  content: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** Which kind of message. */
  variant?: SystemVariant | null;
}

export type SystemVariant = "side_question" | "system" | UnknownWord;

/** A tool call of a step (§4.7). */
export interface ToolCall {
  /** Its arguments. */
  args?: AnyJson | null;
  /** The tool's name. */
  toolName: string;
}

/** A tool ended (§4.5). */
export interface ToolCallEnd {
  /** How long it took, in milliseconds. */
  elapsedMs?: number | null;
  /** The result in at most 500 characters. */
  resultPreview?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** How it ended. */
  status: ToolStatus;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** Which call. */
  toolCallId: string;
}

/** A tool waits for an `approval_response` (§4.3). */
export interface ToolCallPending {
  /** The runner's own id of this approval. */
  approvalId: string;
  /** Its full arguments. */
  args?: AnyJson | null;
  /** The arguments in at most 200 characters, for people. */
  argsPreview?: string | null;
  /** Why it needs approval. */
  reason?: string | null;
  /** How dangerous it is. */
  riskLevel?: RiskLevel | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** The tool. */
  toolName: string;
  /** The step. */
  turnIndex?: number | null;
}

/** Unstructured progress of a tool (§4.6). */
export interface ToolCallProgress {
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** What it said. */
  text: string;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** Which call. */
  toolCallId?: string | null;
}

/** A tool starts (§4.4). */
export interface ToolCallStart {
  /** Its full arguments. */
  args?: AnyJson | null;
  /** The arguments for people. */
  argsPreview?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** Ties it to its `tool_call_end`. */
  toolCallId: string;
  /** The tool. */
  toolName: string;
  /** The step. */
  turnIndex?: number | null;
}

/** A tool result of a step (§4.7). */
export interface ToolResult {
  /** What the tool said. */
  content?: AnyJson | null;
  /** Which call it answers. */
  toolUseId?: string | null;
}

export type ToolStatus = "success" | "failed" | "denied" | "cancelled" | UnknownWord;

/** The answer to `reinject_tools` (§4.13). */
export interface ToolsReinjected {
  /** How many blocks were added. */
  blocksAdded: number;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** A session and its messages. */
export interface Transcript {
  /** Its messages, oldest first. */
  messages: MessageBrief[];
  /** The session. */
  session: SessionBrief;
}

/** A step ended (§4.7): alone enough for a correct transcript. */
export interface TurnEnd {
  /** Set when the agent leaves its loop with this step. */
  exitReason?: ExitReason | null;
  /** The model's whole reply. */
  responseContent?: string | null;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** One line about the step. */
  summary?: string | null;
  /** Figures about the run, on the last step only. */
  telemetry?: AnyJson | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** The step's tool calls, verbatim; see [`ToolCall`](super::ToolCall). */
  toolCalls?: AnyJson[] | null;
  /** The step's tool results, verbatim; see [`ToolResult`](super::ToolResult). */
  toolResults?: AnyJson[] | null;
  /** The step within the run, from 1. */
  turnIndex: number;
}

/** A piece of streamed text (§4.7a); append it. Pieces are neither tokens nor snapshots. */
export interface TurnProgress {
  /** The text since the last piece. */
  delta: string;
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** Which part of the agent wrote it. */
  source?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
}

/** A step begins (§4.2). It may be repeated or predicted: de-duplicate by run and `turnIndex`. */
export interface TurnStart {
  /** The session, echoed by the runner. */
  sessionId?: string | null;
  /** When it happened, ISO 8601 with a zone. */
  timestamp?: string | null;
  /** The step within the run, from 1. */
  turnIndex: number;
}

export interface UnknownEvent {
  kind: UnknownKind;
}

/** Starts a run (§5.1). */
export interface UserMessage {
  /** The turn this message has in the session, from 0; runners may ignore it. */
  absoluteTurnIndex?: number | null;
  /** Absolute paths of local image files. */
  images?: string[] | null;
  /** What the user said. */
  text: string;
}

/** The versions of a Galley (§5.1). */
export interface Version {
  /** The Agent API versions it accepts. */
  acceptedSchemaVersions: number[];
  /** The program's version. */
  galleyVersion: string;
  /** The IPC version it speaks with runners. */
  protocolVersion: string;
  /** The Agent API's version. */
  schemaVersion: number;
}

/** Asks for versions. */
export type VersionGet = { [name: string]: AnyJson };

export type Via = "gui" | "cli" | "supervisor" | "system" | UnknownWord;

export type Visibility = "visible" | "internal" | UnknownWord;

/** One frame of a wait. */
export type WaitFrame = {
  /** Its last messages; absent with `finalShow: false` on the last payload. */
  messages?: MessageBrief[] | null;
  /** Which payload. */
  phase: WaitPhase;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  /** The session. */
  session: SessionBrief;
  /** How the wait ended, on the last payload. */
  status?: WaitStatus | null;
  stream: "wait";
} | {
  /** Why. */
  reason: EndReason;
  /** The request's id, only if it had one. */
  requestId?: string | null;
  /** The schema version. */
  schemaVersion: number;
  stream: "end";
};

export type WaitPhase = "initial" | "final" | UnknownWord;

export type WaitStatus = "completed" | "timed_out" | "session_error" | "session_cancelled" | UnknownWord;

/** Something to know about a write that worked. */
export interface Warning {
  /** Structure. */
  detail?: AnyJson | null;
  /** Stable name: `non_current_runtime`, or a runner start failure's cause. */
  id: string;
  /** For people. */
  message: string;
}

export type WatchFrom = number | "now" | "run" | "start";

/** Each kind of event a runner sends, with its fields. */
export interface Events {
  approval_resolved: ApprovalResolved;
  ask_user: AskUser;
  error: ErrorEvent;
  history_loaded: HistoryLoaded;
  llm_changed: LlmChanged;
  malformed: Malformed;
  pet_attached: PetAttached;
  pet_detached: PetDetached;
  ready: Ready;
  run_complete: RunComplete;
  stalled: Stalled;
  system_message: SystemMessage;
  tool_call_end: ToolCallEnd;
  tool_call_pending: ToolCallPending;
  tool_call_progress: ToolCallProgress;
  tool_call_start: ToolCallStart;
  tools_reinjected: ToolsReinjected;
  turn_end: TurnEnd;
  turn_progress: TurnProgress;
  turn_start: TurnStart;
}

/** Each command that is answered once. */
export interface Commands {
  "approval.list": { args: ApprovalList; output: Approval[] };
  "approval.mode": { args: ApprovalModeSet; output: ApprovalModeResult };
  "approval.respond": { args: ApprovalRespond; output: ApprovalRespondResult };
  "approval.revoke": { args: ApprovalRevoke; output: Rule[] };
  "approval.rules": { args: ApprovalRules; output: Rule[] };
  "core.info": { args: CoreInfoGet; output: CoreInfo };
  "core.shutdown": { args: CoreShutdown; output: CoreShutdownResult };
  "health": { args: HealthGet; output: HealthReport };
  "llm.list": { args: LlmList; output: LlmRow[] };
  "llm.set": { args: LlmSet; output: LlmSetResult };
  "ping": { args: Ping; output: Pong };
  "project.brief": { args: ProjectBriefGet; output: ProjectOverview };
  "project.create": { args: ProjectCreate; output: ProjectResult };
  "project.delete": { args: ProjectDelete; output: ProjectDeleted };
  "project.list": { args: ProjectList; output: ProjectBrief[] };
  "project.show": { args: ProjectShow; output: ProjectTranscripts };
  "project.update": { args: ProjectUpdate; output: ProjectResult };
  "runtime.add": { args: RuntimeAdd; output: RuntimeBrief };
  "runtime.check": { args: RuntimeCheck; output: RuntimeCheckResult };
  "runtime.list": { args: RuntimeList; output: RuntimeBrief[] };
  "runtime.remove": { args: RuntimeRemove; output: RuntimeRemoved };
  "runtime.show": { args: RuntimeShow; output: RuntimeBrief };
  "runtime.use": { args: RuntimeUse; output: RuntimeBrief };
  "session.archive": { args: SessionArchive; output: SessionResult };
  "session.brief": { args: SessionBriefGet; output: SessionBrief };
  "session.btw": { args: SessionBtw; output: DispatchResult };
  "session.command": { args: SessionCommand; output: DispatchResult };
  "session.delete": { args: SessionDelete; output: SessionDeleted };
  "session.export": { args: SessionExport; output: Exported };
  "session.kill": { args: SessionKill; output: KillResult };
  "session.move": { args: SessionMove; output: SessionResult };
  "session.new": { args: SessionNew; output: NewSession };
  "session.pin": { args: SessionPin; output: SessionResult };
  "session.queue": { args: SessionQueue; output: QueueItem[] };
  "session.queue_edit": { args: SessionQueueEdit; output: QueueItem[] };
  "session.read": { args: SessionRead; output: SessionResult };
  "session.rename": { args: SessionRename; output: SessionResult };
  "session.restore": { args: SessionRestore; output: SessionResult };
  "session.resume": { args: SessionResume; output: Resumed };
  "session.retry": { args: SessionRetry; output: Submitted };
  "session.send": { args: SessionSend; output: Submitted };
  "session.show": { args: SessionShow; output: MessageBrief[] };
  "session.state": { args: SessionStateGet; output: SessionState };
  "session.stop": { args: SessionStop; output: StopResult };
  "sessions.list": { args: SessionsList; output: SessionBrief[] };
  "sessions.search": { args: SessionsSearch; output: SearchHit[] };
  "status": { args: StatusGet; output: StatusSummary };
  "stream.cancel": { args: StreamCancel; output: StreamCancelled };
  "version": { args: VersionGet; output: Version };
}

/** Each command that opens a stream. */
export interface Streams {
  "project.follow": { args: ProjectFollow; frame: ProjectFrame };
  "runtime.install": { args: RuntimeInstall; frame: InstallFrame };
  "session.follow": { args: SessionFollow; frame: FollowFrame };
  "session.wait": { args: SessionWait; frame: WaitFrame };
  "session.watch": { args: SessionWatch; frame: StreamFrame };
  "sessions.watch": { args: SessionsWatch; frame: FeedFrame };
}

/** The stable names of errors, with the exit code each of them means. */
export const exitCodes = {
  busy: 6,
  db_unavailable: 4,
  idle_timeout: 1,
  internal: 1,
  invalid_args: 2,
  not_found: 3,
  queue_full: 1,
  runner_error: 5,
  schema_mismatch: 2,
  unknown_command: 1,
} as const;
