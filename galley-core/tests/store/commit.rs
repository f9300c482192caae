//! `commit`: all or nothing, and what it is answered with.

use crate::support::*;
use galley_core::{ApprovalQuery, Change, Error, MessageQuery, ReadStore, Rule, SessionStore, SqliteReader};
use galley_protocol::ipc::{Decision, ExitReason, ExitResult};
use galley_protocol::socket::{ApprovalMode, ApprovalState, AskState, LlmChoice, MessageState, Origin, SessionStatus, Via, Visibility};
use rusqlite::{Connection, TransactionBehavior};
use std::sync::Arc;

#[tokio::test]
async fn every_field_of_a_session_comes_back() {
    let place = Place::new();
    let store = place.open();
    let mut row = session("s");
    row.summary = Some("digest".into());
    row.turn_count = 3;
    row.pinned = Some(true);
    row.has_unread = Some(false);
    row.origin = Some(Origin { via: Via::Supervisor, supervisor: Some("boss".into()), reason: None });
    row.llm = Some(LlmChoice { key: "k".into(), display_name: Some("K".into()) });
    row.llm_index = Some(2);
    row.prompt_profile = Some("p".into());
    row.approval_mode = Some(ApprovalMode::Auto);
    row.last_exit = Some(ExitReason { result: ExitResult::CurrentTaskDone, data: Some(json(r#"{"exitCode":0}"#)) });
    row.ask = Some(AskState { question: "which?".into(), candidates: vec!["a".into()], blocking: true });
    row.cwd = Some("/tmp".into());
    row.run = 7;
    row.run_first_index = 41;
    let mut waiting = user("s", "m1", "next");
    waiting.state = Some(MessageState::Queued);
    waiting.client_request_id = Some("req".into());
    waiting.tool_calls = Some(json("[1]"));
    store
        .commit(vec![
            put(row.clone()),
            insert(waiting.clone()),
            Change::PutApproval(approval("s", "appr_s_1").into()),
            Change::AppendLog(chunk("s", 1, 3)),
        ])
        .await
        .unwrap();

    let snapshot = store.snapshot("s").await.unwrap().unwrap();
    assert_eq!(snapshot.session, row);
    assert_eq!(snapshot.last_index, 3);
    assert_eq!(snapshot.open_messages, [waiting]);
    assert_eq!(snapshot.open_approvals, [approval("s", "appr_s_1")]);
    assert_eq!(store.snapshot("other").await.unwrap(), None);
    assert_eq!(store.request("req").await.unwrap(), Some(("s".into(), "m1".into())));
    assert_eq!(store.approval_session("appr_s_1").await.unwrap().as_deref(), Some("s"));
    let brief = store.session("s").await.unwrap().unwrap();
    assert_eq!((brief.queued_count, brief.pending_count, brief.ask_pending, brief.last_index), (Some(1), None, Some(true), Some(3)));
}

#[tokio::test]
async fn changes_apply_in_order_and_rows_follow() {
    let place = Place::new();
    let store = place.open();
    let mut waiting = user("s", "m1", "hello");
    waiting.state = Some(MessageState::Pending);
    store.commit(vec![put(session("s")), insert(waiting), Change::PutApproval(approval("s", "a").into())]).await.unwrap();
    assert_eq!(store.interrupted().await.unwrap(), ["s"], "an open approval");

    let mut settled = approval("s", "a");
    settled.state = ApprovalState::Allowed;
    settled.decision = Some(Decision::AllowOnce);
    settled.by = Some("me".into());
    settled.decided_at = Some(time(5));
    let rule = Rule { tool: "code_run".into(), scope: "ungrouped".into(), by: None, created_at: time(9) };
    store
        .commit(vec![
            Change::SetMessageState { id: "m1".into(), state: MessageState::Dispatched, run: Some(1) },
            Change::SetMessageState { id: "m1".into(), state: MessageState::Answered, run: None },
            Change::SetMessageRank { id: "m1".into(), rank: -4 },
            Change::PutApproval(settled.into()),
            Change::PutRule(rule.clone()),
            Change::SetSetting { key: "approval_mode".into(), value: Some("auto".into()) },
        ])
        .await
        .unwrap();
    assert_eq!(store.message("m1").await.unwrap().unwrap().state, Some(MessageState::Answered));
    assert!(store.approvals(&ApprovalQuery::default()).await.unwrap().is_empty());
    let all = store.approvals(&ApprovalQuery { all: true, ..Default::default() }).await.unwrap();
    assert_eq!((all[0].decision.clone(), all[0].decided_at.as_deref()), (Some(Decision::AllowOnce), Some("1970-01-01T00:00:00.005Z")));
    assert_eq!(store.rules("ungrouped").await.unwrap(), [rule]);
    assert!(store.rules("proj_1").await.unwrap().is_empty());
    assert_eq!(store.setting("approval_mode").await.unwrap().as_deref(), Some("auto"));
    store.commit(vec![Change::SetSetting { key: "approval_mode".into(), value: None }]).await.unwrap();
    assert_eq!(store.setting("approval_mode").await.unwrap(), None);
    assert!(store.interrupted().await.unwrap().is_empty());

    let mut row = session("s");
    row.status = SessionStatus::WaitingApproval;
    row.last_activity_at = time(1);
    store.commit(vec![put(row)]).await.unwrap();
    assert_eq!(store.interrupted().await.unwrap(), ["s"], "its status");
    assert_eq!(store.session("s").await.unwrap().unwrap().last_activity_at, "1970-01-01T00:00:01.000Z", "activity never goes back");
}

#[tokio::test]
async fn a_commit_that_cannot_be_applied_leaves_nothing_and_harms_no_other() {
    let place = Place::new();
    let store = Arc::new(place.open());
    store.commit(vec![put(session("s"))]).await.unwrap();
    let mut tasks = Vec::new();
    for n in 0..200 {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move {
            let good = insert(user("s", &format!("m{n}"), "text"));
            let bad = Change::SetMessageState { id: "nobody".into(), state: MessageState::Failed, run: None };
            if n % 7 == 3 { (n, store.commit(vec![good, bad]).await) } else { (n, store.commit(vec![good]).await) }
        }));
    }
    for task in tasks {
        let (n, outcome) = task.await.unwrap();
        match outcome {
            Ok(()) => assert_ne!(n % 7, 3),
            Err(Error::Internal(message)) => assert!(n % 7 == 3 && message.contains("no message nobody"), "{message}"),
            Err(other) => panic!("{other:?}"),
        }
    }
    let stored = store.messages(&MessageQuery { session_id: "s".into(), ..Default::default() }).await.unwrap();
    assert_eq!(stored.len(), (0..200).filter(|n| n % 7 != 3).count());

    let again = store.commit(vec![insert(user("s", "m0", "other text"))]).await;
    assert!(matches!(again, Err(Error::Internal(_))), "a second row of one id: {again:?}");
    assert_eq!(store.message("m0").await.unwrap().unwrap().content, "text");
    let mut lost = session("t");
    lost.project_id = Some("proj_none".into());
    store.commit(vec![put(lost)]).await.unwrap();
    assert_eq!(store.session("t").await.unwrap().unwrap().project_id, None, "a project that is gone leaves its sessions ungrouped");
}

#[tokio::test]
async fn a_lock_held_by_somebody_else_is_busy_and_nothing_is_written() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    let mut other = Connection::open(place.db()).unwrap();
    let held = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let refused = store.commit(vec![put(session("t")), Change::AppendLog(chunk("s", 1, 1))]).await.unwrap_err();
    assert!(matches!(refused, Error::DbBusy(_)), "{refused:?}");
    assert_eq!(refused.detail().unwrap()["retryable"], true);
    assert!(store.session("t").await.unwrap().is_none(), "reads go on meanwhile");
    held.rollback().unwrap();
    store.commit(vec![put(session("t")), Change::AppendLog(chunk("s", 1, 1))]).await.unwrap();
    assert_eq!(store.last_index("s").await.unwrap(), 1);
}

#[tokio::test]
async fn dropping_the_store_finishes_what_was_asked_for() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    let mut pending = Vec::new();
    for index in 1..=100 {
        let mut commit = Box::pin(store.commit(vec![Change::AppendLog(chunk("s", index, index))]));
        // Polled once: the request is in the queue, its answer is never awaited.
        let _ = futures::poll!(&mut commit);
        pending.push(commit);
    }
    drop(pending);
    drop(store);
    assert!(!place.folder().join("workbench.db-wal").exists(), "the last connection folds the log in");
    let reader = SqliteReader::open(&place.db()).unwrap();
    assert_eq!(reader.last_index("s").await.unwrap(), 100);
}

