//! What is said to a session.

use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, ValueEnum};
use galley_client::protocol::socket::{
    ApprovalMode, DirectCommand, IfBusy, QueueAction, SessionBtw, SessionCommand, SessionNew, SessionQueueEdit, SessionRetry, SessionSend,
};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct NewArgs {
    /// The first message
    task: String,
    /// current, managed, external, or a runtime's name [default: current]
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// The project it belongs to
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// The model, by name
    #[arg(long, value_name = "NAME")]
    llm: Option<String>,
    /// The title [default: from the task]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Whether risky calls wait for a yes [default: the app default]
    #[arg(long, value_name = "MODE")]
    approval_mode: Option<Mode>,
    /// Where commands run [default: here]
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<PathBuf>,
    /// Sent again with the same id, it is carried out once
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    Ask,
    Auto,
}

#[derive(Debug, Args)]
pub struct SendArgs {
    /// The session's id
    id: String,
    /// The message
    content: String,
    /// What to do while a run is open [default: queue]
    #[arg(long, value_name = "ACTION")]
    if_busy: Option<Busy>,
    /// Do not start a runner; the message waits for one
    #[arg(long)]
    no_spawn: bool,
    /// Sent again with the same id, it is carried out once
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Busy {
    /// Wait in line
    Queue,
    /// Go to the front and stop the current run
    Jump,
    /// Refuse with `busy`
    Reject,
}

#[derive(Debug, Args)]
pub struct BtwArgs {
    /// The session's id
    id: String,
    /// The question
    question: String,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// The session's id
    id: String,
    /// The message to send again [default: the last one]
    #[arg(long, value_name = "MESSAGE")]
    message: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct QueueEditArgs {
    /// The session's id
    id: String,
    /// The message that waits
    message: String,
    /// What to do with it
    action: Edit,
    /// The new text, for edit
    content: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Edit {
    /// Take it out; it stays in the transcript as cancelled
    Remove,
    /// Put it first and stop the current run
    Jump,
    /// Change its text
    Edit,
}

#[derive(Debug, Args)]
pub struct CommandArgs {
    /// The session's id
    id: String,
    /// The command as JSON: its kind is reinject_tools, attach_pet or detach_pet
    json: String,
    #[command(flatten)]
    audit: Audit,
}

impl NewArgs {
    pub fn command(self) -> Result<SessionNew, Failure> {
        Ok(SessionNew {
            task: self.task,
            project_id: self.project,
            llm: self.llm,
            runtime: self.runtime,
            title: self.title,
            approval_mode: self.approval_mode.map(|mode| match mode {
                Mode::Ask => ApprovalMode::Ask,
                Mode::Auto => ApprovalMode::Auto,
            }),
            cwd: Some(directory(self.cwd)?),
            client_request_id: self.request_id,
            supervisor: self.audit.supervisor,
            reason: self.audit.reason,
        })
    }
}

/// The absolute path of `chosen`, or of where this program was started.
pub fn directory(chosen: Option<PathBuf>) -> Result<String, Failure> {
    let path = match chosen {
        Some(path) => std::path::absolute(&path),
        None => std::env::current_dir(),
    };
    let path = path.map_err(|error| Failure::invalid_args(format!("the working directory cannot be used: {error}; name one with --cwd")))?;
    path.into_os_string().into_string().map_err(|path| Failure::invalid_args(format!("the directory {} is not valid UTF-8", path.display())))
}

impl SendArgs {
    pub fn command(self) -> SessionSend {
        SessionSend {
            session_id: self.id,
            content: self.content,
            images: None,
            if_busy: self.if_busy.map(|action| match action {
                Busy::Queue => IfBusy::Queue,
                Busy::Jump => IfBusy::Jump,
                Busy::Reject => IfBusy::Reject,
            }),
            spawn: self.no_spawn.then_some(false),
            client_request_id: self.request_id,
            supervisor: self.audit.supervisor,
            reason: self.audit.reason,
        }
    }
}

impl BtwArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let btw = SessionBtw { session_id: self.id, question: self.question, supervisor: self.audit.supervisor, reason: self.audit.reason };
        output.line(&engine.answer(btw).await?.result)
    }
}

impl RetryArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let Audit { supervisor, reason } = self.audit;
        output.line(&engine.answer(SessionRetry { session_id: self.id, message_id: self.message, supervisor, reason }).await?.result)
    }
}

impl QueueEditArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let action = match self.action {
            Edit::Remove => QueueAction::Remove,
            Edit::Jump => QueueAction::Jump,
            Edit::Edit => QueueAction::Edit,
        };
        let Audit { supervisor, reason } = self.audit;
        let edit = SessionQueueEdit { session_id: self.id, message_id: self.message, action, content: self.content, supervisor, reason };
        output.rows(&engine.answer(edit).await?.result)
    }
}

impl CommandArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let command: DirectCommand =
            serde_json::from_str(&self.json).map_err(|error| Failure::invalid_args(format!("{} is no command for a runner: {error}", self.json)))?;
        let Audit { supervisor, reason } = self.audit;
        output.line(&engine.answer(SessionCommand { session_id: self.id, command, supervisor, reason }).await?.result)
    }
}
