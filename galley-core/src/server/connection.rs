//! One connection: requests in, responses and frames out, in one task. Requests without an id are
//! answered in order; those with one run side by side, so a stop never waits behind a list.

use super::link::Link;
use super::watch::WatchStream;
use crate::error::Error;
use crate::reads::{Reply, WaitStream};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use galley_protocol::RawJson;
use galley_protocol::framing::{Line, LineDecoder, MAX_LINE};
use galley_protocol::socket::{
    ACCEPTED_SCHEMA_VERSIONS, Command, EndReason, ErrorTag, RequestLine, Response, StreamCancel, StreamCancelled, WaitFrame,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// A connection on which nothing is asked and nothing in flight is closed after this long.
const IDLE: Duration = Duration::from_secs(90);
/// Requests of one connection in flight; the next ones wait in the socket.
const IN_FLIGHT: usize = 256;

/// A request, taken apart and owned.
#[derive(Debug)]
pub struct Call {
    /// Dotted name.
    pub command: String,
    /// The arguments' text.
    pub args: Option<Box<RawValue>>,
    /// Echoed.
    pub request_id: Option<String>,
}

/// What a request comes to.
pub enum Answer {
    /// One response.
    Once(Result<Reply, Error>),
    /// A stream of frames.
    Stream(Box<dyn FrameStream>),
    /// No such command.
    Unknown(String),
}

impl Answer {
    /// One response.
    pub fn once<T: serde::Serialize>(result: Result<T, Error>) -> Self {
        Self::Once(result.and_then(|value| {
            let result = RawJson::new(&value).map_err(|error| Error::Internal(format!("cannot write the result: {error}")))?;
            Ok(Reply { result, next_cursor: None })
        }))
    }

    /// A stream, or the error that kept it from opening.
    pub fn stream(result: Result<impl FrameStream + 'static, Error>) -> Self {
        match result {
            Ok(stream) => Self::Stream(Box::new(stream)),
            Err(error) => Self::Once(Err(error)),
        }
    }
}

/// Who answers a connection's requests: a Core, or a file that is only read.
#[async_trait]
pub trait Responder: Send + Sync + 'static {
    /// Answers a request.
    async fn answer(self: Arc<Self>, call: Call) -> Answer;
    /// Counts the connections and streams.
    fn counters(&self) -> &Counters;
    /// Resolves when everything is over.
    fn stopped(&self) -> BoxFuture<'static, ()>;
}

/// Open connections and streams.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections, in process included.
    pub connections: Arc<AtomicU64>,
    /// Streams.
    pub streams: Arc<AtomicU64>,
}

/// Counts one while it lives.
struct Counted(Arc<AtomicU64>);

impl Counted {
    fn new(count: &Arc<AtomicU64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream of frames as a connection serves it.
pub trait FrameStream: Send {
    /// Its request id.
    fn request_id(&self) -> Option<&str>;
    /// The next frames, whole lines; `true` with the last ones. Cancelling loses nothing that was
    /// not returned.
    fn next(&mut self) -> BoxFuture<'_, (Vec<u8>, bool)>;
    /// The last frame of a stream its client cancels.
    fn cancel(&self) -> Vec<u8>;
}

impl FrameStream for WatchStream {
    fn request_id(&self) -> Option<&str> {
        Self::request_id(self)
    }

    fn next(&mut self) -> BoxFuture<'_, (Vec<u8>, bool)> {
        Self::next(self).boxed()
    }

    fn cancel(&self) -> Vec<u8> {
        Self::cancel(self)
    }
}

impl FrameStream for WaitStream {
    fn request_id(&self) -> Option<&str> {
        Self::request_id(self)
    }

    fn next(&mut self) -> BoxFuture<'_, (Vec<u8>, bool)> {
        async {
            let frame = Self::next(self).await;
            let last = !matches!(frame, Some(WaitFrame::Wait { .. }));
            (frame.as_ref().map_or_else(Vec::new, line), last)
        }
        .boxed()
    }

    fn cancel(&self) -> Vec<u8> {
        line(&self.end(EndReason::Cancelled))
    }
}

