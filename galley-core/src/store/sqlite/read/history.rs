//! The conversation a fresh runner is given.

use super::super::cells::Cells;
use super::session_key;
use galley_protocol::RawJson;
use galley_protocol::ipc::{HistoryMessage, HistoryRole};
use galley_protocol::socket::{MessageRole, MessageState};
use rusqlite::{Connection, Result};

/// One user message and the agent's rows that belong to its turn.
struct Turn {
    index: Option<u32>,
    user: Option<String>,
    agent: Vec<HistoryMessage>,
    /// Some row of the agent is complete.
    answered: bool,
}

/// Every turn that has an agent row, in the order the agent took them up.
///
/// A turn's rows are found by the user message they name, not by their place: while a run is open,
/// messages that wait for it are stored between its rows.
pub(in super::super) fn conversation(db: &Connection, session_id: &str, exclude: Option<&str>) -> Result<Vec<HistoryMessage>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(session) = session_key(&snapshot, session_id)? else { return Ok(Vec::new()) };
    let mut statement = snapshot.prepare_cached(
        "SELECT id, role, state, turn_index, partial, content, final_answer, tool_calls, tool_results FROM message
         WHERE session = ?1 AND visibility <> 'internal' AND role IN ('user', 'agent') ORDER BY key",
    )?;
    let mut rows = statement.query([session])?;
    let mut users: Vec<(Option<u32>, String)> = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let id: String = cells.get()?;
        let role: MessageRole = cells.word()?;
        let state: Option<MessageState> = cells.optional_word()?;
        let index: Option<u32> = cells.get()?;
        let partial: bool = cells.get()?;
        let content: String = cells.get()?;
        if exclude == Some(id.as_str()) || matches!(state, Some(MessageState::Superseded | MessageState::Cancelled)) {
            continue;
        }
        if role == MessageRole::User {
            users.push((index, content));
            continue;
        }
        let place = match turns.iter().rposition(|turn| turn.index == index) {
            Some(place) => place,
            None => {
                let user = users.iter().position(|(of, _)| *of == index && index.is_some()).map(|at| users.swap_remove(at).1);
                if user.is_none() && index.is_some() {
                    // Its user message was taken out, and so is the answer.
                    continue;
                }
                turns.push(Turn { index, user, agent: Vec::new(), answered: false });
                turns.len() - 1
            }
        };
        let turn = &mut turns[place];
        turn.answered |= !partial;
        let final_answer: Option<String> = cells.get()?;
        turn.agent.push(HistoryMessage {
            role: HistoryRole::Assistant,
            content: final_answer.unwrap_or(content),
            tool_calls: items(cells.raw_json()?),
            tool_results: items(cells.raw_json()?),
        });
    }
    let of_user = |content| HistoryMessage { role: HistoryRole::User, content, tool_calls: Vec::new(), tool_results: Vec::new() };
    Ok(turns.into_iter().filter(|turn| turn.answered).flat_map(|turn| turn.user.map(of_user).into_iter().chain(turn.agent)).collect())
}

/// The items of a JSON array; anything else counts as empty.
fn items(array: Option<RawJson>) -> Vec<RawJson> {
    array.and_then(|array| array.read().ok()).unwrap_or_default()
}
