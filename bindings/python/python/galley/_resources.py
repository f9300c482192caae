# Generated from schema/galley-v1.json by `cargo xtask generate`.
"""The usual calls by noun, as the command line reads."""

from __future__ import annotations

from collections.abc import Iterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import types
from ._answers import Page, WaitOutcome
from .types import (
    Any,
    Approval,
    ApprovalMode,
    ApprovalModeResult,
    ApprovalRespondResult,
    ApprovalStateFilter,
    ArchiveIfBusy,
    Archived,
    Backend,
    CoreInfo,
    CoreShutdownResult,
    Decision,
    DispatchResult,
    ExportFormat,
    HealthReport,
    IfBusy,
    KillResult,
    LlmRow,
    LlmSetResult,
    MessageBrief,
    ModelSettings,
    NewSession,
    Pong,
    ProjectBrief,
    ProjectDeleted,
    ProjectOverview,
    ProjectResult,
    ProjectTranscripts,
    QueueAction,
    QueueItem,
    Resumed,
    Rule,
    RuntimeBrief,
    RuntimeCheckResult,
    RuntimeRemoved,
    SearchHit,
    SessionBrief,
    SessionDeleted,
    SessionResult,
    SessionState,
    SessionStatus,
    StatusSummary,
    StopResult,
    Submitted,
    Version,
    Exported,
    FeedEvent,
    FollowFrame,
    ProjectFrame,
)

if TYPE_CHECKING:
    from ._client import Client, FrameStream, Watch

T = TypeVar("T")


class Sessions:
    """Many sessions."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(
        self,
        task: str,
        *,
        approval_mode: ApprovalMode | None = None,
        client_request_id: str | None = None,
        cwd: str | None = None,
        llm: str | None = None,
        project_id: str | None = None,
        reason: str | None = None,
        runtime: str | None = None,
        supervisor: str | None = None,
        title: str | None = None,
    ) -> NewSession:
        """Creates a session and starts its first task (§5.8)."""
        return self._client.ask("session.new", NewSession.read, {"approvalMode": approval_mode, "clientRequestId": client_request_id, "cwd": cwd, "llm": llm, "projectId": project_id, "reason": reason, "runtime": runtime, "supervisor": supervisor, "task": task, "title": title})

    def list(
        self,
        *,
        archived: Archived | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        project_id: str | None = None,
        runtime: str | None = None,
        status: SessionStatus | None = None,
    ) -> Page[SessionBrief]:
        """Lists sessions: pinned first, then by last activity, newest first, then by id (§5.2)."""
        return self._client.page("sessions.list", SessionBrief.read, {"archived": archived, "cursor": cursor, "limit": limit, "projectId": project_id, "runtime": runtime, "status": status})

    def every(
        self,
        *,
        archived: Archived | None = None,
        limit: int | None = None,
        project_id: str | None = None,
        runtime: str | None = None,
        status: SessionStatus | None = None,
    ) -> Iterator[SessionBrief]:
        """Goes through all rows of `list`, page by page; `limit` is a page's size."""
        return self._client.every("sessions.list", SessionBrief.read, {"archived": archived, "limit": limit, "projectId": project_id, "runtime": runtime, "status": status})

    def search(
        self,
        query: str,
        *,
        all: bool | None = None,
        limit: int | None = None,
        project_id: str | None = None,
        runtime: str | None = None,
        session_id: str | None = None,
    ) -> Page[SearchHit]:
        """Searches message bodies (§5.3): under two characters nothing, two by substring, more by index."""
        return self._client.page("sessions.search", SearchHit.read, {"all": all, "limit": limit, "projectId": project_id, "query": query, "runtime": runtime, "sessionId": session_id})

    def watch(
        self,
        *,
        since_revision: int | None = None,
    ) -> FrameStream[FeedEvent]:
        """Streams every change to a session, a message or an approval, whatever its runtime or project. The
        stream begins with a snapshot, unless `sinceRevision` is of this life of Core and not too old: then it
        begins with a start frame and goes on with the first change after that revision.
        """
        return self._client.frames("sessions.watch", types.read_feed_event, {"sinceRevision": since_revision})


