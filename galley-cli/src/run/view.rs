//! A run as a person follows it.

use super::complain;
use super::prompt::{Prompt, Question, Reply};
use super::screen::{Screen, TICK};
use crate::output::Failure;
use crate::signals::{INTERRUPTED, Signals};
use futures::FutureExt;
use galley_client::protocol::ipc::{Decision, ErrorEvent, Event, ExitReason, ExitResult, RunComplete, Severity};
use galley_client::protocol::socket::{EndReason, ErrorTag, SessionBrief, SessionStatus, SessionWait, WatchFrom};
use galley_client::{Client, Error, Reconnect, Watch, WatchEvent, WatchItem, WatchOptions};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// How a run that did not simply complete ends this program.
const DENIED: i32 = 126;
const FAILED: i32 = 5;

/// How long a Core that is gone is waited for.
const GONE: Duration = Duration::from_secs(3);

/// Some agents leave their loop without `run_complete`; Core settles their runs after 30 s.
const SETTLEMENT: Duration = Duration::from_secs(31);

/// Why a run was left before its end.
enum Left {
    /// A second interrupt; the exit code that tells of it.
    Interrupted(i32),
    /// Nobody reads the output any more.
    Unread,
    Failed(Error),
}

impl From<Error> for Left {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Left {
    fn from(error: std::io::Error) -> Self {
        match Failure::from(error) {
            Failure::Closed => Self::Unread,
            Failure::Error(error) => Self::Failed(error),
        }
    }
}

pub struct View<'a> {
    client: &'a Client,
    screen: &'a mut Screen,
    session: String,
    /// The message whose run is followed.
    message: String,
    /// Somebody can be asked.
    attended: bool,
    prompt: Prompt,
    /// The signal that asked for the end, as an exit code.
    stopping: Option<i32>,
    /// An approval was denied for want of somebody to ask.
    denied: bool,
    /// When a run that announced its end is over at the latest.
    settled_by: Option<Instant>,
    answer: Option<String>,
}

impl<'a> View<'a> {
    pub fn new(client: &'a Client, screen: &'a mut Screen, session: String, message: String) -> Self {
        Self {
            client,
            screen,
            session,
            message,
            attended: Screen::is_attended(),
            prompt: Prompt::new(),
            stopping: None,
            denied: false,
            settled_by: None,
            answer: None,
        }
    }

    /// Follows the run to its end and returns the exit code.
    pub async fn run(mut self) -> i32 {
        match self.follow().await {
            Ok(()) => self.conclude().await,
            Err(Left::Interrupted(code)) => code,
            Err(Left::Unread) => {
                // What nobody reads is not worth going on for.
                let _ = self.client.session(&self.session).stop().await;
                0
            }
            Err(Left::Failed(error)) => complain(self.screen, &error),
        }
    }

    async fn follow(&mut self) -> Result<(), Left> {
        let options = WatchOptions { from: Some(WatchFrom::Start), reconnect: Reconnect::For(GONE), ..WatchOptions::default() };
        let mut watch = self.client.watch(&self.session, options);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let has_spinner = self.screen.has_spinner();
        let mut signals = Signals::new()?;
        loop {
            let (asking, settled_by) = (self.prompt.is_open(), self.settled_by);
            tokio::select! {
                item = watch.next() => {
                    if self.show(item, &mut watch).await? {
                        return Ok(());
                    }
                }
                reply = self.prompt.reply(self.screen), if asking => self.reply(reply).await?,
                _ = ticks.tick(), if has_spinner => self.screen.tick(),
                code = signals.arrived() => self.interrupt(code)?,
                () = tokio::time::sleep_until(settled_by.unwrap_or_else(Instant::now)), if settled_by.is_some() => return Ok(()),
            }
        }
    }

    /// Shows an item and whatever has arrived behind it. True at the run's end.
    async fn show(&mut self, first: Option<Result<WatchItem, Error>>, watch: &mut Watch) -> Result<bool, Left> {
        let mut next = Some(first);
        while let Some(item) = next {
            let over = match item.transpose()? {
                Some(WatchItem::Event(event)) => self.event(&event).await?,
                Some(WatchItem::End(EndReason::CoreShutdown)) => {
                    return Err(Error::Unavailable("Galley Core was shut down before the run's end".to_owned()).into());
                }
                Some(WatchItem::End(_)) | None => true,
                Some(_) => false,
            };
            if over {
                return Ok(true);
            }
            next = watch.next().now_or_never();
        }
        self.screen.flush()?;
        Ok(false)
    }

