//! `llm.*`: the models of a runtime, and the one a session uses.

use super::{SessionBrief, wire, write_command};
use crate::ipc::Llm;
use crate::open_enum::open_enum;

open_enum! {
    /// When a chosen model takes effect.
    pub enum LlmDispatch {
        /// The runner uses it.
        Dispatched = "dispatched",
        /// No runner is alive; the next one starts with it.
        PersistedOnly = "persisted_only",
        /// A run is open; the runner gets it when the run has ended.
        Deferred = "deferred",
    }
}

wire! {
    /// Lists the models of a runtime, as its last `ready` had them; none before the first.
    #[derive(Default)]
    pub struct LlmList {
        /// `current`, `managed` or `external` (all of that kind), `all`, or a runtime's name;
        /// `current` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub runtime: Option<String>,
    }

    /// One model.
    pub struct LlmRow {
        /// Position in the runner's list; it may point elsewhere after a restart.
        pub index: u32,
        /// Raw name.
        pub name: String,
        /// What identifies it across restarts; the raw name, where the runner has no key.
        pub key: String,
        /// Name for people.
        pub display_name: String,
        /// Whether the runner used it when it became ready.
        pub is_current: bool,
    }
}

impl From<Llm> for LlmRow {
    fn from(llm: Llm) -> Self {
        Self { index: llm.index, key: llm.key().to_owned(), name: llm.name, display_name: llm.display_name, is_current: llm.is_current }
    }
}

write_command! {
    /// Chooses a session's model.
    #[derive(Default)]
    pub struct LlmSet {
        /// Which session.
        pub session_id: String,
        /// The model: its display name, name or key, in upper or lower case.
        pub llm: String,
    }
}

wire! {
    /// A session whose model was chosen.
    pub struct LlmSetResult {
        /// Its row as it stands now.
        pub session: SessionBrief,
        /// When the choice takes effect.
        pub dispatch: LlmDispatch,
    }
}