/// A value as a line. What is written here is strings, numbers and JSON that was checked:
/// serialising it cannot fail.
pub(super) fn line(value: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

type Answered = (Option<String>, Answer);

/// A stream on its way to its next frames.
struct Running {
    stream: Box<dyn FrameStream>,
    cancelled: oneshot::Receiver<()>,
    _open: Counted,
}

type Streamed = (Running, Vec<u8>, bool);

struct Connection<L, R> {
    link: L,
    responder: Arc<R>,
    decoder: LineDecoder,
    /// Requests with an id.
    concurrent: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// The one request without an id that is being answered, and those behind it.
    ordered: Option<BoxFuture<'static, Answered>>,
    behind: VecDeque<Result<Call, Box<Response>>>,
    streams: FuturesUnordered<BoxFuture<'static, Streamed>>,
    open_streams: Vec<(Option<String>, oneshot::Sender<()>)>,
    requests: u64,
    input_open: bool,
}

/// Serves a connection until its peer leaves, it idles, or everything is over.
pub async fn serve<L: Link, R: Responder>(link: L, responder: Arc<R>) {
    let _open = Counted::new(&responder.counters().connections);
    let stopped = responder.stopped();
    let mut connection = Connection {
        link,
        responder,
        decoder: LineDecoder::new(),
        concurrent: FuturesUnordered::new(),
        ordered: None,
        behind: VecDeque::new(),
        streams: FuturesUnordered::new(),
        open_streams: Vec::new(),
        requests: 0,
        input_open: true,
    };
    tokio::select! {
        biased;
        _ = connection.run() => {}
        // Everything that was in hand has been told; what is left is only waiting.
        () = stopped => {}
    }
}

impl<L: Link, R: Responder> Connection<L, R> {
    /// `None` when the connection is over.
    async fn run(&mut self) -> Option<()> {
        loop {
            if self.ordered.is_none()
                && let Some(next) = self.behind.pop_front()
            {
                match next {
                    Ok(call) => self.ordered = Some(self.answer(call)),
                    Err(response) => self.respond(&response).await?,
                }
                continue;
            }
            let in_flight = self.concurrent.len() + self.behind.len() + usize::from(self.ordered.is_some());
            let idle = in_flight == 0 && self.streams.is_empty();
            if !self.input_open && in_flight == 0 {
                // A reader that has left is not written to; its streams end with it.
                return None;
            }
            tokio::select! {
                Some((running, frames, last)) = self.streams.next() => self.frames(running, frames, last).await?,
                Some((id, answer)) = self.concurrent.next() => self.settle(id, answer).await?,
                (id, answer) = async { match &mut self.ordered { Some(ordered) => ordered.await, None => std::future::pending().await } } => {
                    self.ordered = None;
                    self.settle(id, answer).await?;
                }
                read = self.link.read(&mut self.decoder), if self.input_open && in_flight < IN_FLIGHT => {
                    match read {
                        Ok(0) | Err(_) => self.input_open = false,
                        Ok(_) => {}
                    }
                    self.take_lines().await?;
                }
                () = tokio::time::sleep(IDLE), if idle => {
                    let message = format!("nothing was asked for {} s", IDLE.as_secs());
                    self.respond(&failure(None, ErrorTag::IdleTimeout, message, None)).await?;
                    return None;
                }
            }
        }
    }

    async fn take_lines(&mut self) -> Option<()> {
        loop {
            // The last line may lack its newline.
            let line = if self.input_open { self.decoder.next_line() } else { self.decoder.finish() };
            let taken = match line {
                None => break,
                Some(Line::Complete(line)) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Some(Line::Complete(line)) => parse(line),
                Some(Line::Oversize { bytes, .. }) => Err(too_long(bytes)),
            };
            self.requests += 1;
            match taken {
                Ok(call) => match (self.cancel_stream(&call), &call.request_id) {
                    (Some(response), _) => self.respond(&response).await?,
                    (None, Some(_)) => {
                        let answer = self.answer(call);
                        self.concurrent.push(answer);
                    }
                    (None, None) => self.behind.push_back(Ok(call)),
                },
                Err(response) => self.behind.push_back(Err(response)),
            }
        }
        if self.decoder.is_skipping() {
            // The rest of such a line would be read for nothing.
            self.respond(&too_long(self.decoder.skipped())).await?;
            return None;
        }
        Some(())
    }

    /// Starts to answer a request.
    fn answer(&self, call: Call) -> BoxFuture<'static, Answered> {
        let responder = self.responder.clone();
        async move {
            let id = call.request_id.clone();
            (id, responder.answer(call).await)
        }
        .boxed()
    }

    async fn settle(&mut self, id: Option<String>, answer: Answer) -> Option<()> {
        let response = match answer {
            Answer::Once(Ok(reply)) => answered(id, Some(reply.result), reply.next_cursor),
            Answer::Once(Err(error)) => failure(id, error.tag(), error.to_string(), error.detail()),
            Answer::Unknown(command) => failure(id, ErrorTag::UnknownCommand, format!("there is no command {command:?}"), None),
            Answer::Stream(stream) => {
                let (cancel, cancelled) = oneshot::channel();
                self.open_streams.push((id, cancel));
                let open = Counted::new(&self.responder.counters().streams);
                self.go_on(Running { stream, cancelled, _open: open });
                return Some(());
            }
        };
        self.respond(&response).await
    }

    fn go_on(&mut self, mut running: Running) {
        self.streams.push(
            async move {
                let (frames, last) = tokio::select! {
                    biased;
                    _ = &mut running.cancelled => (running.stream.cancel(), true),
                    next = running.stream.next() => next,
                };
                (running, frames, last)
            }
            .boxed(),
        );
    }

    async fn frames(&mut self, running: Running, frames: Vec<u8>, last: bool) -> Option<()> {
        self.write(frames).await?;
        if !last {
            self.go_on(running);
            return Some(());
        }
        let id = running.stream.request_id();
        self.open_streams.retain(|(open, _)| open.as_deref() != id);
        // A stream without an id owned its connection; one that was all its connection was for
        // ends it as well.
        (id.is_some() && self.requests > 1).then_some(())
    }

    /// `stream.cancel` concerns this connection alone and is answered here.
    fn cancel_stream(&mut self, call: &Call) -> Option<Box<Response>> {
        if call.command != StreamCancel::NAME {
            return None;
        }
        let args = call.args.as_ref().map_or("{}", |args| args.get());
        Some(match serde_json::from_str::<StreamCancel>(args) {
            Err(error) => failure(call.request_id.clone(), ErrorTag::InvalidArgs, format!("{}: {error}", StreamCancel::NAME), None),
            Ok(cancel) => {
                let place = self.open_streams.iter().position(|(id, _)| id.as_deref() == Some(&cancel.request_id));
                if let Some(place) = place {
                    let _ = self.open_streams.remove(place).1.send(());
                }
                let result = RawJson::new(&StreamCancelled { cancelled: place.is_some() }).ok();
                answered(call.request_id.clone(), result, None)
            }
        })
    }

    async fn respond(&mut self, response: &Response) -> Option<()> {
        self.write(line(response)).await
    }

    async fn write(&mut self, lines: Vec<u8>) -> Option<()> {
        self.link.write(lines).await.ok()
    }
}

