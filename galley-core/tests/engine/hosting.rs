//! The engine within its host: several Cores, odd hosts, wedged runners, many sessions.

use crate::engine::{Engine, builder, database, socket};
use crate::second_process::{FORK, SecondCore, assert_nothing_left, mark, signal};
use crate::wire::{LIMIT, Wire, ask};
use galley_client::Client;
use galley_core::{Error, Limits, read_only};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{ApprovalMode, SessionSend, SessionStatus, SessionsList, WatchFrom};
use galley_testkit::{marked_processes, process_gone, wait_some, wait_until};
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

async fn pid(engine: &Engine, id: &str) -> Option<u32> {
    engine.client.session(id).state().await.unwrap().pid
}

#[tokio::test]
async fn two_cores_in_one_process_keep_to_themselves() {
    let (one, two) = (Engine::start().await, Engine::start().await);
    let (a, b) = (one.new_session("one").await.session.id, two.new_session("two").await.session.id);
    assert_eq!((one.idle(&a).await.status, two.idle(&b).await.status), (SessionStatus::Completed, SessionStatus::Completed));
    assert_eq!(one.client.session(&b).brief().await.unwrap_err().tag().as_str(), "not_found");
    one.stop().await;
    two.client.session(&b).send("still there").await.unwrap();
    assert_eq!(two.idle(&b).await.status, SessionStatus::Completed);
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_has_one_core_at_a_time_and_is_free_after_its_shutdown() {
    // Another Core spawns processes all the while: what a fork copies must not keep the lock.
    let busy = Engine::start().await;
    let spawning = tokio::spawn({
        let client = busy.core.client();
        async move {
            loop {
                let new = galley_protocol::socket::SessionNew { task: "!done; exit 0".into(), runtime: Some("testkit".into()), ..Default::default() };
                if client.call(new).await.is_err() {
                    break;
                }
            }
        }
    });
    let mut dir = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let core = builder(&dir).start().await.unwrap_or_else(|error| panic!("round {round}: {error}"));
        let second = builder(&dir).socket(dir.path().join("other.sock")).start().await;
        assert!(matches!(second, Err(Error::AlreadyRunning { pid: Some(pid), .. }) if pid == std::process::id()), "round {round}");
        let client = core.client();
        let engine = Engine { core, client, dir };
        if round % 5 == 0 {
            let id = engine.new_session("hello").await.session.id;
            engine.idle(&id).await;
        }
        dir = engine.stop().await;
        assert!(!socket(&dir).exists());
    }
    busy.stop().await;
    spawning.await.unwrap();
}

#[tokio::test]
async fn a_core_dropped_without_a_shutdown_ends_its_runners() {
    let engine = Engine::start().await;
    let id = engine.new_session("!spawn_escaped 600; spawn_sleep 600; ignore_stdin_eof; no_complete").await.session.id;
    engine.event(&id, |event| matches!(event, Event::TurnStart(_))).await;
    let mark = mark(&engine.dir);
    wait_until(LIMIT, "the runner and its children", || marked_processes(&mark).unwrap().len() == 3).unwrap();
    let Engine { core, client, dir } = engine;
    drop(core);
    let gone = tokio::task::spawn_blocking(move || assert_nothing_left(&mark));
    gone.await.unwrap();
    assert!(client.session(&id).brief().await.is_err(), "its clients are told");
    let engine = Engine::start_in(dir).await;
    assert_eq!(engine.brief(&id).await.status, SessionStatus::Error);
    engine.stop().await;
}

#[test]
fn a_core_started_outside_a_runtime_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut start = std::pin::pin!(builder(&dir).start());
    match start.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Err(Error::Internal(message))) => assert!(message.contains("Tokio"), "{message}"),
        Poll::Ready(Err(error)) => panic!("{error}"),
        Poll::Ready(Ok(_)) | Poll::Pending => panic!("it started"),
    }
    assert!(!database(&dir).exists());
}

#[tokio::test]
async fn a_host_that_ignores_sigchld_runs_sessions_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start_after(&dir, "trap '' CHLD");
    let client = core.client(&dir);
    for task in ["hello", "!die KILL"] {
        let new = galley_protocol::socket::SessionNew { task: task.into(), runtime: Some("testkit".into()), ..Default::default() };
        let id = client.call(new).await.unwrap().session.id;
        let wait = galley_protocol::socket::SessionWait { until_idle: Some(true), ..Default::default() };
        client.session(&id).wait(wait).wait_final().await.unwrap();
        let expected = if task == "hello" { SessionStatus::Completed } else { SessionStatus::Error };
        assert_eq!(client.session(&id).brief().await.unwrap().status, expected);
        client.session(&id).send("again").await.unwrap();
    }
    core.end();
    assert_nothing_left(&mark(&dir));
}

