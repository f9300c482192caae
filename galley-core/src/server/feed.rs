//! `sessions.watch`: one feed that keeps a list of all sessions true.

use crate::error::Error;
use crate::feed::{Edge, Feed, Since, Touched};
use crate::frame;
use crate::store::{ApprovalQuery, ReadStore, RuntimeFilter, SessionQuery};
use galley_protocol::socket::{Archived, Change, EndReason, FeedEvent, FeedFrame, FeedSnapshot, SessionGone, SessionsWatch};
use std::sync::Arc;
use tokio::sync::watch;

/// Sessions in one part of a snapshot.
const PART: u32 = 200;
/// Changes told at once.
const BATCH: usize = 256;

/// One watch of all sessions.
pub struct FeedStream {
    feed: Arc<Feed>,
    store: Arc<dyn ReadStore>,
    edge: watch::Receiver<Edge>,
    request_id: Option<String>,
    /// The `start` frame is still owed.
    announce: bool,
    /// Everything up to this revision has been told.
    seen: u64,
    /// Where the next part of a snapshot starts, while one is under way.
    snapshot: Option<Option<String>>,
}

impl FeedStream {
    /// Opens a watch, behind a revision that this Core still knows, or with a snapshot.
    pub fn open(args: &SessionsWatch, feed: Arc<Feed>, store: Arc<dyn ReadStore>, request_id: Option<String>) -> Self {
        let edge = feed.subscribe();
        let since = args.since_revision.filter(|revision| feed.since(*revision, 0) != Since::Unknown);
        let seen = since.unwrap_or_else(|| edge.borrow().revision);
        let snapshot = since.is_none().then_some(None);
        Self { feed, store, edge, request_id, announce: since.is_some(), seen, snapshot }
    }

    /// The stream's request id.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The next frames, whole lines; `true` with the last ones.
    pub async fn next(&mut self) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        if std::mem::take(&mut self.announce) {
            frame::push(&mut out, &FeedFrame::Start { request_id: self.request_id.clone(), revision: self.seen });
            return (out, false);
        }
        loop {
            let told = match self.snapshot.take() {
                Some(cursor) => self.part(cursor, &mut out).await,
                None => self.changes(&mut out).await,
            };
            if let Err(error) = told {
                tracing::warn!(%error, "a watch of all sessions cannot read the database");
                frame::push(&mut out, &self.end(EndReason::CoreUnavailable));
                return (out, true);
            }
            if !out.is_empty() {
                return (out, false);
            }
            let edge = *self.edge.borrow_and_update();
            if self.snapshot.is_some() || self.seen < edge.revision {
                continue;
            }
            if edge.closed || self.edge.changed().await.is_err() {
                frame::push(&mut out, &self.end(EndReason::CoreShutdown));
                return (out, true);
            }
        }
    }

    /// The last frame of a watch that its client cancels.
    pub fn cancel(&self) -> Vec<u8> {
        frame::line(&self.end(EndReason::Cancelled))
    }

    /// A part of the snapshot. What changes while it is read is told again behind it.
    async fn part(&mut self, cursor: Option<String>, out: &mut Vec<u8>) -> Result<(), Error> {
        let query =
            SessionQuery { runtime: RuntimeFilter::All, project_id: None, status: None, archived: Archived::Active, limit: Some(PART), cursor };
        let page = self.store.sessions(&query).await?;
        let more = page.next_cursor.is_some();
        let approvals = if more { Vec::new() } else { self.store.approvals(&ApprovalQuery::default()).await? };
        self.snapshot = page.next_cursor.map(Some);
        let snapshot = FeedSnapshot { sessions: page.rows, approvals, more };
        self.event(self.seen, Change::Snapshot(Box::new(snapshot)), out);
        Ok(())
    }

    /// The next changes, as their rows are now.
    async fn changes(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let Since::Changes(changes, upto) = self.feed.since(self.seen, BATCH) else {
            // Fallen too far behind: from the beginning.
            self.seen = self.edge.borrow().revision;
            self.snapshot = Some(None);
            return Ok(());
        };
        for (revision, touched) in changes {
            // What is gone by now has a deletion further on.
            let change = match touched {
                Touched::Session(id) => self.store.session(&id).await?.map(|row| Change::SessionChanged(Box::new(row))),
                Touched::Deleted(session_id) => Some(Change::SessionDeleted(Box::new(SessionGone { session_id }))),
                Touched::Message(id) => self.store.message(&id).await?.map(|row| Change::MessageAdded(Box::new(row))),
                Touched::Approval(id) => {
                    let query = ApprovalQuery { id: Some(id), all: true, ..ApprovalQuery::default() };
                    self.store.approvals(&query).await?.pop().map(|row| Change::ApprovalChanged(Box::new(row)))
                }
            };
            if let Some(change) = change {
                self.event(revision, change, out);
            }
        }
        self.seen = upto;
        Ok(())
    }

    fn event(&self, revision: u64, change: Change, out: &mut Vec<u8>) {
        frame::push(out, &FeedFrame::Event { request_id: self.request_id.clone(), data: FeedEvent { revision, change } });
    }

    fn end(&self, reason: EndReason) -> FeedFrame {
        FeedFrame::End { request_id: self.request_id.clone(), reason }
    }
}