#[tokio::test]
async fn the_write_ahead_log_stays_bounded_under_load() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    let line = format!(r#"{{"kind":"turn_progress","delta":"{}"}}"#, "x".repeat(100_000));
    for index in 1..=1500u64 {
        let mut chunk = chunk("s", index, index);
        chunk.lines = Some(line.clone().into_bytes().into());
        store.commit(vec![Change::AppendLog(chunk)]).await.unwrap();
    }
    let wal = std::fs::metadata(place.folder().join("workbench.db-wal")).unwrap().len();
    assert!(wal < 100 << 20, "150 MB were written, the log is {wal} bytes");
}

#[tokio::test]
async fn internal_and_partial_rows_show_as_such() {
    let place = Place::new();
    let store = place.open();
    let mut internal = user("s", "m1", "audit");
    internal.visibility = Visibility::Internal;
    let mut partial = agent("s", "m2", "half");
    partial.partial = true;
    store.commit(vec![put(session("s")), insert(internal), insert(partial), insert(agent("s", "m3", "whole"))]).await.unwrap();
    let mut query = MessageQuery { session_id: "s".into(), ..Default::default() };
    let ids =
        |rows: Vec<galley_protocol::socket::MessageBrief>| rows.into_iter().map(|row| (row.id, row.visibility, row.partial)).collect::<Vec<_>>();
    assert_eq!(ids(store.messages(&query).await.unwrap()), [("m2".into(), None, Some(true)), ("m3".into(), None, None)]);
    query.internal = true;
    assert_eq!(ids(store.messages(&query).await.unwrap())[0], ("m1".into(), Some(Visibility::Internal), None));
}
