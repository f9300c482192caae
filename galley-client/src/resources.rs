//! The usual calls by noun, as the command line reads. Each is [`Client::call`] with its most used
//! arguments; for the others, build the command and call it.

use crate::client::{Client, Page};
use crate::error::Error;
use crate::stream::{Feed, FeedOptions, Follow, FollowProject, Wait, Watch, WatchOptions};
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{
    Approval, ApprovalList, ApprovalMode, ApprovalModeSet, ApprovalRespond, ApprovalRevoke, ApprovalRules, DirectCommand, ExportFormat, Exported,
    KillDispatch, LlmList, LlmRow, LlmSet, LlmSetResult, MessageBrief, NewSession, ProjectBrief, ProjectBriefGet, ProjectCreate, ProjectDelete,
    ProjectDeleted, ProjectFollow, ProjectList, ProjectOverview, ProjectShow, ProjectTranscripts, ProjectUpdate, QueueAction, QueueItem, Resumed,
    Rule, RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult, RuntimeList, RuntimeRemove, RuntimeRemoved, RuntimeShow, RuntimeUse, SearchHit,
    SessionArchive, SessionBrief, SessionBriefGet, SessionBtw, SessionCommand, SessionDelete, SessionExport, SessionFollow, SessionKill, SessionMove,
    SessionNew, SessionPin, SessionQueue, SessionQueueEdit, SessionRead, SessionRename, SessionRestore, SessionResume, SessionRetry, SessionSend,
    SessionShow, SessionState, SessionStateGet, SessionStop, SessionWait, SessionsList, SessionsSearch, StopDispatch, Submitted,
};

/// Many sessions.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a>(pub(crate) &'a Client);

impl Sessions<'_> {
    /// One page of the list.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self, filter: SessionsList) -> Result<Page<SessionBrief>, Error> {
        self.0.page(filter).await
    }

    /// Searches message bodies of the current runtime's sessions.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn search(&self, query: impl Into<String>) -> Result<Vec<SearchHit>, Error> {
        self.0.call(SessionsSearch { query: query.into(), ..SessionsSearch::default() }).await
    }

    /// Creates a session and starts its first task.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` when the agent could not be started, with the ids of
    /// what was stored in `detail`.
    pub async fn create(&self, session: SessionNew) -> Result<NewSession, Error> {
        self.0.call(session).await
    }

    /// Watches them all: one feed that keeps a list of them true.
    pub fn watch(&self, options: &FeedOptions) -> Feed {
        self.0.watch_sessions(options)
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct Session<'a> {
    pub(crate) client: &'a Client,
    pub(crate) id: String,
}

