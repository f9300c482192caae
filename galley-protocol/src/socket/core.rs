//! `core.*`: the running engine.

use super::wire;

wire! {
    /// Asks a running Core about itself.
    #[derive(Default)]
    pub struct CoreInfoGet {}

    /// A running Core.
    pub struct CoreInfo {
        /// Its process id.
        pub pid: u32,
        /// Its version.
        pub galley_version: String,
        /// When it started.
        pub started_at: String,
        /// Where its files are.
        pub paths: CorePaths,
        /// What it bounds.
        pub limits: CoreLimits,
        /// What it counts.
        pub counters: CoreCounters,
    }

    /// Where a Core's files are.
    pub struct CorePaths {
        /// The database.
        pub db: String,
        /// The socket, unless it serves in process only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub socket: Option<String>,
        /// The configuration.
        pub config: String,
    }

    /// What a Core bounds.
    pub struct CoreLimits {
        /// Live runners it keeps before it ends the least recently used idle one.
        pub max_live_runners: u64,
        /// Messages one session may have waiting.
        pub max_queued: u64,
        /// Bytes of one line.
        pub max_line: u64,
    }

    /// What a Core counts.
    pub struct CoreCounters {
        /// Live runners.
        pub live_runners: u64,
        /// Sessions with an actor in memory.
        pub active_sessions: u64,
        /// Open connections, in process included.
        pub connections: u64,
        /// Open streams.
        pub streams: u64,
    }

    /// Asks a running Core to end: runners are shut down, streams end with `core_shutdown`.
    #[derive(Default)]
    pub struct CoreShutdown {}

    /// Core is on its way out.
    pub struct CoreShutdownResult {
        /// Always true.
        pub shutting_down: bool,
    }
}
