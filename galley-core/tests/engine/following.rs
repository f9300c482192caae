//! `session.follow`: a snapshot, every event after it exactly once, and a snapshot at the end.

use crate::engine::{Engine, database, socket};
use crate::second_process::{SecondCore, signal};
use crate::wire::{LIMIT, Wire};
use galley_client::{Client, Follow};
use galley_core::read_only;
use galley_protocol::ipc::Event;
use galley_protocol::socket::{EndReason, FollowFrame, MessageBrief, SessionBrief, SessionFollow, SessionNew, SessionStatus, WaitPhase};
use rustix::process::Signal;
use serde_json::{Value, json};

/// What a follow told, from beginning to end.
#[derive(Debug, Default)]
struct Told {
    snapshots: Vec<(WaitPhase, SessionBrief, Vec<MessageBrief>)>,
    events: Vec<String>,
    end: Option<EndReason>,
}

impl Told {
    fn initial(&self) -> &SessionBrief {
        &self.snapshots[0].1
    }

    fn phases(&self) -> Vec<WaitPhase> {
        self.snapshots.iter().map(|(phase, ..)| phase.clone()).collect()
    }
}

async fn next(follow: &mut Follow) -> FollowFrame {
    tokio::time::timeout(LIMIT, follow.next()).await.expect("a frame in time").expect("the follow goes on").unwrap()
}

/// Reads until an event contains `text`, or to the end.
async fn read_to(follow: &mut Follow, told: &mut Told, text: Option<&str>) {
    while told.end.is_none() {
        match next(follow).await {
            FollowFrame::Snapshot { phase, session, messages, .. } => told.snapshots.push((phase, *session, messages)),
            FollowFrame::Event { data, .. } => {
                let line = data.as_str().to_owned();
                let found = text.is_some_and(|text| line.contains(text));
                told.events.push(line);
                if found {
                    return;
                }
            }
            FollowFrame::End { reason, .. } => told.end = Some(reason),
            frame => panic!("{frame:?}"),
        }
    }
}

async fn read(follow: &mut Follow) -> Told {
    let mut told = Told::default();
    read_to(follow, &mut told, None).await;
    told
}

fn follow(client: &Client, id: &str) -> Follow {
    client.session(id).follow(Some(20))
}

