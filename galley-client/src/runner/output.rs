//! The events' way out: composed anywhere, written in order by one thread from a bounded queue.

use super::text::with_short_strings;
use galley_protocol::framing::MAX_LINE;
use galley_protocol::ipc::Event;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Write};
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Batches of lines that may wait to be written. An agent that is further ahead waits.
const QUEUE: usize = 64;

/// How long a string may be, in characters, in an event that would not fit a line otherwise.
const SHORTENED: usize = 64 * 1024;

/// Where events go.
#[derive(Debug)]
pub(super) struct Output {
    queue: mpsc::Sender<Item>,
    session_id: String,
}

#[derive(Debug)]
enum Item {
    Lines(Vec<u8>),
    /// Tells when everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl Output {
    /// Writes to `file` what comes, for `session_id`.
    pub(super) fn start(file: File, session_id: &str) -> io::Result<Self> {
        let (queue, items) = mpsc::channel(QUEUE);
        thread::Builder::new().name("galley-output".to_owned()).spawn(move || write(file, items))?;
        Ok(Self { queue, session_id: session_id.to_owned() })
    }

    /// Waits until there is room for a batch. Nobody else's batch comes in between what is
    /// composed and sent then without waiting.
    pub(super) async fn room(&self) -> Room<'_> {
        Room { permit: self.queue.reserve().await.ok(), session_id: &self.session_id, bytes: Vec::new() }
    }

    /// Writes an event that belongs to no run.
    pub(super) async fn write(&self, event: impl Into<Event>) {
        let mut room = self.room().await;
        room.add(event);
        room.send();
    }

    /// Waits until all that was sent is written.
    pub(super) async fn flush(&self) {
        let (written, done) = oneshot::channel();
        if self.queue.send(Item::Flush(written)).await.is_ok() {
            // The writer does not end while this handle lives.
            let _ = done.await;
        }
    }
}

/// Room in the queue for a batch of events, which stay together.
pub(super) struct Room<'a> {
    permit: Option<mpsc::Permit<'a, Item>>,
    session_id: &'a str,
    bytes: Vec<u8>,
}

/// What every event has besides its own fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stamped<'a, T> {
    #[serde(flatten)]
    event: &'a T,
    session_id: &'a str,
    timestamp: String,
}

/// An event of a kind the protocol does not have.
#[derive(Serialize)]
struct Custom<'a> {
    kind: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Room<'_> {
    /// Adds an event to the batch.
    pub(super) fn add(&mut self, event: impl Into<Event>) {
        self.line(&event.into());
    }

    /// Adds an event of a kind of the agent's own.
    pub(super) fn add_custom(&mut self, kind: &str, mut fields: Map<String, Value>) {
        for name in ["kind", "sessionId", "timestamp"] {
            fields.remove(name);
        }
        self.line(&Custom { kind, fields });
    }

    fn line(&mut self, event: &impl Serialize) {
        let timestamp = format!("{:.3}", Timestamp::now());
        let event = Stamped { event, session_id: self.session_id, timestamp };
        match serde_json::to_vec(&event) {
            Ok(line) if line.len() <= MAX_LINE => self.bytes.extend(line),
            // It would be cut by its reader: better a whole event with long strings cut.
            Ok(line) => {
                let short = serde_json::from_slice(&line).map(|value| with_short_strings(value, SHORTENED).to_string());
                self.bytes.extend(short.unwrap_or_default().into_bytes());
            }
            Err(error) => return tracing::error!(%error, "an event that is not JSON was dropped"),
        }
        self.bytes.push(b'\n');
    }

    /// Sends the batch.
    pub(super) fn send(self) {
        if let (Some(permit), false) = (self.permit, self.bytes.is_empty()) {
            permit.send(Item::Lines(self.bytes));
        }
    }
}

fn write(mut file: File, mut items: mpsc::Receiver<Item>) {
    let mut broken = false;
    while let Some(item) = items.blocking_recv() {
        match item {
            // Once nobody reads any more, events are dropped: the end of the input is not far.
            Item::Lines(lines) => broken = broken || file.write_all(&lines).is_err(),
            Item::Flush(written) => drop(written.send(())),
        }
    }
}
