//! Commits that can never succeed.

use crate::engine::{Engine, database};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{Dispatch, MessageState, SessionStatus};
use galley_testkit::process_gone;
use std::time::Duration;

/// Makes the database refuse messages that contain a word; whoever opened it keeps the rule with it.
fn refuse(engine: &Engine, word: &str) {
    let rule = format!("CREATE TRIGGER refuse BEFORE INSERT ON message WHEN new.content LIKE '%{word}%' BEGIN SELECT RAISE(ABORT, 'no'); END");
    rusqlite::Connection::open(database(&engine.dir)).unwrap().execute_batch(&rule).unwrap();
}

#[tokio::test]
async fn what_a_runner_says_and_cannot_be_stored_ends_its_run_and_the_session_goes_on() {
    let engine = Engine::start().await;
    let id = engine.new_session("!say working; wait_for abort; done").await.session.id;
    engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
    let session = engine.client.session(&id);
    let queued = session.send("later").await.unwrap().message.unwrap().id;
    let pid = session.state().await.unwrap().pid.unwrap();
    refuse(&engine, "working");
    // Its partial text is refused.
    session.stop().await.unwrap();
    let brief = tokio::time::timeout(Duration::from_secs(20), async {
        engine.event(&id, |event| matches!(event, Event::Error(error) if error.context.as_deref() == Some("not_stored"))).await;
        engine.brief(&id).await
    });
    let brief = brief.await.unwrap();
    assert_eq!((brief.status, brief.pending_count), (SessionStatus::Error, Some(1)));
    assert!(process_gone(pid));
    assert!(!session.state().await.unwrap().busy);
    rusqlite::Connection::open(database(&engine.dir)).unwrap().execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(session.resume().await.unwrap().dispatch, Dispatch::Dispatched);
    engine.idle(&id).await;
    let row = engine.show(&id).await.into_iter().find(|row| row.id == queued).unwrap();
    assert_eq!(row.state, Some(MessageState::Answered));
    engine.stop().await;
}

#[tokio::test]
async fn what_a_caller_says_and_cannot_be_stored_is_refused_and_changes_nothing() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    let before = engine.idle(&id).await;
    refuse(&engine, "poison");
    let error = engine.client.session(&id).send("poison").await.unwrap_err();
    assert_eq!(error.tag().as_str(), "internal");
    assert_eq!(engine.brief(&id).await, before);
    engine.client.session(&id).send("fine").await.unwrap();
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    engine.stop().await;
}
