//! What changed, for `sessions.watch`: the ids of what was committed last, each with a revision.
//! The rows themselves are read from the store when a watcher gets to them, so a slow watcher keeps
//! nothing in memory, and what changed many times meanwhile is told once.

use crate::store::Change;
use crate::time::Timestamp;
use galley_protocol::socket::Visibility;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Changes that are kept. Whoever has not seen older ones starts over with a snapshot.
const KEPT: usize = 16 * 1024;
/// A Core's first revision is the time of its start in milliseconds times this: it grows across
/// restarts as long as fewer changes than that are committed in each millisecond.
const PER_MILLISECOND: u64 = 1024;

/// Something that changed, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Touched {
    /// A session's row, or what is counted in it.
    Session(String),
    /// A session is gone.
    Deleted(String),
    /// A visible message is new.
    Message(String),
    /// An approval is new or was decided.
    Approval(String),
}

/// What a session's commit touches.
pub fn touched(session_id: &str, changes: &[Change]) -> Vec<Touched> {
    let mut all = Vec::new();
    if changes.iter().any(Change::is_decision) {
        all.push(Touched::Session(session_id.to_owned()));
    }
    all.extend(changes.iter().filter_map(|change| match change {
        Change::InsertMessage(row) if row.visibility == Visibility::Visible => Some(Touched::Message(row.id.clone())),
        Change::PutApproval(row) => Some(Touched::Approval(row.id.clone())),
        Change::DeleteSession { id, .. } => Some(Touched::Deleted(id.clone())),
        _ => None,
    }));
    all
}

/// The last changes of a Core.
#[derive(Debug)]
pub struct Feed {
    ring: Mutex<Ring>,
    edge: watch::Sender<Edge>,
}

/// The feed's end, as its readers wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The last revision.
    pub revision: u64,
    /// Nothing more will come.
    pub closed: bool,
}

#[derive(Debug)]
struct Ring {
    /// The revision before the oldest change that is kept.
    before: u64,
    changes: VecDeque<Touched>,
}

/// What a reader of the feed gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Since {
    /// Changes, each thing once, at the revision of its first change, and the revision up to which
    /// these are all.
    Changes(Vec<(u64, Touched)>, u64),
    /// The revision is none of this Core's, or too old.
    Unknown,
}

impl Feed {
    /// The feed of a Core that starts now.
    pub fn new(started_at: Timestamp) -> Self {
        let before = u64::try_from(started_at.as_millis()).unwrap_or(0) * PER_MILLISECOND;
        Self { ring: Mutex::new(Ring { before, changes: VecDeque::new() }), edge: watch::Sender::new(Edge { revision: before, closed: false }) }
    }

    /// Adds what a commit touched. No I/O, and no wait.
    pub fn publish(&self, touched: Vec<Touched>) {
        if touched.is_empty() {
            return;
        }
        let last = {
            let mut ring = self.lock();
            ring.changes.extend(touched);
            let surplus = ring.changes.len().saturating_sub(KEPT);
            ring.changes.drain(..surplus);
            ring.before += surplus as u64;
            ring.last()
        };
        // Whoever publishes next may be quicker.
        self.edge.send_if_modified(|edge| {
            let newer = last > edge.revision;
            edge.revision = last.max(edge.revision);
            newer
        });
    }

    /// Ends the feed for those who have read all of it.
    pub fn close(&self) {
        self.edge.send_modify(|edge| edge.closed = true);
    }

    /// The end, to wait on.
    pub fn subscribe(&self) -> watch::Receiver<Edge> {
        self.edge.subscribe()
    }

    /// At most `limit` changes after a revision.
    pub fn since(&self, revision: u64, limit: usize) -> Since {
        let ring = self.lock();
        if revision < ring.before || revision > ring.last() {
            return Since::Unknown;
        }
        let skipped = (revision - ring.before) as usize;
        let mut seen = HashSet::new();
        let mut upto = revision;
        let mut changes = Vec::new();
        for touched in ring.changes.iter().skip(skipped).take(limit) {
            upto += 1;
            if seen.insert(touched) {
                changes.push((upto, touched.clone()));
            }
        }
        Since::Changes(changes, upto)
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn last(&self) -> u64 {
        self.before + self.changes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: usize) -> Touched {
        Touched::Session(id.to_string())
    }

    #[test]
    fn a_thing_that_changes_often_is_told_once() {
        let feed = Feed::new(Timestamp::now());
        let start = feed.subscribe().borrow().revision;
        feed.publish(vec![session(1), Touched::Message("m".into())]);
        feed.publish(vec![session(1)]);
        let expected = vec![(start + 1, session(1)), (start + 2, Touched::Message("m".into()))];
        assert_eq!(feed.since(start, 100), Since::Changes(expected, start + 3));
        assert_eq!(feed.since(start + 2, 100), Since::Changes(vec![(start + 3, session(1))], start + 3));
        assert_eq!(feed.since(start + 3, 100), Since::Changes(Vec::new(), start + 3));
        assert_eq!(feed.since(start, 1), Since::Changes(vec![(start + 1, session(1))], start + 1));
    }

    #[test]
    fn revisions_of_another_life_and_forgotten_ones_are_unknown() {
        let feed = Feed::new(Timestamp::now());
        let start = feed.subscribe().borrow().revision;
        assert!(start < 1 << 53, "a JavaScript number");
        assert_eq!(feed.since(start - 1, 1), Since::Unknown);
        assert_eq!(feed.since(start + 1, 1), Since::Unknown);
        for n in 0..=KEPT {
            feed.publish(vec![session(n)]);
        }
        assert_eq!(feed.since(start, 1), Since::Unknown);
        assert_eq!(feed.since(start + 1, 1), Since::Changes(vec![(start + 2, session(1))], start + 2));
        assert_eq!(feed.subscribe().borrow().revision, start + KEPT as u64 + 1);
    }
}
