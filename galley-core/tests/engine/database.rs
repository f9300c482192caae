//! A database that is locked, missing, damaged, newer, or cannot be written.

use crate::engine::{Engine, builder, builder_in, database};
use crate::wire::LIMIT;
use galley_client::Client;
use galley_core::{CoreBuilder, Error, Runtime};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{ErrorTag, MessageState, SessionNew, SessionStatus, StatusGet, StatusSummary, StopDispatch};
use galley_testkit::wait_until;
use rusqlite::Connection;
use std::fs;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Another program's write transaction; rolled back when dropped.
fn lock(dir: &TempDir) -> Connection {
    let connection = Connection::open(database(dir)).unwrap();
    connection.busy_timeout(LIMIT).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// The engine with a runtime whose runner records what it is told.
async fn recorded() -> Engine {
    let dir = tempfile::tempdir().unwrap();
    let runner = galley_testkit::runner_path().unwrap().to_string_lossy().into_owned();
    let record = dir.path().join("record").to_string_lossy().into_owned();
    let core = builder(&dir).runtime(Runtime::process("recorded", vec![runner, "--record".into(), record]));
    Engine::start_as(dir, core).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_locked_callers_wait_and_a_stop_gets_through() {
    let engine = recorded().await;
    let idle = engine.new_session("hello").await.session.id;
    engine.idle(&idle).await;
    let new = SessionNew { task: "!emit 200000 100 200; done".into(), runtime: Some("recorded".into()), ..SessionNew::default() };
    let runs = engine.client.call(new).await.unwrap().session.id;
    engine.event(&runs, |event| matches!(event, Event::TurnProgress(_))).await;

    let held = lock(&engine.dir);
    let (client, id) = (engine.over_socket(), idle.clone());
    let sent = tokio::spawn(async move { client.session(id).send("while locked").await });
    let (client, id) = (engine.over_socket(), runs.clone());
    let stopped = tokio::spawn(async move { client.session(id).stop().await });
    let record = engine.dir.path().join("record");
    wait_until(LIMIT, "the stop reaches the runner", || fs::read_to_string(&record).unwrap().contains(r#""abort""#)).unwrap();
    // Reads do not wait, and the lock is held for longer than one attempt to get it takes.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1500) {
        assert_eq!(engine.brief(&idle).await.status, SessionStatus::Completed);
    }
    assert!(!sent.is_finished() && !stopped.is_finished(), "nobody was told what is not written");
    drop(held);

    sent.await.unwrap().unwrap();
    assert_eq!(stopped.await.unwrap().unwrap(), StopDispatch::AbortSent);
    assert_eq!(engine.idle(&idle).await.status, SessionStatus::Completed);
    assert_eq!(engine.show(&idle).await.last().unwrap().final_answer.as_deref(), Some("echo: while locked"));
    assert_eq!(engine.idle(&runs).await.status, SessionStatus::Cancelled);
    let log = engine.log(&runs).await;
    let deltas = log.iter().filter_map(|event| match event.decode().unwrap() {
        Event::TurnProgress(progress) => Some(progress.delta),
        _ => None,
    });
    let partial: String = engine.show(&runs).await.into_iter().filter(|row| row.partial == Some(true)).map(|row| row.content).collect();
    assert_eq!(partial, deltas.collect::<String>(), "nothing was lost");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_locked_for_long_is_told_as_unavailable_for_now_and_works_again() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let held = lock(&engine.dir);
    let begun = Instant::now();
    let error = engine.client.session(&id).send("lost").await.unwrap_err();
    assert_eq!((error.tag().as_str(), error.is_retryable()), ("db_unavailable", true));
    assert!((10..15).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    drop(held);
    engine.client.session(&id).send("kept").await.unwrap();
    engine.idle(&id).await;
    let said: Vec<String> =
        engine.show(&id).await.into_iter().filter(|row| row.state == Some(MessageState::Answered)).map(|row| row.content).collect();
    assert_eq!(said, ["hello", "kept"]);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_does_not_wait_for_a_locked_database() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 200000 100 200; done").await.session.id;
    engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
    let held = lock(&engine.dir);
    let begun = Instant::now();
    let dir = engine.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    drop(held);
    let engine = Engine::start_in(dir).await;
    let status = engine.brief(&id).await.status;
    assert!(matches!(status, SessionStatus::Error | SessionStatus::Cancelled), "{status}");
    engine.client.session(&id).send("again").await.unwrap();
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    engine.stop().await;
}

/// Reads without a Core.
async fn read(dir: &TempDir) -> Result<StatusSummary, galley_client::Error> {
    Client::new(galley_core::read_only(&database(dir))).call(StatusGet {}).await
}

async fn refused(core: CoreBuilder, part: &str) {
    let error = core.start().await.err().expect("refused");
    assert!(matches!(error, Error::DbUnavailable(_)), "{error:?}");
    assert!(error.detail().is_none(), "trying again does not help");
    assert!(error.to_string().contains(part), "{error}");
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_refused_untouched_and_nothing_listens() {
    /// A part of what is said about it, and how it gets so.
    type Case = (&'static str, fn(&TempDir));
    let cases: [Case; 4] = [
        ("newer", |dir| Connection::open(database(dir)).unwrap().execute_batch("PRAGMA user_version = 99").unwrap()),
        ("another program", |dir| Connection::open(database(dir)).unwrap().execute_batch("PRAGMA application_id = 7").unwrap()),
        ("not a database", |dir| fs::write(database(dir), "x".repeat(5000)).unwrap()),
        ("database", |dir| {
            let mut bytes = fs::read(database(dir)).unwrap();
            bytes.truncate(5000);
            fs::write(database(dir), bytes).unwrap();
        }),
    ];
    for (part, spoil) in cases {
        let dir = Engine::start().await.stop().await;
        spoil(&dir);
        let before = fs::read(database(&dir)).unwrap();
        refused(builder(&dir), part).await;
        assert_eq!(fs::read(database(&dir)).unwrap(), before);
        assert!(!crate::engine::socket(&dir).exists());
        let error = read(&dir).await.unwrap_err();
        assert!(error.tag() == ErrorTag::DbUnavailable && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_made_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    refused(builder_in(dir.path()).database(dir.path().join("file/data/workbench.db")), "file/data").await;
    // Even root cannot write there.
    #[cfg(target_os = "linux")]
    refused(builder_in(dir.path()).database("/proc/galley/workbench.db"), "/proc/galley").await;
    assert!(!dir.path().join("galley.sock").exists());
}

#[tokio::test]
async fn a_missing_database_is_made_by_core_and_asked_for_by_readers() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(&dir).await.unwrap_err();
    assert!(error.tag() == ErrorTag::DbUnavailable && error.to_string().contains("galley serve"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a reader makes nothing");
    let dir = Engine::start_in(dir).await.stop().await;
    assert_eq!(read(&dir).await.unwrap().total, 0);
}