/// Takes a request line apart; what is wrong with it is a response already.
fn parse(line: &[u8]) -> Result<Call, Box<Response>> {
    let text = std::str::from_utf8(line).map_err(|error| failure(None, ErrorTag::InvalidArgs, format!("the request is not UTF-8: {error}"), None))?;
    let request: RequestLine<'_> = serde_json::from_str(text).map_err(|error| {
        let expected = r#"{"command","args","schemaVersion"?,"requestId"?}"#;
        failure(None, ErrorTag::InvalidArgs, format!("the request is not one JSON object of the form {expected}: {error}"), None)
    })?;
    let request_id = request.request_id.map(std::borrow::Cow::into_owned);
    let accepted = request.schema_version.as_ref().is_none_or(|version| {
        version.is_null() || version.as_u64().is_some_and(|version| ACCEPTED_SCHEMA_VERSIONS.iter().any(|accepted| u64::from(*accepted) == version))
    });
    if !accepted {
        let version = request.schema_version.unwrap_or_default();
        let message = format!("schemaVersion {version} is not accepted; this Galley accepts {ACCEPTED_SCHEMA_VERSIONS:?}");
        return Err(failure(request_id, ErrorTag::SchemaMismatch, message, Some(json!({ "acceptedSchemaVersions": ACCEPTED_SCHEMA_VERSIONS }))));
    }
    let args = request.args.filter(|args| args.get() != "null").map(ToOwned::to_owned);
    Ok(Call { command: request.command.into_owned(), args, request_id })
}

fn too_long(bytes: u64) -> Box<Response> {
    failure(None, ErrorTag::InvalidArgs, format!("the request line has {bytes} bytes or more; at most {MAX_LINE} are taken"), None)
}

fn answered(request_id: Option<String>, result: Option<RawJson>, next_cursor: Option<String>) -> Box<Response> {
    Box::new(Response { ok: true, request_id, result, next_cursor, error: None, message: None, detail: None })
}

fn failure(request_id: Option<String>, tag: ErrorTag, message: String, detail: Option<serde_json::Value>) -> Box<Response> {
    let detail = detail.and_then(|detail| RawJson::new(&detail).ok());
    Box::new(Response { ok: false, request_id, result: None, next_cursor: None, error: Some(tag), message: Some(message), detail })
}