#[tokio::test]
async fn a_forked_child_of_a_dead_core_keeps_neither_its_lock_nor_its_socket() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start_after(&dir, &format!("export {FORK}=1"));
    let child = wait_some(LIMIT, "the host forks", || fs::read_to_string(dir.path().join("child")).ok()?.parse::<u32>().ok()).unwrap();
    let client = core.client(&dir);
    let new = galley_protocol::socket::SessionNew { task: "hello".into(), runtime: Some("testkit".into()), ..Default::default() };
    client.call(new).await.unwrap();
    core.kill();
    assert!(!process_gone(child), "the child is the host's own");
    let engine = Engine::start_in(dir).await;
    let id = engine.new_session("hello").await.session.id;
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    engine.stop().await;
    signal(child, Signal::KILL);
}

#[tokio::test]
async fn the_default_approval_mode_reaches_live_sessions_that_follow_it() {
    let engine = Engine::start().await;
    let (follows, own) = (engine.new_session("hello").await.session.id, engine.new_session("hello").await.session.id);
    engine.idle(&follows).await;
    engine.idle(&own).await;
    engine.client.approvals().set_mode(Some(own.clone()), ApprovalMode::Ask).await.unwrap();
    engine.client.approvals().set_mode(None, ApprovalMode::Auto).await.unwrap();
    for id in [&follows, &own] {
        engine.client.session(id).send("!ask_approval rm; done").await.unwrap();
    }
    assert_eq!(engine.idle(&follows).await.status, SessionStatus::Completed);
    engine.event(&own, |event| matches!(event, Event::ToolCallPending(_))).await;
    assert_eq!(engine.client.approvals().list().await.unwrap().len(), 1);
    let dir = engine.stop().await;

    let engine = Engine::start_in(dir).await;
    let later = engine.new_session("!ask_approval rm; done").await.session.id;
    assert_eq!(engine.idle(&later).await.status, SessionStatus::Completed, "the default survives a restart");
    engine.stop().await;
}

