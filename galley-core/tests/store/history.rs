//! The conversation for a fresh runner.

use crate::support::*;
use galley_core::{MessageRow, SessionStore};
use galley_protocol::ipc::HistoryRole;
use galley_protocol::socket::{MessageState, Visibility};

fn turn(mut row: MessageRow, index: u32) -> MessageRow {
    row.turn_index = Some(index);
    row
}

fn in_state(mut row: MessageRow, state: MessageState) -> MessageRow {
    row.state = Some(state);
    row
}

async fn history(rows: Vec<MessageRow>, exclude: Option<&str>) -> Vec<(HistoryRole, String)> {
    let place = Place::new();
    let store = place.open();
    let mut changes = vec![put(session("s"))];
    changes.extend(rows.into_iter().map(insert));
    store.commit(changes).await.unwrap();
    store.history("s", exclude).await.unwrap().into_iter().map(|message| (message.role, message.content)).collect()
}

fn spoken(words: &[(HistoryRole, &str)]) -> Vec<(HistoryRole, String)> {
    words.iter().map(|(role, text)| (role.clone(), (*text).to_owned())).collect()
}

use HistoryRole::{Assistant, User};

#[tokio::test]
async fn turns_are_paired_by_their_message_not_by_place_or_count() {
    let mut last = turn(agent("s", "a1b", "step two"), 0);
    last.final_answer = Some("the answer".into());
    let rows = vec![
        turn(user("s", "u0", "first"), 0),
        turn(in_state(user("s", "u1", "queued meanwhile"), MessageState::Queued), 1),
        turn(in_state(user("s", "u2", "pending for ever"), MessageState::Pending), 2),
        turn(agent("s", "a1a", "step one"), 0),
        last,
        turn(user("s", "u3", "jumped ahead"), 3),
        turn(agent("s", "a3", "third"), 3),
        turn(agent("s", "a1", "second"), 1),
    ];
    let expected = [
        (User, "first"),
        (Assistant, "step one"),
        (Assistant, "the answer"),
        (User, "jumped ahead"),
        (Assistant, "third"),
        (User, "queued meanwhile"),
        (Assistant, "second"),
    ];
    assert_eq!(history(rows, Some("u2")).await, spoken(&expected));
}

#[tokio::test]
async fn what_was_taken_out_or_never_finished_is_left_out() {
    let mut partial = turn(agent("s", "a2", "cut o"), 2);
    partial.partial = true;
    let mut internal = turn(agent("s", "i", "audit"), 0);
    internal.visibility = Visibility::Internal;
    let mut half = turn(agent("s", "a3b", "cut too"), 3);
    half.partial = true;
    let rows = vec![
        turn(in_state(user("s", "u0", "superseded"), MessageState::Superseded), 0),
        turn(agent("s", "a0", "old answer"), 0),
        internal,
        turn(in_state(user("s", "u1", "cancelled"), MessageState::Cancelled), 1),
        turn(agent("s", "a1", "for nobody"), 1),
        turn(user("s", "u2", "crashed"), 2),
        partial,
        turn(in_state(user("s", "u3", "failed late"), MessageState::Failed), 3),
        turn(agent("s", "a3", "a whole step"), 3),
        half,
        agent("s", "self", "of its own accord"),
    ];
    let expected = [(User, "failed late"), (Assistant, "a whole step"), (Assistant, "cut too"), (Assistant, "of its own accord")];
    assert_eq!(history(rows, None).await, spoken(&expected));
}

#[tokio::test]
async fn tool_calls_and_results_go_along() {
    let place = Place::new();
    let store = place.open();
    let mut row = turn(agent("s", "a", "done"), 0);
    row.tool_calls = Some(json(r#"[{"toolName":"x","args":{"b":1,"a":2}}]"#));
    row.tool_results = Some(json(r#"[{"content":"1"},{"content":"2"}]"#));
    store.commit(vec![put(session("s")), insert(turn(user("s", "u", "go"), 0)), insert(row)]).await.unwrap();
    let history = store.history("s", None).await.unwrap();
    assert_eq!(history[1].tool_calls, [json(r#"{"toolName":"x","args":{"b":1,"a":2}}"#)]);
    assert_eq!(history[1].tool_results.len(), 2);
}