impl Session<'_> {
    /// Its row.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn brief(&self) -> Result<SessionBrief, Error> {
        self.client.call(SessionBriefGet { session_id: self.id.clone() }).await
    }

    /// Its transcript, or the last `tail` messages of it, oldest first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn show(&self, tail: Option<u32>) -> Result<Vec<MessageBrief>, Error> {
        self.client.call(SessionShow { session_id: self.id.clone(), tail, ..SessionShow::default() }).await
    }

    /// What Core has in hand for it.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn state(&self) -> Result<SessionState, Error> {
        self.client.call(SessionStateGet { session_id: self.id.clone() }).await
    }

    /// Sends a message, or answers the question the agent asked.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn send(&self, content: impl Into<String>) -> Result<Submitted, Error> {
        self.client.call(SessionSend { session_id: self.id.clone(), content: content.into(), ..SessionSend::default() }).await
    }

    /// Stops its current run.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn stop(&self) -> Result<StopDispatch, Error> {
        Ok(self.client.call(SessionStop { session_id: self.id.clone(), ..SessionStop::default() }).await?.dispatch)
    }

    /// Asks a side question; the answer is an event of the session.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` without a live runner.
    pub async fn btw(&self, question: impl Into<String>) -> Result<(), Error> {
        self.client.call(SessionBtw { session_id: self.id.clone(), question: question.into(), ..SessionBtw::default() }).await.map(drop)
    }

    /// Gives its runner a command that touches neither conversation nor approvals.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` without a live runner.
    pub async fn command(&self, command: DirectCommand) -> Result<(), Error> {
        self.client.call(SessionCommand { session_id: self.id.clone(), command, supervisor: None, reason: None }).await.map(drop)
    }

    /// Ends its runner and returns once that is gone.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn kill(&self) -> Result<KillDispatch, Error> {
        Ok(self.client.call(SessionKill { session_id: self.id.clone(), ..SessionKill::default() }).await?.dispatch)
    }

    /// Starts a runner if there is none and delivers what waits.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` when the agent could not be started.
    pub async fn resume(&self) -> Result<Resumed, Error> {
        self.client.call(SessionResume { session_id: self.id.clone(), ..SessionResume::default() }).await
    }

    /// Puts it away; its run is stopped first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn archive(&self) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionArchive { session_id: self.id.clone(), ..SessionArchive::default() }).await?.session)
    }

    /// Takes it back from the archive.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn restore(&self) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionRestore { session_id: self.id.clone(), ..SessionRestore::default() }).await?.session)
    }

    /// Moves it into a project, or out of the one it is in.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn move_to(&self, project: Option<String>) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionMove { session_id: self.id.clone(), to: project, ..SessionMove::default() }).await?.session)
    }

    /// Gives it another title.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn rename(&self, title: impl Into<String>) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionRename { session_id: self.id.clone(), title: title.into(), ..SessionRename::default() }).await?.session)
    }

    /// Sorts it first, or no longer.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn pin(&self, pinned: bool) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionPin { session_id: self.id.clone(), pinned: Some(pinned), ..SessionPin::default() }).await?.session)
    }

    /// Marks it as read.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn read(&self) -> Result<SessionBrief, Error> {
        Ok(self.client.call(SessionRead { session_id: self.id.clone(), ..SessionRead::default() }).await?.session)
    }

    /// Deletes it with all that belongs to it.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn delete(&self) -> Result<(), Error> {
        self.client.call(SessionDelete { session_id: self.id.clone(), ..SessionDelete::default() }).await.map(drop)
    }

    /// What waits in it, in the order it will be handed over.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn queue(&self) -> Result<Vec<QueueItem>, Error> {
        self.client.call(SessionQueue { session_id: self.id.clone() }).await
    }

    /// Changes a message that waits; returns the queue as it is then.
    ///
    /// # Errors
    /// As [`Client::call`]; `invalid_args` when the message no longer waits.
    pub async fn edit_queue(&self, message_id: impl Into<String>, action: QueueAction, content: Option<String>) -> Result<Vec<QueueItem>, Error> {
        let message_id = message_id.into();
        self.client.call(SessionQueueEdit { session_id: self.id.clone(), message_id, action, content, supervisor: None, reason: None }).await
    }

    /// Its whole visible conversation, to be kept elsewhere.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn export(&self, format: ExportFormat) -> Result<Exported, Error> {
        self.client.call(SessionExport { session_id: self.id.clone(), format: Some(format) }).await
    }

    /// Sends an earlier message again, the last one by default.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn retry(&self, message_id: Option<String>) -> Result<Submitted, Error> {
        self.client.call(SessionRetry { session_id: self.id.clone(), message_id, ..SessionRetry::default() }).await
    }

    /// Chooses its model by name.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn set_llm(&self, llm: impl Into<String>) -> Result<LlmSetResult, Error> {
        self.client.call(LlmSet { session_id: self.id.clone(), llm: llm.into(), ..LlmSet::default() }).await
    }

    /// Its events.
    pub fn watch(&self, options: WatchOptions) -> Watch {
        self.client.watch(self.id.clone(), options)
    }

    /// Waits for its answer; `options.session_id` is filled in.
    pub fn wait(&self, options: SessionWait) -> Wait {
        self.client.wait(SessionWait { session_id: self.id.clone(), ..options })
    }

    /// Follows it from a snapshot, with the last `tail` messages, to a snapshot when its runner is
    /// gone.
    pub fn follow(&self, tail: Option<u32>) -> Follow {
        self.client.follow(SessionFollow { session_id: self.id.clone(), tail })
    }
}

/// What waits for a yes or a no.
#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a>(pub(crate) &'a Client);

impl Approvals<'_> {
    /// Those that are pending, oldest first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self) -> Result<Vec<Approval>, Error> {
        self.0.call(ApprovalList::default()).await
    }

    /// Answers one by Core's id of it.
    ///
    /// # Errors
    /// As [`Client::call`]; `invalid_args` when somebody was first.
    pub async fn respond(&self, id: impl Into<String>, decision: Decision) -> Result<Approval, Error> {
        let command = ApprovalRespond { id: id.into(), session_id: None, decision, supervisor: None, reason: None };
        Ok(self.0.call(command).await?.approval)
    }

    /// The rules of a scope (`global`, `ungrouped` or a project's id), or all.
    ///
    /// # Errors
    /// As [`Client::call`]; `not_found` when there is no such project.
    pub async fn rules(&self, scope: Option<String>) -> Result<Vec<Rule>, Error> {
        self.0.call(ApprovalRules { scope }).await
    }

    /// Takes a rule back, in live runners too; returns the rules that remain in its scope.
    ///
    /// # Errors
    /// As [`Client::call`]; `not_found` when there is no such rule.
    pub async fn revoke(&self, tool: impl Into<String>, scope: impl Into<String>) -> Result<Vec<Rule>, Error> {
        self.0.call(ApprovalRevoke { tool: tool.into(), scope: scope.into(), ..ApprovalRevoke::default() }).await
    }

    /// Sets how approvals are handled, for one session or as the default.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn set_mode(&self, session_id: Option<String>, mode: ApprovalMode) -> Result<ApprovalMode, Error> {
        Ok(self.0.call(ApprovalModeSet { session_id, mode, supervisor: None, reason: None }).await?.mode)
    }
}

