//! Old text deltas leave the log; everything else stays where it was.

use crate::engine::{Engine, builder};
use galley_client::{WatchEvent, WatchItem, WatchOptions};
use galley_protocol::ipc::Event;
use galley_protocol::socket::WatchFrom;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A Core that compacts whatever is settled as it starts.
async fn compacting(dir: TempDir) -> Engine {
    let core = builder(&dir).compact_after(Duration::ZERO);
    Engine::start_as(dir, core).await
}

/// Everything a replay from `first` shows, up to index `last`.
async fn replay(engine: &Engine, id: &str, first: u64, last: u64) -> (Vec<WatchEvent>, Vec<(u64, u64)>) {
    let options = WatchOptions { from: Some(WatchFrom::Index(first)), stay: true, ..WatchOptions::default() };
    let mut watch = engine.client.watch(id, options);
    let (mut events, mut gaps, mut next) = (Vec::new(), Vec::new(), first);
    while next <= last {
        match watch.next().await.unwrap().unwrap() {
            WatchItem::Event(event) => {
                assert_eq!(event.index, next);
                next += 1;
                events.push(event);
            }
            WatchItem::Gap { from, to } => {
                assert!(from == next && to >= from, "{from} to {to} where {next} was due");
                next = to + 1;
                gaps.push((from, to));
            }
            _ => {}
        }
    }
    (events, gaps)
}

fn is_delta(event: &WatchEvent) -> bool {
    matches!(event.decode().unwrap(), Event::TurnProgress(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deltas_of_earlier_runs_become_gaps_and_the_latest_run_stays_whole() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 2000 100; step; say a few words; done").await.session.id;
    engine.idle(&id).await;
    for task in ["!say second; done", "!emit 50 100; done"] {
        engine.client.session(&id).send(task).await.unwrap();
        engine.idle(&id).await;
    }
    let once = engine.new_session("!emit 50 100; done").await.session.id;
    engine.idle(&once).await;
    let (log, once_log) = (engine.log(&id).await, engine.log(&once).await);
    let shown = engine.show(&id).await;
    let last = log.len() as u64;

    let engine = compacting(engine.stop().await).await;
    let begun = Instant::now();
    let (events, gaps) = loop {
        let (events, gaps) = replay(&engine, &id, 1, last).await;
        if events.iter().all(|event| event.run == 3 || !is_delta(event)) {
            break (events, gaps);
        }
        assert!(begun.elapsed() < crate::wire::LIMIT, "{} events are left", events.len());
    };
    let expected: Vec<_> = log.iter().filter(|event| event.run == 3 || !is_delta(event)).cloned().collect();
    assert_eq!(events, expected);
    assert!(gaps.len() < 10, "neighbours are one gap: {gaps:?}");
    assert_eq!(engine.show(&id).await, shown, "the transcript is whole");
    assert_eq!(engine.log(&once).await, once_log, "the latest run is kept, however old");

    // A reader may begin in the middle of a gap.
    let (from, to) = gaps.iter().copied().max_by_key(|(from, to)| to - from).unwrap();
    let (rest, inner) = replay(&engine, &id, (from + to) / 2, last).await;
    assert_eq!(inner[0], ((from + to) / 2, to));
    assert_eq!(rest, expected.iter().filter(|event| event.index > from).cloned().collect::<Vec<_>>());

    // The session goes on, and the run that was the latest is compacted as well.
    engine.client.session(&id).send("!say fourth; done").await.unwrap();
    engine.idle(&id).await;
    let more = engine.log_from(&id, last + 1).await;
    let engine = compacting(engine.stop().await).await;
    let begun = Instant::now();
    while replay(&engine, &id, 1, last).await.0.iter().any(is_delta) {
        assert!(begun.elapsed() < crate::wire::LIMIT);
    }
    assert_eq!(engine.log_from(&id, last + 1).await, more);
    engine.client.session(&id).delete().await.unwrap();
    engine.stop().await;
}

#[tokio::test]
async fn what_is_not_old_stays_whole() {
    let engine = Engine::start().await;
    let id = engine.new_session("!emit 100 100; done").await.session.id;
    engine.idle(&id).await;
    engine.client.session(&id).send("again").await.unwrap();
    engine.idle(&id).await;
    let log = engine.log(&id).await;
    let engine = Engine::start_in(engine.stop().await).await;
    // Compaction begins with the Core; whatever is asked now is answered behind its first step.
    engine.client.session(&id).rename("still here").await.unwrap();
    assert_eq!(engine.log(&id).await, log);
    engine.stop().await;
}
