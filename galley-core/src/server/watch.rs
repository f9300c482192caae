//! `session.watch`: a cursor over a session's log, written out as frames.

use crate::error::Error;
use crate::event_log::{EventLog, Tail};
use crate::session::approval_id;
use crate::store::{LogChunk, ReadStore};
use galley_protocol::ipc::EventLine;
use galley_protocol::socket::{EndReason, SessionWatch, StreamFrame, WatchFrom};
use memchr::memmem;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use tokio::sync::watch;

/// The kind of event that asks for an approval.
const PENDING: &[u8] = b"tool_call_pending";

/// Bytes of lines written at once.
const PAGE: usize = 64 * 1024;

/// One watch.
pub struct WatchStream {
    session_id: String,
    log: Arc<EventLog>,
    store: Arc<dyn ReadStore>,
    tail: watch::Receiver<Tail>,
    request_id: Option<String>,
    /// The part of every event frame before the index.
    prefix: Vec<u8>,
    /// Finds the lines that may ask for an approval; built once, because building it takes as long
    /// as searching a line.
    pending: memmem::Finder<'static>,
    /// Whether the `start` frame is still owed.
    announce: bool,
    next: u64,
    /// How often the session had been put away when the stream was opened.
    put_away: u64,
    stay: bool,
    /// The runner whose end ends this stream.
    follows: Option<u64>,
}

impl WatchStream {
    /// Opens a watch.
    ///
    /// # Errors
    /// [`Error::NotFound`] without `from` when no runner is alive; [`Error::InvalidArgs`] when
    /// `from` is beyond the end, with `detail.lastIndex`.
    pub async fn open(args: &SessionWatch, log: Arc<EventLog>, store: Arc<dyn ReadStore>, request_id: Option<String>) -> Result<Self, Error> {
        let tail = log.subscribe();
        let (last, run_first, live, put_away) = {
            let tail = tail.borrow();
            (tail.last, tail.run_first, tail.live, tail.put_away)
        };
        let stay = args.stay.unwrap_or(false);
        let end = match args.from {
            // Events are in the store a moment before readers of the log are told.
            Some(WatchFrom::Index(index)) if index > last + 1 => store.last_index(&args.session_id).await?.max(last),
            _ => last,
        };
        let next = match args.from {
            None if live.is_none() && !stay => {
                return Err(Error::NotFound(format!("session {} has no live runner; watch with from to read its log", args.session_id)));
            }
            None | Some(WatchFrom::Now) => last + 1,
            Some(WatchFrom::Start) => 1,
            Some(WatchFrom::Run) => run_first.max(1),
            Some(WatchFrom::Index(index)) if index > end + 1 => {
                return Err(Error::InvalidArgs {
                    message: format!("from {index} is beyond the end of the log; the last event is {end}"),
                    detail: Some(json!({ "lastIndex": end })),
                });
            }
            Some(WatchFrom::Index(index)) => index,
        };
        let mut prefix = b"{\"stream\":\"event\",\"requestId\":".to_vec();
        prefix.extend_from_slice(json!(request_id).to_string().as_bytes());
        prefix.extend_from_slice(b",\"index\":");
        Ok(Self {
            session_id: args.session_id.clone(),
            log,
            store,
            tail,
            request_id,
            prefix,
            pending: memmem::Finder::new(PENDING),
            announce: args.from.is_some(),
            next,
            put_away,
            stay,
            follows: live,
        })
    }

    /// The stream's request id.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The next frames, whole lines; `true` with the last ones.
    pub async fn next(&mut self) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        if std::mem::take(&mut self.announce) {
            push(&mut out, &StreamFrame::Start { request_id: self.request_id.clone(), next_index: self.next });
        }
        loop {
            let tail = self.tail.borrow_and_update().clone();
            let closed = tail.closed_since(self.put_away);
            let ended = tail.ended.filter(|ended| !self.stay && self.follows.is_some_and(|follows| ended.generation >= follows));
            let last = ended.as_ref().map_or(tail.last, |ended| ended.at);
            if self.next <= last {
                match self.log.page(self.store.as_ref(), self.next, PAGE).await {
                    Ok(page) if !page.is_empty() => {
                        page.iter().for_each(|chunk| self.frames(chunk, last, &mut out));
                        return (out, false);
                    }
                    // The session is gone under the stream.
                    Ok(_) => return self.end(out, EndReason::Deleted),
                    Err(error) => {
                        tracing::warn!(session = self.session_id, %error, "a watch cannot read the log");
                        return self.end(out, EndReason::CoreUnavailable);
                    }
                }
            }
            if !out.is_empty() {
                return (out, false);
            }
            if let Some(reason) = closed.or(ended.map(|ended| ended.reason)) {
                return self.end(out, reason);
            }
            if !self.stay && self.follows.is_none() {
                self.follows = tail.live;
                if self.follows.is_none() {
                    return self.end(out, EndReason::NotLive);
                }
            }
            if self.tail.changed().await.is_err() {
                return self.end(out, EndReason::CoreShutdown);
            }
        }
    }

    /// The last frame of a stream that its client cancels.
    pub fn cancel(&self) -> Vec<u8> {
        self.end(Vec::new(), EndReason::Cancelled).0
    }

    fn end(&self, mut out: Vec<u8>, reason: EndReason) -> (Vec<u8>, bool) {
        push(&mut out, &StreamFrame::End { request_id: self.request_id.clone(), reason });
        (out, true)
    }

    /// Writes a chunk's events up to index `last`.
    fn frames(&mut self, chunk: &LogChunk, last: u64, out: &mut Vec<u8>) {
        let upto = chunk.last.min(last);
        if upto < self.next {
            return;
        }
        let Some(lines) = &chunk.lines else {
            push(out, &StreamFrame::Gap { request_id: self.request_id.clone(), from: self.next, to: upto });
            self.next = upto + 1;
            return;
        };
        out.reserve(lines.len() + (upto - self.next + 1) as usize * (self.prefix.len() + 48));
        for line in lines.split(|byte| *byte == b'\n') {
            if self.next > upto {
                break;
            }
            out.extend_from_slice(&self.prefix);
            // Writing to memory cannot fail.
            let _ = write!(out, "{},\"run\":{}", self.next, chunk.run);
            if asks_approval(&self.pending, line) {
                let _ = write!(out, ",\"approval\":\"{}\"", approval_id(&self.session_id, self.next));
            }
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(line);
            out.extend_from_slice(b"}\n");
            self.next += 1;
        }
    }
}

/// Whether a line asks for an approval; cheap for the lines that do not.
fn asks_approval(pending: &memmem::Finder<'_>, line: &[u8]) -> bool {
    (pending.find(line).is_some() || memchr::memchr(b'\\', line).is_some())
        && EventLine::peek(line).is_ok_and(|event| event.kind.as_bytes() == PENDING)
}

fn push(out: &mut Vec<u8>, frame: &StreamFrame) {
    // Strings and numbers only: serialising to memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, frame);
    out.push(b'\n');
}
