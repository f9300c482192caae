//! The one connection that all requests of a client share.

use crate::error::Error;
use crate::transport::{Transport, take_line};
use bytes::Bytes;
use galley_protocol::socket::{ErrorTag, Request};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore, mpsc, oneshot};

/// How long the first reply to a request may take.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
/// Requests of one client that may be on their way at once; more wait.
const MAX_IN_FLIGHT: usize = 256;

/// A result as Core wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The `result`, as JSON text.
    pub result: Bytes,
    /// Where the next page of a list starts.
    pub next_cursor: Option<String>,
}

/// A response, read in place.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResponseLine<'a> {
    #[serde(default)]
    pub(crate) ok: Option<bool>,
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(default)]
    error: Option<ErrorTag>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    detail: Option<serde_json::Value>,
}

impl<'a> ResponseLine<'a> {
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, Error> {
        serde_json::from_slice(line).map_err(|error| Error::Protocol(format!("{error} in {}", excerpt(line))))
    }

    /// What the response says; `line` is where it was read from.
    pub(crate) fn outcome(self, line: &Bytes) -> Result<Answer, Error> {
        match self.ok {
            Some(true) => {
                let result = self.result.map_or(Bytes::from_static(b"null"), |result| line.slice_ref(result.get().as_bytes()));
                Ok(Answer { result, next_cursor: self.next_cursor })
            }
            Some(false) => {
                let tag = self.error.unwrap_or(ErrorTag::Internal);
                let message = self.message.unwrap_or_else(|| tag.to_string());
                Err(Error::Api { tag, message, detail: self.detail })
            }
            None => Err(Error::Protocol(format!("neither a response nor a frame: {}", excerpt(line)))),
        }
    }
}

/// The beginning of a line, for error messages.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
    if line.len() > SHOWN { format!("`{text}…`") } else { format!("`{text}`") }
}

/// Why an attempt got no answer.
#[derive(Debug, Clone)]
enum Failure {
    /// Core answered with an error, or there is nobody to ask.
    Final(Error),
    /// The connection went away first. Unless `taken`, Core has certainly not read the request.
    Lost { taken: bool },
}

type Outcome = Result<Answer, Failure>;

/// Requests over one connection, which is opened by the first one and again after a break.
pub(crate) struct Calls {
    transport: Arc<dyn Transport>,
    link: Mutex<Arc<OnceCell<Link>>>,
    next_id: AtomicU64,
    in_flight: Semaphore,
}

impl Calls {
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, link: Mutex::default(), next_id: AtomicU64::new(1), in_flight: Semaphore::new(MAX_IN_FLIGHT) }
    }

    /// Opens the connection unless it is open.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        self.link().await.map(drop)
    }

    /// Sends a request and waits for its answer. A request that is lost with its connection is sent
    /// once more if Core cannot have read it, or if `repeatable`.
    pub(crate) async fn exchange(&self, request: Request, repeatable: bool) -> Result<Answer, Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let command = request.command.clone();
        let line = request.with_id(id.to_string()).to_line().map_err(|error| Error::Protocol(error.to_string()))?;
        let line = Bytes::from(line);
        let exchange = async {
            let Ok(_permit) = self.in_flight.acquire().await else {
                return Err(Failure::Lost { taken: false });
            };
            match self.attempt(id, &line).await {
                Err(Failure::Lost { taken }) if repeatable || !taken => self.attempt(id, &line).await,
                outcome => outcome,
            }
        };
        match tokio::time::timeout(REPLY_TIMEOUT, exchange).await {
            Err(_) => Err(Error::TimedOut(REPLY_TIMEOUT)),
            Ok(Err(Failure::Final(error))) => Err(error),
            Ok(Err(Failure::Lost { taken: false })) => {
                Err(Error::Unavailable(format!("Galley Core closed the connection before it read `{command}`")))
            }
            Ok(Err(Failure::Lost { taken: true })) => {
                Err(Error::Unavailable(format!("Galley Core went away before it answered `{command}`; whether it was carried out is unknown")))
            }
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    async fn attempt(&self, id: u64, line: &Bytes) -> Outcome {
        let cell = self.link().await.map_err(Failure::Final)?;
        let Some(link) = cell.get() else {
            return Err(Failure::Lost { taken: false });
        };
        let answer = link.expect(id).ok_or(Failure::Lost { taken: false })?;
        if link.sender.send(line.clone()).await.is_err() {
            return Err(Failure::Lost { taken: false });
        }
        answer.wait().await
    }

    /// The open connection; concurrent callers share one attempt to open it.
    async fn link(&self) -> Result<Arc<OnceCell<Link>>, Error> {
        let cell = {
            let mut cell = lock(&self.link);
            if cell.get().is_some_and(Link::is_closed) {
                *cell = Arc::default();
            }
            cell.clone()
        };
        cell.get_or_try_init(|| Link::open(&*self.transport)).await?;
        Ok(cell)
    }
}