/// The events of the log behind what a snapshot shows.
async fn log_after(engine: &Engine, snapshot: &SessionBrief) -> Vec<String> {
    let behind = snapshot.last_index.unwrap();
    let log = engine.log(&snapshot.id).await;
    log.into_iter().filter(|event| event.index > behind).map(|event| String::from_utf8(event.raw.to_vec()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follows_begun_while_events_stream_have_no_gap_and_no_duplicate() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 3000 100 100; step; emit 300 100; done; exit 0").await.session.id;
    let mut follows = tokio::task::JoinSet::new();
    for number in 0..8_u64 {
        engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
        let client = if number % 2 == 0 { engine.core.client() } else { engine.over_socket() };
        let followed = id.clone();
        follows.spawn(async move { read(&mut follow(&client, &followed)).await });
        // Each begins somewhere else in the stream.
        while engine.brief(&id).await.last_index.unwrap() < number * 200 {}
    }
    for told in follows.join_all().await {
        assert_eq!(told.phases(), [WaitPhase::Initial, WaitPhase::Final]);
        assert!(matches!(told.end, Some(EndReason::SubprocessExited | EndReason::SubprocessError)), "{:?}", told.end);
        assert_eq!(told.events, log_after(&engine, told.initial()).await);
        assert_eq!(told.snapshots[1].1.last_index, engine.brief(&id).await.last_index, "the last snapshot is behind the last event");
    }
    engine.stop().await;
}

#[tokio::test]
async fn without_a_runner_the_first_snapshot_is_the_last() {
    let engine = Engine::start().await;
    let id = engine.new_session("!done; exit 0").await.session.id;
    read(&mut follow(&engine.client, &id)).await;
    engine.idle(&id).await;
    let told = read(&mut follow(&engine.client, &id)).await;
    assert_eq!((told.phases(), told.events.len(), told.end), (vec![WaitPhase::Initial], 0, Some(EndReason::NotLive)));
    engine.client.session(&id).archive().await.unwrap();
    let told = read(&mut follow(&engine.client, &id)).await;
    assert_eq!((told.phases(), told.end), (vec![WaitPhase::Initial], Some(EndReason::NotLive)));
    let nobody = follow(&engine.client, "sess_none").next().await.unwrap().unwrap_err();
    assert_eq!(nobody.tag().as_str(), "not_found");
    engine.stop().await;
}

#[tokio::test]
async fn a_session_that_is_about_to_have_a_runner_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("slow.txt");
    std::fs::write(&scenario, "[start]\nready_after 400ms\n[message]\nsay late; done; exit 0\n").unwrap();
    let runner = galley_testkit::runner_path().unwrap().to_string_lossy().into_owned();
    let slow = galley_core::Runtime::process("slow", vec![runner, "--script".into(), scenario.to_string_lossy().into_owned()]);
    let core = crate::engine::builder(&dir).runtime(slow);
    let engine = Engine::start_as(dir, core).await;
    let client = engine.client.clone();
    let creating = tokio::spawn(async move {
        client.call(SessionNew { task: "x".into(), runtime: Some("slow".into()), ..SessionNew::default() }).await.unwrap().session.id
    });
    let id = loop {
        let page =
            engine.client.sessions().list(galley_protocol::socket::SessionsList { runtime: Some("all".into()), ..Default::default() }).await.unwrap();
        if let Some(session) = page.items.into_iter().next() {
            break session.id;
        }
    };
    assert_eq!(engine.brief(&id).await.status, SessionStatus::Connecting);
    let told = read(&mut follow(&engine.client, &id)).await;
    assert!(told.events.iter().any(|line| line.contains("run_complete")), "{told:?}");
    assert_eq!(told.phases(), [WaitPhase::Initial, WaitPhase::Final]);
    creating.await.unwrap();
    engine.stop().await;
}

#[tokio::test]
async fn what_happens_to_the_session_ends_its_follow() {
    let engine = Engine::start().await;
    for (what, reason, last) in [
        ("kill -9", EndReason::SubprocessError, Some(SessionStatus::Error)),
        ("archive", EndReason::Archived, Some(SessionStatus::Archived)),
        ("delete", EndReason::Deleted, None),
    ] {
        let id = engine.new_session("!say working; no_complete").await.session.id;
        let mut follow = follow(&engine.over_socket(), &id);
        let mut told = Told::default();
        engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
        let FollowFrame::Snapshot { phase: WaitPhase::Initial, session, messages, .. } = next(&mut follow).await else { panic!("{what}") };
        told.snapshots.push((WaitPhase::Initial, *session, messages));
        match what {
            "archive" => drop(engine.client.session(&id).archive().await.unwrap()),
            "delete" => engine.client.session(&id).delete().await.unwrap(),
            _ => signal(engine.client.session(&id).state().await.unwrap().pid.unwrap(), Signal::KILL),
        }
        read_to(&mut follow, &mut told, None).await;
        assert_eq!(told.end, Some(reason), "{what}");
        assert_eq!(told.snapshots.get(1).map(|(_, session, _)| session.status.clone()), last, "{what}");
        if last.is_some() {
            assert_eq!(told.events, log_after(&engine, told.initial()).await, "{what}");
        }
    }
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_tells_followers_everything_first() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 100000 200 20; done").await.session.id;
    let mut stream = follow(&engine.over_socket(), &id);
    let mut told = Told::default();
    read_to(&mut stream, &mut told, Some("turn_progress")).await;
    let reading = tokio::spawn(async move {
        read_to(&mut stream, &mut told, None).await;
        told
    });
    let engine = Engine::start_in(engine.stop().await).await;
    let told = reading.await.unwrap();
    assert!(matches!(told.end, Some(EndReason::CoreShutdown | EndReason::SubprocessExited)), "{:?}", told.end);
    let log = log_after(&engine, told.initial()).await;
    assert_eq!(told.events, log[..told.events.len()]);
    assert_eq!(told.phases(), [WaitPhase::Initial, WaitPhase::Final]);
    assert_eq!(told.snapshots[1].1.last_index, Some(told.initial().last_index.unwrap() + told.events.len() as u64));
    engine.stop().await;
}

#[tokio::test]
async fn frames_are_written_as_the_agent_api_says() {
    let engine = Engine::start().await;
    let id = engine.new_session("!say working; no_complete").await.session.id;
    engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
    for request_id in [None, Some("f\"1")] {
        let mut wire = Wire::connect(&socket(&engine.dir)).await;
        wire.line(&json!({ "command": "session.follow", "requestId": request_id, "args": { "sessionId": id, "tail": 1 } }).to_string()).await;
        let mut expected = json!({ "stream": "snapshot", "schemaVersion": 1, "phase": "initial", "session": engine.brief(&id).await });
        let snapshot = wire.next().await.unwrap();
        expected["messages"] = snapshot["messages"].clone();
        with_id(&mut expected, request_id);
        assert_eq!(snapshot, expected);
        assert_eq!(snapshot["messages"].as_array().unwrap().len(), 1);

        engine.client.session(&id).btw("how long?").await.unwrap();
        let event = wire.next().await.unwrap();
        let mut expected = json!({ "stream": "event", "schemaVersion": 1, "sessionId": id, "data": event["data"] });
        with_id(&mut expected, request_id);
        assert_eq!(event, expected);
        assert!(event["data"]["kind"].is_string());

        if let Some(request_id) = request_id {
            wire.line(&json!({ "command": "stream.cancel", "requestId": "c", "args": { "requestId": request_id } }).to_string()).await;
            let mut answers = Vec::new();
            while !answers.iter().any(|answer: &Value| answer["stream"] == "end") {
                answers.push(wire.next().await.unwrap());
            }
            assert!(answers.contains(&json!({ "stream": "end", "schemaVersion": 1, "requestId": request_id, "reason": "cancelled" })), "{answers:?}");
        }
    }
    engine.stop().await;
}

fn with_id(frame: &mut Value, request_id: Option<&str>) {
    if let Some(request_id) = request_id {
        frame["requestId"] = request_id.into();
    }
}

#[tokio::test]
async fn without_a_core_a_follow_shows_what_there_is() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    let brief = engine.idle(&id).await;
    let dir = engine.stop().await;
    let file = Client::new(read_only(&database(&dir)));
    let told = read(&mut follow(&file, &id)).await;
    assert_eq!((told.phases(), told.events.len(), told.end.clone()), (vec![WaitPhase::Initial], 0, Some(EndReason::CoreUnavailable)));
    assert_eq!(told.initial().last_index, brief.last_index);
    let nobody = file.follow(SessionFollow { session_id: "sess_none".into(), tail: None });
    assert_eq!({ nobody }.next().await.unwrap().unwrap_err().tag().as_str(), "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_somebody_elses_core_is_followed_through_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start(&dir);
    let client = core.client(&dir);
    let new = SessionNew { task: "!emit 2000 100 100; done".into(), runtime: Some("testkit".into()), ..SessionNew::default() };
    let id = client.call(new).await.unwrap().session.id;
    let file = Client::new(read_only(&database(&dir)));
    let told = read(&mut follow(&file, &id)).await;
    assert_eq!((told.phases(), told.end.clone()), (vec![WaitPhase::Initial, WaitPhase::Final], Some(EndReason::NotLive)));
    let last = told.snapshots[1].1.last_index.unwrap();
    assert_eq!(told.events.len() as u64, last - told.initial().last_index.unwrap());
    assert!(told.events.iter().any(|line| line.contains("run_complete")));

    // The end of that Core is the end of a follow through the file.
    client.session(&id).send("!say again; no_complete").await.unwrap();
    let mut stream = follow(&file, &id);
    let mut told = Told::default();
    let FollowFrame::Snapshot { .. } = next(&mut stream).await else { panic!("a snapshot first") };
    core.kill();
    read_to(&mut stream, &mut told, None).await;
    assert_eq!(told.end, Some(EndReason::CoreUnavailable));
}
