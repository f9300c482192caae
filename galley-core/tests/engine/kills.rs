//! The death of a runner and of Core, at any moment.

use crate::engine::{Engine, collect, database, kinds};
use crate::second_process::{SecondCore, assert_nothing_left, mark, signal};
use crate::wire::{LIMIT, Moments};
use galley_client::{Client, Reconnect, Watch, WatchEvent, WatchItem, WatchOptions};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{
    ApprovalList, Dispatch, EndReason, MessageBrief, MessageRole, MessageState, SessionNew, SessionSend, SessionShow, SessionStatus, SessionWait,
    WaitFrame, WaitPhase, WaitStatus, WatchFrom,
};
use galley_testkit::{marked_processes, process_gone, wait_until};
use rustix::process::Signal;

fn from_start() -> WatchOptions {
    WatchOptions { from: Some(WatchFrom::Start), reconnect: Reconnect::Never, ..WatchOptions::default() }
}

async fn pid(client: &Client, id: &str) -> u32 {
    client.session(id).state().await.unwrap().pid.expect("the runner is a process")
}

/// The next `count` events of a watch.
async fn see(watch: &mut Watch, count: u64) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    while (events.len() as u64) < count {
        let item = tokio::time::timeout(LIMIT, watch.next()).await.expect("an event in time").expect("the watch goes on").unwrap();
        if let WatchItem::Event(event) = item {
            events.push(event);
        }
    }
    events
}

/// What the runner said in a run, from the log.
fn streamed(log: &[WatchEvent], run: u64) -> String {
    let deltas = log.iter().filter(|event| event.run == run).filter_map(|event| match event.decode().unwrap() {
        Event::TurnProgress(progress) => Some(progress.delta),
        _ => None,
    });
    deltas.collect()
}

fn states(messages: &[MessageBrief]) -> Vec<(&str, MessageState)> {
    messages.iter().filter(|message| message.role == MessageRole::User).map(|message| (&*message.content, message.state.clone().unwrap())).collect()
}

