//! The stable names of what can go wrong, and the exit codes they become.

use crate::open_enum::open_enum;

open_enum! {
    /// What went wrong: match on this, never on the message. Tags are added, never renamed; one a
    /// client does not know is kept as it came.
    pub enum ErrorTag {
        /// A fault of Galley's own, or a failed commit.
        Internal = "internal",
        /// The request is wrong; `message` says what would be right.
        InvalidArgs = "invalid_args",
        /// No such session, message, approval, project or runtime.
        NotFound = "not_found",
        /// The database (or a Core that is needed) cannot be reached; `detail.retryable` when it
        /// was only busy.
        DbUnavailable = "db_unavailable",
        /// The agent could not be started or spoken to; `detail.cause` says why.
        RunnerError = "runner_error",
        /// The session is busy and the caller asked not to wait.
        Busy = "busy",
        /// The request's `schemaVersion` is not one Core accepts.
        SchemaMismatch = "schema_mismatch",
        /// No command of that name.
        UnknownCommand = "unknown_command",
        /// Nothing was asked on this connection for too long.
        IdleTimeout = "idle_timeout",
        /// The session's queue is full.
        QueueFull = "queue_full",
    }
}

impl ErrorTag {
    /// The exit code of a program that ends with this error.
    ///
    /// ```
    /// use galley_protocol::socket::ErrorTag;
    /// assert_eq!(ErrorTag::NotFound.exit_code(), 3);
    /// assert_eq!(ErrorTag::from("some_future_tag").exit_code(), 1);
    /// ```
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::InvalidArgs | Self::SchemaMismatch => 2,
            Self::NotFound => 3,
            Self::DbUnavailable => 4,
            Self::RunnerError => 5,
            Self::Busy => 6,
            _ => 1,
        }
    }
}
