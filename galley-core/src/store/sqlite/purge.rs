//! What is left of deleted sessions is removed in small steps, so that no commit waits long for it.

use super::log_key;
use rusqlite::{Connection, OptionalExtension, Result, Transaction, TransactionBehavior, params};
use std::time::{Duration, Instant};

/// How long one step may hold the file.
const STEP: Duration = Duration::from_millis(10);
/// Rows removed between two looks at the clock.
const ROWS: i64 = 16;

/// Whether there is a deleted session to remove.
pub(super) fn is_due(db: &Connection) -> Result<bool> {
    Ok(oldest(db)?.is_some())
}

/// Removes rows of deleted sessions for about as long as a step may take; `true` when some are left.
pub(super) fn step(db: &mut Connection) -> Result<bool> {
    let begun = Instant::now();
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut left = true;
    while left && begun.elapsed() < STEP {
        left = remove_some(&transaction)?;
    }
    transaction.commit()?;
    Ok(left)
}

fn oldest(db: &Connection) -> Result<Option<i64>> {
    db.prepare_cached("SELECT key FROM session WHERE deleted_at IS NOT NULL LIMIT 1")?.query_row([], |row| row.get(0)).optional()
}

/// Removes some rows of one deleted session, its own row last; `false` when there is none.
fn remove_some(db: &Transaction<'_>) -> Result<bool> {
    let Some(session) = oldest(db)? else { return Ok(false) };
    let events = db
        .prepare_cached("DELETE FROM event_log WHERE key IN (SELECT key FROM event_log WHERE key >= ?1 AND key < ?2 LIMIT ?3)")?
        .execute(params![log_key::base(session), log_key::base(session + 1), ROWS])?;
    if events > 0 {
        return Ok(true);
    }
    let messages: Vec<i64> = db
        .prepare_cached("SELECT key FROM message WHERE session = ?1 LIMIT ?2")?
        .query_map(params![session, ROWS], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for message in &messages {
        db.prepare_cached("DELETE FROM message_text WHERE rowid = ?1")?.execute([message])?;
        db.prepare_cached("DELETE FROM message WHERE key = ?1")?.execute([message])?;
    }
    if !messages.is_empty() {
        return Ok(true);
    }
    let approvals = db
        .prepare_cached("DELETE FROM approval WHERE key IN (SELECT key FROM approval WHERE session = ?1 LIMIT ?2)")?
        .execute(params![session, ROWS])?;
    if approvals == 0 {
        db.prepare_cached("DELETE FROM session WHERE key = ?1")?.execute([session])?;
    }
    Ok(true)
}
