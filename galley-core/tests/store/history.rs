//! The conversation for a fresh runner.

use crate::support::*;
use galley_core::{MessageRow, SessionStore};
use galley_protocol::ipc::HistoryRole;
use galley_protocol::socket::{MessageState, Visibility};

fn in_run(mut row: MessageRow, run: u64) -> MessageRow {
    row.run = Some(run);
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
async fn rows_are_put_together_by_their_run_not_by_place_or_count() {
    let mut last = in_run(agent("s", "a1b", "step two"), 1);
    last.final_answer = Some("the answer".into());
    let rows = vec![
        in_run(user("s", "u0", "first"), 1),
        in_run(user("s", "u1", "queued meanwhile"), 3),
        in_state(user("s", "u2", "pending for ever"), MessageState::Pending),
        in_run(agent("s", "a1a", "step one"), 1),
        in_run(user("s", "u4", "what it asked for"), 1),
        last,
        in_run(user("s", "u3", "jumped ahead"), 2),
        in_run(agent("s", "a3", "third"), 2),
        in_run(agent("s", "a1", "second"), 3),
        in_run(in_state(user("s", "u5", "about to be sent"), MessageState::Pending), 4),
    ];
    let expected = [
        (User, "first"),
        (Assistant, "step one"),
        (User, "what it asked for"),
        (Assistant, "the answer"),
        (User, "jumped ahead"),
        (Assistant, "third"),
        (User, "queued meanwhile"),
        (Assistant, "second"),
    ];
    assert_eq!(history(rows, Some("u5")).await, spoken(&expected));
}

#[tokio::test]
async fn what_a_stopped_or_failed_run_left_stays_and_what_was_superseded_or_never_answered_does_not() {
    let mut partial = in_run(agent("s", "a2", "cut o"), 3);
    partial.partial = true;
    let mut internal = in_run(agent("s", "i", "audit"), 1);
    internal.visibility = Visibility::Internal;
    let rows = vec![
        in_run(in_state(user("s", "u0", "superseded"), MessageState::Superseded), 1),
        in_run(in_state(agent("s", "a0", "old answer"), MessageState::Superseded), 1),
        internal,
        in_run(in_state(user("s", "u1", "stopped"), MessageState::Cancelled), 2),
        in_run(agent("s", "a1", "half of it"), 2),
        in_run(in_state(user("s", "u2", "crashed"), MessageState::Failed), 3),
        partial,
        in_run(in_state(user("s", "u3", "crashed at once"), MessageState::Failed), 4),
        in_state(user("s", "u4", "taken out of the queue"), MessageState::Cancelled),
        in_run(agent("s", "self", "of its own accord"), 5),
    ];
    let expected = [(User, "stopped"), (Assistant, "half of it"), (User, "crashed"), (Assistant, "cut o"), (Assistant, "of its own accord")];
    assert_eq!(history(rows, None).await, spoken(&expected));
}

#[tokio::test]
async fn tool_calls_and_results_go_along() {
    let place = Place::new();
    let store = place.open();
    let mut row = in_run(agent("s", "a", "done"), 1);
    row.tool_calls = Some(json(r#"[{"toolName":"x","args":{"b":1,"a":2}}]"#));
    row.tool_results = Some(json(r#"[{"content":"1"},{"content":"2"}]"#));
    store.commit(vec![put(session("s")), insert(in_run(user("s", "u", "go"), 1)), insert(row)]).await.unwrap();
    let history = store.history("s", None).await.unwrap();
    assert_eq!(history[1].tool_calls, [json(r#"{"toolName":"x","args":{"b":1,"a":2}}"#)]);
    assert_eq!(history[1].tool_results.len(), 2);
}
