//! Commands and streams by their names, JSON in and JSON out: what bindings to other languages are
//! made of. The rules are those of the typed calls.

use crate::calls::Answer;
use crate::client::Client;
use crate::error::Error;
use crate::stream::{Frames, Reconnect, Watch, WatchItem, WatchOptions};
use bytes::{BufMut, Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use galley_protocol::socket::{Access, COMMANDS, CommandInfo, ErrorTag, Request, SessionWatch, StreamCommand, StreamFrame};
use serde_json::{Map, Value};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A batch is handed over at the latest when it holds so many lines,
const BATCH_LINES: usize = 256;
/// or so many bytes.
const BATCH_BYTES: usize = 64 * 1024;

/// Lines of a stream that were there at once, up to 256 or about 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Batch {
    /// Consecutive events of one run of a watched session.
    Events {
        /// Index of the first event.
        first: u64,
        /// The run they belong to; 0 before the first.
        run: u64,
        /// Core's ids of the approvals that these events ask for, by index.
        approvals: Vec<(u64, String)>,
        /// The runner's own lines, each ended by a newline.
        lines: Bytes,
    },
    /// Frames of any other kind, as Core wrote them, each ended by a newline.
    Frames(Bytes),
}

impl Client {
    /// Carries out the command called `name`, with `args` as a JSON object; by the rules of
    /// [`call`](Self::call), also for commands that this version does not know.
    ///
    /// # Errors
    /// As [`call`](Self::call); `invalid_args` when `args` is no JSON object or `name` is a stream's.
    pub async fn call_named(&self, name: &str, args: &str) -> Result<Answer, Error> {
        let mut args = object(args)?;
        let info = COMMANDS.iter().find(|command| command.name == name);
        if info.is_some_and(|command| command.streams) {
            return Err(invalid(format!("{name} is a stream; open it as one")));
        }
        let mut repeatable = info.is_some_and(|command| command.access == Access::Read);
        if info.is_some_and(|command| command.once) {
            repeatable = true;
            let id = args.entry("clientRequestId").or_insert(Value::Null);
            if id.is_null() {
                *id = uuid::Uuid::new_v4().to_string().into();
            }
        }
        self.calls.exchange(request(name, &args)?, repeatable).await
    }

    /// Opens the stream called `name`, with `args` as a JSON object. The connection is opened when the
    /// stream is first polled; `session.watch` survives a lost one as `reconnect` says.
    ///
    /// # Errors
    /// `invalid_args` when `args` is no JSON object or does not fit, or `name` is not a stream's.
    pub fn stream_named(&self, name: &str, args: &str, reconnect: Reconnect) -> Result<Batches, Error> {
        let args = object(args)?;
        if COMMANDS.iter().any(|command: &CommandInfo| command.name == name && !command.streams) {
            return Err(invalid(format!("{name} is no stream; call it")));
        }
        let source = if name == SessionWatch::NAME {
            let watch: SessionWatch = serde_json::from_value(Value::Object(args)).map_err(|error| invalid(format!("{name}: {error}")))?;
            let options = WatchOptions { from: watch.from, stay: watch.stay.unwrap_or(false), reconnect };
            Source::Watch(Box::new(self.watch(watch.session_id, options)))
        } else {
            let (request, transport) = (request(name, &args)?, self.transport.clone());
            Source::Opening(Box::pin(async move { Frames::request(&*transport, &request, false).await }))
        };
        Ok(Batches { source, next: None })
    }
}

/// A stream in batches. Dropping it closes its connection; one that is not read loses nothing and
/// delays nobody.
pub struct Batches {
    source: Source,
    /// What was read and belongs to the next batch.
    next: Option<Result<Line, Error>>,
}

