//! A session as a whole, with real runners: put away, taken back, killed, resumed, deleted.

use crate::engine::{Engine, collect, database};
use futures::{Stream, StreamExt};
use galley_client::WatchOptions;
use galley_protocol::ipc::Event;
use galley_protocol::socket::{
    ArchiveIfBusy, Dispatch, EndReason, KillDispatch, LlmDispatch, MessageState, QueueAction, SessionArchive, SessionNew, SessionSend, SessionShow,
    SessionStatus, Visibility, WatchFrom,
};
use std::time::Duration;

fn tag(error: &galley_client::Error) -> String {
    error.tag().as_str().to_owned()
}

fn from_start() -> WatchOptions {
    WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() }
}

/// A watch that has begun: it opens with its first item.
async fn opened<S: Stream + Unpin>(mut watch: S) -> S {
    watch.next().await.expect("it begins");
    watch
}

/// A session whose run stays open until it is stopped.
async fn at_work(engine: &Engine) -> String {
    let id = engine.new_session("!say working; no_complete").await.session.id;
    engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
    id
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    let before = engine.idle(&id).await;
    let session = engine.client.session(&id);
    assert_eq!(tag(&session.rename("  ").await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&session.move_to(Some("proj_none".into())).await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&session.btw(" ").await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&session.set_llm("no such model").await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&session.edit_queue("msg_none", QueueAction::Remove, None).await.unwrap_err()), "not_found");
    assert_eq!(tag(&session.retry(Some("msg_none".into())).await.unwrap_err()), "not_found");
    assert_eq!(tag(&engine.client.approvals().revoke("code_run", "global").await.unwrap_err()), "not_found");
    let images = SessionSend { session_id: id.clone(), content: "look".into(), images: Some(vec!["/a.png".into()]), ..SessionSend::default() };
    assert_eq!(tag(&engine.client.call(images).await.unwrap_err()), "invalid_args");
    let unknown = br#"{"command":"session.command","args":{"sessionId":"x","command":{"kind":"abort"}}}"#;
    assert!(String::from_utf8_lossy(&engine.client.raw(unknown).await.unwrap()).contains("invalid_args"));
    let project = SessionNew { task: "x".into(), project_id: Some("proj_none".into()), ..SessionNew::default() };
    assert_eq!(tag(&engine.client.call(project).await.unwrap_err()), "invalid_args");
    let nobody = engine.client.session("sess_none");
    for error in [
        nobody.archive().await.map(drop).unwrap_err(),
        nobody.kill().await.map(drop).unwrap_err(),
        nobody.delete().await.unwrap_err(),
        nobody.resume().await.map(drop).unwrap_err(),
    ] {
        assert_eq!(tag(&error), "not_found");
    }
    assert_eq!(engine.brief(&id).await, before);
    assert_eq!(engine.show(&id).await.len(), 2);
    engine.stop().await;
}

#[tokio::test]
async fn an_archived_session_has_no_runner_keeps_its_queue_and_comes_back() {
    let engine = Engine::start().await;
    let id = at_work(&engine).await;
    let session = engine.client.session(&id);
    let queued = session.send("later").await.unwrap().message.unwrap().id;
    let reject = SessionArchive { session_id: id.clone(), if_busy: Some(ArchiveIfBusy::Reject), ..SessionArchive::default() };
    assert_eq!(tag(&engine.client.call(reject).await.unwrap_err()), "busy");
    let watch = opened(engine.client.watch(&id, from_start())).await;
    let archive = SessionArchive { session_id: id.clone(), supervisor: Some("boss".into()), ..SessionArchive::default() };
    let archived = engine.client.call(archive).await.unwrap().session;
    assert_eq!((archived.status, archived.pending_count), (SessionStatus::Archived, Some(1)));
    assert_eq!(collect(watch).await.1, Some(EndReason::Archived));
    let replay = collect(engine.client.watch(&id, from_start())).await;
    assert!(!replay.0.is_empty() && replay.1 == Some(EndReason::NotLive), "its log can still be read");
    let stays = opened(engine.client.watch(&id, WatchOptions { stay: true, ..from_start() })).await;
    assert!(!session.state().await.unwrap().runner_alive);
    assert_eq!(tag(&session.send("no").await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&session.resume().await.unwrap_err()), "invalid_args");
    let all = engine.client.call(SessionShow { session_id: id.clone(), internal: Some(true), ..SessionShow::default() }).await.unwrap();
    assert!(all.iter().any(|row| row.visibility == Some(Visibility::Internal) && row.content == "archive"));

    assert_eq!(session.restore().await.unwrap().status, SessionStatus::Idle);
    let resumed = session.resume().await.unwrap();
    assert_eq!((resumed.dispatch, resumed.session.status), (Dispatch::Dispatched, SessionStatus::Running));
    engine.idle(&id).await;
    let later = engine.show(&id).await.into_iter().find(|message| message.id == queued).unwrap();
    assert_eq!(later.state, Some(MessageState::Answered));
    session.archive().await.unwrap();
    let stayed = collect(stays).await;
    assert_eq!(stayed.1, Some(EndReason::Archived), "a stream that outlived the first time ends with the second");
    assert_eq!(stayed.0.len() as u64, engine.brief(&id).await.last_index.unwrap());
    engine.stop().await;
}

