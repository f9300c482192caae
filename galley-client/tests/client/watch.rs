use crate::fake::{FakeCore, Peer};
use galley_client::protocol::socket::{EndReason, ErrorTag, WatchFrom};
use galley_client::{Client, Error, Reconnect, SocketTransport, Watch, WatchItem, WatchOptions};
use serde_json::{Value, json};
use std::time::Duration;

const EVENTS: u64 = 5;

fn event(index: u64) -> String {
    // Spacing and an unknown kind show that the line's own bytes come through.
    format!(r#"{{"kind":"novel_{index}", "n": 1.50,"text":"\u00e9 é"}}"#)
}

fn frame(index: u64) -> String {
    format!("{{\"stream\":\"event\",\"requestId\":null,\"index\":{index},\"run\":1,\"data\":{}}}\n", event(index))
}

fn start(next: u64) -> String {
    format!("{{\"stream\":\"start\",\"requestId\":null,\"nextIndex\":{next}}}\n")
}

fn end(reason: &str) -> String {
    format!("{{\"stream\":\"end\",\"requestId\":null,\"reason\":\"{reason}\"}}\n")
}

/// What Core says to a watch of a log of [`EVENTS`] events.
fn stream(request: &Value) -> String {
    let from = request["args"]["from"].as_u64().unwrap_or(1);
    let frames: String = (from..=EVENTS).map(frame).collect();
    start(from) + &frames + &end("not_live")
}

fn from_start() -> WatchOptions {
    WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() }
}

/// Everything a watch yields, events by index.
async fn drain(watch: &mut Watch) -> (Vec<u64>, Option<EndReason>) {
    let (mut indices, mut reason) = (Vec::new(), None);
    while let Some(item) = watch.next().await {
        match item.unwrap() {
            WatchItem::Event(found) => {
                assert_eq!(found.raw, event(found.index));
                indices.push(found.index);
            }
            WatchItem::End(end) => reason = Some(end),
            WatchItem::Start { next_index } => assert_eq!(next_index, 1),
            other => panic!("{other:?}"),
        }
    }
    (indices, reason)
}

#[tokio::test(start_paused = true)]
async fn a_connection_cut_after_any_byte_resumes_with_every_index_exactly_once() {
    let whole = stream(&json!({ "args": { "from": "start" } })).len();
    for cut in 0..whole {
        let core = FakeCore::start(move |mut peer, n| async move {
            let request = peer.request().await.unwrap();
            let text = stream(&request);
            let cut = if n == 0 { cut } else { text.len() };
            peer.write(&text.as_bytes()[..cut]).await;
        });
        let (indices, reason) = drain(&mut core.client().watch("s", from_start())).await;
        assert_eq!(indices, (1..=EVENTS).collect::<Vec<_>>(), "cut after byte {cut}");
        assert_eq!(reason, Some(EndReason::NotLive));
    }
}

#[tokio::test(start_paused = true)]
async fn a_core_that_repeats_itself_yields_no_index_twice() {
    let core = FakeCore::start(|mut peer, n| async move {
        peer.request().await;
        let text = if n == 0 { start(1) + &frame(1) + &frame(2) } else { start(1) + &frame(1) + &frame(2) + &frame(3) + &end("not_live") };
        peer.write(text.as_bytes()).await;
    });
    let (indices, _) = drain(&mut core.client().watch("s", from_start())).await;
    assert_eq!(indices, [1, 2, 3]);
}