enum Source {
    Watch(Box<Watch>),
    Opening(BoxFuture<'static, Result<Frames, Error>>),
    Frames(Frames),
    Over,
}

/// One line of a stream.
enum Line {
    Event { index: u64, run: u64, approval: Option<String>, raw: Bytes },
    Frame(Bytes),
}

impl Source {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Line, Error>>> {
        loop {
            let line = match self {
                Self::Over => return Poll::Ready(None),
                Self::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(frames) => {
                        *self = Self::Frames(frames);
                        continue;
                    }
                    Err(error) => Some(Err(error)),
                },
                Self::Frames(frames) => ready!(frames.poll_next_unpin(context)).map(|frame| frame.map(Line::Frame)),
                Self::Watch(watch) => ready!(watch.poll_next_unpin(context)).map(|item| item.and_then(line)),
            };
            if !matches!(line, Some(Ok(_))) {
                *self = Self::Over;
            }
            return Poll::Ready(line);
        }
    }
}

/// The line of a watch's item.
fn line(item: WatchItem) -> Result<Line, Error> {
    let frame = match item {
        WatchItem::Event(event) => return Ok(Line::Event { index: event.index, run: event.run, approval: event.approval, raw: event.raw }),
        WatchItem::Start { next_index } => StreamFrame::Start { request_id: None, next_index },
        WatchItem::Gap { from, to } => StreamFrame::Gap { request_id: None, from, to },
        WatchItem::End(reason) => StreamFrame::End { request_id: None, reason },
    };
    serde_json::to_vec(&frame).map(|frame| Line::Frame(frame.into())).map_err(|error| Error::Protocol(error.to_string()))
}

/// A batch being filled.
struct Filling {
    batch: Kind,
    lines: BytesMut,
    count: usize,
}

enum Kind {
    Events { first: u64, run: u64, approvals: Vec<(u64, String)> },
    Frames,
}

impl Filling {
    fn new(line: Line) -> Self {
        let batch = match &line {
            Line::Event { index, run, .. } => Kind::Events { first: *index, run: *run, approvals: Vec::new() },
            Line::Frame(_) => Kind::Frames,
        };
        let mut filling = Self { batch, lines: BytesMut::with_capacity(4096), count: 0 };
        filling.add(line);
        filling
    }

    fn takes(&self, line: &Line) -> bool {
        self.count < BATCH_LINES
            && self.lines.len() < BATCH_BYTES
            && match (&self.batch, line) {
                (Kind::Events { first, run, .. }, Line::Event { index, run: other, .. }) => run == other && *index == first + self.count as u64,
                (Kind::Frames, Line::Frame(_)) => true,
                _ => false,
            }
    }

    fn add(&mut self, line: Line) {
        let raw = match line {
            Line::Event { index, approval, raw, .. } => {
                if let (Kind::Events { approvals, .. }, Some(approval)) = (&mut self.batch, approval) {
                    approvals.push((index, approval));
                }
                raw
            }
            Line::Frame(raw) => raw,
        };
        self.lines.put_slice(&raw);
        self.lines.put_u8(b'\n');
        self.count += 1;
    }

    fn done(self) -> Batch {
        let lines = self.lines.freeze();
        match self.batch {
            Kind::Events { first, run, approvals } => Batch::Events { first, run, approvals, lines },
            Kind::Frames => Batch::Frames(lines),
        }
    }
}

impl Stream for Batches {
    type Item = Result<Batch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let first = match self.next.take() {
            Some(line) => Some(line),
            None => ready!(self.source.poll(context)),
        };
        let mut batch = match first {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            Some(Ok(line)) => Filling::new(line),
        };
        while let Poll::Ready(Some(next)) = self.source.poll(context) {
            match next {
                Ok(line) if batch.takes(&line) => batch.add(line),
                other => {
                    self.next = Some(other);
                    break;
                }
            }
        }
        Poll::Ready(Some(Ok(batch.done())))
    }
}

crate::stream::inherent_next!(Batches, Result<Batch, Error>);

fn object(args: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(args).map_err(|error| invalid(format!("the arguments must be a JSON object: {error}")))
}

fn request(name: &str, args: &Map<String, Value>) -> Result<Request, Error> {
    Request::named(name, args).map_err(|error| Error::Protocol(error.to_string()))
}

fn invalid(message: String) -> Error {
    Error::Api { tag: ErrorTag::InvalidArgs, message, detail: None }
}
