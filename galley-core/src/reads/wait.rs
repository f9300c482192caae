//! `session.wait`: looks for an answer now and after every commit, until there is one, the session
//! is dead, or the time is up (Agent API §5.5d).

use super::changes::Changes;
use super::session;
use crate::error::Error;
use crate::lock::is_owned;
use crate::store::{MessageQuery, ReadStore};
use galley_protocol::socket::{
    EndReason, MessageBrief, MessageRole, MessageState, SCHEMA_VERSION, SessionBrief, SessionStatus, SessionWait, WaitFrame, WaitPhase, WaitStatus,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Seconds.
const TIMEOUT: f64 = 300.0;
/// Seconds.
const POLL: f64 = 5.0;
const SHORTEST_POLL: Duration = Duration::from_secs(1);
const TAIL: u32 = 20;
/// Messages looked at in one go when searching backwards for an answer.
const LOOK_BACK: u32 = 20;

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Until {
    /// An answer in this turn or a later one.
    Answer { turn: Option<u32> },
    /// The end of this message's run.
    MessageEnd(String),
    /// Nothing left in hand.
    Idle,
}

/// Which frame comes next.
#[derive(Debug, Clone)]
enum Next {
    Initial,
    Final,
    End(EndReason),
    Nothing,
}

/// One wait, as the frames it yields.
pub struct WaitStream {
    store: Arc<dyn ReadStore>,
    changes: Box<dyn Changes>,
    request_id: Option<String>,
    session_id: String,
    until: Until,
    deadline: Instant,
    poll: Duration,
    tail: u32,
    final_show: bool,
    /// The database, when a Core may own it or be gone.
    file: Option<PathBuf>,
    next: Next,
}

impl WaitStream {
    /// Checks the arguments and starts the clock. `changes` was created before.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`]; [`Error::NotFound`] when there is no such session, or no such message
    /// in it.
    pub async fn start(store: Arc<dyn ReadStore>, args: SessionWait, request_id: Option<String>, changes: Box<dyn Changes>) -> Result<Self, Error> {
        let timeout = seconds("timeout", args.timeout.unwrap_or(TIMEOUT))?;
        let poll = seconds("poll", args.poll.unwrap_or(POLL))?.max(SHORTEST_POLL);
        let until = match (args.after_turn, args.message_id, args.until_idle.unwrap_or(false)) {
            (turn, None, false) => Until::Answer { turn },
            (None, Some(id), false) => Until::MessageEnd(id),
            (None, None, true) => Until::Idle,
            _ => return Err(Error::invalid("afterTurn, messageId and untilIdle exclude each other; use one")),
        };
        session::find(&*store, &args.session_id).await?;
        if let Until::MessageEnd(id) = &until
            && session::message(&*store, &args.session_id, id).await?.role != MessageRole::User
        {
            return Err(Error::invalid(format!("message {id} is not a user's; only those have a run of their own")));
        }
        Ok(Self {
            store,
            changes,
            request_id,
            session_id: args.session_id,
            until,
            deadline: Instant::now() + timeout,
            poll,
            tail: args.tail.unwrap_or(TAIL),
            final_show: args.final_show.unwrap_or(true),
            file: None,
            next: Next::Initial,
        })
    }

    /// The wait of a reader of the file: a session that a Core left in the middle of something when it
    /// died is dead, too, whatever its row still says.
    #[must_use]
    pub fn of_file(mut self, database: PathBuf) -> Self {
        self.file = Some(database);
        // The death of a Core is no commit: somebody has to look.
        self.poll = SHORTEST_POLL;
        self
    }

    /// The id of its request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The next frame; `None` after the last. Cancelling it loses nothing. A session that is deleted
    /// meanwhile, or a database that cannot be read any more, ends the stream without a last payload.
    pub async fn next(&mut self) -> Option<WaitFrame> {
        let outcome = match self.next.clone() {
            Next::Initial => self.payload(WaitPhase::Initial, None).await.map(|frame| (frame, Next::Final)),
            Next::Final => self.conclude().await.map(|(frame, reason)| (frame, Next::End(reason))),
            Next::End(reason) => Err(reason),
            Next::Nothing => return None,
        };
        let (frame, next) = outcome.unwrap_or_else(|reason| (self.end(reason), Next::Nothing));
        self.next = next;
        Some(frame)
    }

    /// The last frame of a wait that ends for `reason`.
    pub fn end(&self, reason: EndReason) -> WaitFrame {
        WaitFrame::End { schema_version: SCHEMA_VERSION, request_id: self.request_id.clone(), reason }
    }

    /// Waits for the outcome, and shows it.
    async fn conclude(&mut self) -> Result<(WaitFrame, EndReason), EndReason> {
        let status = loop {
            match self.look().await {
                Ok(Some(status)) => break status,
                // Busy passes; the next look tells more.
                Ok(None) | Err(Error::DbBusy(_)) => {}
                Err(error) => return Err(unreadable(&error)),
            }
            if Instant::now() >= self.deadline {
                break WaitStatus::TimedOut;
            }
            let next_look = self.deadline.min(Instant::now() + self.poll);
            tokio::select! {
                () = self.changes.changed() => {}
                () = tokio::time::sleep_until(next_look) => {}
            }
        };
        let reason = match status {
            WaitStatus::TimedOut => EndReason::Timeout,
            WaitStatus::SessionError => EndReason::SessionError,
            WaitStatus::SessionCancelled => EndReason::SessionCancelled,
            _ => EndReason::Completed,
        };
        Ok((self.payload(WaitPhase::Final, Some(status)).await?, reason))
    }

    async fn payload(&self, phase: WaitPhase, status: Option<WaitStatus>) -> Result<WaitFrame, EndReason> {
        let session = self.store.session(&self.session_id).await.map_err(|error| unreadable(&error))?.ok_or(EndReason::Deleted)?;
        let messages = if status.is_none() || self.final_show {
            let query = MessageQuery { session_id: self.session_id.clone(), limit: Some(self.tail), ..Default::default() };
            Some(self.store.messages(&query).await.map_err(|error| unreadable(&error))?)
        } else {
            None
        };
        Ok(WaitFrame::Wait {
            schema_version: SCHEMA_VERSION,
            request_id: self.request_id.clone(),
            phase,
            status,
            session: Box::new(session),
            messages,
        })
    }

    /// Whether the wait is over, and how. Output counts before a dead session does.
    async fn look(&self) -> Result<Option<WaitStatus>, Error> {
        // Asked before the rows are read: they are the last that a Core which is gone has written.
        let abandoned = self.file.as_ref().is_some_and(|database| !is_owned(database));
        // A deleted session ends the wait in the payload that follows.
        let Some(session) = self.store.session(&self.session_id).await? else { return Ok(Some(WaitStatus::SessionCancelled)) };
        let found = match &self.until {
            Until::Answer { turn } if self.has_answer(*turn).await? => Some(WaitStatus::Completed),
            Until::Answer { .. } => dead(&session),
            Until::Idle => idle(&session),
            Until::MessageEnd(id) => match self.store.message(id).await?.and_then(|message| message.state) {
                Some(MessageState::Answered) => Some(WaitStatus::Completed),
                Some(MessageState::Failed) => Some(WaitStatus::SessionError),
                Some(MessageState::Cancelled | MessageState::Superseded) | None => Some(WaitStatus::SessionCancelled),
                // Nobody is about to start a runner for it.
                Some(MessageState::Pending) => dead(&session),
                Some(_) => None,
            },
        };
        Ok(found.or((abandoned && is_busy(&session)).then_some(WaitStatus::SessionError)))
    }

    /// Looks for an answer from the end of the transcript backwards.
    async fn has_answer(&self, turn: Option<u32>) -> Result<bool, Error> {
        let mut before = None;
        loop {
            let query = MessageQuery { session_id: self.session_id.clone(), before, limit: Some(LOOK_BACK), internal: false };
            let page = self.store.messages(&query).await?;
            if page.iter().any(|message| answers(message, turn)) {
                return Ok(true);
            }
            // Nothing of the wanted turn lies before a message of an earlier one.
            let earlier = |message: &MessageBrief| message.role == MessageRole::User && message.turn_index < turn;
            if page.len() < LOOK_BACK as usize || page.iter().any(earlier) {
                return Ok(false);
            }
            before = page.into_iter().next().map(|oldest| oldest.id);
        }
    }
}

/// Whether the row is an answer: the agent's, with text, whole, of the wanted turn or a later one.
fn answers(message: &MessageBrief, turn: Option<u32>) -> bool {
    let has_text = !message.content.is_empty() || message.final_answer.as_ref().is_some_and(|answer| !answer.is_empty());
    message.role == MessageRole::Agent
        && has_text
        && message.partial != Some(true)
        && message.state != Some(MessageState::Superseded)
        && (turn.is_none() || message.turn_index >= turn)
}

/// A session that can no longer bring what is waited for.
fn dead(session: &SessionBrief) -> Option<WaitStatus> {
    match session.status {
        SessionStatus::Error => Some(WaitStatus::SessionError),
        SessionStatus::Cancelled | SessionStatus::Archived => Some(WaitStatus::SessionCancelled),
        _ => None,
    }
}

/// A session that has nothing in hand. Pending messages do not count: without a runner they wait
/// for somebody to start one, and with one they are not pending for long.
fn idle(session: &SessionBrief) -> Option<WaitStatus> {
    if is_busy(session) {
        return None;
    }
    Some(dead(session).unwrap_or(WaitStatus::Completed))
}

/// Whether the session has a run in hand, or messages that wait behind one.
pub fn is_busy(session: &SessionBrief) -> bool {
    let at_work = matches!(session.status, SessionStatus::Connecting | SessionStatus::Running | SessionStatus::WaitingApproval);
    at_work || session.queued_count.is_some()
}

fn unreadable(error: &Error) -> EndReason {
    tracing::warn!(%error, "a wait ends because the database cannot be read");
    EndReason::CoreUnavailable
}

fn seconds(what: &str, value: f64) -> Result<Duration, Error> {
    // A hundred years and more are all the same, and keep the clock from overflowing.
    Duration::try_from_secs_f64(value.min(3e9)).map_err(|_| Error::invalid(format!("{what} is {value}; it must be a number of seconds, 0 or more")))
}