#[tokio::test]
async fn a_runner_killed_in_a_run_leaves_the_truth_and_the_next_send_works() {
    let engine = Engine::start().await;
    let mut moments = Moments::new(1);
    for round in 0..8 {
        let task = "!emit 1000000 80 100; done";
        let id = engine.new_session(task).await.session.id;
        let queued = engine.client.session(&id).send("later").await.unwrap();
        assert_eq!(queued.dispatch, Dispatch::Queued);
        let mut watch = engine.client.watch(&id, from_start());
        let moment = if round == 0 { 1 } else { moments.between(1, 500) };
        let mut seen = see(&mut watch, moment).await;
        signal(pid(&engine.client, &id).await, Signal::KILL);
        let (rest, end) = collect(watch).await;
        seen.extend(rest);
        assert_eq!(end, Some(EndReason::SubprocessError), "round {round}");

        let brief = engine.brief(&id).await;
        assert_eq!(brief.status, SessionStatus::Error);
        let log = engine.log(&id).await;
        assert_eq!(log, seen, "a watch that ends has seen everything");
        let Event::Error(error) = log.last().unwrap().decode().unwrap() else { panic!("{:?}", kinds(&log).last()) };
        assert_eq!((error.category.as_str(), error.context.as_deref()), ("bridge", Some("runner_exit")));
        assert!(String::from_utf8_lossy(&log.last().unwrap().raw).contains(r#""source":"core""#));

        let messages = engine.show(&id).await;
        assert_eq!(states(&messages), [(task, MessageState::Failed), ("later", MessageState::Pending)]);
        let partial: String = messages.iter().filter(|message| message.partial == Some(true)).map(|message| message.content.clone()).collect();
        assert_eq!(partial, streamed(&log, 1), "round {round}: what was said is kept");

        let again = engine.client.session(&id).send("again").await.unwrap();
        assert_eq!(again.dispatch, Dispatch::Queued, "behind what waits");
        assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
        let after = engine.show(&id).await;
        assert_eq!(
            states(&after),
            [(task, MessageState::Failed), ("later", MessageState::Answered), ("again", MessageState::Answered)],
            "round {round}"
        );
    }
    let dir = engine.stop().await;
    assert_nothing_left(&mark(&dir));
}

#[tokio::test]
async fn a_message_to_a_runner_killed_while_idle_is_answered_by_another() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    for round in 0..10 {
        engine.idle(&id).await;
        let old = pid(&engine.client, &id).await;
        signal(old, Signal::KILL);
        // Dead, but whether Core knows it is left to chance.
        wait_until(LIMIT, "the runner ends", || process_gone(old)).unwrap();
        let sent = engine.client.session(&id).send(format!("round {round}")).await.unwrap();
        assert_eq!(sent.dispatch, Dispatch::Dispatched, "round {round}: {:?}", sent.warning);
        // A process that another thread starts at this moment holds the dead runner's pipe open for an
        // instant. What is written then counts as handed over, and is not sent again by itself.
        if engine.idle(&id).await.status == SessionStatus::Error {
            engine.client.session(&id).retry(None).await.unwrap();
        }
        assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed, "round {round}");
        assert_eq!(engine.show(&id).await.last().unwrap().final_answer, Some(format!("echo: round {round}")));
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_runner_killed_while_it_asks_leaves_no_open_approval() {
    let engine = Engine::start().await;
    let id = engine.new_session("!ask_approval rm; done").await.session.id;
    engine.event(&id, |event| matches!(event, Event::ToolCallPending(_))).await;
    signal(pid(&engine.client, &id).await, Signal::KILL);
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Error);
    assert_eq!(engine.client.approvals().list().await.unwrap(), []);
    let log = engine.log(&id).await;
    assert_eq!(kinds(&log).iter().filter(|kind| *kind == "approval_resolved").count(), 1);
    engine.stop().await;
}

/// Sessions in every state, Core killed after a watcher saw some number of events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_core_killed_at_any_moment_leaves_the_truth_and_nothing_running() {
    let mut moments = Moments::new(2);
    for round in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let core = SecondCore::start(&dir);
        let client = core.client(&dir);
        let new = async |task: &str| {
            let new = SessionNew { task: task.into(), runtime: Some("testkit".into()), ..SessionNew::default() };
            client.call(new).await.unwrap().session.id
        };
        let streaming = "!spawn_escaped 600; emit 1000000 100 100; done";
        let (runs, asks) = (new(streaming).await, new("!ask_approval rm; done").await);
        let (done, waits) = (new("hello").await, new("!done; exit 0").await);
        client.session(&runs).send("later").await.unwrap();
        let mut left = client.watch(&waits, from_start());
        while !matches!(left.next().await.unwrap().unwrap(), WatchItem::End(_)) {}
        let unsent = SessionSend { session_id: waits.clone(), content: "unsent".into(), spawn: Some(false), ..SessionSend::default() };
        assert_eq!(client.call(unsent).await.unwrap().dispatch, Dispatch::PersistedOnly);
        let mut asked = client.watch(&asks, from_start());
        while !matches!(asked.next().await.unwrap().unwrap(), WatchItem::Event(event) if kinds(std::slice::from_ref(&event)) == ["tool_call_pending"])
        {
        }
        let mut finished = client.watch(&done, from_start());
        while !matches!(finished.next().await.unwrap().unwrap(), WatchItem::Event(event) if kinds(std::slice::from_ref(&event)) == ["run_complete"]) {
        }

        let mut watch = client.watch(&runs, from_start());
        let mut seen = see(&mut watch, moments.between(1, 500)).await;
        let mark = mark(&dir);
        assert!(!marked_processes(&mark).unwrap().is_empty());
        core.kill();
        // Whatever was on its way was seen as well.
        while let Some(Ok(item)) = watch.next().await {
            if let WatchItem::Event(event) = item {
                seen.push(event);
            }
        }
        assert_nothing_left(&mark);

        let engine = Engine::start_in(dir).await;
        let log = engine.log(&runs).await;
        assert!(log.len() >= seen.len(), "round {round}: {} events were seen and {} are there", seen.len(), log.len());
        assert_eq!(log[..seen.len()], seen, "round {round}");
        for (id, status) in [(&runs, SessionStatus::Error), (&asks, SessionStatus::Error), (&done, SessionStatus::Completed)] {
            assert_eq!(engine.brief(id).await.status, status, "round {round}");
        }
        for id in [&runs, &asks] {
            let all = SessionShow { session_id: id.clone(), internal: Some(true), ..SessionShow::default() };
            let messages = engine.client.call(all).await.unwrap();
            assert!(messages.iter().any(|message| message.role == MessageRole::System), "round {round}: {messages:?}");
        }
        let messages = engine.show(&runs).await;
        assert_eq!(states(&messages), [(streaming, MessageState::Failed), ("later", MessageState::Pending)], "round {round}");
        let partial: String = messages.iter().filter(|message| message.partial == Some(true)).map(|message| message.content.clone()).collect();
        assert_eq!(partial, streamed(&log, 1), "round {round}");
        assert_eq!(states(&engine.show(&waits).await)[1], ("unsent", MessageState::Pending));
        assert_eq!(engine.client.call(ApprovalList::default()).await.unwrap(), []);
        assert_eq!(kinds(&engine.log(&asks).await).iter().filter(|kind| *kind == "approval_resolved").count(), 1);

        for id in [&runs, &asks, &done, &waits] {
            engine.client.session(id).send("again").await.unwrap();
        }
        for id in [&runs, &asks, &done, &waits] {
            assert_eq!(engine.idle(id).await.status, SessionStatus::Completed, "round {round}");
            let messages = engine.show(id).await;
            assert_eq!(states(&messages).last(), Some(&("again", MessageState::Answered)), "round {round}");
            assert!(states(&messages).iter().all(|(_, state)| matches!(state, MessageState::Failed | MessageState::Answered)));
        }
        engine.stop().await;
        assert_nothing_left(&mark);
    }
}

