//! A reader's place in a session's log: what `session.watch`, `session.follow` and `project.follow`
//! read from. It is told by the Core that runs the session, or asks the file when there is none.

use crate::error::Error;
use crate::event_log::{EventLog, Tail, end_at};
use crate::lock;
use crate::reads::{Changes, PolledChanges, is_busy};
use crate::store::{LogChunk, ReadStore};
use galley_protocol::socket::{EndReason, SessionStatus};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Bytes of lines read at once.
const PAGE: usize = 64 * 1024;
/// How often a reader of a file looks whether a Core still owns it.
const OWNER_CHECK: Duration = Duration::from_secs(1);

/// What a cursor finds.
#[derive(Debug)]
pub enum Ready {
    /// The next events. The cursor is behind them now.
    Events(Vec<LogChunk>),
    /// Nothing yet.
    Nothing,
    /// Nothing more, and why. Asked again, it says so again, or goes on if there is more after all.
    Over(EndReason),
}

/// How long a cursor goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until the session's streams are closed.
    Closed,
    /// Until the live runner is gone; it is over at the log's end if there is none.
    RunnerGone,
    /// The same, but a session that is busy is waited for until it has a runner.
    RunnerGoneOrIdle,
}

/// One reader's place.
pub struct Cursor {
    session_id: String,
    store: Arc<dyn ReadStore>,
    until: Until,
    next: u64,
    source: Source,
}

enum Source {
    Core(Live),
    File(File),
}

/// A log that a Core in this process writes.
struct Live {
    log: Arc<EventLog>,
    tail: watch::Receiver<Tail>,
    decisions: watch::Receiver<u64>,
    /// The runner whose end ends this cursor, or any later one.
    follows: u64,
    /// How often the session had been put away when the cursor was made.
    put_away: u64,
}

/// A log in a file that somebody else may be writing.
struct File {
    database: PathBuf,
    changes: PolledChanges,
}

impl Cursor {
    /// A cursor behind the last event of now.
    pub fn of_log(session_id: String, store: Arc<dyn ReadStore>, log: Arc<EventLog>, until: Until) -> Self {
        let (tail, decisions) = (log.subscribe(), log.decisions());
        let (next, follows, put_away) = {
            let tail = tail.borrow();
            let later = tail.ended.as_ref().map_or(0, |ended| ended.generation + 1);
            (tail.last + 1, tail.live.unwrap_or(later), tail.put_away)
        };
        Self { session_id, store, until, next, source: Source::Core(Live { log, tail, decisions, follows, put_away }) }
    }

    /// A cursor at the beginning of a log in a file; move it to where it is to start.
    pub async fn of_file(session_id: String, store: Arc<dyn ReadStore>, database: PathBuf, until: Until) -> Self {
        let changes = PolledChanges::of(store.clone()).await;
        Self { session_id, store, until, next: 1, source: Source::File(File { database, changes }) }
    }

    /// The session.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The index it reads next.
    pub fn next_index(&self) -> u64 {
        self.next
    }

    /// Moves it to an index.
    pub fn move_to(&mut self, next: u64) {
        self.next = next;
    }

    /// What there is now.
    pub async fn ready(&mut self) -> Ready {
        let found = match &self.source {
            Source::Core(_) => self.in_log().await,
            Source::File(_) => self.in_file().await,
        };
        found.unwrap_or_else(|error| match error {
            // Busy passes.
            Error::DbBusy(_) => Ready::Nothing,
            error => {
                tracing::warn!(session = self.session_id, %error, "a reader of the log cannot read it");
                Ready::Over(EndReason::CoreUnavailable)
            }
        })
    }

    /// Returns when [`ready`](Self::ready) may find something else. Cancelling it loses nothing.
    pub async fn changed(&mut self) {
        match &mut self.source {
            Source::Core(live) => {
                // An error is the end of the log's writer, which `ready` sees as well.
                tokio::select! {
                    _ = live.tail.changed() => {}
                    _ = live.decisions.changed() => {}
                }
            }
            Source::File(file) => {
                let _ = tokio::time::timeout(OWNER_CHECK, file.changes.changed()).await;
            }
        }
    }

    async fn in_log(&mut self) -> Result<Ready, Error> {
        let Source::Core(live) = &mut self.source else { return Ok(Ready::Nothing) };
        loop {
            let tail = live.tail.borrow_and_update().clone();
            let closed = tail.closed_since(live.put_away);
            let ended = tail.ended.filter(|ended| self.until != Until::Closed && ended.generation >= live.follows);
            let last = ended.as_ref().map_or(tail.last, |ended| ended.at);
            if self.next <= last {
                let page = live.log.page(self.store.as_ref(), self.next, PAGE).await?;
                return Ok(take(&mut self.next, page, last));
            }
            if let Some(reason) = closed.or(ended.map(|ended| ended.reason)) {
                return Ok(Ready::Over(reason));
            }
            match live.tail.has_changed() {
                Err(_) => return Ok(Ready::Over(EndReason::CoreShutdown)),
                Ok(true) => continue,
                Ok(false) if tail.live.is_some() || self.until == Until::Closed => return Ok(Ready::Nothing),
                Ok(false) => {}
            }
            live.decisions.mark_unchanged();
            if self.until == Until::RunnerGoneOrIdle && self.store.session(&self.session_id).await?.as_ref().is_some_and(is_busy) {
                return Ok(Ready::Nothing);
            }
            // What happened during the look counts.
            if !live.tail.has_changed().is_ok_and(|changed| changed) {
                return Ok(Ready::Over(EndReason::NotLive));
            }
        }
    }

    async fn in_file(&mut self) -> Result<Ready, Error> {
        let Source::File(file) = &self.source else { return Ok(Ready::Nothing) };
        // Before the row: what a Core commits last is seen before it is gone.
        let owned = lock::is_owned(&file.database);
        let Some(session) = self.store.session(&self.session_id).await? else { return Ok(Ready::Over(EndReason::Deleted)) };
        let last = session.last_index.unwrap_or(0);
        if self.next <= last {
            let page = self.store.log(&self.session_id, self.next, PAGE).await?;
            return Ok(take(&mut self.next, page, last));
        }
        Ok(match session.status {
            SessionStatus::Archived => Ready::Over(EndReason::Archived),
            _ if !owned => Ready::Over(EndReason::CoreUnavailable),
            _ if self.until != Until::Closed && !is_busy(&session) => Ready::Over(EndReason::NotLive),
            _ => Ready::Nothing,
        })
    }
}

/// The events of a page from `next` up to index `last`; a page without any is of a session that was
/// deleted meanwhile.
fn take(next: &mut u64, mut page: Vec<LogChunk>, last: u64) -> Ready {
    page.retain(|chunk| chunk.first <= last);
    if let Some(chunk) = page.first_mut() {
        crate::event_log::start_at(chunk, *next);
    }
    let Some(chunk) = page.last_mut() else { return Ready::Over(EndReason::Deleted) };
    end_at(chunk, last);
    *next = chunk.last + 1;
    Ready::Events(page)
}
