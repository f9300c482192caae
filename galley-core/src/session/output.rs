//! What the state machine hands back: changes to commit, then effects to perform in order.

use crate::error::Error;
use crate::runner::Exit;
use crate::store::{Change, LogChunk};
use bytes::{Bytes, BytesMut};
use galley_protocol::ipc::Command;
use galley_protocol::socket::{
    Approval, ApprovalMode, EndReason, LlmSetResult, NewSession, QueueItem, Resumed, SessionBrief, SessionState as StateReport, StopDispatch,
    Submitted,
};
use std::time::Duration;

/// Who waits for an answer; the actor knows the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// An answer to a caller.
#[derive(Debug, Clone)]
pub enum Reply {
    /// To `session.send`.
    Submitted(Box<Submitted>),
    /// To `session.new`.
    Created(Box<NewSession>),
    /// To `session.stop`.
    Stopped(StopDispatch),
    /// To `approval.respond`.
    Approved(Box<Approval>),
    /// To `approval.mode`.
    Mode(ApprovalMode),
    /// Whether the runner that is up takes images; `None` while no runner has told.
    TakesImages(Option<bool>),
    /// To `session.state`.
    State(Box<StateReport>),
    /// To whoever asked for the runner to end.
    RunnerGone,
    /// To whoever asked for the runner to end when there was none.
    NoRunner,
    /// The runner was told something that is not kept: a side question, a direct command.
    Told,
    /// To `session.resume`.
    Resumed(Box<Resumed>),
    /// To `session.archive`, `restore`, `move`, `rename`, `pin` and `read`.
    Session(Box<SessionBrief>),
    /// To `session.delete`.
    Deleted,
    /// To `session.queue_edit`.
    Queue(Vec<QueueItem>),
    /// To `llm.set`.
    Model(Box<LlmSetResult>),
}

/// Clocks of a session. Setting one again replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The runner must be ready, have switched models, have loaded its history.
    Start,
    /// The run must have settled after an abort.
    Abort,
    /// `run_complete` must have followed the last step.
    RunComplete,
    /// The runner must have exited after `shutdown`.
    Shutdown,
    /// The run has been silent.
    Stall,
}

/// A command to the runner, as far as the state machine knows it.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// A command that is complete.
    Command {
        /// The command.
        command: Command,
        /// What its delivery means.
        purpose: Purpose,
    },
    /// `set_approval_rules` with the rules of the session's scope, read by the actor.
    Rules {
        /// `ungrouped` or a project.
        scope: String,
    },
    /// `load_history`, read by the actor.
    History {
        /// The message about to be sent.
        exclude: Option<String>,
        /// The runner remembers something that this replaces; otherwise it is skipped when there is
        /// nothing to load.
        replaces: bool,
    },
}

/// What the delivery of a command means to the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing: it is not acknowledged.
    None,
    /// A message was handed over, or was not.
    Message {
        /// Which.
        id: String,
    },
    /// A side question or a direct command was handed over, or was not.
    Direct {
        /// Who gave it.
        to: ReplyTo,
    },
    /// The choice of a model was handed over, or was not.
    Model {
        /// Who chose.
        to: ReplyTo,
    },
    /// An approval's answer was handed over, or was not.
    Approval {
        /// Core's id.
        id: String,
    },
    /// The history was handed over, was not, or there was none.
    History,
}

