//! The socket without a client: bytes out, lines in.

use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Long enough for anything that happens at all, on a busy machine too.
pub const LIMIT: Duration = Duration::from_secs(20);

/// One raw connection.
pub struct Wire {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Wire {
    pub async fn connect(socket: &Path) -> Self {
        let (reader, writer) = UnixStream::connect(socket).await.unwrap().into_split();
        Self { reader: BufReader::new(reader), writer }
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.writer.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends bytes until all are gone or the other side closes; `true` when all were taken.
    pub async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.writer.write_all(bytes).await.is_ok()
    }

    /// Sends one line.
    pub async fn line(&mut self, line: &str) {
        self.send(format!("{line}\n")).await;
    }

    /// No more requests; answers can still come.
    pub async fn half_close(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// The next line as JSON; `None` when Core has closed the connection.
    pub async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(LIMIT, self.reader.read_line(&mut line)).await.expect("a line or the end in time");
        // A connection that Core closed with requests unread ends with a reset.
        let read = read.unwrap_or(0);
        (read > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
    }

    /// Up to `count` bytes of what comes.
    pub async fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        (&mut self.reader).take(count as u64).read_to_end(&mut bytes).await.unwrap();
        bytes
    }

    /// Up to `count` bytes of what comes, less when a line with `last` in it comes before.
    pub async fn bytes_until(&mut self, count: usize, last: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let mut part = vec![0; (count - bytes.len()).min(16 * 1024)];
            let read = tokio::time::timeout(LIMIT, self.reader.read(&mut part)).await.expect("bytes keep coming").unwrap();
            bytes.extend_from_slice(&part[..read]);
            let over = bytes.ends_with(b"\n") && {
                let start = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
                String::from_utf8_lossy(&bytes[start..]).contains(last)
            };
            if read == 0 || over {
                break;
            }
        }
        bytes
    }

    /// Sends a request and returns the next line.
    pub async fn ask(&mut self, command: &str, args: Value) -> Value {
        self.line(&json!({ "command": command, "args": args }).to_string()).await;
        self.next().await.expect("an answer")
    }
}

/// One request over a connection of its own.
pub async fn ask(socket: &Path, command: &str, args: Value) -> Value {
    Wire::connect(socket).await.ask(command, args).await
}

/// A small generator with a fixed seed: every run of a test takes the same "random" moments.
pub struct Moments(u64);

impl Moments {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from `low` up to, not including, `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + self.0 % (high - low)
    }
}
