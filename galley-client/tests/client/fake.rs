//! A Core that says what a test tells it to.

use galley_client::{Client, SocketTransport};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

/// Listens until it is dropped.
pub struct FakeCore {
    directory: tempfile::TempDir,
    connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeCore {
    /// Runs `script` for every connection; it is told the connection's number, from 0.
    pub fn start<F: Future<Output = ()> + Send + 'static>(script: impl Fn(Peer, usize) -> F + Send + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("core.sock")).unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(script(Peer::new(stream), count.fetch_add(1, Ordering::SeqCst)));
            }
        });
        Self { directory, connections, task }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("core.sock")
    }

    pub fn client(&self) -> Client {
        Client::new(SocketTransport::new(self.path()))
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for FakeCore {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One client's connection, seen from Core.
pub struct Peer {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Peer {
    fn new(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: BufReader::new(reader), writer }
    }

    /// The next request; `None` when the client closed the connection.
    pub async fn request(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line).await.unwrap_or(0);
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Writes bytes as they are; false when the client is gone.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        self.writer.write_all(bytes).await.is_ok()
    }

    pub async fn send(&mut self, value: &Value) -> bool {
        self.write(format!("{value}\n").as_bytes()).await
    }

    pub async fn answer(&mut self, request: &Value, result: Value) -> bool {
        self.send(&json!({ "ok": true, "requestId": request["requestId"], "result": result })).await
    }

    /// Returns when the client has closed the connection.
    pub async fn closed(mut self) {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).await.ok();
    }
}
