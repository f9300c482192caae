//! The lines of one stream request, as Core wrote them.

use super::inherent_next;
use crate::calls::{REPLY_TIMEOUT, ResponseLine};
use crate::error::Error;
use crate::transport::{Connection, Transport, take_line};
use bytes::Bytes;
use futures::Stream;
use galley_protocol::socket::{Request, StreamCommand};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::Sleep;

/// The frames of a stream as raw lines, without their newlines: for programs that pass them on.
/// An error response in place of a frame is an error and the last item.
///
/// The stream ends when Core closes the connection; whether that was the end it meant to be is told
/// by the last frame.
pub struct Frames {
    connection: Connection,
    chunk: Bytes,
    /// Runs until the first frame, if one is due at once.
    deadline: Option<Pin<Box<Sleep>>>,
    failed: bool,
}

impl Frames {
    /// Opens a connection and asks for the stream.
    pub(crate) async fn open<C: StreamCommand>(transport: &dyn Transport, command: &C) -> Result<Self, Error> {
        let request = Request::stream(command).map_err(|error| Error::Protocol(error.to_string()))?;
        Self::request(transport, &request, command.is_acknowledged()).await
    }

    /// Opens a connection and asks for a stream, whose first frame comes at once if `acknowledged`.
    pub(crate) async fn request(transport: &dyn Transport, request: &Request, acknowledged: bool) -> Result<Self, Error> {
        let request = request.to_line().map_err(|error| Error::Protocol(error.to_string()))?;
        let connection = transport.connect().await?;
        // Should Core be gone already, the receiver tells.
        connection.sender.send(request.into()).await.ok();
        let deadline = acknowledged.then(|| Box::pin(tokio::time::sleep(REPLY_TIMEOUT)));
        Ok(Self { connection, chunk: Bytes::new(), deadline, failed: false })
    }

    fn check(line: Bytes) -> Result<Bytes, Error> {
        // No response begins so; it need not be read to see that it is a frame.
        if line.starts_with(b"{\"stream\":") || line.starts_with(b"{\"schemaVersion\":") {
            return Ok(line);
        }
        let response = ResponseLine::read(&line)?;
        if response.ok == Some(false) { response.outcome(&line).map(|_| Bytes::new()) } else { Ok(line) }
    }
}

impl Stream for Frames {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.failed {
            return Poll::Ready(None);
        }
        let item = loop {
            if let Some(line) = take_line(&mut this.chunk) {
                break Self::check(line);
            }
            match this.connection.receiver.poll_recv(context) {
                Poll::Ready(Some(chunk)) => (this.chunk, this.deadline) = (chunk, None),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    let Some(deadline) = &mut this.deadline else { return Poll::Pending };
                    ready!(deadline.as_mut().poll(context));
                    break Err(Error::TimedOut(REPLY_TIMEOUT));
                }
            }
        };
        this.failed = item.is_err();
        Poll::Ready(Some(item))
    }
}

inherent_next!(Frames, Result<Bytes, Error>);
