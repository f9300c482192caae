//! What a connection is made of: bytes in, bytes out.

use crate::runner::Listed;
use bytes::Bytes;
use galley_client::Connection;
use galley_protocol::framing::LineDecoder;
use interprocess::local_socket::tokio::Stream;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

/// Room for one read from a socket, in bytes.
const READ: usize = 16 * 1024;

/// Items under way in each direction of an in-process connection.
const CHANNEL: usize = 16;

/// One side of a connection.
pub trait Link: Send {
    /// Reads what is there into `decoder`; 0 means the peer has closed. Cancelling loses nothing.
    fn read(&mut self, decoder: &mut LineDecoder) -> impl Future<Output = io::Result<usize>> + Send;
    /// Writes whole lines.
    fn write(&mut self, lines: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

/// A connection over the local socket.
#[derive(Debug)]
pub struct SocketLink {
    /// Keeps the descriptor listed for forks, and goes first.
    _listed: Option<Listed>,
    stream: Stream,
}

impl SocketLink {
    /// A connection, listed among what a forked child lets go of.
    pub fn new(stream: Stream, listed: Option<Listed>) -> Self {
        Self { _listed: listed, stream }
    }
}

impl Link for SocketLink {
    async fn read(&mut self, decoder: &mut LineDecoder) -> io::Result<usize> {
        let read = self.stream.read(decoder.spare(READ)).await?;
        decoder.advance(read);
        Ok(read)
    }

    async fn write(&mut self, lines: Vec<u8>) -> io::Result<()> {
        self.stream.write_all(&lines).await
    }
}

/// A connection within the process.
#[derive(Debug)]
pub struct ChannelLink {
    requests: mpsc::Receiver<Bytes>,
    responses: mpsc::Sender<Bytes>,
}

impl ChannelLink {
    /// Core's side of a connection, and the client's.
    pub fn pair() -> (Self, Connection) {
        let (sender, requests) = mpsc::channel(CHANNEL);
        let (responses, receiver) = mpsc::channel(CHANNEL);
        (Self { requests, responses }, Connection { sender, receiver })
    }
}

impl Link for ChannelLink {
    async fn read(&mut self, decoder: &mut LineDecoder) -> io::Result<usize> {
        Ok(self.requests.recv().await.map_or(0, |bytes| {
            decoder.extend(&bytes);
            // An empty item is no end.
            bytes.len().max(1)
        }))
    }

    async fn write(&mut self, lines: Vec<u8>) -> io::Result<()> {
        self.responses.send(lines.into()).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
