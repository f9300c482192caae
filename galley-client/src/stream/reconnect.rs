//! The lines of a stream that can be resumed, across connections.

use super::frames::Frames;
use crate::error::Error;
use crate::transport::Transport;
use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use galley_protocol::socket::StreamCommand;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;

/// Pauses between attempts to reconnect: the first, and the longest they grow to.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What a stream that can be resumed does when its connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// It ends with an error.
    Never,
    /// It tries for this long, counted from the break.
    For(Duration),
    /// It tries until it is dropped.
    Forever,
}

impl Default for Reconnect {
    /// Half a minute.
    fn default() -> Self {
        Self::For(Duration::from_secs(30))
    }
}

/// Lines over one connection after the other.
pub(super) struct Lines {
    transport: Arc<dyn Transport>,
    reconnect: Reconnect,
    state: State,
}

enum State {
    Opening(BoxFuture<'static, Result<Frames, Error>>),
    Open(Frames),
    /// The connection broke; nothing was heard since.
    Reopening {
        opening: BoxFuture<'static, Result<Frames, Error>>,
        pause: Duration,
        since: Instant,
    },
    /// Open again, and not yet proven by a frame.
    Reopened {
        frames: Frames,
        pause: Duration,
        since: Instant,
    },
    Done,
}

impl Lines {
    pub(super) fn new(transport: Arc<dyn Transport>, command: impl StreamCommand + 'static, reconnect: Reconnect) -> Self {
        let state = State::Opening(open(transport.clone(), command, Duration::ZERO));
        Self { transport, reconnect, state }
    }

    /// The next line; `None` once [`close`](Self::close)d. After a break the stream is asked for with
    /// `resume`. An error in place of a frame is worth another attempt only if `begun`: if frames
    /// came before.
    pub(super) fn poll<C: StreamCommand + 'static>(
        &mut self,
        context: &mut Context<'_>,
        begun: bool,
        resume: impl Fn() -> C,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let (frame, pause, since) = match &mut self.state {
                State::Done => return Poll::Ready(None),
                State::Opening(opening) => {
                    match ready!(opening.as_mut().poll(context)) {
                        Ok(frames) => self.state = State::Open(frames),
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    }
                    continue;
                }
                State::Reopening { opening, pause, since } => {
                    let (pause, since) = (*pause, *since);
                    match ready!(opening.as_mut().poll(context)) {
                        Ok(frames) => self.state = State::Reopened { frames, pause, since },
                        Err(error) => self.reopen(pause, since, error, resume())?,
                    }
                    continue;
                }
                State::Open(frames) => (ready!(Pin::new(frames).poll_next(context)), FIRST_PAUSE, Instant::now()),
                State::Reopened { frames, pause, since } => {
                    let (pause, since) = (*pause, *since);
                    (ready!(Pin::new(frames).poll_next(context)), pause, since)
                }
            };
            let cause = match frame {
                Some(Ok(line)) => return Poll::Ready(Some(Ok(line))),
                None => Error::Unavailable("Galley Core closed the connection before the stream's end".to_owned()),
                Some(Err(error)) if error.is_retryable() && begun => error,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            };
            self.reopen(pause, since, cause, resume())?;
        }
    }

    /// The last line was a frame: the connection is good.
    pub(super) fn confirm(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::Reopened { frames, .. } => State::Open(frames),
            state => state,
        };
    }

    /// Closes the connection; there is nothing more to read.
    pub(super) fn close(&mut self) {
        self.state = State::Done;
    }

    /// Leaves a broken connection for another attempt, or gives up.
    fn reopen(&mut self, pause: Duration, since: Instant, cause: Error, command: impl StreamCommand + 'static) -> Result<(), Error> {
        let patience = match self.reconnect {
            Reconnect::Never => return Err(cause),
            Reconnect::For(patience) => Some(patience),
            Reconnect::Forever => None,
        };
        if let Some(patience) = patience.filter(|patience| since.elapsed() >= *patience) {
            return Err(Error::Unavailable(format!("Galley Core did not come back within {patience:?}: {cause}")));
        }
        tracing::debug!(%cause, "a stream reconnects");
        let opening = open(self.transport.clone(), command, pause);
        self.state = State::Reopening { opening, pause: (pause * 2).min(LONGEST_PAUSE), since };
        Ok(())
    }
}

fn open(transport: Arc<dyn Transport>, command: impl StreamCommand + 'static, pause: Duration) -> BoxFuture<'static, Result<Frames, Error>> {
    Box::pin(async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Frames::open(&*transport, &command).await
    })
}
