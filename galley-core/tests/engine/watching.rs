//! Readers of the log: joined at any moment, cut off at any byte, slow, many, gone.

use crate::engine::{Engine, collect, kinds, socket};
use crate::wire::{LIMIT, Moments, Wire, ask};
use galley_client::{Reconnect, WatchEvent, WatchItem, WatchOptions};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{CoreInfoGet, EndReason, SessionStatus, WatchFrom};
use galley_testkit::EventLogChecker;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A frame of an event: its index, and its event byte for byte.
type Frame = (u64, String);

fn frame(line: &[u8]) -> Option<Frame> {
    #[derive(serde::Deserialize)]
    struct Line<'a> {
        index: u64,
        #[serde(borrow)]
        data: &'a serde_json::value::RawValue,
    }
    serde_json::from_slice::<Line<'_>>(line).ok().map(|line| (line.index, line.data.get().to_owned()))
}

fn frames(log: &[WatchEvent]) -> Vec<Frame> {
    log.iter().map(|event| (event.index, String::from_utf8(event.raw.to_vec()).unwrap())).collect()
}

fn watch(id: &str, from: impl Into<Value>) -> String {
    json!({ "command": "session.watch", "args": { "sessionId": id, "from": from.into(), "stay": true } }).to_string()
}

fn from(from: WatchFrom) -> WatchOptions {
    WatchOptions { from: Some(from), reconnect: Reconnect::Never, ..WatchOptions::default() }
}

async fn counters(engine: &Engine) -> (u64, u64) {
    let counters = engine.client.call(CoreInfoGet::default()).await.unwrap().counters;
    (counters.connections, counters.streams)
}

/// Waits until nobody but the asking client is connected.
async fn assert_nobody_left(engine: &Engine, limit: Duration) {
    let begun = Instant::now();
    while counters(engine).await != (1, 0) {
        assert!(begun.elapsed() < limit, "left after {limit:?}: {:?}", counters(engine).await);
    }
}

/// Reads a stay-watch to the frame of `last`, cut off and resumed at every `cut`.
async fn read_in_pieces(socket: &Path, id: &str, last_kind: &str, mut cut: impl FnMut() -> u64) -> Vec<Frame> {
    let mut seen: Vec<Frame> = Vec::new();
    loop {
        let next = seen.last().map_or(1, |(index, _)| index + 1);
        let mut wire = Wire::connect(socket).await;
        wire.line(&watch(id, next)).await;
        let bytes = wire.bytes_until(cut() as usize, last_kind).await;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        if let Some(start) = lines.next() {
            assert_eq!(serde_json::from_slice::<Value>(start).unwrap(), json!({ "stream": "start", "requestId": null, "nextIndex": next }));
        }
        seen.extend(lines.map(|line| frame(line).unwrap_or_else(|| panic!("no event: {}", String::from_utf8_lossy(line)))));
        if seen.last().is_some_and(|(_, data)| data.contains(last_kind)) {
            return seen;
        }
    }
}