    /// Shows one event. True at the run's end.
    async fn event(&mut self, event: &WatchEvent) -> Result<bool, Left> {
        // An event that cannot be read is in the log all the same, and the run goes on.
        let Ok(decoded) = event.decode() else { return Ok(false) };
        match decoded {
            Event::TurnProgress(progress) => self.screen.stream(&progress.delta)?,
            Event::ToolCallPending(call) => {
                let id = event.approval.clone().unwrap_or_else(|| call.approval_id.clone());
                if self.attended {
                    self.prompt.add(Question::Approval { id, call }, self.screen);
                } else {
                    self.screen.say(&format!("denied: {} (there is no terminal to ask at; --auto runs without asking)", call.tool_name));
                    self.denied = true;
                    self.decide(id, Decision::Deny).await?;
                }
            }
            Event::ApprovalResolved(resolved) => self.prompt.resolved(&resolved.id, self.screen),
            Event::AskUser(ask) if self.attended => self.prompt.add(Question::Ask(ask), self.screen),
            Event::AskUser(ask) => {
                self.screen.say(&format!("the agent asks: {}", ask.question));
                self.screen.say(&format!("answer with: galley session send {} ANSWER", self.session));
                if ask.blocking == Some(true) {
                    self.stop();
                }
            }
            Event::Error(error) => self.error(&error),
            Event::TurnStart(_) => self.settled_by = None,
            Event::TurnEnd(end) if end.exit_reason.is_some() => {
                self.settled_by = Some(Instant::now() + SETTLEMENT);
                self.answer = end.response_content;
            }
            Event::RunComplete(RunComplete { exit_reason, final_content, .. }) => {
                self.settled_by = None;
                // What a command printed was streamed; its answer is the same text again.
                let is_command = data(&exit_reason, "exitCode").is_some();
                self.answer = final_content.or(self.answer.take()).filter(|_| !is_command);
                return Ok(!self.prompt.has_ask());
            }
            _ => {}
        }
        Ok(false)
    }

    fn error(&mut self, error: &ErrorEvent) {
        let severity = if error.severity == Severity::Error { "error" } else { "warning" };
        self.screen.say(&format!("{severity}: {}", error.message));
        for line in error.stderr_tail.iter().flatten() {
            self.screen.say(&format!("  {line}"));
        }
    }

    async fn reply(&mut self, reply: Reply) -> Result<(), Left> {
        match reply {
            Reply::Decision { id, decision } => self.decide(id, decision).await,
            Reply::Answer(text) => {
                match self.client.session(&self.session).send(text).await {
                    Ok(sent) => self.message = sent.message.map_or(self.message.clone(), |message| message.id),
                    Err(error) => {
                        self.screen.say(&format!("error: {error}"));
                        self.stop();
                    }
                }
                Ok(())
            }
        }
    }

    async fn decide(&mut self, id: String, decision: Decision) -> Result<(), Left> {
        match self.client.approvals().respond(id, decision).await {
            // Somebody else was first, or the run has ended.
            Err(Error::Api { tag: ErrorTag::InvalidArgs | ErrorTag::NotFound, message, .. }) => self.screen.say(&message),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        Ok(())
    }

    fn interrupt(&mut self, code: i32) -> Result<(), Left> {
        if let Some(first) = self.stopping {
            return Err(Left::Interrupted(first));
        }
        self.screen.say("stopping; Ctrl-C again leaves at once");
        self.stopping = Some(code);
        self.stop();
        Ok(())
    }

    /// Asks for the run's stop; the stream tells when it is done.
    fn stop(&mut self) {
        let (client, session) = (self.client.clone(), self.session.clone());
        tokio::spawn(async move {
            if let Err(error) = client.session(session).stop().await {
                tracing::warn!(%error, "the run could not be stopped");
            }
        });
    }

    /// Shows the answer and how the run ended, and returns the exit code.
    async fn conclude(&mut self) -> i32 {
        if let Some(answer) = self.answer.take() {
            // Whoever closed standard output does not want it.
            let _ = self.screen.answer(&answer);
        }
        let _ = self.screen.flush();
        let settled = SessionWait {
            message_id: Some(self.message.clone()),
            timeout: Some(SETTLEMENT.as_secs_f64()),
            final_show: Some(false),
            ..SessionWait::default()
        };
        // The last event may be seen a moment before what it settles.
        let session = match self.client.session(&self.session).wait(settled).wait_final().await {
            Ok(outcome) => outcome.session,
            Err(error) => return complain(self.screen, &error),
        };
        let (how, code) = outcome(&session, self.denied, self.stopping.unwrap_or(INTERRUPTED));
        let seconds = self.screen.elapsed().as_secs_f64();
        self.screen.say(&format!("{how} in {seconds:.1}s · session {} (galley session show {0})", self.session));
        code
    }
}

/// How a run ended, in words and as this program's exit code.
fn outcome(brief: &SessionBrief, denied: bool, stopped: i32) -> (String, i32) {
    let exit = brief.last_exit.as_ref();
    let denied = denied || exit.is_some_and(|exit| data(exit, "denied") == Some(true.into()));
    if brief.status == SessionStatus::Error {
        return ("✗ failed".to_owned(), FAILED);
    }
    if brief.status == SessionStatus::Cancelled || exit.is_some_and(|exit| exit.result == ExitResult::Aborted) {
        return ("■ stopped".to_owned(), stopped);
    }
    if denied {
        return ("✗ denied".to_owned(), DENIED);
    }
    if let Some(signal) = exit.and_then(|exit| data(exit, "signal")?.as_i64()) {
        return (format!("✗ ended by signal {signal}"), i32::try_from(128 + signal).unwrap_or(FAILED));
    }
    // What is no exit code of a process is not passed off as one.
    match exit.and_then(|exit| data(exit, "exitCode")?.as_i64()).map_or(0, |code| u8::try_from(code).map_or(1, i32::from)) {
        0 => ("✓ completed".to_owned(), 0),
        code => (format!("✓ completed with exit code {code}"), code),
    }
}

/// A field of what the agent added to its exit reason.
fn data(exit: &ExitReason, field: &str) -> Option<serde_json::Value> {
    let data: serde_json::Map<String, serde_json::Value> = exit.data.as_ref()?.read().ok()?;
    data.get(field).filter(|value| !value.is_null()).cloned()
}
