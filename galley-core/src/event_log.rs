//! A session's event log as readers see it: every reader is a cursor. Near the tail it reads from a
//! small ring in memory, further back from the store, page by page; it loses nothing, delays
//! nobody, and costs no memory while it does not read.

use crate::error::Error;
use crate::store::{LogChunk, ReadStore};
use bytes::Bytes;
use galley_protocol::socket::EndReason;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Bytes of committed lines kept in memory per session.
const RING_BYTES: usize = 256 * 1024;

/// The end of a log, as its readers wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Index of the last committed event, 0 when there is none.
    pub last: u64,
    /// Index of the first event of the current or last run, 0 before the first.
    pub run_first: u64,
    /// The live runner's generation.
    pub live: Option<u64>,
    /// How the last runner's stream ended.
    pub ended: Option<Ended>,
    /// The session's streams are over for good, whoever they follow.
    closed: Option<EndReason>,
    /// How often the session was put away, which ends the streams there are then.
    pub put_away: u64,
}

impl Tail {
    /// Why a stream ends, whoever it follows, that was opened when the session had been put away
    /// this often. One that was opened later reads the log of a session that is put away.
    pub fn closed_since(&self, put_away: u64) -> Option<EndReason> {
        self.closed.clone().or((self.put_away > put_away).then_some(EndReason::Archived))
    }
}

/// The end of one runner's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Which runner.
    pub generation: u64,
    /// Index of the last event before its end was known.
    pub at: u64,
    /// What its watchers are told.
    pub reason: EndReason,
}

/// One session's log.
#[derive(Debug)]
pub struct EventLog {
    session_id: String,
    ring: Mutex<Ring>,
    tail: watch::Sender<Tail>,
    /// Counts commits that changed more than the log.
    decisions: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    chunks: VecDeque<LogChunk>,
    bytes: usize,
}

impl EventLog {
    /// A log that ends at `last`, without a live runner.
    pub fn new(session_id: String, last: u64, run_first: u64) -> Self {
        let (tail, _) = watch::channel(Tail { last, run_first, live: None, ended: None, closed: None, put_away: 0 });
        Self { session_id, ring: Mutex::default(), tail, decisions: watch::Sender::new(0) }
    }

    /// Makes committed chunks readable, and the run that is open or was the last known even before
    /// its first event.
    pub fn publish(&self, chunks: Vec<LogChunk>, run_first: u64) {
        let last = chunks.last().map(|chunk| chunk.last);
        if last.is_some() {
            let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            for chunk in chunks {
                ring.bytes += chunk.lines.as_ref().map_or(0, Bytes::len);
                ring.chunks.push_back(chunk);
            }
            while ring.bytes > RING_BYTES && ring.chunks.len() > 1 {
                let dropped = ring.chunks.pop_front();
                ring.bytes -= dropped.and_then(|chunk| chunk.lines).map_or(0, |lines| lines.len());
            }
        }
        self.tail.send_if_modified(|tail| {
            tail.run_first = run_first;
            tail.last = last.unwrap_or(tail.last);
            last.is_some()
        });
    }

    /// Rows of the session were committed: whoever waits for an answer looks again.
    pub fn decided(&self) {
        self.decisions.send_modify(|count| *count += 1);
    }

    /// The count of commits that changed more than the log, to wait on.
    pub fn decisions(&self) -> watch::Receiver<u64> {
        self.decisions.subscribe()
    }

    /// A runner is up: streams that follow the live runner follow this one.
    pub fn runner_up(&self, generation: u64) {
        self.tail.send_modify(|tail| tail.live = Some(generation));
    }

    /// The runner is gone: streams that follow it end after the last event there is now.
    pub fn runner_down(&self, generation: u64, reason: EndReason) {
        self.tail.send_modify(|tail| {
            tail.live = None;
            tail.ended = Some(Ended { generation, at: tail.last, reason });
        });
    }

    /// Ends every stream of this session once it has delivered what there is; for any other reason
    /// than `archived`, those to come as well.
    pub fn close(&self, reason: EndReason) {
        self.tail.send_modify(|tail| match reason {
            EndReason::Archived => tail.put_away += 1,
            reason => tail.closed = Some(reason),
        });
    }

    /// Gives the ring's memory back; the store still has everything.
    pub fn rest(&self) {
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = Ring::default();
    }

    /// Whether a runner is up.
    pub fn is_live(&self) -> bool {
        self.tail.borrow().live.is_some()
    }

    /// Index of the last committed event.
    pub fn last(&self) -> u64 {
        self.tail.borrow().last
    }

    /// The tail, to wait on.
    pub fn subscribe(&self) -> watch::Receiver<Tail> {
        self.tail.subscribe()
    }

