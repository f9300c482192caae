//! Committing what a batch changed, however long the database takes, and going on when it cannot be
//! committed at all.

use super::mailbox::{Call, MAILBOX};
use super::partial::partial_text;
use super::{Actor, LiveRunner, MUTE};
use crate::error::Error;
use crate::feed::touched;
use crate::runner::Delivery;
use crate::session::input::{Input, Interruption};
use crate::session::output::{Effect, Output, ReplyTo};
use crate::store::{Change, LogChunk, SessionSnapshot};
use crate::time::Timestamp;
use galley_protocol::ipc::{Abort, Command};
use galley_protocol::socket::EndReason;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A commit that takes longer than this keeps nobody from being stopped.
const SLOW_COMMIT: Duration = Duration::from_millis(250);
/// Between the first two attempts to commit; each pause is twice the one before...
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// ...up to this.
const LAST_RETRY: Duration = Duration::from_secs(5);

/// A call that waits for a commit.
pub(super) struct Deferred {
    pub(super) to: ReplyTo,
    pub(super) input: Input,
    pub(super) since: Instant,
}

/// What a call ends, which a database that stands still must not put off.
#[derive(Clone, Copy)]
pub(super) enum End {
    Run,
    Runner,
}

impl End {
    pub(super) fn of(input: &Input) -> Option<Self> {
        match input {
            Input::Stop { .. } => Some(Self::Run),
            Input::EndRunner { .. } | Input::Kill { .. } | Input::Archive { .. } | Input::Delete { .. } => Some(Self::Runner),
            _ => None,
        }
    }
}

impl Actor {
    /// Ends a batch. A run that was cut off is settled in the same commit as its last event: its text
    /// is read back from what is committed and from the batch itself, unless it is to go without.
    pub(super) async fn finish(&mut self, now: Timestamp, out: Output, with_text: bool) -> (Vec<Change>, Vec<LogChunk>, Vec<Effect>) {
        let (mut changes, mut chunks, mut effects) = self.state.finish(now, out);
        let cut_off = effects.iter().find_map(|effect| if let Effect::CollectPartial { from } = effect { Some(*from) } else { None });
        if let Some(from) = cut_off {
            let text = if with_text { partial_text(&self.log, self.store.as_ref(), from, &chunks).await } else { String::new() };
            let mut out = Output::default();
            self.state.apply(now, Input::Partial { text }, &mut out);
            let (settled, more, then) = self.state.finish(now, out);
            changes.extend(settled);
            chunks.extend(more);
            effects.extend(then);
        }
        (changes, chunks, effects)
    }

    /// Commits, trying again, less and less often, while the database is busy, full or failing; until
    /// `patience` ends when callers wait. Meanwhile the runner's pipe back-pressures, and a stop still
    /// reaches it.
    ///
    /// # Errors
    /// When patience ended, or when no attempt can succeed: the changes do not fit what is stored.
    pub(super) async fn commit(&mut self, changes: Vec<Change>, patience: Option<Instant>) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let slow = tokio::time::sleep(SLOW_COMMIT);
        tokio::pin!(slow);
        let mut pause = FIRST_RETRY;
        loop {
            let (store, copy) = (self.store.clone(), changes.clone());
            let result = self.meanwhile(slow.as_mut(), async move { store.commit(copy).await }).await;
            let Err(error) = result else { return Ok(()) };
            let may_succeed = matches!(error, Error::DbBusy(_) | Error::DbUnavailable(_));
            if !may_succeed || patience.is_some_and(|patience| Instant::now() >= patience) {
                return Err(error);
            }
            tracing::warn!(session = self.state.id(), %error, "commit failed, trying again");
            self.meanwhile(slow.as_mut(), tokio::time::sleep(pause)).await;
            pause = (2 * pause).min(LAST_RETRY);
        }
    }

    /// What happened to the session can never be stored: that is a fault of Galley's own, or of the
    /// file. It is dropped, with the runner it came from, and the session goes on from what is
    /// stored, as after a restart of Core.
    pub(super) async fn start_over(&mut self, fault: &Error) {
        tracing::error!(session = self.state.id(), error = %fault, "what happened to the session cannot be stored; it goes on from what is");
        for (_, reply) in self.replies.drain() {
            // A caller that has gone away needs no answer.
            let _ = reply.send(Err(fault.clone()));
        }
        self.end_what_runs().await;
        let Some(stored) = self.stored().await else {
            self.state.vanish();
            return;
        };
        let now = Timestamp::now();
        // The text of a run may be what cannot be stored.
        for with_text in [true, false] {
            self.state.start_over(stored.clone());
            let mut out = Output::default();
            self.state.apply(now, Input::Recover(Interruption::NotStored), &mut out);
            let (changes, chunks, effects) = self.finish(now, out, with_text).await;
            let news = touched(self.state.id(), &changes);
            match self.commit(changes, None).await {
                Ok(()) => return self.publish(now, news, chunks, effects).await,
                Err(error) => tracing::error!(session = self.state.id(), %error, "nor can its end be stored"),
            }
        }
        self.state.start_over(stored);
        self.state.mark_failed(now);
        self.update_gauges(now);
    }

    /// Ends the runner, and all that was under way with it.
    async fn end_what_runs(&mut self) {
        self.starting = None;
        self.deliveries.clear();
        self.timers.clear();
        self.lines.clear();
        if let Some(LiveRunner { generation, runner, .. }) = self.runner.take() {
            runner.control.kill();
            drop(runner.lines);
            // One that cannot even be killed is no longer this session's.
            let _ = tokio::time::timeout(MUTE, runner.exit).await;
            self.log.runner_down(generation, EndReason::SubprocessError);
        }
    }

    /// The session as it is stored, as soon as it can be read; `None` when it is not there.
    async fn stored(&mut self) -> Option<SessionSnapshot> {
        let mut pause = FIRST_RETRY;
        loop {
            match self.store.snapshot(self.state.id()).await {
                Ok(stored) => return stored,
                Err(error) => tracing::warn!(session = self.state.id(), %error, "the session cannot be read, trying again"),
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LAST_RETRY);
        }
    }

    /// Waits for `work` and keeps the mailbox moving; once `slow` has passed, stops are urged.
    async fn meanwhile<T>(&mut self, mut slow: Pin<&mut tokio::time::Sleep>, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                Some(call) = self.calls.recv(), if self.deferred.len() < MAILBOX => self.defer(call),
                () = &mut slow, if !slow.is_elapsed() => {}
            }
            if slow.is_elapsed() {
                self.urge();
            }
        }
    }

    /// Keeps a call for the next batch.
    fn defer(&mut self, call: Call) {
        let (to, input) = self.open(call);
        self.ends.extend(End::of(&input));
        self.deferred.push(Deferred { to, input, since: Instant::now() });
    }

    /// The database stands still: what is to be ended is told so without it.
    fn urge(&mut self) {
        let Some(live) = &self.runner else { return };
        for end in self.ends.drain(..) {
            match end {
                End::Run => {
                    let (done, _) = oneshot::channel();
                    let _ = live.runner.commands.try_send(Delivery { command: Command::Abort(Abort {}), done });
                }
                End::Runner => live.runner.control.kill(),
            }
        }
    }
}