/// A runner that is stopped by a signal, with its stdin full, and others beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wedged_runner_delays_no_other_session() {
    let engine = Engine::start().await;
    let wedged = engine.new_session("!no_complete").await.session.id;
    let other = engine.new_session("hello").await.session.id;
    engine.idle(&other).await;
    let stuck = pid(&engine, &wedged).await.unwrap();
    signal(stuck, Signal::STOP);
    let socket = socket(&engine.dir);
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::connect(&socket).await;
        let text = format!("/btw {}", "x".repeat(100_000));
        wire.line(&json!({ "command": "session.send", "args": { "sessionId": wedged, "content": text } }).to_string()).await;
        waiting.push(wire);
    }
    let begun = Instant::now();
    ask(&socket, "session.watch", json!({ "sessionId": wedged, "from": "start" })).await;
    engine.client.session(&other).send("!no_complete").await.unwrap();
    assert_eq!(engine.client.sessions().list(SessionsList { runtime: Some("all".into()), ..SessionsList::default() }).await.unwrap().items.len(), 2);
    engine.client.session(&other).stop().await.unwrap();
    assert_eq!(engine.idle(&other).await.status, SessionStatus::Cancelled);
    let third = engine.new_session("hello").await.session.id;
    assert_eq!(engine.idle(&third).await.status, SessionStatus::Completed);
    engine.client.session(&wedged).state().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "all together took {:?}", begun.elapsed());
    // Its own stop ends in a kill.
    engine.client.session(&wedged).stop().await.unwrap();
    engine.idle(&wedged).await;
    wait_until(LIMIT, "the wedged runner ends", || process_gone(stuck)).unwrap();
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_runners_and_a_wedged_one_end_together() {
    let engine = Engine::start().await;
    let mut pids = Vec::new();
    for number in 0..20 {
        let id = engine.new_session(if number == 7 { "!silence quiet" } else { "hello" }).await.session.id;
        pids.push(pid(&engine, &id).await.unwrap());
    }
    signal(pids[3], Signal::STOP);
    let mark = mark(&engine.dir);
    let begun = Instant::now();
    engine.stop().await;
    // Together: one after the other they would take much longer. How long exactly is a benchmark's question.
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    assert!(pids.iter().all(|pid| process_gone(*pid)));
    assert_nothing_left(&mark);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_the_cap_the_least_recently_used_idle_runner_ends_and_no_busy_one() {
    let dir = tempfile::tempdir().unwrap();
    let core = builder(&dir).max_live_runners(3).limits(Limits::default());
    let engine = Engine::start_as(dir, core).await;
    let mut ids = Vec::new();
    for task in ["!no_complete", "hello", "hello"] {
        ids.push(engine.new_session(task).await.session.id);
    }
    for id in &ids[1..] {
        engine.idle(id).await;
    }
    // Used again, the second is no longer the oldest.
    engine.client.session(&ids[1]).send("again").await.unwrap();
    engine.idle(&ids[1]).await;
    let begun = Instant::now();
    let fourth = engine.new_session("hello").await.session.id;
    assert!(begun.elapsed() < Duration::from_secs(1), "eviction is in the background");
    assert!(engine.client.session(&ids[2]).state().await.is_ok());
    let begun = Instant::now();
    while pid(&engine, &ids[2]).await.is_some() {
        assert!(begun.elapsed() < LIMIT);
    }
    assert!(pid(&engine, &ids[0]).await.is_some() && pid(&engine, &ids[1]).await.is_some());
    assert_eq!(engine.brief(&ids[2]).await.status, SessionStatus::Completed, "evicted is not failed");
    engine.client.session(&ids[2]).send("back").await.unwrap();
    assert_eq!(engine.idle(&ids[2]).await.status, SessionStatus::Completed);
    engine.idle(&fourth).await;
    engine.stop().await;
}

#[tokio::test]
async fn sessions_of_the_built_in_shell_are_not_counted_in_the_cap() {
    let dir = tempfile::tempdir().unwrap();
    let core = builder(&dir).max_live_runners(2);
    let engine = Engine::start_as(dir, core).await;
    let first = engine.new_session("hello").await.session.id;
    engine.idle(&first).await;
    for _ in 0..3 {
        let new = galley_protocol::socket::SessionNew { task: "true".into(), approval_mode: Some(ApprovalMode::Auto), ..Default::default() };
        let id = engine.client.call(new).await.unwrap().session.id;
        engine.idle(&id).await;
    }
    let second = engine.new_session("hello").await.session.id;
    engine.idle(&second).await;
    for _ in 0..50 {
        assert!(pid(&engine, &first).await.is_some(), "two runners fit");
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_read_without_core_gives_the_same_bytes_as_through_it() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello needle").await.session.id;
    engine.idle(&id).await;
    let asks = engine.new_session("!ask_approval rm; done").await.session.id;
    engine.event(&asks, |event| matches!(event, Event::ToolCallPending(_))).await;
    let pending = SessionSend { session_id: id.clone(), content: "more".into(), ..SessionSend::default() };
    engine.client.call(pending).await.unwrap();
    engine.idle(&id).await;
    let requests = [
        json!({ "command": "ping" }),
        json!({ "command": "version" }),
        json!({ "command": "sessions.list" }),
        json!({ "command": "sessions.list", "args": { "limit": 1 } }),
        json!({ "command": "sessions.list", "args": { "status": "waiting_approval", "runtime": "all" } }),
        json!({ "command": "sessions.list", "args": { "runtime": "testkit" } }),
        json!({ "command": "sessions.search", "args": { "query": "needle", "runtime": "all" } }),
        json!({ "command": "session.brief", "args": { "sessionId": id } }),
        json!({ "command": "session.show", "args": { "sessionId": id } }),
        json!({ "command": "session.show", "args": { "sessionId": id, "tail": 1, "internal": true } }),
        json!({ "command": "session.show", "args": { "sessionId": "sess_0" } }),
        json!({ "command": "approval.list" }),
        json!({ "command": "approval.list", "args": { "state": "all", "sessionId": asks } }),
        json!({ "command": "session.show", "args": {} }),
        json!({ "command": "nonsense" }),
    ];
    let beside = Client::new(read_only(&database(&engine.dir)));
    let mut through = Vec::new();
    for request in &requests {
        let request = request.to_string();
        let answer = engine.over_socket().raw(request.as_bytes()).await.unwrap();
        assert_eq!(answer, engine.client.raw(request.as_bytes()).await.unwrap(), "in process: {request}");
        assert_eq!(answer, beside.raw(request.as_bytes()).await.unwrap(), "from the file, beside Core: {request}");
        through.push(answer);
    }
    let write = beside.session(&id).send("x").await.unwrap_err();
    assert!(write.tag().as_str() == "db_unavailable" && write.to_string().contains("galley serve"), "{write}");
    let watch = beside.watch(&id, galley_client::WatchOptions { from: Some(WatchFrom::Start), ..Default::default() }).next().await.unwrap();
    assert_eq!(watch.unwrap_err().tag().as_str(), "db_unavailable");
    let dir = engine.stop().await;
    let after = Client::new(read_only(&database(&dir)));
    for (request, answer) in requests.iter().zip(&through) {
        let text = request.to_string();
        if !answer.windows(4).any(|part| part == b"sess") || text.contains(&id) {
            assert_eq!(*answer, after.raw(text.as_bytes()).await.unwrap(), "Core is down: {text}");
        }
    }
}
