//! The reads, as functions over a connection: the store and the read-only reader share them.

pub(in super::super) mod approval;
pub(in super::super) mod follow;
pub(in super::super) mod health;
pub(in super::super) mod history;
pub(in super::super) mod log;
pub(in super::super) mod message;
pub(in super::super) mod project;
pub(in super::super) mod search;
pub(in super::super) mod session;

use rusqlite::{Connection, OptionalExtension, Result};

/// A session's key; `None` when there is no such session or it was deleted.
pub(in super::super) fn session_key(db: &Connection, id: &str) -> Result<Option<i64>> {
    db.prepare_cached("SELECT key FROM session WHERE id = ?1 AND deleted_at IS NULL")?.query_row([id], |row| row.get(0)).optional()
}

/// A setting's value.
pub(in super::super) fn setting(db: &Connection, key: &str) -> Result<Option<String>> {
    db.prepare_cached("SELECT value FROM setting WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

/// Changes whenever another connection has committed.
pub(in super::super) fn data_version(db: &Connection) -> Result<i64> {
    db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
