//! Waiting for an answer.

use super::frames::Frames;
use super::inherent_next;
use crate::calls::excerpt;
use crate::error::Error;
use crate::transport::Transport;
use futures::Stream;
use futures::future::BoxFuture;
use galley_protocol::socket::{MessageBrief, SessionBrief, SessionWait, WaitFrame, WaitPhase, WaitStatus};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

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
pub struct Wait {
    state: State,
}

enum State {
    Opening(BoxFuture<'static, Result<Frames, Error>>),
    Open(Frames),
    Done,
}

impl Wait {
    pub(crate) fn new(transport: Arc<dyn Transport>, command: SessionWait) -> Self {
        Self { state: State::Opening(Box::pin(async move { Frames::open(&*transport, &command).await })) }
    }

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

impl Stream for Wait {
    type Item = Result<WaitFrame, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = loop {
            match &mut self.state {
                State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(frames) => self.state = State::Open(frames),
                    Err(error) => break Err(error),
                },
                State::Open(frames) => {
                    break match ready!(Pin::new(frames).poll_next(context)) {
                        Some(Ok(line)) => serde_json::from_slice(&line).map_err(|error| Error::Protocol(format!("{error} in {}", excerpt(&line)))),
                        Some(Err(error)) => Err(error),
                        None => Err(Error::Unavailable("Galley Core went away during the wait".to_owned())),
                    };
                }
                State::Done => return Poll::Ready(None),
            }
        };
        if matches!(item, Err(_) | Ok(WaitFrame::End { .. })) {
            self.state = State::Done;
        }
        Poll::Ready(Some(item))
    }
}

inherent_next!(Wait, Result<WaitFrame, Error>);
