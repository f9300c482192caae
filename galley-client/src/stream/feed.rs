//! Watching all sessions at once, across disconnects.

use super::inherent_next;
use super::reconnect::{Lines, Reconnect};
use crate::calls::excerpt;
use crate::error::Error;
use crate::transport::Transport;
use bytes::Bytes;
use futures::Stream;
use galley_protocol::socket::{Change, EndReason, FeedEvent, FeedFrame, SessionsWatch};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How to watch all sessions.
#[derive(Debug, Clone, Default)]
pub struct FeedOptions {
    /// The last revision that was seen, to go on behind it. When Core no longer knows it, a snapshot
    /// comes instead.
    pub since: Option<u64>,
    /// What to do when the connection breaks.
    pub reconnect: Reconnect,
}

/// What a feed yields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FeedItem {
    /// The first item of a feed that goes on behind a revision: what was known then is still good.
    Start {
        /// That revision.
        revision: u64,
    },
    /// One change.
    Event(FeedEvent),
    /// The last item.
    End(EndReason),
}

/// Every change to a session, a message or an approval, as the rows are when they are read. A change
/// may come twice, and several in one.
///
/// After a broken connection the feed opens another and goes on behind the last revision it yielded,
/// as [`FeedOptions::reconnect`] says; when Core has been restarted or has forgotten that revision, a
/// snapshot comes in between and replaces everything.
pub struct Feed {
    lines: Lines,
    /// Everything up to this revision was yielded.
    seen: Option<u64>,
    begun: bool,
}

impl Feed {
    pub(crate) fn new(transport: Arc<dyn Transport>, options: &FeedOptions) -> Self {
        let command = SessionsWatch { since_revision: options.since };
        Self { lines: Lines::new(transport, command, options.reconnect), seen: options.since, begun: false }
    }

    /// The revision to resume from later; `None` before the first whole snapshot.
    pub fn revision(&self) -> Option<u64> {
        self.seen
    }

    /// Makes an item of a frame; `None` for a start that only follows a reconnect.
    fn item(&mut self, line: &Bytes) -> Result<Option<FeedItem>, Error> {
        let begun = std::mem::replace(&mut self.begun, true);
        match serde_json::from_slice(line).map_err(|error| Error::Protocol(format!("{error} in {}", excerpt(line))))? {
            FeedFrame::Start { revision, .. } => Ok((!begun).then_some(FeedItem::Start { revision })),
            FeedFrame::Event { data, .. } => {
                // Between the parts of a snapshot there is nothing to go on from.
                self.seen = match &data.change {
                    Change::Snapshot(part) if part.more => None,
                    _ => Some(data.revision),
                };
                Ok(Some(FeedItem::Event(data)))
            }
            FeedFrame::End { reason, .. } => Ok(Some(FeedItem::End(reason))),
            frame => Err(Error::Protocol(format!("unexpected frame {frame:?}"))),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<FeedItem, Error>>> {
        loop {
            let seen = self.seen;
            let Some(line) = ready!(self.lines.poll(context, self.begun, || SessionsWatch { since_revision: seen })).transpose()? else {
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

impl Stream for Feed {
    type Item = Result<FeedItem, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.poll(context));
        if matches!(item, Some(Err(_) | Ok(FeedItem::End(_)))) {
            self.lines.close();
        }
        Poll::Ready(item)
    }
}

inherent_next!(Feed, Result<FeedItem, Error>);
