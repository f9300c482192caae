//! Watching a session's events, across disconnects.

use super::inherent_next;
use super::reconnect::{Lines, Reconnect};
use crate::calls::excerpt;
use crate::error::Error;
use crate::transport::Transport;
use bytes::Bytes;
use futures::Stream;
use galley_protocol::ipc::{DecodeError, Event};
use galley_protocol::socket::{EndReason, SessionWatch, WatchFrom};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How to watch.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// Where to start. Without it only live events come, and a session without a live runner is
    /// `not_found`.
    pub from: Option<WatchFrom>,
    /// Keep watching across runners.
    pub stay: bool,
    /// What to do when the connection breaks.
    pub reconnect: Reconnect,
}

/// What a watch yields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchItem {
    /// The first item of a watch with `from`.
    Start {
        /// The index the watch starts at.
        next_index: u64,
    },
    /// One event.
    Event(WatchEvent),
    /// Events that were compacted away.
    Gap {
        /// First index of the span.
        from: u64,
        /// Last index of the span.
        to: u64,
    },
    /// The last item.
    End(EndReason),
}

/// One event of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// Its place in the log, from 1.
    pub index: u64,
    /// The run it belongs to, from 1; 0 before the first.
    pub run: u64,
    /// Core's id of the approval, on `tool_call_pending`.
    pub approval: Option<String>,
    /// The line as the runner wrote it, byte for byte.
    pub raw: Bytes,
}

impl WatchEvent {
    /// The event, typed.
    ///
    /// # Errors
    /// When a known kind has fields of the wrong shape. An unknown kind is not an error.
    pub fn decode(&self) -> Result<Event, DecodeError> {
        Event::from_line(&self.raw)
    }
}

/// A frame, read in place in one pass.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameLine<'a> {
    #[serde(borrow)]
    stream: Cow<'a, str>,
    #[serde(default)]
    next_index: Option<u64>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    run: Option<u64>,
    #[serde(default)]
    approval: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    to: Option<u64>,
    #[serde(default)]
    reason: Option<EndReason>,
}

/// The events of a session, in order, each index exactly once.
///
/// After a broken connection the watch opens another and goes on behind the last index it yielded,
/// as [`WatchOptions::reconnect`] says. A watch without `from` can do so from its first event on;
/// what happens before that, while disconnected, is not seen.
///
/// Core keeps what is not read yet: a slow reader loses nothing and delays nobody.
pub struct Watch {
    lines: Lines,
    command: SessionWatch,
    /// The index after the last one yielded, once known.
    next: Option<u64>,
    started: bool,
}

impl Watch {
    pub(crate) fn new(transport: Arc<dyn Transport>, session_id: String, options: WatchOptions) -> Self {
        let command = SessionWatch { session_id, from: options.from, stay: options.stay.then_some(true) };
        Self { lines: Lines::new(transport, command.clone(), options.reconnect), command, next: None, started: false }
    }

    /// Makes an item of a frame; `None` for what was seen before and for frames this version does
    /// not know.
    fn item(&mut self, line: &Bytes) -> Result<Option<WatchItem>, Error> {
        let malformed = |what: &dyn std::fmt::Display| Error::Protocol(format!("{what} in {}", excerpt(line)));
        let frame: FrameLine<'_> = serde_json::from_slice(line).map_err(|error| malformed(&error))?;
        match frame.stream.as_ref() {
            "event" => {
                let index = frame.index.ok_or_else(|| malformed(&"no index"))?;
                let data = frame.data.ok_or_else(|| malformed(&"no data"))?;
                match self.next {
                    Some(next) if index < next => return Ok(None),
                    Some(next) if index > next => return Err(malformed(&format_args!("index {index} where {next} was due"))),
                    _ => self.next = Some(index + 1),
                }
                let raw = line.slice_ref(data.get().as_bytes());
                Ok(Some(WatchItem::Event(WatchEvent { index, run: frame.run.unwrap_or(0), approval: frame.approval, raw })))
            }
            "start" => {
                let next_index = frame.next_index.ok_or_else(|| malformed(&"no nextIndex"))?;
                if self.next.is_none() {
                    self.next = Some(next_index);
                }
                Ok((!std::mem::replace(&mut self.started, true)).then_some(WatchItem::Start { next_index }))
            }
            "gap" => {
                let (Some(from), Some(to)) = (frame.from, frame.to) else { return Err(malformed(&"no span")) };
                let from = self.next.map_or(from, |next| next.max(from));
                if to < from {
                    return Ok(None);
                }
                self.next = Some(to + 1);
                Ok(Some(WatchItem::Gap { from, to }))
            }
            "end" => Ok(Some(WatchItem::End(frame.reason.ok_or_else(|| malformed(&"no reason"))?))),
            _ => Ok(None),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<WatchItem, Error>>> {
        loop {
            let (command, next) = (&self.command, self.next);
            let resume = || SessionWatch { from: next.map(WatchFrom::Index).or(command.from), ..command.clone() };
            let Some(line) = ready!(self.lines.poll(context, self.started || next.is_some(), resume)).transpose()? else {
                return Poll::Ready(None);
            };
            let item = self.item(&line)?;
            self.lines.confirm();
            if let Some(item) = item {
                return Poll::Ready(Some(Ok(item)));
            }
        }
    }
}

impl Stream for Watch {
    type Item = Result<WatchItem, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.poll(context));
        if matches!(item, Some(Err(_) | Ok(WatchItem::End(_)))) {
            self.lines.close();
        }
        Poll::Ready(item)
    }
}

inherent_next!(Watch, Result<WatchItem, Error>);
