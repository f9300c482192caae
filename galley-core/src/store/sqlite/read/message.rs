//! Messages.

use super::super::cells::Cells;
use super::session_key;
use crate::store::{MessageQuery, MessageRow};
use galley_protocol::socket::{MessageBrief, MessageState, QueueItem};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

/// What [`row`] reads, in its order.
const COLUMNS: &str = "m.id, s.id, m.role, m.visibility, m.state, m.rank, m.run, m.turn_index, m.step_index, m.partial, m.created_at, \
    m.client_request_id, m.origin, m.summary, m.ask_user, m.telemetry, m.final_answer, m.content, m.thinking, m.tool_calls, m.tool_results";

pub(super) fn row(row: &Row<'_>) -> Result<MessageRow> {
    let mut cells = Cells::of(row);
    Ok(MessageRow {
        id: cells.get()?,
        session_id: cells.get()?,
        role: cells.word()?,
        visibility: cells.word()?,
        state: cells.optional_word()?,
        rank: cells.get()?,
        run: cells.optional_count()?,
        turn_index: cells.get()?,
        step_index: cells.get()?,
        partial: cells.get()?,
        created_at: cells.time()?,
        client_request_id: cells.get()?,
        origin: cells.json()?,
        summary: cells.get()?,
        ask_user: cells.raw_json()?,
        telemetry: cells.raw_json()?,
        final_answer: cells.get()?,
        content: cells.get()?,
        thinking: cells.get()?,
        tool_calls: cells.raw_json()?,
        tool_results: cells.raw_json()?,
    })
}

/// One message.
pub(in super::super) fn one(db: &Connection, id: &str) -> Result<Option<MessageBrief>> {
    let sql = format!("SELECT {COLUMNS} FROM message m JOIN session s ON s.key = m.session WHERE m.id = ?1 AND s.deleted_at IS NULL");
    Ok(db.prepare_cached(&sql)?.query_row([id], row).optional()?.map(MessageRow::into_brief))
}

/// The last messages of a session that fit the query, oldest first.
pub(in super::super) fn transcript(db: &Connection, query: &MessageQuery) -> Result<Vec<MessageBrief>> {
    of_session(&*db.unchecked_transaction()?, query)
}

/// As [`transcript`], within a transaction.
pub(super) fn of_session(snapshot: &Connection, query: &MessageQuery) -> Result<Vec<MessageBrief>> {
    let Some(session) = session_key(snapshot, &query.session_id)? else { return Ok(Vec::new()) };
    let before = match &query.before {
        None => i64::MAX,
        Some(id) => snapshot
            .prepare_cached("SELECT key FROM message WHERE id = ?1 AND session = ?2")?
            .query_row(params![id, session], |row| row.get(0))
            .optional()?
            .unwrap_or(0),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM message m JOIN session s ON s.key = m.session
         WHERE m.session = ?1 AND m.key < ?2 AND (?3 OR m.visibility <> 'internal') ORDER BY m.key DESC LIMIT ?4"
    );
    let limit = query.limit.map_or(-1, i64::from);
    let mut statement = snapshot.prepare_cached(&sql)?;
    let rows = statement.query_map(params![session, before, query.internal, limit], row)?;
    let mut messages = rows.map(|row| row.map(MessageRow::into_brief)).collect::<Result<Vec<_>>>()?;
    messages.reverse();
    Ok(messages)
}

/// What waits in a session, in the order it will be handed over.
pub(in super::super) fn queue(db: &Connection, session_id: &str) -> Result<Vec<QueueItem>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(session) = session_key(&snapshot, session_id)? else { return Ok(Vec::new()) };
    let waiting = open(&snapshot, session)?.into_iter().filter(|row| row.state != Some(MessageState::Dispatched));
    Ok(waiting.zip(1..).map(|(row, position)| row.into_queue_item(position)).collect())
}

/// User messages of a session that are queued, pending or dispatched, by rank, then age.
pub(super) fn open(db: &Connection, session: i64) -> Result<Vec<MessageRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM message m JOIN session s ON s.key = m.session
         WHERE m.session = ?1 AND m.state IN ('queued', 'pending', 'dispatched') ORDER BY m.rank, m.key"
    );
    db.prepare_cached(&sql)?.query_map([session], row)?.collect()
}

/// How many of a session's open messages are in a state.
pub(super) fn count_in_state(db: &Connection, session: i64, state: &str) -> Result<u32> {
    db.prepare_cached("SELECT count(*) FROM message WHERE session = ?1 AND state = ?2 AND state IN ('queued', 'pending', 'dispatched')")?
        .query_row(params![session, state], |row| row.get(0))
}

/// The session and message that a client's request id made.
pub(in super::super) fn of_request(db: &Connection, client_request_id: &str) -> Result<Option<(String, String)>> {
    db.prepare_cached("SELECT s.id, m.id FROM message m JOIN session s ON s.key = m.session WHERE m.client_request_id = ?1")?
        .query_row([client_request_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}
