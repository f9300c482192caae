//! `galley session`: one session.

use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use bytes::Bytes;
use clap::{Args, Subcommand, ValueEnum};
use futures::FutureExt;
use galley_client::protocol::socket::{
    ApprovalMode, IfBusy, SessionBriefGet, SessionNew, SessionSend, SessionShow, SessionStateGet, SessionStop, SessionWait, SessionWatch, WatchFrom,
};
use galley_client::{Error, Frames};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Create a session and start its first task
    #[command(after_help = "Example:\n  galley session new \"make test\" --approval-mode=auto")]
    New(NewArgs),
    /// Send a message, or the answer to the agent's question
    #[command(after_help = "Example:\n  galley session send sess_1 \"summarize the last turn\"")]
    Send(SendArgs),
    /// Stream a session's events
    #[command(after_help = "Example:\n  galley session watch sess_1 --from=run")]
    Watch(WatchArgs),
    /// Print a session's messages, oldest first
    #[command(after_help = "Example:\n  galley session show sess_1 --tail=20")]
    Show(ShowArgs),
    /// Print a session's row
    #[command(after_help = "Example:\n  galley session brief sess_1")]
    Brief(One),
    /// Print what Galley Core has in hand for a session
    #[command(after_help = "Example:\n  galley session state sess_1")]
    State(One),
    /// Stop the current run
    #[command(after_help = "Example:\n  galley session stop sess_1 --reason=\"changed my mind\"")]
    Stop(StopArgs),
    /// Wait for an answer
    #[command(after_help = "Example:\n  galley session wait sess_1 --until-idle")]
    Wait(WaitArgs),
}

#[derive(Debug, Args)]
pub struct One {
    /// The session's id
    id: String,
}

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
pub struct WatchArgs {
    /// The session's id
    id: String,
    /// Where to start: an event's index, now, run or start [default: live events only]
    #[arg(long, value_name = "FROM")]
    from: Option<WatchFrom>,
    /// Keep watching across runners
    #[arg(long)]
    stay: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The session's id
    id: String,
    /// Only the last N messages
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Only messages before this one
    #[arg(long, value_name = "MESSAGE")]
    before: Option<String>,
    /// At most this many, the last ones
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Internal rows too
    #[arg(long)]
    internal: bool,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// The session's id
    id: String,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// The session's id
    id: String,
    /// Seconds until the wait gives up [default: 300]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Seconds between two looks at the database, at most [default: 5]
    #[arg(long, value_name = "SECONDS")]
    poll: Option<f64>,
    /// Messages in each payload [default: 20]
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Messages in the last payload too [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    final_show: Option<bool>,
    /// Only answers of this turn or later
    #[arg(long, value_name = "TURN")]
    after_turn: Option<u32>,
    /// Wait for the end of this message's run
    #[arg(long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Wait for the end of everything the session has in hand
    #[arg(long)]
    until_idle: bool,
}

impl SessionCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::New(args) => output.line(&engine.answer(args.command()?).await?.result),
            Self::Send(args) => output.line(&engine.answer(args.command()).await?.result),
            Self::Watch(args) => watch(args, engine, output).await,
            Self::Show(args) => {
                let show = SessionShow {
                    session_id: args.id,
                    tail: args.tail,
                    before: args.before,
                    limit: args.limit,
                    internal: args.internal.then_some(true),
                };
                output.rows(&engine.answer(show).await?.result)
            }
            Self::Brief(One { id }) => output.line(&engine.answer(SessionBriefGet { session_id: id }).await?.result),
            Self::State(One { id }) => output.line(&engine.answer(SessionStateGet { session_id: id }).await?.result),
            Self::Stop(StopArgs { id, audit }) => {
                let stop = SessionStop { session_id: id, supervisor: audit.supervisor, reason: audit.reason };
                output.line(&engine.answer(stop).await?.result)
            }
            Self::Wait(args) => wait(args, engine, output).await,
        }
    }
}

impl NewArgs {
    fn command(self) -> Result<SessionNew, Failure> {
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
    fn command(self) -> SessionSend {
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

async fn watch(args: WatchArgs, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    let command = SessionWatch { session_id: args.id, from: args.from, stay: args.stay.then_some(true) };
    until_interrupted(async {
        let mut frames = engine.core().await?.frames(command).await?;
        copy(&mut frames, output).await
    })
    .await
}

async fn wait(args: WaitArgs, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    for (name, seconds) in [("--timeout", args.timeout), ("--poll", args.poll)] {
        if seconds.is_some_and(|seconds| !seconds.is_finite() || seconds < 0.0) {
            return Err(Failure::invalid_args(format!("{name} takes a number of seconds from 0 up")));
        }
    }
    let command = SessionWait {
        session_id: args.id,
        timeout: args.timeout,
        poll: args.poll.map(|poll| poll.max(1.0)),
        tail: args.tail,
        final_show: args.final_show,
        after_turn: args.after_turn,
        message_id: args.message,
        until_idle: args.until_idle.then_some(true),
    };
    until_interrupted(async {
        let (first, mut frames) = engine.open(command).await?;
        output.line(&first)?;
        output.flush()?;
        copy(&mut frames, output).await
    })
    .await
}

/// Runs a stream command; an interrupt ends it well.
async fn until_interrupted(stream: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        result = stream => result,
        Ok(()) = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Prints the frames as they were received, up to the end frame.
async fn copy(frames: &mut Frames, output: &mut Output) -> Result<(), Failure> {
    let mut last = Bytes::new();
    while let Some(frame) = frames.next().await {
        last = frame?;
        output.line(&last)?;
        // Whatever has arrived already goes out together.
        while let Some(Some(frame)) = frames.next().now_or_never() {
            last = frame?;
            output.line(&last)?;
        }
        output.flush()?;
    }
    if is_end(&last) {
        return Ok(());
    }
    Err(Error::Unavailable("Galley Core went away before the stream's end; start it with `galley serve`".to_owned()).into())
}

fn is_end(frame: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        stream: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Kind<'_>>(frame).is_ok_and(|kind| kind.stream == "end")
}
