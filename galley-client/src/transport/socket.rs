//! Core's local socket: a Unix domain socket, or a named pipe on Windows.

#[cfg(unix)]
#[path = "socket/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "socket/windows.rs"]
mod os;

use super::{Connection, Transport};
use crate::error::Error;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// How long Core may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before another attempt while Core's backlog is full.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// Room given to a read, in bytes.
const READ: usize = 64 * 1024;
/// The least room worth a read, in bytes; below it a new block is taken.
const READ_MIN: usize = 4 * 1024;
/// The longest answer a client takes, in bytes. Transcripts are the longest there are.
const MAX_ANSWER: usize = 256 * 1024 * 1024;
/// Requests, and chunks of answers, that may wait in a connection's channels.
const REQUESTS: usize = 16;
const CHUNKS: usize = 4;

/// Reaches the Core that listens on a local socket of this machine (IPC protocol §2).
///
/// Nothing is said to a socket that belongs to another user.
#[derive(Debug, Clone)]
pub struct SocketTransport {
    path: PathBuf,
}

impl SocketTransport {
    /// A transport to the socket (on Windows, the pipe) at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where Core listens unless told otherwise: `GALLEY_SOCKET_PATH`, else
    /// `${TMPDIR:-/tmp}/galley-${UID}.sock`, on Windows `\\.\pipe\galley-${USERNAME}`.
    pub fn default_path() -> PathBuf {
        variable("GALLEY_SOCKET_PATH").unwrap_or_else(os::default_path)
    }

    /// The path this transport connects to.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for SocketTransport {
    fn default() -> Self {
        Self::new(Self::default_path())
    }
}

#[async_trait]
impl Transport for SocketTransport {
    async fn connect(&self) -> Result<Connection, Error> {
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, connect_patiently(&self.path)).await.map_err(|_| {
            Error::Unavailable(format!("{}: something listens there but did not accept a connection within 10 s", self.path.display()))
        })??;
        let (requests, outgoing) = mpsc::channel(REQUESTS);
        let (incoming, answers) = mpsc::channel(CHUNKS);
        tokio::spawn(pump(stream, outgoing, incoming));
        Ok(Connection { sender: requests, receiver: answers })
    }
}

/// An environment variable that is set and not empty.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Connects, and tries again for as long as the listener is there but busy.
async fn connect_patiently(path: &Path) -> Result<os::Stream, Error> {
    loop {
        match os::connect(path).await {
            Err(os::ConnectError::Busy) => tokio::time::sleep(BUSY_PAUSE).await,
            Err(os::ConnectError::Failed(message)) => return Err(Error::Unavailable(message)),
            Ok(stream) => return Ok(stream),
        }
    }
}

/// Moves bytes both ways until Core closes the connection or the receiver is dropped.
async fn pump(mut stream: os::Stream, outgoing: mpsc::Receiver<Bytes>, incoming: mpsc::Sender<Bytes>) {
    let (from_core, to_core) = os::split(&mut stream);
    tokio::select! {
        () = read(from_core, incoming) => {}
        () = write(to_core, outgoing) => {}
    }
}

/// Passes on all whole lines of each read as one chunk. An unfinished last line is dropped.
async fn read(mut from: impl AsyncRead + Unpin, to: mpsc::Sender<Bytes>) {
    let mut buffer = BytesMut::new();
    let mut dropped = pin!(to.closed());
    loop {
        if buffer.capacity() - buffer.len() < READ_MIN {
            buffer.reserve(READ);
        }
        let read = tokio::select! {
            read = from.read_buf(&mut buffer) => read,
            () = &mut dropped => return,
        };
        let searched = match read {
            Ok(0) | Err(_) => return,
            Ok(read) => buffer.len() - read,
        };
        if let Some(newline) = memchr::memrchr(b'\n', &buffer[searched..]) {
            if to.send(buffer.split_to(searched + newline + 1).freeze()).await.is_err() {
                return;
            }
        } else if buffer.len() > MAX_ANSWER {
            tracing::warn!(limit = MAX_ANSWER, "Core sent an answer over the limit; closing the connection");
            return;
        }
    }
}

/// Writes what is sent. Never returns: what Core said before it closed is still to be read, so only
/// the reading side ends a connection.
async fn write(mut to: impl AsyncWrite + Unpin, mut from: mpsc::Receiver<Bytes>) {
    while let Some(lines) = from.recv().await {
        if to.write_all(&lines).await.is_err() {
            break;
        }
    }
    drop(from);
    std::future::pending().await
}
