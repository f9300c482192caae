//! What can go wrong in Core, each with its stable tag.

use galley_protocol::socket::ErrorTag;
use serde_json::{Value, json};
use std::path::PathBuf;

/// An error of Core. [`tag`](Self::tag) is its stable name on the wire.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A fault of Galley's own, or a commit that failed for good.
    #[error("{0}")]
    Internal(String),
    /// The request is wrong; the message says what would be right.
    #[error("{message}")]
    InvalidArgs {
        /// For people.
        message: String,
        /// Structure, when there is some.
        detail: Option<Value>,
    },
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The database is there but busy; trying again may work.
    #[error("{0}")]
    DbBusy(String),
    /// The database (or the Core that a command needs) cannot be used.
    #[error("{0}")]
    DbUnavailable(String),
    /// Another Core owns this database.
    #[error("another Galley Core (pid {}) owns {}; stop it, or use another database", .pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string()), .path.display())]
    AlreadyRunning {
        /// Its process id, when its lock file tells.
        pid: Option<u32>,
        /// The lock file.
        path: PathBuf,
    },
    /// The agent could not be started or spoken to.
    #[error("{message}")]
    Runner {
        /// Why.
        cause: StartCause,
        /// For people.
        message: String,
        /// The last lines of its standard error.
        stderr_tail: Vec<String>,
        /// The session and message it was for, and whatever else is known.
        detail: Option<Value>,
    },
    /// The session is busy and the caller asked not to wait.
    #[error("{0}")]
    Busy(String),
    /// The session's queue is full.
    #[error("session {session_id} has {limit} messages waiting already; wait, or remove some")]
    QueueFull {
        /// The session.
        session_id: String,
        /// The bound.
        limit: usize,
    },
}

/// Why an agent could not be started; the wire's `detail.cause`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartCause {
    /// The interpreter does not exist.
    PythonNotFound,
    /// The agent's folder does not exist or is no agent.
    GaPathInvalid,
    /// The runtime is not configured, or its configuration is wrong.
    RuntimeInvalid,
    /// The working directory does not exist.
    CwdInvalid,
    /// A path is not valid UTF-8.
    PathEncoding,
    /// The program could not be started.
    SpawnIo,
    /// A pipe to it could not be made, or broke.
    PipeUnavailable,
    /// It speaks another version of the protocol.
    ProtocolMismatch,
    /// It did not become ready in time.
    ReadyTimeout,
    /// It ended before it was ready.
    RunnerExited,
    /// It did not take the history.
    HistoryReplay,
}

impl StartCause {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PythonNotFound => "python_not_found",
            Self::GaPathInvalid => "ga_path_invalid",
            Self::RuntimeInvalid => "runtime_invalid",
            Self::CwdInvalid => "cwd_invalid",
            Self::PathEncoding => "path_encoding",
            Self::SpawnIo => "spawn_io",
            Self::PipeUnavailable => "pipe_unavailable",
            Self::ProtocolMismatch => "protocol_mismatch",
            Self::ReadyTimeout => "ready_timeout",
            Self::RunnerExited => "runner_exited",
            Self::HistoryReplay => "history_replay",
        }
    }
}

impl Error {
    /// A wrong request, in words.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgs { message: message.into(), detail: None }
    }

    /// A start failure without more to tell.
    pub fn runner(cause: StartCause, message: impl Into<String>) -> Self {
        Self::Runner { cause, message: message.into(), stderr_tail: Vec::new(), detail: None }
    }

    /// The stable name on the wire.
    pub fn tag(&self) -> ErrorTag {
        match self {
            Self::Internal(_) => ErrorTag::Internal,
            Self::InvalidArgs { .. } => ErrorTag::InvalidArgs,
            Self::NotFound(_) => ErrorTag::NotFound,
            Self::DbBusy(_) | Self::DbUnavailable(_) | Self::AlreadyRunning { .. } => ErrorTag::DbUnavailable,
            Self::Runner { .. } => ErrorTag::RunnerError,
            Self::Busy(_) => ErrorTag::Busy,
            Self::QueueFull { .. } => ErrorTag::QueueFull,
        }
    }

    /// The structure that goes with it on the wire.
    pub fn detail(&self) -> Option<Value> {
        match self {
            Self::InvalidArgs { detail, .. } => detail.clone(),
            Self::DbBusy(_) => Some(json!({ "retryable": true })),
            Self::AlreadyRunning { pid, path } => Some(json!({ "pid": pid, "lock": path })),
            Self::Runner { cause, stderr_tail, detail, .. } => {
                let mut map = match detail {
                    Some(Value::Object(map)) => map.clone(),
                    _ => serde_json::Map::new(),
                };
                map.insert("cause".into(), cause.as_str().into());
                map.insert("stderrTail".into(), stderr_tail.clone().into());
                Some(Value::Object(map))
            }
            _ => None,
        }
    }
}
