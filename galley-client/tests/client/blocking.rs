use crate::fake::FakeCore;
use galley_client::protocol::socket::{Ping, SessionWait, WatchFrom};
use galley_client::{SocketTransport, WatchItem, WatchOptions, blocking};
use serde_json::json;

/// Runs a fake Core beside `test`, which blocks.
async fn beside(core: FakeCore, test: impl FnOnce(blocking::Client) + Send + 'static) {
    let path = core.path();
    tokio::task::spawn_blocking(move || test(blocking::Client::new(SocketTransport::new(path)).unwrap())).await.unwrap();
}

#[tokio::test]
async fn calls_and_streams_block() {
    let (closed, told) = std::sync::mpsc::channel();
    let core = FakeCore::start(move |mut peer, _| {
        let closed = closed.clone();
        async move {
            while let Some(request) = peer.request().await {
                match request["command"].as_str().unwrap() {
                    "ping" => peer.answer(&request, json!({ "pong": true })).await,
                    "session.watch" => {
                        peer.send(&json!({ "stream": "start", "requestId": null, "nextIndex": 1 })).await;
                        peer.send(&json!({ "stream": "event", "requestId": null, "index": 1, "run": 1, "data": { "kind": "x" } })).await;
                        peer.closed().await;
                        closed.send(()).unwrap();
                        return;
                    }
                    other => panic!("{other}"),
                };
            }
        }
    });
    beside(core, move |client| {
        assert!(client.call(Ping {}).unwrap().pong);
        assert_eq!(client.raw(br#"{"command":"ping"}"#).unwrap().as_ref(), br#"{"ok":true,"requestId":null,"result":{"pong":true}}"#);
        let mut watch = client.watch("s", WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() });
        assert_eq!(watch.next().unwrap().unwrap(), WatchItem::Start { next_index: 1 });
        assert!(matches!(watch.next().unwrap().unwrap(), WatchItem::Event(event) if event.raw.as_ref() == br#"{"kind":"x"}"#));
        drop(watch);
        // The client stays, and still the stream's connection is closed.
        told.recv().unwrap();
        assert!(client.call(Ping {}).unwrap().pong);
    })
    .await;
}

#[tokio::test]
async fn a_wait_yields_its_outcome() {
    let core = FakeCore::start(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        assert_eq!(request["command"], "session.wait");
        let session = json!({ "id": "s", "title": "t", "status": "error", "lastActivityAt": "", "createdAt": "", "updatedAt": "",
            "runtimeKind": "managed", "runtimeLabel": "Galley", "gaRuntimeKind": "managed" });
        peer.send(&json!({ "schemaVersion": 1, "stream": "wait", "phase": "initial", "session": session, "messages": [] })).await;
        peer.send(&json!({ "schemaVersion": 1, "stream": "wait", "phase": "final", "status": "session_error", "session": session })).await;
        peer.send(&json!({ "schemaVersion": 1, "stream": "end", "reason": "session_error" })).await;
        peer.closed().await;
    });
    beside(core, |client| {
        let outcome = client.wait(SessionWait { session_id: "s".into(), ..SessionWait::default() }).wait_final().unwrap();
        assert_eq!(outcome.status.as_str(), "session_error");
        assert_eq!(client.wait(SessionWait { session_id: "s".into(), ..SessionWait::default() }).map(Result::unwrap).count(), 3);
    })
    .await;
}
