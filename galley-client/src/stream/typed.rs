//! Streams that are read as their frames, over one connection.

use super::frames::Frames;
use crate::calls::excerpt;
use crate::error::Error;
use crate::transport::Transport;
use futures::Stream;
use futures::future::BoxFuture;
use galley_protocol::socket::{FollowFrame, ProjectFrame, StreamCommand, WaitFrame};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A frame of such a stream.
pub trait TypedFrame: DeserializeOwned {
    /// Whether it is the last one.
    fn is_end(&self) -> bool;
}

impl TypedFrame for WaitFrame {
    fn is_end(&self) -> bool {
        matches!(self, Self::End { .. })
    }
}

impl TypedFrame for FollowFrame {
    fn is_end(&self) -> bool {
        matches!(self, Self::End { .. })
    }
}

impl TypedFrame for ProjectFrame {
    fn is_end(&self) -> bool {
        matches!(self, Self::End { .. })
    }
}

/// The frames of a stream, in order, over one connection. A break before the last frame is an error
/// and the last item.
pub struct TypedFrames<F> {
    state: State,
    frame: PhantomData<fn() -> F>,
}

/// The frames of `session.follow` (Agent API §5.5c): a snapshot, the events after it, and a snapshot
/// once the runner is gone.
pub type Follow = TypedFrames<FollowFrame>;

/// The frames of `project.follow`.
pub type FollowProject = TypedFrames<ProjectFrame>;

enum State {
    Opening(BoxFuture<'static, Result<Frames, Error>>),
    Open(Frames),
    Done,
}

impl<F: TypedFrame> TypedFrames<F> {
    pub(crate) fn new(transport: Arc<dyn Transport>, command: impl StreamCommand + 'static) -> Self {
        let opening = Box::pin(async move { Frames::open(&*transport, &command).await });
        Self { state: State::Opening(opening), frame: PhantomData }
    }

    /// The next item; `None` after the last one. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Result<F, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<F: TypedFrame> Stream for TypedFrames<F> {
    type Item = Result<F, Error>;

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
                        None => Err(Error::Unavailable("Galley Core went away before the stream's end".to_owned())),
                    };
                }
                State::Done => return Poll::Ready(None),
            }
        };
        if item.as_ref().map_or(true, F::is_end) {
            self.state = State::Done;
        }
        Poll::Ready(Some(item))
    }
}
