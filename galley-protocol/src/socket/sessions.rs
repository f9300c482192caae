//! `sessions.*`: many sessions.

use super::{SessionStatus, wire};
use crate::open_enum::open_enum;

open_enum! {
    /// Which sessions, by whether they are put away.
    pub enum Archived {
        /// Those that are not archived; the default everywhere.
        Active = "active",
        /// Only archived ones.
        Archived = "archived",
        /// All.
        All = "all",
    }
}

open_enum! {
    /// How hits are ordered.
    pub enum Ranking {
        /// Best match first; lower `rank` is better.
        Bm25 = "bm25",
        /// Newest first; `rank` is 0.0.
        Recent = "recent",
    }
}

wire! {
    /// Lists sessions: pinned first, then by last activity, newest first, then by id (§5.2).
    #[derive(Default)]
    pub struct SessionsList {
        /// `current`, `managed`, `external`, `all`, or a runtime's name; `current` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub runtime: Option<String>,
        /// One project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub project_id: Option<String>,
        /// One status; `archived` implies archived sessions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub status: Option<SessionStatus>,
        /// `active` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub archived: Option<Archived>,
        /// At most this many rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
        /// The `nextCursor` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
    }

    /// Searches message bodies (§5.3): under two characters nothing, two by substring, more by index.
    #[derive(Default)]
    pub struct SessionsSearch {
        /// The words; taken literally.
        pub query: String,
        /// As in [`SessionsList`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub runtime: Option<String>,
        /// Archived sessions too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub all: Option<bool>,
        /// One project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub project_id: Option<String>,
        /// One session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub session_id: Option<String>,
        /// At most this many hits; 20 by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
    }

    /// One hit.
    pub struct SearchHit {
        /// The session.
        pub session_id: String,
        /// The message.
        pub message_id: String,
        /// An excerpt, HTML-escaped, matches in `<mark>`.
        pub snippet: String,
        /// The index's score (lower is better); 0.0 whenever not `bm25`.
        pub rank: f64,
        /// How the hits are ordered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ranking: Option<Ranking>,
        /// The search ran into its deadline: there may be more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub incomplete: Option<bool>,
    }
}
