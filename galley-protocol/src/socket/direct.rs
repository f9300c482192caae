//! `session.btw`, `session.command`: what goes to the runner at once, past the queue.

use super::{Dispatch, wire, write_command};
use crate::ipc::{self, AttachPet, DetachPet, ReinjectTools};
use serde::{Deserialize, Serialize};

write_command! {
    /// Asks a side question (§5.9). Nothing is stored, no run is opened; without a live runner it
    /// is `runner_error`.
    #[derive(Default)]
    pub struct SessionBtw {
        /// Which session.
        pub session_id: String,
        /// The question, without the `/btw` in front; not blank.
        pub question: String,
    }

    /// Gives the runner a command of the IPC protocol. Without a live runner it is `runner_error`.
    pub struct SessionCommand {
        /// Which session.
        pub session_id: String,
        /// The command.
        pub command: DirectCommand,
    }
}

wire! {
    /// Something the runner was told.
    pub struct DispatchResult {
        /// Always `dispatched`.
        pub dispatch: Dispatch,
    }
}

/// The commands of the IPC protocol that clients may give: those that touch neither the
/// conversation nor its approvals, which are Core's to keep. Any other kind is `invalid_args`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum DirectCommand {
    /// IPC protocol §5.10.
    ReinjectTools(ReinjectTools),
    /// IPC protocol §5.11.
    AttachPet(AttachPet),
    /// IPC protocol §5.12.
    DetachPet(DetachPet),
}

impl From<DirectCommand> for ipc::Command {
    fn from(command: DirectCommand) -> Self {
        match command {
            DirectCommand::ReinjectTools(body) => body.into(),
            DirectCommand::AttachPet(body) => body.into(),
            DirectCommand::DetachPet(body) => body.into(),
        }
    }
}