    /// How many readers there are.
    pub fn readers(&self) -> usize {
        self.tail.receiver_count() + self.decisions.receiver_count()
    }

    /// Events from index `from` on: at least one chunk if there is one, then up to about
    /// `max_bytes`. The first chunk begins exactly at `from`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn page(&self, store: &dyn ReadStore, from: u64, max_bytes: usize) -> Result<Vec<LogChunk>, Error> {
        let mut page = match self.in_ring(from, max_bytes) {
            Some(page) => page,
            None => store.log(&self.session_id, from, max_bytes).await?,
        };
        if let Some(first) = page.first_mut() {
            start_at(first, from);
        }
        Ok(page)
    }

    fn in_ring(&self, from: u64, max_bytes: usize) -> Option<Vec<LogChunk>> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.chunks.front().is_none_or(|chunk| chunk.first > from) {
            return None;
        }
        let start = ring.chunks.partition_point(|chunk| chunk.last < from);
        let mut bytes = 0;
        Some(
            ring.chunks
                .range(start..)
                .take_while(|chunk| {
                    let fits = bytes == 0 || bytes < max_bytes;
                    bytes += chunk.lines.as_ref().map_or(1, Bytes::len);
                    fits
                })
                .cloned()
                .collect(),
        )
    }
}

/// Cuts the events before `from` off a chunk.
pub fn start_at(chunk: &mut LogChunk, from: u64) {
    if chunk.first >= from {
        return;
    }
    if let Some(lines) = &mut chunk.lines {
        let skip = (from - chunk.first) as usize;
        let offset = memchr::memchr_iter(b'\n', lines).nth(skip - 1).map_or(lines.len(), |newline| newline + 1);
        *lines = lines.slice(offset..);
    }
    chunk.first = from;
}

/// Cuts the events after `last` off a chunk.
pub fn end_at(chunk: &mut LogChunk, last: u64) {
    if chunk.last <= last {
        return;
    }
    if let Some(lines) = &mut chunk.lines {
        let kept = (last - chunk.first) as usize;
        let offset = memchr::memchr_iter(b'\n', lines).nth(kept).unwrap_or(lines.len());
        lines.truncate(offset);
    }
    chunk.last = last;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(first: u64, lines: &str) -> LogChunk {
        let last = first + lines.lines().count() as u64 - 1;
        LogChunk { session_id: "s".into(), first, last, run: 1, lines: Some(Bytes::copy_from_slice(lines.as_bytes())) }
    }

    #[test]
    fn a_chunk_is_cut_at_any_index() {
        for (from, expected) in [(5, "a\nb\nc"), (6, "b\nc"), (7, "c")] {
            let mut cut = chunk(5, "a\nb\nc");
            start_at(&mut cut, from);
            assert_eq!((cut.first, cut.last, cut.lines.unwrap()), (from, 7, Bytes::from(expected)));
        }
    }

    #[test]
    fn a_chunk_ends_at_any_index() {
        for (last, expected) in [(5, "a"), (6, "a\nb"), (7, "a\nb\nc"), (9, "a\nb\nc")] {
            let mut cut = chunk(5, "a\nb\nc");
            end_at(&mut cut, last);
            assert_eq!((cut.first, cut.last, cut.lines.unwrap()), (5, last.min(7), Bytes::from(expected)));
        }
    }

    #[test]
    fn the_ring_forgets_the_oldest_and_says_so() {
        let log = EventLog::new("s".into(), 0, 0);
        let big = "x".repeat(100 * 1024);
        for index in 1..=5 {
            log.publish(vec![chunk(index, &big)], 1);
        }
        assert!(log.in_ring(1, 1).is_none(), "left to the store");
        assert_eq!(log.in_ring(5, 1).unwrap().len(), 1);
        assert_eq!(log.in_ring(4, usize::MAX).unwrap().iter().map(|chunk| chunk.first).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(log.in_ring(6, 1).unwrap(), [], "nothing yet beyond the tail");
        log.rest();
        assert!(log.in_ring(5, 1).is_none());
    }

    #[test]
    fn readers_hear_of_the_tail_after_it_is_readable() {
        let log = EventLog::new("s".into(), 0, 0);
        let tail = log.subscribe();
        log.runner_up(3);
        log.publish(vec![chunk(1, "a\nb")], 1);
        log.runner_down(3, EndReason::SubprocessExited);
        let seen = tail.borrow().clone();
        assert_eq!((seen.last, seen.run_first, seen.live), (2, 1, None));
        assert_eq!(seen.ended, Some(Ended { generation: 3, at: 2, reason: EndReason::SubprocessExited }));
    }
}
