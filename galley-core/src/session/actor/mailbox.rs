//! The door to a session's actor: calls, and what may be known of it without asking.

use crate::error::Error;
use crate::event_log::EventLog;
use crate::session::input::Input;
use crate::session::output::{Reply, ReplyTo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32};
use tokio::sync::{mpsc, oneshot};

/// Calls that may wait in a session's mailbox.
pub(super) const MAILBOX: usize = 256;

/// A call to a session.
pub struct Call {
    pub(super) input: Box<dyn FnOnce(ReplyTo) -> Input + Send>,
    pub(super) reply: Option<oneshot::Sender<Result<Reply, Error>>>,
}

/// What other tasks may know of a session without asking it.
#[derive(Debug, Default)]
pub struct Gauges {
    /// A runner is alive.
    pub alive: AtomicBool,
    /// It is a process, and counts as one; a built-in runtime does not.
    pub process: AtomicBool,
    /// It is a process that may be ended to make room.
    pub evictable: AtomicBool,
    /// A run is reserved or open, or messages are queued.
    pub busy: AtomicBool,
    /// Messages in the queue.
    pub queued: AtomicU32,
    /// When the runner was last used, in milliseconds.
    pub used_at: AtomicI64,
}

/// The door to a session's actor.
#[derive(Debug)]
pub struct SessionHandle {
    /// The session.
    pub id: String,
    /// Its runtime, by name.
    pub runtime: String,
    /// Its log.
    pub log: Arc<EventLog>,
    /// What may be known without asking.
    pub gauges: Arc<Gauges>,
    calls: mpsc::Sender<Call>,
}

impl SessionHandle {
    /// The door, and the mailbox behind it.
    pub(super) fn new(id: String, runtime: String, log: Arc<EventLog>, gauges: Arc<Gauges>) -> (Self, mpsc::Receiver<Call>) {
        let (calls, mailbox) = mpsc::channel(MAILBOX);
        (Self { id, runtime, log, gauges, calls }, mailbox)
    }

    /// Asks the session and waits for its answer. `None` when the actor has just been put away:
    /// get a new handle and ask again.
    pub async fn ask(&self, input: impl FnOnce(ReplyTo) -> Input + Send + 'static) -> Option<Result<Reply, Error>> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call { input: Box::new(input), reply: Some(reply) }).await.ok()?;
        answer.await.ok()
    }

    /// Tells the session something, unless its mailbox is full.
    pub fn tell(&self, input: Input) {
        // What is told is a hint (evict, rules changed): the next start applies it in any case.
        let _ = self.calls.try_send(Call { input: Box::new(|_| input), reply: None });
    }

    /// Tells the session something, once its mailbox has room.
    pub async fn inform(&self, input: Input) {
        // A session that has just been put away has no runner to act upon.
        let _ = self.calls.send(Call { input: Box::new(|_| input), reply: None }).await;
    }

    /// Whether calls wait in the mailbox.
    pub fn has_calls(&self) -> bool {
        self.calls.capacity() < self.calls.max_capacity()
    }
}