#[tokio::test]
async fn a_hole_in_the_indices_is_an_error_and_a_gap_frame_is_not() {
    let core = FakeCore::start(|mut peer, n| async move {
        peer.request().await;
        let gap = if n == 0 { "{\"stream\":\"gap\",\"requestId\":null,\"from\":1,\"to\":3}\n" } else { "" };
        peer.write((start(1) + gap + &frame(4) + &end("not_live")).as_bytes()).await;
        peer.closed().await;
    });
    let client = core.client();
    let mut items = Vec::new();
    let mut watch = client.watch("s", from_start());
    while let Some(item) = watch.next().await {
        items.push(item.unwrap());
    }
    assert_eq!(items[1], WatchItem::Gap { from: 1, to: 3 });
    assert!(matches!(&items[2], WatchItem::Event(event) if event.index == 4));
    let mut watch = client.watch("s", from_start());
    watch.next().await.unwrap().unwrap();
    assert!(matches!(watch.next().await.unwrap(), Err(Error::Protocol(text)) if text.contains("index 4 where 1 was due")));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn every_end_reason_comes_through_and_ends_the_watch() {
    for word in EndReason::WORDS.iter().chain(&["some_future_reason"]) {
        let core = FakeCore::start(move |mut peer, _| async move {
            peer.request().await;
            peer.write((start(1) + &end(word)).as_bytes()).await;
        });
        let (indices, reason) = drain(&mut core.client().watch("s", from_start())).await;
        assert_eq!((indices.len(), reason.as_ref().map(EndReason::as_str)), (0, Some(*word)));
        assert_eq!(core.connections(), 1);
    }
}

#[tokio::test]
async fn an_error_before_the_stream_is_the_only_item() {
    let core = FakeCore::start(|mut peer, _| async move {
        peer.request().await;
        peer.send(&json!({ "ok": false, "error": "not_found", "message": "no live runner" })).await;
        peer.closed().await;
    });
    let mut watch = core.client().watch("s", WatchOptions::default());
    assert_eq!(watch.next().await.unwrap().unwrap_err().tag(), ErrorTag::NotFound);
    assert!(watch.next().await.is_none());
    assert_eq!(core.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_live_watch_without_from_may_be_quiet_for_long_and_resumes_by_index() {
    let core = FakeCore::start(|mut peer, n| async move {
        let request = peer.request().await.unwrap();
        if n == 0 {
            assert_eq!(request["args"], json!({ "sessionId": "s" }));
            tokio::time::sleep(Duration::from_secs(3600)).await;
            peer.write(frame(7).as_bytes()).await;
        } else {
            assert_eq!(request["args"]["from"], 8);
            peer.write((start(8) + &frame(8) + &end("subprocess_exited")).as_bytes()).await;
        }
    });
    let mut watch = core.client().watch("s", WatchOptions::default());
    let mut indices = Vec::new();
    while let Some(item) = watch.next().await {
        if let WatchItem::Event(event) = item.unwrap() {
            indices.push(event.index);
        }
    }
    assert_eq!(indices, [7, 8]);
}

#[tokio::test(start_paused = true)]
async fn a_core_that_stays_away_is_given_up_in_time() {
    let core = FakeCore::start(|mut peer, _| async move {
        peer.request().await;
        peer.write((start(1) + &frame(1)).as_bytes()).await;
    });
    let mut watch = core.client().watch("s", WatchOptions { reconnect: Reconnect::For(Duration::from_secs(5)), ..from_start() });
    watch.next().await.unwrap().unwrap();
    watch.next().await.unwrap().unwrap();
    drop(core);
    let began = tokio::time::Instant::now();
    assert!(matches!(watch.next().await.unwrap(), Err(Error::Unavailable(text)) if text.contains("did not come back within 5s")));
    assert!(began.elapsed() >= Duration::from_secs(5) && began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn without_a_core_a_watch_fails_at_once() {
    let mut watch = Client::new(SocketTransport::new("/nonexistent/core.sock")).watch("s", from_start());
    assert!(matches!(watch.next().await.unwrap(), Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn dropping_a_watch_closes_its_connection_and_no_other() {
    let (closed, told) = std::sync::mpsc::channel();
    let core = FakeCore::start(move |mut peer, _| {
        let closed = closed.clone();
        async move {
            let request = peer.request().await.unwrap();
            if request["command"] == "ping" {
                peer.answer(&request, json!({ "pong": true })).await;
                let request = peer.request().await.unwrap();
                peer.answer(&request, json!({ "pong": true })).await;
            } else {
                peer.write(start(1).as_bytes()).await;
                peer.closed().await;
                closed.send(()).unwrap();
            }
        }
    });
    let client = core.client();
    client.call(galley_client::protocol::socket::Ping {}).await.unwrap();
    let mut watch = client.watch("s", from_start());
    watch.next().await.unwrap().unwrap();
    drop(watch);
    tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
    client.call(galley_client::protocol::socket::Ping {}).await.unwrap();
}

/// Writes events until the client stops taking them, and says how many it took.
async fn flood(mut peer: Peer, total: u64, progress: tokio::sync::watch::Sender<u64>) {
    peer.request().await;
    peer.write(start(1).as_bytes()).await;
    let padding = "x".repeat(1000);
    for index in 1..=total {
        let line =
            format!("{{\"stream\":\"event\",\"requestId\":null,\"index\":{index},\"run\":1,\"data\":{{\"kind\":\"k\",\"p\":\"{padding}\"}}}}\n");
        if !peer.write(line.as_bytes()).await {
            return;
        }
        progress.send_replace(index);
    }
    peer.write(end("not_live").as_bytes()).await;
}

#[tokio::test]
async fn a_slow_consumer_holds_core_back_and_loses_nothing() {
    const TOTAL: u64 = 20_000;
    let (progress, mut written) = tokio::sync::watch::channel(0);
    let core = FakeCore::start(move |peer, _| flood(peer, TOTAL, progress.clone()));
    let mut watch = core.client().watch("s", from_start());
    watch.next().await.unwrap().unwrap();
    // Unread, the flood comes to a halt: nothing was written for a while.
    while tokio::time::timeout(Duration::from_millis(300), written.changed()).await.is_ok() {}
    assert!(*written.borrow() < TOTAL / 2, "{} of {TOTAL} events were buffered", *written.borrow());
    let mut next = 1;
    while let Some(item) = watch.next().await {
        if let WatchItem::Event(event) = item.unwrap() {
            assert_eq!(event.index, next);
            next += 1;
        }
    }
    assert_eq!(next, TOTAL + 1);
}
