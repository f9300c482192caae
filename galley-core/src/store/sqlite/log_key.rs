//! Keys of the event log: the session's key in the upper bits, the first event's index in the lower.
//! Index 0, which no event has, is a mark: its `last` tells how far the log is compacted.

/// Bits of an index: 2^40 events in each of 2^23 sessions.
pub(super) const INDEX_BITS: u32 = 40;

/// The largest index a log can hold.
pub(super) const MAX_INDEX: u64 = (1 << INDEX_BITS) - 1;

/// Where the session's log begins: below the key of its first chunk.
pub(super) fn base(session: i64) -> i64 {
    session << INDEX_BITS
}

/// The key of the chunk that begins with event `index`; an index beyond the largest is the end.
pub(super) fn of(session: i64, index: u64) -> i64 {
    base(session) | index.min(MAX_INDEX) as i64
}

/// The first event's index.
pub(super) fn first_index(key: i64) -> u64 {
    key as u64 & MAX_INDEX
}

/// The session's key.
pub(super) fn session(key: i64) -> i64 {
    key >> INDEX_BITS
}

/// The key of the mark that tells how far the session's log is compacted.
pub(super) fn compacted(session: i64) -> i64 {
    base(session)
}
