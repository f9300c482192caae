//! The Agent API, schema version 1: the lines a client and Core exchange.
//!
//! Every request is a type: its fields are the arguments, [`Command::NAME`] the word on the wire,
//! [`Command::Output`] the result. [`for_each_command!`](crate::for_each_command) is the one list of
//! them.
//!
//! ```
//! use galley_protocol::socket::{Command, Request, SessionBriefGet};
//! let line = Request::new(&SessionBriefGet { session_id: "sess_1".into() })?.to_line()?;
//! assert_eq!(line, b"{\"command\":\"session.brief\",\"args\":{\"sessionId\":\"sess_1\"},\"schemaVersion\":1}\n");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod approval;
mod core;
mod direct;
mod envelope;
mod error_tag;
mod explicit_nulls;
mod export;
mod feed;
mod follow;
mod lifecycle;
mod llm;
mod meta;
mod project;
mod queue;
mod registry;
mod runtime;
mod session;
mod sessions;
mod stream;

pub use approval::{
    Approval, ApprovalList, ApprovalMode, ApprovalModeResult, ApprovalModeSet, ApprovalRespond, ApprovalRespondResult, ApprovalRevoke, ApprovalRules,
    ApprovalState, ApprovalStateFilter, Rule,
};
pub use core::{CoreCounters, CoreInfo, CoreInfoGet, CoreLimits, CorePaths, CoreShutdown, CoreShutdownResult};
pub use direct::{DirectCommand, DispatchResult, SessionBtw, SessionCommand};
pub use envelope::{ErrorBody, Request, RequestLine, Response};
pub use error_tag::ErrorTag;
pub use export::{ExportFormat, Exported, SessionExport};
pub use feed::{Change, FeedEvent, FeedFrame, FeedSnapshot, SessionGone, SessionsWatch, UnknownChange};
pub use follow::{FollowFrame, SessionFollow};
pub use lifecycle::{
    ArchiveIfBusy, KillDispatch, KillResult, Resumed, SessionArchive, SessionDelete, SessionDeleted, SessionKill, SessionMove, SessionPin,
    SessionRead, SessionRename, SessionRestore, SessionResult, SessionResume,
};
pub use llm::{LlmDispatch, LlmList, LlmRow, LlmSet, LlmSetResult};
pub use meta::{CheckStatus, HealthCheck, HealthGet, HealthReport, LiveSummary, Ping, Pong, StatusGet, StatusSummary, Version, VersionGet};
pub use project::{
    ProjectBrief, ProjectBriefGet, ProjectCreate, ProjectDelete, ProjectDeleted, ProjectFollow, ProjectFrame, ProjectList, ProjectOverview,
    ProjectResult, ProjectShow, ProjectTranscripts, ProjectUpdate, Transcript,
};
pub use queue::{QueueAction, QueueItem, SessionQueue, SessionQueueEdit, SessionRetry};
pub use registry::{COMMANDS, CommandInfo};
pub use runtime::{
    Backend, InstallEnd, InstallFrame, InstallStep, ModelKind, ModelSettings, RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult,
    RuntimeInstall, RuntimeKind, RuntimeList, RuntimeRemove, RuntimeRemoved, RuntimeShow, RuntimeUse,
};
pub use session::{
    AskState, AttachmentKind, Dispatch, IfBusy, LlmChoice, MessageAttachment, MessageBrief, MessageRole, MessageState, NewSession, Origin,
    QueuePosition, SessionBrief, SessionBriefGet, SessionNew, SessionSend, SessionShow, SessionState, SessionStateGet, SessionStatus, SessionStop,
    StopDispatch, StopResult, Submitted, Via, Visibility, Warning,
};
pub use sessions::{Archived, Ranking, SearchHit, SessionsList, SessionsSearch};
pub use stream::{EndReason, SessionWait, SessionWatch, StreamCancel, StreamCancelled, StreamFrame, WaitFrame, WaitPhase, WaitStatus, WatchFrom};

use serde::{Serialize, de::DeserializeOwned};

/// The schema version of this module; frozen, additions only.
pub const SCHEMA_VERSION: u32 = 1;

/// The schema versions Core accepts.
pub const ACCEPTED_SCHEMA_VERSIONS: &[u32] = &[SCHEMA_VERSION];

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Answered from the database, with or without Core; carrying it out twice is as good as once.
    Read,
    /// Works on the configuration file, with or without Core.
    Config,
    /// Needs a running Core.
    Core,
}

/// A request with one reply: the arguments, tied to their name and their result.
pub trait Command: Serialize + DeserializeOwned + Send + Sync {
    /// The name on the wire: noun and verb with a dot.
    const NAME: &'static str;
    /// What it needs.
    const ACCESS: Access;
    /// The result of an `ok` response.
    type Output: Serialize + DeserializeOwned + Send;

    /// Where the command takes the id that makes it safe to send again, if it takes one.
    fn client_request_id(&mut self) -> Option<&mut Option<String>> {
        None
    }
}

/// A request answered by a stream of frames.
pub trait StreamCommand: Serialize + DeserializeOwned + Send + Sync {
    /// The name on the wire.
    const NAME: &'static str;
    /// What it needs.
    const ACCESS: Access;
    /// What each line of the stream is.
    type Frame: Serialize + DeserializeOwned + Send;

    /// Whether the first frame comes at once, however quiet the session is.
    fn is_acknowledged(&self) -> bool {
        true
    }
}

/// Declares a wire object: camelCase, comparable, in the schema.
macro_rules! wire {
    ($($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* })+) => {
        $($(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* })+
    };
}

/// Declares the arguments of a write: what is asked, then who asks and why.
macro_rules! write_command {
    ($($(#[$meta:meta])* pub struct $name:ident { $($body:tt)* })+) => {
        $crate::socket::wire! {
            $($(#[$meta])*
            pub struct $name {
                $($body)*
                /// Who asks: a supervisor's label.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub supervisor: Option<String>,
                /// Why.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub reason: Option<String>,
            })+
        }
    };
}

pub(crate) use {wire, write_command};
