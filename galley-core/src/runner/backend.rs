//! The seam between Core and any kind of agent: lines out, typed commands in, one exit.

use crate::error::Error;
use async_trait::async_trait;
use bytes::Bytes;
use galley_protocol::ipc::Command;
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};

/// Starts agents of one kind.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Starts an agent. Returns as soon as it exists; `ready` comes as its first line.
    ///
    /// # Errors
    /// [`Error::Runner`] with the cause, when it could not be started at all.
    async fn start(&self, spec: StartSpec) -> Result<Runner, Error>;
}

/// What an agent is started with.
#[derive(Debug, Clone)]
pub struct StartSpec {
    /// The session it serves.
    pub session_id: String,
    /// Counts the runners of this session; tells a late line of an old one from a new one's.
    pub generation: u64,
    /// Value of `GALLEY_OWNER` in its environment, by which it is found again (see `marker`).
    pub marker: String,
    /// Position of the chosen model, when the session has a choice (`--llm-no`).
    pub llm_no: Option<u32>,
    /// The project's workspace (`--workspace-root`); never the working directory.
    pub workspace_root: Option<PathBuf>,
    /// The session's working directory.
    pub cwd: Option<PathBuf>,
}

/// A started agent. Dropping it kills the agent and all it started.
#[derive(Debug)]
pub struct Runner {
    /// Its process id, when it is a process.
    pub pid: Option<u32>,
    /// Its lines, without newlines, at most 16 MiB each (an over-long one arrives as Core's own
    /// `malformed` event). Bounded: an agent that is not read waits. Closed once everything it
    /// wrote has been delivered, before `exit` is sent.
    pub lines: mpsc::Receiver<Bytes>,
    /// Its commands. Bounded; written in order by one task.
    pub commands: mpsc::Sender<Delivery>,
    /// Sent exactly once, when nothing of the agent is left and all its `lines` have been taken:
    /// take them, or drop their receiver.
    pub exit: oneshot::Receiver<Exit>,
    /// Ends it by force.
    pub control: RunnerControl,
}

/// One command on its way to an agent.
#[derive(Debug)]
pub struct Delivery {
    /// The command.
    pub command: Command,
    /// Told once: whether all its bytes were handed over.
    pub done: oneshot::Sender<Result<(), Undelivered>>,
}

/// A command did not reach the agent (it is gone, or its standard input stood still for 15 s, in
/// which case it is being killed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runner did not take the command")]
pub struct Undelivered;

/// Ends an agent by force; cheap to clone, usable at any time, harmless when it is gone.
#[derive(Debug, Clone)]
pub struct RunnerControl {
    kill: mpsc::Sender<()>,
}

impl RunnerControl {
    /// The handle, and the receiver its backend listens on: a message (or its closing, when the
    /// last handle is dropped) means "kill".
    pub fn new() -> (Self, mpsc::Receiver<()>) {
        let (kill, killed) = mpsc::channel(1);
        (Self { kill }, killed)
    }

    /// Kills the agent and all it started. Returns at once; `exit` tells when it is done.
    pub fn kill(&self) {
        // A full channel means it has been asked already; a closed one, that it is gone.
        let _ = self.kill.try_send(());
    }
}

/// How an agent ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; `None` when a signal ended it or when nobody knows (a host that ignores
    /// SIGCHLD).
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard input stood still and it was killed for that.
    pub poisoned: bool,
    /// The last lines of its standard error, at most 8.
    pub stderr_tail: Vec<String>,
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn is_clean(&self) -> bool {
        self.code == Some(0) && self.signal.is_none()
    }
}
