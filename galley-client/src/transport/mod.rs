//! How a client reaches Core: the same JSON lines over a socket, in process, or from a file.

mod socket;

pub use socket::SocketTransport;

use crate::error::Error;
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;

/// Opens connections to a Core.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Opens one connection. Connections are independent: one that is not read delays no other.
    ///
    /// # Errors
    /// When there is nobody to connect to.
    async fn connect(&self) -> Result<Connection, Error>;
}

/// One connection. Every item is one or more whole lines, each ended by a newline. Dropping both
/// ends closes it.
#[derive(Debug)]
pub struct Connection {
    /// Requests to Core.
    pub sender: mpsc::Sender<Bytes>,
    /// Responses and frames from Core; closed when Core closes the connection.
    pub receiver: mpsc::Receiver<Bytes>,
}

/// Takes the first line off a chunk of whole lines, without its newline and without copying it.
pub(crate) fn take_line(chunk: &mut Bytes) -> Option<Bytes> {
    if chunk.is_empty() {
        return None;
    }
    let end = memchr::memchr(b'\n', chunk);
    let line = chunk.split_to(end.map_or(chunk.len(), |newline| newline + 1));
    Some(line.slice(..end.unwrap_or(line.len())))
}
