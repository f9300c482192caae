//! The event log.

use super::session_key;
use crate::store::LogChunk;
use crate::store::sqlite::log_key;
use rusqlite::{Connection, OptionalExtension, Result, params};

/// Chunks that reach index `from` or beyond, until `max_bytes` of lines are collected.
pub(in super::super) fn chunks(db: &Connection, session_id: &str, from: u64, max_bytes: usize) -> Result<Vec<LogChunk>> {
    let Some(session) = session_key(db, session_id)? else { return Ok(Vec::new()) };
    // Begin at the chunk that holds `from`: the last one that begins there or earlier.
    let mut statement = db.prepare_cached(
        "SELECT key, last, run, lines FROM event_log
         WHERE key >= ifnull((SELECT max(key) FROM event_log WHERE key > ?1 AND key <= ?2), ?2) AND key < ?3 AND last >= ?4
         ORDER BY key",
    )?;
    let start = log_key::of(session, from);
    let mut rows = statement.query(params![log_key::base(session), start, log_key::base(session + 1), from.min(log_key::MAX_INDEX) as i64])?;
    let mut chunks = Vec::new();
    let mut bytes = 0;
    while bytes < max_bytes.max(1)
        && let Some(row) = rows.next()?
    {
        let lines: Option<Vec<u8>> = row.get(3)?;
        bytes += lines.as_ref().map_or(0, Vec::len);
        chunks.push(LogChunk {
            session_id: session_id.to_owned(),
            first: log_key::first_index(row.get(0)?),
            last: row.get::<_, i64>(1)? as u64,
            run: row.get::<_, i64>(2)? as u64,
            lines: lines.map(Into::into),
        });
    }
    Ok(chunks)
}

/// Index of a session's last event, 0 when there is none.
pub(in super::super) fn last_index(db: &Connection, session_id: &str) -> Result<u64> {
    session_key(db, session_id)?.map_or(Ok(0), |session| last_index_of(db, session))
}

/// Index of the last event of the session with this key, 0 when there is none.
pub(in super::super) fn last_index_of(db: &Connection, session: i64) -> Result<u64> {
    db.prepare_cached("SELECT last FROM event_log WHERE key > ?1 AND key < ?2 ORDER BY key DESC LIMIT 1")?
        .query_row([log_key::base(session), log_key::base(session + 1)], |row| row.get::<_, i64>(0))
        .optional()
        .map(|last| last.unwrap_or(0) as u64)
}