/// Something to do once the changes are committed.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Start a runner.
    StartRunner {
        /// Its generation.
        generation: u64,
        /// The chosen model's last known position.
        llm_no: Option<u32>,
        /// The session's project, whose workspace the runner gets.
        project: Option<String>,
    },
    /// Give the runner a command; its delivery comes back as an input.
    Tell {
        /// To which runner.
        generation: u64,
        /// What.
        order: Order,
    },
    /// End the runner by force.
    KillRunner {
        /// Which.
        generation: u64,
    },
    /// Read the run's streamed text after its last step back from the log.
    CollectPartial {
        /// Index of the run's first event.
        from: u64,
    },
    /// Answer a caller.
    Reply {
        /// Whom.
        to: ReplyTo,
        /// With what.
        result: Result<Reply, Error>,
    },
    /// Start a clock.
    SetTimer {
        /// Which.
        timer: Timer,
        /// When it rings.
        after: Duration,
    },
    /// Stop a clock.
    ClearTimer(Timer),
    /// A runner exists: watchers follow it.
    RunnerUp {
        /// Which.
        generation: u64,
    },
    /// The runner is gone: streams that follow it end here.
    RunnerDown {
        /// Which.
        generation: u64,
        /// How watchers are told.
        reason: EndReason,
    },
    /// Every stream of the session ends here.
    CloseStreams {
        /// How their clients are told.
        reason: EndReason,
    },
    /// The session is no more: let go of all that is kept of it outside the store.
    Forget,
    /// A tool was allowed from now on: tell the live runners of this scope.
    RulesChanged {
        /// `global`, `ungrouped` or a project.
        scope: String,
    },
}

/// Collects one batch: log lines are joined into chunks, the session's row is written once.
#[derive(Debug, Default)]
pub struct Output {
    changes: Vec<Change>,
    end: Option<Change>,
    chunks: Vec<LogChunk>,
    open: Option<OpenChunk>,
    effects: Vec<Effect>,
}

#[derive(Debug)]
struct OpenChunk {
    first: u64,
    last: u64,
    run: u64,
    lines: BytesMut,
}

impl Output {
    /// Adds a change.
    pub fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Sets the change that is committed after all others.
    pub fn end_with(&mut self, change: Change) {
        self.end = Some(change);
    }

    /// Adds an effect.
    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Adds the answer to a caller, if there is one.
    pub fn reply(&mut self, to: Option<ReplyTo>, result: Result<Reply, Error>) {
        if let Some(to) = to {
            self.effect(Effect::Reply { to, result });
        }
    }

    /// Appends a line to the log at `index`.
    pub fn log(&mut self, session_id: &str, index: u64, run: u64, line: &Bytes) {
        if let Some(open) = self.open.as_mut().filter(|open| open.run == run && open.last + 1 == index) {
            open.last = index;
            open.lines.extend_from_slice(b"\n");
            open.lines.extend_from_slice(line);
            return;
        }
        self.close_chunk(session_id);
        self.open = Some(OpenChunk { first: index, last: index, run, lines: BytesMut::from(&line[..]) });
    }

    /// Takes the batch: what to commit, the chunks among it for the ring, and the effects.
    pub fn finish(mut self, session_id: &str, session: Option<Change>) -> (Vec<Change>, Vec<LogChunk>, Vec<Effect>) {
        self.close_chunk(session_id);
        let mut changes = Vec::with_capacity(self.changes.len() + self.chunks.len() + 2);
        // The row first: messages and log rows refer to it.
        changes.extend(session);
        changes.append(&mut self.changes);
        changes.extend(self.chunks.iter().cloned().map(Change::AppendLog));
        changes.extend(self.end);
        (changes, self.chunks, self.effects)
    }

    fn close_chunk(&mut self, session_id: &str) {
        if let Some(open) = self.open.take() {
            self.chunks.push(LogChunk {
                session_id: session_id.to_owned(),
                first: open.first,
                last: open.last,
                run: open.run,
                lines: Some(open.lines.freeze()),
            });
        }
    }
}

/// How a runner's end is described to people.
pub fn describe_exit(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        _ if exit.poisoned => "the runner stopped reading its commands and was killed".to_owned(),
        (_, Some(signal)) => format!("the runner was ended by signal {signal}"),
        (Some(code), None) => format!("the runner exited with code {code}"),
        (None, None) => "the runner is gone; its exit status is unknown".to_owned(),
    }
}
