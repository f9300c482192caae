//! What can go wrong for a client.

use galley_protocol::socket::ErrorTag;

/// An error a client sees.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Core answered with an error. `tag` is kept as it came, known or not.
    #[error("{message}")]
    Api {
        /// The stable name.
        tag: ErrorTag,
        /// For people.
        message: String,
        /// Structure, when there is some.
        detail: Option<serde_json::Value>,
    },
    /// Nobody listens, or the connection broke.
    #[error("{0}")]
    Unavailable(String),
    /// No answer came in time.
    #[error("no answer within {0:?}")]
    TimedOut(std::time::Duration),
    /// The peer said something that is no answer.
    #[error("unexpected answer: {0}")]
    Protocol(String),
}

impl Error {
    /// The stable name: the one Core gave, or the one that fits.
    pub fn tag(&self) -> ErrorTag {
        match self {
            Self::Api { tag, .. } => tag.clone(),
            Self::Unavailable(_) | Self::TimedOut(_) => ErrorTag::DbUnavailable,
            Self::Protocol(_) => ErrorTag::Internal,
        }
    }

    /// Whether the same call may work a little later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Api { detail, .. } => {
                detail.as_ref().and_then(|detail| detail.get("retryable")).and_then(serde_json::Value::as_bool).unwrap_or(false)
            }
            Self::Unavailable(_) | Self::TimedOut(_) => true,
            Self::Protocol(_) => false,
        }
    }
}