/// A step that divides no frame's length: in time every byte of a frame is the last one read.
#[tokio::test]
async fn a_watch_cut_after_any_byte_resumes_without_loss_or_repetition() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let log = frames(&engine.log(&id).await);
    let socket = socket(&engine.dir);
    let mut whole = Wire::connect(&socket).await;
    whole.line(&watch(&id, 1)).await;
    for _ in 0..=log.len() {
        whole.next().await.unwrap();
    }
    drop(whole);
    let length: usize = log.iter().map(|(_, data)| data.len() + 80).sum();
    for at in (60..length as u64).step_by(7) {
        let mut first = Some(at);
        let seen = read_in_pieces(&socket, &id, "run_complete", || first.take().unwrap_or(at.max(900))).await;
        assert_eq!(seen, log, "cut after {at} bytes");
    }
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_cut_at_random_while_events_stream_sees_each_index_once() {
    let engine = Engine::start().await;
    for seed in 0..3 {
        let id = engine.new_session("!emit 3000 120 40; step; emit 500 2000; done").await.session.id;
        let mut moments = Moments::new(10 + seed);
        let seen = read_in_pieces(&socket(&engine.dir), &id, "run_complete", || moments.between(2_500, 60_000)).await;
        assert_eq!(seen, frames(&engine.log(&id).await), "seed {seed}");
        let deltas = seen.iter().filter(|(_, data)| data.contains("turn_progress")).count();
        assert_eq!(deltas, 3500);
    }
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_join_in_the_middle_of_a_run_see_it_from_its_start() {
    let engine = Engine::start().await;
    let id = engine.new_session("first").await.session.id;
    engine.idle(&id).await;
    engine.client.session(&id).send("!emit 4000 100 30; done").await.unwrap();
    let mut watchers = tokio::task::JoinSet::new();
    let mut moments = Moments::new(20);
    for number in 0..6 {
        // The first joins before the run's first event, the others after some number of them.
        if number > 0 {
            let after = moments.between(10, 2000);
            let mut watch = engine.client.watch(&id, from(WatchFrom::Index(after.min(engine.brief(&id).await.last_index.unwrap()))));
            while !matches!(watch.next().await.unwrap().unwrap(), WatchItem::Event(event) if event.index >= after) {}
        }
        let client = if number % 2 == 0 { engine.core.client() } else { engine.over_socket() };
        let id = id.clone();
        watchers.spawn(async move {
            let mut watch = client.watch(&id, WatchOptions { stay: true, ..from(WatchFrom::Run) });
            let mut events = Vec::new();
            while let Some(item) = watch.next().await {
                let WatchItem::Event(event) = item.unwrap() else { continue };
                let over = event.decode().unwrap().kind() == "run_complete";
                events.push(event);
                if over {
                    break;
                }
            }
            events
        });
    }
    let seen = watchers.join_all().await;
    let log = engine.log(&id).await;
    let run: Vec<WatchEvent> = log.into_iter().filter(|event| event.run == 2).collect();
    assert_eq!(kinds(&run).iter().filter(|kind| *kind == "turn_progress").count(), 4000);
    for events in seen {
        assert_eq!(events, run);
    }
    engine.stop().await;
}

#[tokio::test]
async fn from_says_where_a_watch_begins() {
    let engine = Engine::start().await;
    let id = engine.new_session("one").await.session.id;
    engine.idle(&id).await;
    engine.client.session(&id).send("two").await.unwrap();
    engine.idle(&id).await;
    let log = engine.log(&id).await;
    let last = log.len() as u64;
    let run_first = log.iter().find(|event| event.run == 2).unwrap().index;
    let socket = socket(&engine.dir);
    for (from, next) in [
        (json!(1), 1),
        (json!(3), 3),
        (json!(last), last),
        (json!(last + 1), last + 1),
        (json!("start"), 1),
        (json!("now"), last + 1),
        (json!("run"), run_first),
        (json!("4"), 4),
    ] {
        let mut wire = Wire::connect(&socket).await;
        wire.line(&watch(&id, from.clone())).await;
        assert_eq!(wire.next().await.unwrap()["nextIndex"], next, "from {from}");
        if next <= last {
            assert_eq!(wire.next().await.unwrap()["index"], next, "from {from}");
        }
    }
    let beyond = ask(&socket, "session.watch", json!({ "sessionId": id, "from": last + 2 })).await;
    assert_eq!((&beyond["error"], &beyond["detail"]["lastIndex"]), (&json!("invalid_args"), &json!(last)));
    for wrong in [json!(0), json!(-1), json!(1.5), json!("tomorrow"), json!(true), json!({})] {
        let answer = ask(&socket, "session.watch", json!({ "sessionId": id, "from": wrong })).await;
        assert_eq!(answer["error"], "invalid_args", "from {wrong}: {answer}");
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_watch_ends_with_its_runner_unless_it_stays() {
    let engine = Engine::start().await;
    let id = engine.new_session("!exit 0").await.session.id;
    let (_, end) = collect(engine.client.watch(&id, from(WatchFrom::Start))).await;
    assert!(matches!(end, Some(EndReason::SubprocessExited | EndReason::SubprocessError)), "{end:?}");
    engine.idle(&id).await;
    let log = engine.log(&id).await;

    let live_only = engine.client.watch(&id, WatchOptions::default()).next().await.unwrap().unwrap_err();
    assert_eq!(live_only.tag().as_str(), "not_found");
    let (replayed, end) = collect(engine.client.watch(&id, from(WatchFrom::Start))).await;
    assert_eq!((replayed.len(), end), (log.len(), Some(EndReason::NotLive)));

    let mut stays = engine.client.watch(&id, WatchOptions { stay: true, ..from(WatchFrom::Start) });
    let mut seen = 0;
    while seen < log.len() {
        seen += usize::from(matches!(stays.next().await.unwrap().unwrap(), WatchItem::Event(_)));
    }
    for text in ["again", "!done; exit 0", "and again"] {
        engine.client.session(&id).send(text).await.unwrap();
        loop {
            match stays.next().await.unwrap().unwrap() {
                WatchItem::Event(event) if event.decode().unwrap().kind() == "run_complete" => break,
                WatchItem::Event(_) => {}
                other => panic!("{other:?}"),
            }
        }
        engine.idle(&id).await;
    }
    engine.core.shutdown().await;
    let mut last = None;
    while let Some(Ok(item)) = stays.next().await {
        last = Some(item);
    }
    assert_eq!(last, Some(WatchItem::End(EndReason::CoreShutdown)));
}

#[tokio::test]
async fn a_shutdown_tells_every_watcher_everything_first() {
    for _ in 0..5 {
        let engine = Engine::start().await;
        let id = engine.new_session("!emit 100000 200 20; done").await.session.id;
        engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
        let watchers: Vec<_> = [engine.core.client(), engine.over_socket()]
            .iter()
            .map(|client| tokio::spawn(collect(client.watch(&id, from(WatchFrom::Start)))))
            .collect();
        engine.event(&id, |event| matches!(event, Event::TurnProgress(_))).await;
        let dir = engine.stop().await;
        let mut seen = Vec::new();
        for watcher in watchers {
            seen.push(watcher.await.unwrap());
        }
        let engine = Engine::start_in(dir).await;
        let log = engine.log(&id).await;
        for (events, end) in seen {
            assert!(matches!(end, Some(EndReason::CoreShutdown | EndReason::SubprocessExited)), "{end:?}");
            assert_eq!(events.len(), log.len());
        }
        engine.stop().await;
    }
}

#[tokio::test]
async fn a_cancelled_stream_ends_and_its_connection_goes_on() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    for stream in ["a", "b"] {
        wire.line(&json!({ "command": "session.watch", "requestId": stream, "args": { "sessionId": id, "from": "now" } }).to_string()).await;
        assert_eq!(wire.next().await.unwrap(), json!({ "stream": "start", "requestId": stream, "nextIndex": engine.log(&id).await.len() + 1 }));
    }
    wire.line(r#"{"command":"stream.cancel","requestId":"c","args":{"requestId":"a"}}"#).await;
    let mut answers = [wire.next().await.unwrap(), wire.next().await.unwrap()];
    answers.sort_by_key(|answer| answer["requestId"].to_string());
    assert_eq!(answers[0], json!({ "stream": "end", "requestId": "a", "reason": "cancelled" }));
    assert_eq!(answers[1], json!({ "ok": true, "requestId": "c", "result": { "cancelled": true } }));
    wire.line(r#"{"command":"stream.cancel","requestId":"d","args":{"requestId":"a"}}"#).await;
    assert_eq!(wire.next().await.unwrap()["result"]["cancelled"], false, "it is over");
    assert_eq!(wire.ask("ping", json!({})).await["ok"], true);
    assert_eq!(counters(&engine).await.1, 1, "the other stream goes on");
    engine.stop().await;
}

#[tokio::test]
async fn a_stream_that_is_all_its_connection_is_for_ends_it() {
    let engine = Engine::start().await;
    let id = engine.new_session("!done; exit 0").await.session.id;
    engine.event(&id, |event| matches!(event, Event::RunComplete(_))).await;
    let (_, end) = collect(engine.client.watch(&id, from(WatchFrom::Start))).await;
    assert!(end.is_some());
    for request_id in [Value::Null, json!("w")] {
        let mut wire = Wire::connect(&socket(&engine.dir)).await;
        wire.line(&json!({ "command": "session.watch", "requestId": request_id, "args": { "sessionId": id, "from": "start" } }).to_string()).await;
        let mut last = Value::Null;
        while let Some(frame) = wire.next().await {
            assert_eq!(frame["requestId"], request_id);
            last = frame;
        }
        assert_eq!(last["reason"], "not_live");
    }
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    assert_eq!(wire.ask("ping", json!({})).await["ok"], true);
    wire.line(&json!({ "command": "session.watch", "requestId": "w", "args": { "sessionId": id, "from": "start" } }).to_string()).await;
    while wire.next().await.unwrap()["stream"] != "end" {}
    assert_eq!(wire.ask("ping", json!({})).await["ok"], true, "it was not the only request");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_read_loses_nothing_and_delays_nobody() {
    let engine = Engine::start().await;
    let id = engine.new_session("!wait_for user_message; emit 20000 300; done").await.session.id;
    let mut slow = Wire::connect(&socket(&engine.dir)).await;
    slow.line(&watch(&id, "start")).await;
    engine.client.session(&id).send("/btw go").await.unwrap();
    let other = engine.new_session("hello").await.session.id;
    let begun = Instant::now();
    assert_eq!(engine.idle(&other).await.status, SessionStatus::Completed);
    assert!(begun.elapsed() < Duration::from_secs(2), "another session took {:?}", begun.elapsed());
    engine.idle(&id).await;
    let last = engine.brief(&id).await.last_index.unwrap();
    let mut log = EventLogChecker::from(1);
    slow.next().await.unwrap();
    while log.seen() < last {
        let frame = slow.next().await.unwrap();
        log.see(frame["index"].as_u64().unwrap(), frame["data"].to_string().as_bytes()).unwrap();
    }
    assert!(last > 20_000);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_fifty_thousand_events_reaches_every_watcher() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 50000 120; done").await.session.id;
    let watch = engine.over_socket().watch(&id, WatchOptions { stay: true, ..from(WatchFrom::Start) });
    tokio::pin!(watch);
    let mut log = EventLogChecker::from(1);
    while let Some(item) = watch.next().await {
        let WatchItem::Event(event) = item.unwrap() else { continue };
        log.see(event.index, &event.raw).unwrap();
        if log.seen() > 50_000 && event.decode().unwrap().kind() == "run_complete" {
            break;
        }
    }
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    assert_eq!(log.next_index(), engine.brief(&id).await.last_index.map(|last| last + 1));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_that_vanish_leave_nothing_behind() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 1000 100; no_complete").await.session.id;
    let socket = socket(&engine.dir);
    for round in 0..20_usize {
        let mut readers = Vec::new();
        for number in 0..50_usize {
            let mut wire = Wire::connect(&socket).await;
            wire.line(&watch(&id, "start")).await;
            // Some leave at once, some in the middle of a frame, some with unread frames.
            wire.bytes([0, 1, 700][(round + number) % 3]).await;
            readers.push(wire);
        }
    }
    assert_nobody_left(&engine, LIMIT).await;
    engine.stop().await;
}

#[tokio::test]
async fn a_watcher_of_a_quiet_session_that_leaves_is_noticed_within_a_second() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    wire.line(&watch(&id, "now")).await;
    wire.next().await.unwrap();
    assert_eq!(counters(&engine).await, (2, 1));
    drop(wire);
    assert_nobody_left(&engine, Duration::from_secs(1)).await;
    let mut watch = engine.over_socket().watch(&id, from(WatchFrom::Start));
    watch.next().await.unwrap().unwrap();
    drop(watch);
    assert_nobody_left(&engine, Duration::from_secs(1)).await;
    engine.stop().await;
}