#[tokio::test]
async fn a_killed_runner_is_gone_when_the_answer_comes() {
    let engine = Engine::start().await;
    let id = at_work(&engine).await;
    let session = engine.client.session(&id);
    let pid = session.state().await.unwrap().pid.unwrap();
    let watch = opened(engine.client.watch(&id, from_start())).await;
    assert_eq!(session.kill().await.unwrap(), KillDispatch::ShutdownSent);
    assert!(galley_testkit::process_gone(pid), "{pid} is still there");
    assert_eq!(collect(watch).await.1, Some(EndReason::SubprocessExited));
    assert_eq!(engine.brief(&id).await.status, SessionStatus::Cancelled);
    assert_eq!(session.kill().await.unwrap(), KillDispatch::AlreadyStopped);
    assert_eq!(session.resume().await.unwrap().dispatch, Dispatch::Dispatched);
    assert!(session.state().await.unwrap().runner_alive);
    engine.stop().await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_for_everybody_at_once() {
    let engine = Engine::start().await;
    let new =
        SessionNew { task: "echo find-the-needle".into(), approval_mode: Some(galley_protocol::socket::ApprovalMode::Auto), ..SessionNew::default() };
    let id = engine.client.call(new).await.unwrap().session.id;
    engine.idle(&id).await;
    let kept = engine.dir.path().join("shell").join(&id);
    assert!(kept.is_dir());
    let watch = opened(engine.client.watch(&id, WatchOptions { stay: true, ..from_start() })).await;
    engine.client.session(&id).delete().await.unwrap();
    assert_eq!(collect(watch).await.1, Some(EndReason::Deleted));
    assert!(!kept.exists(), "the shell forgot it");
    assert_eq!(tag(&engine.client.session(&id).brief().await.unwrap_err()), "not_found");
    assert_eq!(tag(&engine.client.session(&id).send("x").await.unwrap_err()), "not_found");
    assert!(engine.client.sessions().search("find-the-needle").await.unwrap().is_empty());
    let dir = engine.stop().await;
    let rows = rusqlite::Connection::open(database(&dir)).unwrap();
    let count = |table: &str| rows.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!([count("session"), count("message"), count("event_log"), count("message_text")], [0; 4], "nothing is left of it");
}

#[tokio::test]
async fn the_queue_is_edited_and_a_failed_message_sent_again() {
    let engine = Engine::start().await;
    let id = at_work(&engine).await;
    let session = engine.client.session(&id);
    let mut ids = Vec::new();
    for text in ["a", "b", "c"] {
        ids.push(session.send(text).await.unwrap().message.unwrap().id);
    }
    session.edit_queue(&ids[0], QueueAction::Remove, None).await.unwrap();
    session.edit_queue(&ids[1], QueueAction::Edit, Some("better".into())).await.unwrap();
    let queue = session.edit_queue(&ids[2], QueueAction::Jump, None).await.unwrap();
    assert_eq!(queue.iter().map(|item| item.content.as_str()).collect::<Vec<_>>(), ["c", "better"]);
    engine.idle(&id).await;
    let answers: Vec<_> = engine.show(&id).await.into_iter().filter_map(|message| message.final_answer).collect();
    assert_eq!(answers, ["echo: c", "echo: better"]);

    let again = session.retry(Some(ids[2].clone())).await.unwrap();
    assert_eq!((again.dispatch, again.message.unwrap().content), (Dispatch::Dispatched, "c".to_owned()));
    engine.idle(&id).await;
    assert_eq!(tag(&session.retry(Some(ids[2].clone())).await.unwrap_err()), "invalid_args");
    let rows = engine.show(&id).await;
    let superseded = rows.iter().filter(|row| row.state == Some(MessageState::Superseded)).count();
    assert_eq!(superseded, 2, "the message and its answer");
    engine.stop().await;
}

#[tokio::test]
async fn a_model_is_chosen_by_name_now_later_or_for_the_next_runner() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let session = engine.client.session(&id);
    let now = session.set_llm("TESTKIT/Model-1").await.unwrap();
    assert_eq!((now.dispatch, now.session.selected_llm_key.as_deref()), (LlmDispatch::Dispatched, Some("testkit/model-1")));
    engine.event(&id, |event| matches!(event, Event::LlmChanged(changed) if changed.index == 1)).await;

    session.send("!say working; wait_for abort").await.unwrap();
    engine.event(&id, |event| matches!(event, Event::TurnProgress(progress) if progress.delta.contains("working"))).await;
    assert_eq!(session.set_llm("testkit/model-0").await.unwrap().dispatch, LlmDispatch::Deferred);
    session.stop().await.unwrap();
    engine.event(&id, |event| matches!(event, Event::LlmChanged(changed) if changed.index == 0)).await;

    session.kill().await.unwrap();
    assert_eq!(session.set_llm("testkit/model-1").await.unwrap().dispatch, LlmDispatch::PersistedOnly);
    let new = SessionNew { task: "hi".into(), runtime: Some("testkit".into()), llm: Some("testkit/MODEL-1".into()), ..SessionNew::default() };
    let created = tokio::time::timeout(Duration::from_secs(20), engine.client.call(new)).await.unwrap().unwrap();
    assert_eq!(created.session.selected_llm_index, Some(1));
    engine.stop().await;
}
