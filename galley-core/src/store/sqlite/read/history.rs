//! The conversation a fresh runner is given.

use super::super::cells::Cells;
use super::session_key;
use galley_protocol::RawJson;
use galley_protocol::ipc::{HistoryMessage, HistoryRole};
use galley_protocol::socket::MessageRole;
use rusqlite::{Connection, Result, params};

/// Every run in which the agent said something: the user's messages it was given and the agent's
/// rows, in the order they came. What a run that was stopped or failed left is among it, as it is in
/// the memory of a runner that lived through it; what was superseded, and internal rows, are not.
///
/// Rows are found by their run, not by their place: while a run is open, messages that wait for it
/// are stored between its rows.
pub(in super::super) fn conversation(db: &Connection, session_id: &str, exclude: Option<&str>) -> Result<Vec<HistoryMessage>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(session) = session_key(&snapshot, session_id)? else { return Ok(Vec::new()) };
    let mut statement = snapshot.prepare_cached(
        "SELECT run, role, ifnull(final_answer, content), tool_calls, tool_results FROM message
         WHERE session = ?1 AND visibility <> 'internal' AND role IN ('user', 'agent') AND run IS NOT NULL
             AND state IS NOT 'superseded' AND id IS NOT ?2
         ORDER BY run, key",
    )?;
    let mut rows = statement.query(params![session, exclude])?;
    let mut conversation = Vec::new();
    let mut run = Vec::new();
    let mut number: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let of = Some(cells.get()?);
        if of != number {
            keep(&mut run, &mut conversation);
            number = of;
        }
        run.push(HistoryMessage {
            role: if cells.word::<MessageRole>()? == MessageRole::User { HistoryRole::User } else { HistoryRole::Assistant },
            content: cells.get()?,
            tool_calls: items(cells.raw_json()?),
            tool_results: items(cells.raw_json()?),
        });
    }
    keep(&mut run, &mut conversation);
    Ok(conversation)
}

/// Adds a run to the conversation if the agent had a part in it.
fn keep(run: &mut Vec<HistoryMessage>, conversation: &mut Vec<HistoryMessage>) {
    if run.iter().any(|message| message.role == HistoryRole::Assistant) {
        conversation.append(run);
    }
    run.clear();
}

/// The items of a JSON array; anything else counts as empty.
fn items(array: Option<RawJson>) -> Vec<RawJson> {
    array.and_then(|array| array.read().ok()).unwrap_or_default()
}
