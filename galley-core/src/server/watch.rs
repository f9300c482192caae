//! `session.watch`: a cursor over a session's log, written out as frames.

use crate::cursor::{Cursor, Ready, Until};
use crate::error::Error;
use crate::event_log::EventLog;
use crate::frame;
use crate::session::approval_id;
use crate::store::{LogChunk, ReadStore};
use galley_protocol::ipc::EventLine;
use galley_protocol::socket::{EndReason, SessionWatch, StreamFrame, WatchFrom};
use memchr::memmem;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// The kind of event that asks for an approval.
const PENDING: &[u8] = b"tool_call_pending";

/// One watch.
pub struct WatchStream {
    cursor: Cursor,
    request_id: Option<String>,
    /// The part of every event frame before the index.
    prefix: Vec<u8>,
    /// Finds the lines that may ask for an approval; built once, because building it takes as long
    /// as searching a line.
    pending: memmem::Finder<'static>,
    /// Whether the `start` frame is still owed.
    announce: bool,
}

impl WatchStream {
    /// Opens a watch.
    ///
    /// # Errors
    /// [`Error::NotFound`] without `from` when no runner is alive; [`Error::InvalidArgs`] when
    /// `from` is beyond the end, with `detail.lastIndex`.
    pub async fn open(args: &SessionWatch, log: Arc<EventLog>, store: Arc<dyn ReadStore>, request_id: Option<String>) -> Result<Self, Error> {
        let stay = args.stay.unwrap_or(false);
        let until = if stay { Until::Closed } else { Until::RunnerGone };
        let (last, run_first, live) = {
            let tail = log.subscribe();
            let tail = tail.borrow();
            (tail.last, tail.run_first, tail.live)
        };
        let mut cursor = Cursor::of_log(args.session_id.clone(), store.clone(), log, until);
        let end = match args.from {
            // Events are in the store a moment before readers of the log are told.
            Some(WatchFrom::Index(index)) if index > last + 1 => store.last_index(&args.session_id).await?.max(last),
            _ => last,
        };
        match args.from {
            None if live.is_none() && !stay => {
                return Err(Error::NotFound(format!("session {} has no live runner; watch with from to read its log", args.session_id)));
            }
            None | Some(WatchFrom::Now) => {}
            Some(WatchFrom::Start) => cursor.move_to(1),
            Some(WatchFrom::Run) => cursor.move_to(run_first.max(1)),
            Some(WatchFrom::Index(index)) if index > end + 1 => {
                return Err(Error::InvalidArgs {
                    message: format!("from {index} is beyond the end of the log; the last event is {end}"),
                    detail: Some(json!({ "lastIndex": end })),
                });
            }
            Some(WatchFrom::Index(index)) => cursor.move_to(index),
        }
        let mut prefix = b"{\"stream\":\"event\",\"requestId\":".to_vec();
        prefix.extend_from_slice(json!(request_id).to_string().as_bytes());
        prefix.extend_from_slice(b",\"index\":");
        Ok(Self { cursor, request_id, prefix, pending: memmem::Finder::new(PENDING), announce: args.from.is_some() })
    }

    /// The stream's request id.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The next frames, whole lines; `true` with the last ones.
    pub async fn next(&mut self) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        if std::mem::take(&mut self.announce) {
            frame::push(&mut out, &StreamFrame::Start { request_id: self.request_id.clone(), next_index: self.cursor.next_index() });
        }
        loop {
            match self.cursor.ready().await {
                Ready::Events(chunks) => {
                    chunks.iter().for_each(|chunk| self.frames(chunk, &mut out));
                    return (out, false);
                }
                Ready::Over(reason) => {
                    frame::push(&mut out, &self.end(reason));
                    return (out, true);
                }
                Ready::Nothing if !out.is_empty() => return (out, false),
                Ready::Nothing => self.cursor.changed().await,
            }
        }
    }

    /// The last frame of a stream that its client cancels.
    pub fn cancel(&self) -> Vec<u8> {
        frame::line(&self.end(EndReason::Cancelled))
    }

    fn end(&self, reason: EndReason) -> StreamFrame {
        StreamFrame::End { request_id: self.request_id.clone(), reason }
    }

    /// Writes a chunk's events.
    fn frames(&self, chunk: &LogChunk, out: &mut Vec<u8>) {
        let Some(lines) = &chunk.lines else {
            frame::push(out, &StreamFrame::Gap { request_id: self.request_id.clone(), from: chunk.first, to: chunk.last });
            return;
        };
        out.reserve(lines.len() + (chunk.last - chunk.first + 1) as usize * (self.prefix.len() + 48));
        for (index, line) in (chunk.first..=chunk.last).zip(lines.split(|byte| *byte == b'\n')) {
            out.extend_from_slice(&self.prefix);
            // Writing to memory cannot fail.
            let _ = write!(out, "{index},\"run\":{}", chunk.run);
            if asks_approval(&self.pending, line) {
                let _ = write!(out, ",\"approval\":\"{}\"", approval_id(self.cursor.session_id(), index));
            }
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(line);
            out.extend_from_slice(b"}\n");
        }
    }
}

/// Whether a line asks for an approval; cheap for the lines that do not.
fn asks_approval(pending: &memmem::Finder<'_>, line: &[u8]) -> bool {
    (pending.find(line).is_some() || memchr::memchr(b'\\', line).is_some())
        && EventLine::peek(line).is_ok_and(|event| event.kind.as_bytes() == PENDING)
}
