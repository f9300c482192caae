//! `session.archive`, `restore`, `move`, `kill`, `resume`, `rename`, `pin`, `read`, `delete`: what
//! happens to a session as a whole.

use super::{Dispatch, SessionBrief, wire, write_command};
use crate::open_enum::open_enum;

open_enum! {
    /// What to do with a session that is busy when it is archived.
    pub enum ArchiveIfBusy {
        /// Stop its run first.
        Stop = "stop",
        /// Refuse with `busy`.
        Reject = "reject",
    }
}

open_enum! {
    /// What `session.kill` did.
    pub enum KillDispatch {
        /// There was a runner; it is gone.
        ShutdownSent = "shutdown_sent",
        /// There was no runner.
        AlreadyStopped = "already_stopped",
    }
}

write_command! {
    /// Puts a session away (§5.11): its run is stopped, its runner shut down, and what was queued
    /// becomes pending. Nothing is lost; `session.restore` takes it back.
    #[derive(Default)]
    pub struct SessionArchive {
        /// Which session.
        pub session_id: String,
        /// What to do if it is busy; `stop` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub if_busy: Option<ArchiveIfBusy>,
    }

    /// Takes an archived session back, as `idle` (§5.12). One that is not archived is unchanged.
    #[derive(Default)]
    pub struct SessionRestore {
        /// Which session.
        pub session_id: String,
    }

    /// Moves a session into a project, or out of the one it is in (§5.13).
    #[derive(Default)]
    pub struct SessionMove {
        /// Which session.
        pub session_id: String,
        /// The project; absent to leave it ungrouped. `projectId` is read as the same field: a
        /// caller who uses that word must not find the session ungrouped.
        #[serde(default, alias = "projectId", skip_serializing_if = "Option::is_none")]
        pub to: Option<String>,
    }

    /// Ends a session's runner. An open run is cancelled first; the answer comes when the runner
    /// is gone.
    #[derive(Default)]
    pub struct SessionKill {
        /// Which session.
        pub session_id: String,
    }

    /// Starts a runner if none is alive and delivers the messages that are held.
    #[derive(Default)]
    pub struct SessionResume {
        /// Which session.
        pub session_id: String,
    }

    /// Gives a session another title.
    #[derive(Default)]
    pub struct SessionRename {
        /// Which session.
        pub session_id: String,
        /// The title; not blank.
        pub title: String,
    }

    /// Sorts a session first, or no longer.
    #[derive(Default)]
    pub struct SessionPin {
        /// Which session.
        pub session_id: String,
        /// True by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pinned: Option<bool>,
    }

    /// Marks a session as read: `hasUnread` becomes false.
    #[derive(Default)]
    pub struct SessionRead {
        /// Which session.
        pub session_id: String,
    }

    /// Deletes a session with everything that belongs to it, its runner stopped first. It is gone
    /// for every reader at once and cannot be restored.
    #[derive(Default)]
    pub struct SessionDelete {
        /// Which session.
        pub session_id: String,
    }
}

wire! {
    /// A session that was changed.
    pub struct SessionResult {
        /// Its row as it stands now.
        pub session: SessionBrief,
    }

    /// What a kill did.
    pub struct KillResult {
        /// What a kill did.
        pub dispatch: KillDispatch,
    }

    /// A session that has a runner again.
    pub struct Resumed {
        /// Its row as it stands now.
        pub session: SessionBrief,
        /// `dispatched`: the runner is up and has the first held message, if there was one;
        /// `queued`: a run is open, and what was held waits behind it; `persisted_only`: the message
        /// was stopped or taken out before the runner had it.
        pub dispatch: Dispatch,
    }

    /// A session that is gone.
    pub struct SessionDeleted {
        /// Always true.
        pub deleted: bool,
        /// Which session it was.
        pub session_id: String,
    }
}
