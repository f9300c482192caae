//! `ping`, `version`, `status`, `health`: about Galley itself.

use super::wire;
use crate::open_enum::open_enum;

wire! {
    /// Asks whether anybody is there.
    #[derive(Default)]
    pub struct Ping {}

    /// The answer to [`Ping`].
    pub struct Pong {
        /// Always true.
        pub pong: bool,
    }

    /// Asks for versions.
    #[derive(Default)]
    pub struct VersionGet {}

    /// The versions of a Galley (§5.1).
    pub struct Version {
        /// The program's version.
        pub galley_version: String,
        /// The Agent API's version.
        pub schema_version: u32,
        /// The Agent API versions it accepts.
        pub accepted_schema_versions: Vec<u32>,
        /// The IPC version it speaks with runners.
        pub protocol_version: String,
    }

    /// Asks for counts.
    #[derive(Default)]
    pub struct StatusGet {}

    /// Counts over the sessions that are not archived (§5.6).
    pub struct StatusSummary {
        /// All of them.
        pub total: u64,
        /// In status `running`.
        pub running: u64,
        /// In status `waiting_approval`.
        pub waiting_input: u64,
        /// In status `error`.
        pub errored: u64,
        /// What only a running Core knows; absent without one, which does not mean idle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub live: Option<LiveSummary>,
    }

    /// What a running Core has in hand.
    pub struct LiveSummary {
        /// Live runners.
        pub runners: u64,
        /// Sessions with a run open, reserved or queued.
        pub busy: u64,
        /// Messages waiting in queues.
        pub queued: u64,
    }

    /// Asks for a health report.
    #[derive(Default)]
    pub struct HealthGet {}

    /// One probe after the other (§5.7).
    pub struct HealthReport {
        /// The probes.
        pub checks: Vec<HealthCheck>,
    }

    /// One probe.
    pub struct HealthCheck {
        /// Stable name.
        pub id: String,
        /// How it went.
        pub status: CheckStatus,
        /// For people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub detail: Option<String>,
    }
}

open_enum! {
    /// How a probe went.
    pub enum CheckStatus {
        /// Good.
        Ok = "ok",
        /// Works, but look at it.
        Warn = "warn",
        /// Does not work.
        Fail = "fail",
        /// Not checked by this command.
        Deferred = "deferred_b4",
    }
}
