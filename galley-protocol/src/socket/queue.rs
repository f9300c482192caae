//! `session.queue`, `queue_edit`, `retry`: messages that wait, and one that is sent again.

use super::{MessageState, wire, write_command};
use crate::open_enum::open_enum;

open_enum! {
    /// What to do with a message that waits.
    pub enum QueueAction {
        /// Take it out; it stays in the transcript as `cancelled`.
        Remove = "remove",
        /// Put it first and stop the current run.
        Jump = "jump",
        /// Change its text.
        Edit = "edit",
    }
}

wire! {
    /// Asks what waits in a session, in the order it will be handed over.
    #[derive(Default)]
    pub struct SessionQueue {
        /// Which session.
        pub session_id: String,
    }

    /// A message that waits.
    pub struct QueueItem {
        /// The message.
        pub message_id: String,
        /// Its place, from 1.
        pub position: u32,
        /// `pending` or `queued`; pending ones come first.
        pub state: MessageState,
        /// Its text.
        pub content: String,
        /// When it was stored.
        pub created_at: String,
    }
}

write_command! {
    /// Changes the queue of a session; answered by the queue as it is then. A message that no
    /// longer waits is `invalid_args`.
    pub struct SessionQueueEdit {
        /// Which session.
        pub session_id: String,
        /// Which message.
        pub message_id: String,
        /// What to do with it.
        pub action: QueueAction,
        /// The new text, for `edit`; not blank.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
    }

    /// Sends an earlier message again, as a new one; the rows of its turn become `superseded`.
    #[derive(Default)]
    pub struct SessionRetry {
        /// Which session.
        pub session_id: String,
        /// Which user message; the last one by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message_id: Option<String>,
    }
}
