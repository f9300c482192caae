//! One person's day: a task, its answer, an approval, a stop.

use crate::engine::{Engine, collect, kinds};
use galley_client::WatchOptions;
use galley_protocol::ipc::{Decision, Event};
use galley_protocol::socket::{ApprovalMode, ApprovalRespond, Dispatch, EndReason, MessageRole, SessionNew, SessionStatus, StopDispatch, WatchFrom};

#[tokio::test]
async fn a_task_is_run_and_its_answer_kept() {
    let engine = Engine::start().await;
    let created = engine.new_session("hello").await;
    assert_eq!((&created.session.status, created.dispatch), (&SessionStatus::Running, Dispatch::Dispatched));
    let id = created.session.id;
    let brief = engine.idle(&id).await;
    assert_eq!(brief.status, SessionStatus::Completed);
    let messages = engine.show(&id).await;
    assert_eq!(messages.iter().map(|message| message.role.clone()).collect::<Vec<_>>(), [MessageRole::User, MessageRole::Agent]);
    assert_eq!(messages[1].final_answer.as_deref(), Some("echo: hello"));
    let log = engine.log(&id).await;
    assert_eq!(log.iter().map(|event| event.index).collect::<Vec<_>>(), (1..=log.len() as u64).collect::<Vec<_>>());
    assert_eq!(kinds(&log)[0], "ready");
    engine.stop().await;
}

#[tokio::test]
async fn the_shell_runs_a_command_and_search_finds_its_output() {
    let engine = Engine::start().await;
    let new = SessionNew { task: "echo find-the-needle; exit 3".into(), approval_mode: Some(ApprovalMode::Auto), ..SessionNew::default() };
    let id = engine.client.call(new).await.unwrap().session.id;
    let brief = engine.idle(&id).await;
    assert_eq!(brief.status, SessionStatus::Completed);
    let exit = brief.last_exit.unwrap();
    assert_eq!(exit.data.unwrap().read::<serde_json::Value>().unwrap()["exitCode"], 3);
    let hits = engine.client.sessions().search("the-needle").await.unwrap();
    assert!(hits.iter().all(|hit| hit.session_id == id && hit.snippet.contains("<mark>the-needle</mark>")));
    assert_eq!(hits.len(), 2, "the task and the answer");
    engine.stop().await;
}

#[tokio::test]
async fn an_approval_answered_by_another_client_lets_the_command_run() {
    let engine = Engine::start().await;
    let id = engine.client.call(SessionNew { task: "echo allowed".into(), ..SessionNew::default() }).await.unwrap().session.id;
    let asked = engine.event(&id, |event| matches!(event, Event::ToolCallPending(_))).await;
    assert_eq!(engine.brief(&id).await.status, SessionStatus::WaitingApproval);
    let other = engine.over_socket();
    let pending = other.approvals().list().await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(Some(&pending[0].id), asked.approval.as_ref());
    let answer =
        ApprovalRespond { id: pending[0].id.clone(), session_id: None, decision: Decision::AllowOnce, supervisor: Some("boss".into()), reason: None };
    let answered = other.call(answer.clone()).await.unwrap().approval;
    assert_eq!(answered.by.as_deref(), Some("boss"));
    let error = other.call(answer).await.unwrap_err();
    assert_eq!(error.tag().as_str(), "invalid_args");
    assert!(error.to_string().contains("boss"), "{error}");
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    assert_eq!(kinds(&engine.log(&id).await).iter().filter(|kind| *kind == "approval_resolved").count(), 1);
    engine.stop().await;
}

#[tokio::test]
async fn a_stop_ends_a_run_within_a_second() {
    let engine = Engine::start().await;
    let new = SessionNew { task: "sleep 1000 & sleep 1000".into(), approval_mode: Some(ApprovalMode::Auto), ..SessionNew::default() };
    let id = engine.client.call(new).await.unwrap().session.id;
    engine.event(&id, |event| matches!(event, Event::ToolCallStart(_))).await;
    let begun = std::time::Instant::now();
    assert_eq!(engine.client.session(&id).stop().await.unwrap(), StopDispatch::AbortSent);
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Cancelled);
    assert!(begun.elapsed().as_secs_f32() < 1.0, "{:?}", begun.elapsed());
    assert_eq!(engine.client.session(&id).stop().await.unwrap(), StopDispatch::AlreadyStopped);
    engine.stop().await;
}

#[tokio::test]
async fn a_log_is_replayed_by_the_next_core_and_the_replay_ends() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let before = engine.log(&id).await;
    let engine = Engine::start_in(engine.stop().await).await;
    let watch = engine.client.watch(&id, WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() });
    let (after, reason) = collect(watch).await;
    assert_eq!(reason, Some(EndReason::NotLive));
    let raw = |events: &[galley_client::WatchEvent]| events.iter().map(|event| (event.index, event.raw.clone())).collect::<Vec<_>>();
    assert_eq!(raw(&after), raw(&before));
    assert_eq!(engine.brief(&id).await.status, SessionStatus::Completed);
    engine.stop().await;
}