/// The calls of a connection that wait for their answers; `None` once it is closed.
type Waiting = Mutex<Option<HashMap<u64, oneshot::Sender<Outcome>>>>;

struct Link {
    sender: mpsc::Sender<Bytes>,
    waiting: Arc<Waiting>,
    reader: tokio::task::AbortHandle,
}

impl Link {
    async fn open(transport: &dyn Transport) -> Result<Self, Error> {
        let connection = transport.connect().await?;
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let reader = tokio::spawn(hand_out(connection.receiver, waiting.clone())).abort_handle();
        Ok(Self { sender: connection.sender, waiting, reader })
    }

    fn is_closed(&self) -> bool {
        self.sender.is_closed() || lock(&self.waiting).is_none()
    }

    /// Announces a call, unless the connection is closed.
    fn expect(&self, id: u64) -> Option<Expected<'_>> {
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).as_mut()?.insert(id, sender);
        Some(Expected { id, waiting: &self.waiting, receiver })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A call that waits. Dropping it forgets the call.
struct Expected<'a> {
    id: u64,
    waiting: &'a Waiting,
    receiver: oneshot::Receiver<Outcome>,
}

impl Expected<'_> {
    async fn wait(mut self) -> Outcome {
        (&mut self.receiver).await.unwrap_or(Err(Failure::Lost { taken: true }))
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        if let Some(calls) = lock(self.waiting).as_mut() {
            calls.remove(&self.id);
        }
    }
}

/// Hands each response to the call it answers, until the connection ends.
async fn hand_out(mut receiver: mpsc::Receiver<Bytes>, waiting: Arc<Waiting>) {
    let mut end = Failure::Lost { taken: true };
    'open: while let Some(mut chunk) = receiver.recv().await {
        while let Some(line) = take_line(&mut chunk) {
            if let Err(failure) = hand_over(&line, &waiting) {
                end = failure;
                break 'open;
            }
        }
    }
    let calls = lock(&waiting).take();
    for (_, call) in calls.into_iter().flatten() {
        call.send(Err(end.clone())).ok();
    }
}

/// # Errors
/// When the line ends the connection: it answers no call.
fn hand_over(line: &Bytes, waiting: &Waiting) -> Result<(), Failure> {
    let response = ResponseLine::read(line).map_err(Failure::Final)?;
    let Some(id) = &response.request_id else {
        return Err(match response.outcome(line) {
            // Core closes a connection for idleness only when it has read nothing more.
            Err(Error::Api { tag: ErrorTag::IdleTimeout, .. }) => Failure::Lost { taken: false },
            Err(error) => Failure::Final(error),
            Ok(_) => Failure::Final(Error::Protocol(format!("a response without requestId: {}", excerpt(line)))),
        });
    };
    let call = id.parse().ok().and_then(|id: u64| lock(waiting).as_mut()?.remove(&id));
    // Without one, the caller stopped waiting.
    if let Some(call) = call {
        call.send(response.outcome(line).map_err(Failure::Final)).ok();
    }
    Ok(())
}

/// Nothing panics while it holds one of these locks, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