/// All projects.
#[derive(Debug, Clone, Copy)]
pub struct Projects<'a>(pub(crate) &'a Client);

impl Projects<'_> {
    /// All of them: pinned first, then by last activity, newest first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self) -> Result<Vec<ProjectBrief>, Error> {
        self.0.call(ProjectList::default()).await
    }

    /// Creates one.
    ///
    /// # Errors
    /// As [`Client::call`]; `invalid_args` for a blank name, a folder that is not absolute, and a
    /// workspace without a folder.
    pub async fn create(&self, project: ProjectCreate) -> Result<ProjectBrief, Error> {
        Ok(self.0.call(project).await?.project)
    }
}

/// One project.
#[derive(Debug, Clone)]
pub struct Project<'a> {
    pub(crate) client: &'a Client,
    pub(crate) id: String,
}

impl Project<'_> {
    /// How it stands.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn brief(&self) -> Result<ProjectOverview, Error> {
        self.client.call(ProjectBriefGet { project_id: self.id.clone() }).await
    }

    /// How it stands, and the last `tail` messages of each of its sessions that are not archived.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn show(&self, tail: Option<u32>) -> Result<ProjectTranscripts, Error> {
        self.client.call(ProjectShow { project_id: self.id.clone(), tail, all: None }).await
    }

    /// Changes it; `changes.project_id` is filled in.
    ///
    /// # Errors
    /// As [`Client::call`], and those of [`Projects::create`].
    pub async fn update(&self, changes: ProjectUpdate) -> Result<ProjectBrief, Error> {
        Ok(self.client.call(ProjectUpdate { project_id: self.id.clone(), ..changes }).await?.project)
    }

    /// Deletes it; its sessions stay, ungrouped.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn delete(&self) -> Result<ProjectDeleted, Error> {
        self.client.call(ProjectDelete { project_id: self.id.clone(), ..ProjectDelete::default() }).await
    }

    /// Follows all its sessions from a snapshot on. The command's own `project_id` is replaced by this
    /// project's.
    pub fn follow(&self, options: ProjectFollow) -> FollowProject {
        self.client.follow_project(ProjectFollow { project_id: self.id.clone(), ..options })
    }
}

/// The models that agents can use.
#[derive(Debug, Clone, Copy)]
pub struct Llms<'a>(pub(crate) &'a Client);

impl Llms<'_> {
    /// Those of a runtime (the current one by default), as it last listed them.
    ///
    /// # Errors
    /// As [`Client::call`]; `not_found` when there is no such runtime.
    pub async fn list(&self, runtime: Option<String>) -> Result<Vec<LlmRow>, Error> {
        self.0.call(LlmList { runtime }).await
    }
}

/// The agents that can be started.
#[derive(Debug, Clone, Copy)]
pub struct Runtimes<'a>(pub(crate) &'a Client);

impl Runtimes<'_> {
    /// All that are configured.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self) -> Result<Vec<RuntimeBrief>, Error> {
        self.0.call(RuntimeList::default()).await
    }

    /// One of them; `current` names the current one.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn show(&self, name: impl Into<String>) -> Result<RuntimeBrief, Error> {
        self.0.call(RuntimeShow { name: name.into() }).await
    }

    /// Takes one out of the configuration; its sessions stay.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn remove(&self, name: impl Into<String>) -> Result<RuntimeRemoved, Error> {
        self.0.call(RuntimeRemove { name: name.into() }).await
    }

    /// Makes one the runtime of new sessions.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn make_current(&self, name: impl Into<String>) -> Result<RuntimeBrief, Error> {
        self.0.call(RuntimeUse { name: name.into() }).await
    }

    /// Configures one.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn add(&self, runtime: RuntimeAdd) -> Result<RuntimeBrief, Error> {
        self.0.call(runtime).await
    }

    /// Starts one for real, waits until it is ready, and stops it.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` when it did not start.
    pub async fn check(&self, name: impl Into<String>) -> Result<RuntimeCheckResult, Error> {
        self.0.call(RuntimeCheck { name: name.into() }).await
    }
}