class Session:
    """One session."""

    __slots__ = ("_client", "id")

    def __init__(self, client: Client, id: str) -> None:
        self._client = client
        self.id = id

    def __repr__(self) -> str:
        return f"galley.Session({self.id!r})"

    def set_llm(
        self,
        llm: str,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> LlmSetResult:
        """Chooses a session's model."""
        return self._client.ask("llm.set", LlmSetResult.read, {"llm": llm, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def archive(
        self,
        *,
        if_busy: ArchiveIfBusy | None = None,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionResult:
        """Puts a session away (§5.11): its run is stopped, its runner shut down, and what was queued
        becomes pending. Nothing is lost; `session.restore` takes it back.
        """
        return self._client.ask("session.archive", SessionResult.read, {"ifBusy": if_busy, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def brief(self) -> SessionBrief:
        """Asks for one session's row."""
        return self._client.ask("session.brief", SessionBrief.read, {"sessionId": self.id})

    def btw(
        self,
        question: str,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> DispatchResult:
        """Asks a side question (§5.9). Nothing is stored, no run is opened; without a live runner it is
        `runner_error`.
        """
        return self._client.ask("session.btw", DispatchResult.read, {"question": question, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def command(
        self,
        command: Mapping[str, Any],
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> DispatchResult:
        """Gives the runner a command of the IPC protocol. Without a live runner it is `runner_error`."""
        return self._client.ask("session.command", DispatchResult.read, {"command": command, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def delete(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionDeleted:
        """Deletes a session with everything that belongs to it, its runner stopped first. It is gone for
        every reader at once and cannot be restored.
        """
        return self._client.ask("session.delete", SessionDeleted.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def export(
        self,
        *,
        format: ExportFormat | None = None,
    ) -> Exported:
        """Asks for a session's whole visible conversation."""
        return self._client.ask("session.export", types.read_exported, {"format": format, "sessionId": self.id})

    def follow(
        self,
        *,
        tail: int | None = None,
    ) -> FrameStream[FollowFrame]:
        """Streams a session from a snapshot to a snapshot (§5.5c): its row and messages, every event of its
        runner from then on, and its row and messages again when the runner is gone. Where there was nothing
        to follow, the first snapshot is the only one. No event is missing between the snapshot and the first
        event, and none is in both.
        """
        return self._client.frames("session.follow", types.read_follow_frame, {"sessionId": self.id, "tail": tail})

    def kill(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> KillResult:
        """Ends a session's runner. An open run is cancelled first; the answer comes when the runner is gone."""
        return self._client.ask("session.kill", KillResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def move(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
        to: str | None = None,
    ) -> SessionResult:
        """Moves a session into a project, or out of the one it is in (§5.13)."""
        return self._client.ask("session.move", SessionResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor, "to": to})

    def pin(
        self,
        *,
        pinned: bool | None = None,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionResult:
        """Sorts a session first, or no longer."""
        return self._client.ask("session.pin", SessionResult.read, {"pinned": pinned, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def queue(self) -> Page[QueueItem]:
        """Asks what waits in a session, in the order it will be handed over."""
        return self._client.page("session.queue", QueueItem.read, {"sessionId": self.id})

    def edit_queue(
        self,
        action: QueueAction,
        message_id: str,
        *,
        content: str | None = None,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> Page[QueueItem]:
        """Changes the queue of a session; answered by the queue as it is then. A message that no longer
        waits is `invalid_args`.
        """
        return self._client.page("session.queue_edit", QueueItem.read, {"action": action, "content": content, "messageId": message_id, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def read(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionResult:
        """Marks a session as read: `hasUnread` becomes false."""
        return self._client.ask("session.read", SessionResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def rename(
        self,
        title: str,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionResult:
        """Gives a session another title."""
        return self._client.ask("session.rename", SessionResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor, "title": title})

    def restore(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> SessionResult:
        """Takes an archived session back, as `idle` (§5.12). One that is not archived is unchanged."""
        return self._client.ask("session.restore", SessionResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def resume(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> Resumed:
        """Starts a runner if none is alive and delivers the messages that are held."""
        return self._client.ask("session.resume", Resumed.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def retry(
        self,
        *,
        message_id: str | None = None,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> Submitted:
        """Sends an earlier message again, as a new one; the rows of its turn become `superseded`."""
        return self._client.ask("session.retry", Submitted.read, {"messageId": message_id, "reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def send(
        self,
        content: str,
        *,
        client_request_id: str | None = None,
        if_busy: IfBusy | None = None,
        images: Sequence[str] | None = None,
        reason: str | None = None,
        spawn: bool | None = None,
        supervisor: str | None = None,
    ) -> Submitted:
        """Sends a message (§5.5a)."""
        return self._client.ask("session.send", Submitted.read, {"clientRequestId": client_request_id, "content": content, "ifBusy": if_busy, "images": images, "reason": reason, "sessionId": self.id, "spawn": spawn, "supervisor": supervisor})

    def show(
        self,
        *,
        before: str | None = None,
        internal: bool | None = None,
        limit: int | None = None,
        tail: int | None = None,
    ) -> Page[MessageBrief]:
        """Asks for a transcript, oldest first."""
        return self._client.page("session.show", MessageBrief.read, {"before": before, "internal": internal, "limit": limit, "sessionId": self.id, "tail": tail})

    def state(self) -> SessionState:
        """Asks for what Core has in hand for a session: one atomic answer."""
        return self._client.ask("session.state", SessionState.read, {"sessionId": self.id})

    def stop(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> StopResult:
        """Stops the current run (§5.10)."""
        return self._client.ask("session.stop", StopResult.read, {"reason": reason, "sessionId": self.id, "supervisor": supervisor})

    def wait(
        self,
        *,
        after_turn: int | None = None,
        final_show: bool | None = None,
        message_id: str | None = None,
        poll: float | None = None,
        tail: int | None = None,
        timeout: float | None = None,
        until_idle: bool | None = None,
    ) -> WaitOutcome:
        """Waits for an answer (§5.5d)."""
        return self._client.wait({"afterTurn": after_turn, "finalShow": final_show, "messageId": message_id, "poll": poll, "sessionId": self.id, "tail": tail, "timeout": timeout, "untilIdle": until_idle})

    def watch(
        self,
        *,
        from_: int | Literal["now", "run", "start"] | None = None,
        stay: bool | None = None,
        reconnect: float = 30.0,
    ) -> Watch:
        """Watches a session's events, each exactly once. `from_` says where to start: an index, `now`, `run`
        or `start`; without it only live events come. `stay` keeps the watch across runners. A lost connection
        is taken up again for `reconnect` seconds.
        """
        return self._client.watch({"from": from_, "sessionId": self.id, "stay": stay}, reconnect)


class Approvals:
    """What waits for a yes or a no, and the rules that answer by themselves."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(
        self,
        *,
        session_id: str | None = None,
        state: ApprovalStateFilter | None = None,
    ) -> Page[Approval]:
        """Lists approvals, oldest first."""
        return self._client.page("approval.list", Approval.read, {"sessionId": session_id, "state": state})

    def set_mode(
        self,
        mode: ApprovalMode,
        *,
        reason: str | None = None,
        session_id: str | None = None,
        supervisor: str | None = None,
    ) -> ApprovalModeResult:
        """Sets how approvals are handled: for one session, or the app default."""
        return self._client.ask("approval.mode", ApprovalModeResult.read, {"mode": mode, "reason": reason, "sessionId": session_id, "supervisor": supervisor})

    def respond(
        self,
        decision: Decision,
        id: str,
        *,
        reason: str | None = None,
        session_id: str | None = None,
        supervisor: str | None = None,
    ) -> ApprovalRespondResult:
        """Answers an approval. The first answer wins."""
        return self._client.ask("approval.respond", ApprovalRespondResult.read, {"decision": decision, "id": id, "reason": reason, "sessionId": session_id, "supervisor": supervisor})

    def revoke(
        self,
        scope: str,
        tool: str,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> Page[Rule]:
        """Takes a rule back, in live runners too; answered by the rules that remain in its scope.
        `not_found` if there is no such rule.
        """
        return self._client.page("approval.revoke", Rule.read, {"reason": reason, "scope": scope, "supervisor": supervisor, "tool": tool})

    def rules(
        self,
        *,
        scope: str | None = None,
    ) -> Page[Rule]:
        """Lists the rules, by scope and tool."""
        return self._client.page("approval.rules", Rule.read, {"scope": scope})


class Projects:
    """Many projects."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(
        self,
        name: str,
        *,
        color: str | None = None,
        icon: str | None = None,
        reason: str | None = None,
        root_path: str | None = None,
        supervisor: str | None = None,
        workspace_enabled: bool | None = None,
    ) -> ProjectResult:
        """Creates a project."""
        return self._client.ask("project.create", ProjectResult.read, {"color": color, "icon": icon, "name": name, "reason": reason, "rootPath": root_path, "supervisor": supervisor, "workspaceEnabled": workspace_enabled})

    def list(self) -> Page[ProjectBrief]:
        """Lists projects: pinned first, then by last activity, newest first, then by id."""
        return self._client.page("project.list", ProjectBrief.read, {})


class Project:
    """One project."""

    __slots__ = ("_client", "id")

    def __init__(self, client: Client, id: str) -> None:
        self._client = client
        self.id = id

    def __repr__(self) -> str:
        return f"galley.Project({self.id!r})"

    def brief(self) -> ProjectOverview:
        """Asks how a project stands."""
        return self._client.ask("project.brief", ProjectOverview.read, {"projectId": self.id})

    def delete(
        self,
        *,
        reason: str | None = None,
        supervisor: str | None = None,
    ) -> ProjectDeleted:
        """Deletes a project. Its sessions stay, ungrouped; its approval rules go."""
        return self._client.ask("project.delete", ProjectDeleted.read, {"projectId": self.id, "reason": reason, "supervisor": supervisor})

    def follow(
        self,
        *,
        all: bool | None = None,
        final_show: bool | None = None,
        tail: int | None = None,
        until_idle: bool | None = None,
    ) -> FrameStream[ProjectFrame]:
        """Streams what happens in all sessions of a project, from a snapshot on."""
        return self._client.frames("project.follow", types.read_project_frame, {"all": all, "finalShow": final_show, "projectId": self.id, "tail": tail, "untilIdle": until_idle})

    def show(
        self,
        *,
        all: bool | None = None,
        tail: int | None = None,
    ) -> ProjectTranscripts:
        """Asks for the conversations of a project."""
        return self._client.ask("project.show", ProjectTranscripts.read, {"all": all, "projectId": self.id, "tail": tail})

    def update(
        self,
        *,
        color: str | None = None,
        icon: str | None = None,
        name: str | None = None,
        pinned: bool | None = None,
        reason: str | None = None,
        root_path: str | None = None,
        supervisor: str | None = None,
        workspace_enabled: bool | None = None,
    ) -> ProjectResult:
        """Changes a project. What is absent stays as it is; an empty `rootPath`, `icon` or `color` takes the
        old one away.
        """
        return self._client.ask("project.update", ProjectResult.read, {"color": color, "icon": icon, "name": name, "pinned": pinned, "projectId": self.id, "reason": reason, "rootPath": root_path, "supervisor": supervisor, "workspaceEnabled": workspace_enabled})


class Llms:
    """The models of a runtime."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(
        self,
        *,
        runtime: str | None = None,
    ) -> Page[LlmRow]:
        """Lists the models of a runtime, as its last `ready` had them; none before the first."""
        return self._client.page("llm.list", LlmRow.read, {"runtime": runtime})


class Runtimes:
    """The ways to start an agent."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def add(
        self,
        name: str,
        *,
        backend: Backend | None = None,
        check: bool | None = None,
        command: str | None = None,
        env: Mapping[str, str] | None = None,
        ga_path: str | None = None,
        key_file: str | None = None,
        python: str | None = None,
        replace: bool | None = None,
    ) -> RuntimeBrief:
        """Adds a runtime to the configuration. A GenericAgent is checked first: its folder, interpreter,
        packages, key file, and a real start; nothing is written when a check fails.
        """
        return self._client.ask("runtime.add", RuntimeBrief.read, {"backend": backend, "check": check, "command": command, "env": env, "gaPath": ga_path, "keyFile": key_file, "name": name, "python": python, "replace": replace})

    def check(
        self,
        name: str,
    ) -> RuntimeCheckResult:
        """Starts a runtime for real, waits until it is ready, and stops it."""
        return self._client.ask("runtime.check", RuntimeCheckResult.read, {"name": name})

    def install(
        self,
        name: str,
        *,
        model: ModelSettings | None = None,
        python: str | None = None,
    ) -> Any:
        """Installs a GenericAgent into Galley's data directory, in a virtual environment of its own, and
        configures it as a runtime. What is there already is brought up to date.
        """
        return self._client.ask("runtime.install", Any.read, {"model": model, "name": name, "python": python})

    def list(self) -> Page[RuntimeBrief]:
        """Lists the runtimes."""
        return self._client.page("runtime.list", RuntimeBrief.read, {})

    def remove(
        self,
        name: str,
    ) -> RuntimeRemoved:
        """Takes a runtime out of the configuration. Its sessions stay; they can be read, and started again
        once a runtime of that name is there.
        """
        return self._client.ask("runtime.remove", RuntimeRemoved.read, {"name": name})

    def show(
        self,
        name: str,
    ) -> RuntimeBrief:
        """Asks for one runtime."""
        return self._client.ask("runtime.show", RuntimeBrief.read, {"name": name})

    def use(
        self,
        name: str,
    ) -> RuntimeBrief:
        """Makes a runtime the one that new sessions use."""
        return self._client.ask("runtime.use", RuntimeBrief.read, {"name": name})


class Engine:
    """The running Core itself."""

    __slots__ = ("_client",)

    def __init__(self, client: Client) -> None:
        self._client = client

    def info(self) -> CoreInfo:
        """Asks a running Core about itself."""
        return self._client.ask("core.info", CoreInfo.read, {})

    def shutdown(self) -> CoreShutdownResult:
        """Asks a running Core to end: runners are shut down, streams end with `core_shutdown`."""
        return self._client.ask("core.shutdown", CoreShutdownResult.read, {})


class Meta:
    """What a client is asked itself."""

    def health(self) -> HealthReport:
        """Asks for a health report."""
        return self.ask("health", HealthReport.read, {})

    def ping(self) -> Pong:
        """Asks whether anybody is there."""
        return self.ask("ping", Pong.read, {})

    def status(self) -> StatusSummary:
        """Asks for counts."""
        return self.ask("status", StatusSummary.read, {})

    def version(self) -> Version:
        """Asks for versions."""
        return self.ask("version", Version.read, {})

    def ask(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> T:
        """Calls a command and reads its result."""
        raise NotImplementedError