#[tokio::test]
async fn a_runner_that_closes_its_output_and_lives_is_ended() {
    let engine = Engine::start().await;
    let id = engine.new_session("!say before; close_stdout; no_complete").await.session.id;
    let brief = engine.idle(&id).await;
    assert_eq!(brief.status, SessionStatus::Error);
    assert_eq!(engine.show(&id).await.last().unwrap().content, "before");
    engine.stop().await;
}

#[tokio::test]
async fn a_wait_beside_a_core_that_is_killed_ends_early() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start(&dir);
    let client = core.client(&dir);
    let new = SessionNew { task: "!say working; no_complete".into(), runtime: Some("testkit".into()), ..SessionNew::default() };
    let id = client.call(new).await.unwrap().session.id;
    let mut watch = client.watch(&id, from_start());
    see(&mut watch, 2).await;
    let beside = Client::new(galley_core::read_only(&database(&dir)));
    let mut wait = beside.session(&id).wait(SessionWait { timeout: Some(300.0), poll: Some(300.0), ..SessionWait::default() });
    assert!(matches!(wait.next().await, Some(Ok(WaitFrame::Wait { phase: WaitPhase::Initial, .. }))), "it has begun");
    core.kill();
    let outcome = tokio::time::timeout(LIMIT, wait.wait_final()).await.expect("long before its time is up").unwrap();
    assert_eq!((outcome.status, outcome.session.status), (WaitStatus::SessionError, SessionStatus::Running), "the row stays as it is stored");
    // The next Core says so in the row as well.
    let engine = Engine::start_in(dir).await;
    assert_eq!(engine.brief(&id).await.status, SessionStatus::Error);
    engine.stop().await;
}
