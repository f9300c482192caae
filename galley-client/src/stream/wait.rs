//! Waiting for an answer.

use super::typed::TypedFrames;
use crate::error::Error;
use galley_protocol::socket::{MessageBrief, SessionBrief, WaitFrame, WaitPhase, WaitStatus};

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WaitOutcome {
    /// Why the waiting stopped. It describes the wait, not the task.
    pub status: WaitStatus,
    /// The session as it stood then.
    pub session: SessionBrief,
    /// Its last messages; empty with `finalShow: false`.
    pub messages: Vec<MessageBrief>,
}

/// The frames of a wait (Agent API §5.5d): one payload at the start, one when there is an answer or
/// no hope of one, then the end.
pub type Wait = TypedFrames<WaitFrame>;

impl Wait {
    /// Waits for the last payload.
    ///
    /// # Errors
    /// When Core answers with an error or goes away first.
    pub async fn wait_final(mut self) -> Result<WaitOutcome, Error> {
        while let Some(frame) = self.next().await {
            if let WaitFrame::Wait { phase: WaitPhase::Final, status, session, messages, .. } = frame? {
                let status = status.ok_or_else(|| Error::Protocol("the last payload of a wait has no status".to_owned()))?;
                return Ok(WaitOutcome { status, session: *session, messages: messages.unwrap_or_default() });
            }
        }
        Err(Error::Protocol("the wait ended without its last payload".to_owned()))
    }
}
