//! Putting a session away, taking it back, deleting it. A session leaves once its runner is gone.

use super::output::{Effect, Output, Reply, ReplyTo};
use super::state::{Departure, Gate, RunnerPhase, SessionState, Whereto};
use crate::error::Error;
use crate::store::Change;
use crate::time::Timestamp;
use galley_protocol::socket::{ArchiveIfBusy, EndReason, Origin, SessionStatus};

impl SessionState {
    pub(super) fn archive(&mut self, now: Timestamp, if_busy: &ArchiveIfBusy, origin: &Origin, to: ReplyTo, out: &mut Output) {
        match &mut self.departure {
            Some(Departure { to: Whereto::Archive, waiters }) => return waiters.push(to),
            Some(_) => return out.reply(Some(to), Err(super::not_found(&self.row.id))),
            None => {}
        }
        if self.row.status == SessionStatus::Archived {
            return self.reply_session(now, to, out);
        }
        if *if_busy == ArchiveIfBusy::Reject && self.is_busy() {
            let error = Error::Busy(format!("session {} is busy; stop it first, or archive it with ifBusy stop", self.row.id));
            return out.reply(Some(to), Err(error));
        }
        self.audit(now, "archive", origin, out);
        self.departure = Some(Departure { to: Whereto::Archive, waiters: vec![to] });
        self.end_runner(now, EndReason::Archived, None, out);
    }

    pub(super) fn unarchive(&mut self, now: Timestamp, origin: &Origin, to: ReplyTo, out: &mut Output) {
        if self.row.status == SessionStatus::Archived {
            self.row.status = SessionStatus::Idle;
            self.dirty = true;
            self.audit(now, "restore", origin, out);
        }
        self.reply_session(now, to, out);
    }

    pub(super) fn delete(&mut self, now: Timestamp, to: ReplyTo, out: &mut Output) {
        if let Some(Departure { to: Whereto::Nowhere, waiters }) = &mut self.departure {
            return waiters.push(to);
        }
        if let Some(archiving) = self.departure.replace(Departure { to: Whereto::Nowhere, waiters: vec![to] }) {
            for waiter in archiving.waiters {
                out.reply(Some(waiter), Err(super::not_found(&self.row.id)));
            }
        }
        self.end_runner(now, EndReason::Deleted, None, out);
    }

    /// Why the session takes no work, if it takes none.
    pub(super) fn refusal(&self) -> Option<Error> {
        match &self.departure {
            Some(Departure { to: Whereto::Nowhere, .. }) => Some(super::not_found(&self.row.id)),
            Some(Departure { to: Whereto::Archive, .. }) => Some(Error::invalid(format!("session {} is being archived", self.row.id))),
            None if self.row.status == SessionStatus::Archived => {
                Some(Error::invalid(format!("session {} is archived; restore it first", self.row.id)))
            }
            None => None,
        }
    }

    /// Whatever brought the session to rest: if it was to leave then, it leaves now.
    pub(super) fn depart_when_at_rest(&mut self, now: Timestamp, out: &mut Output) {
        if !matches!((&self.gate, &self.runner), (Gate::Free, RunnerPhase::Down)) {
            return;
        }
        let Some(Departure { to, waiters }) = self.departure.take() else { return };
        match to {
            Whereto::Archive => {
                self.row.status = SessionStatus::Archived;
                self.dirty = true;
                out.effect(Effect::CloseStreams { reason: EndReason::Archived });
                for waiter in waiters {
                    self.reply_session(now, waiter, out);
                }
            }
            Whereto::Nowhere => {
                self.deleted = true;
                out.end_with(Change::DeleteSession { id: self.row.id.clone(), at: now });
                out.effect(Effect::CloseStreams { reason: EndReason::Deleted });
                out.effect(Effect::Forget);
                for waiter in waiters {
                    out.reply(Some(waiter), Ok(Reply::Deleted));
                }
            }
        }
    }
}
