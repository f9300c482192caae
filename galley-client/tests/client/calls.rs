use crate::fake::FakeCore;
use galley_client::protocol::socket::{ErrorTag, Ping, SessionBriefGet, SessionSend, SessionStop, SessionsList};
use galley_client::{Client, Error, SocketTransport};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[tokio::test]
async fn a_hundred_concurrent_calls_share_one_connection_and_get_their_own_answers() {
    let core = FakeCore::start(|mut peer, _| async move {
        let mut requests = Vec::new();
        while requests.len() < 100 {
            requests.push(peer.request().await.unwrap());
        }
        // Answered in the opposite order.
        for request in requests.iter().rev() {
            let id = &request["args"]["sessionId"];
            peer.send(&json!({ "ok": false, "requestId": request["requestId"], "error": "not_found", "message": id })).await;
        }
        peer.closed().await;
    });
    let client = core.client();
    let calls = (0..100).map(|n| {
        let client = client.clone();
        async move { (n, client.session(format!("sess_{n}")).brief().await.unwrap_err().to_string()) }
    });
    for (n, answer) in futures::future::join_all(calls).await {
        assert_eq!(answer, format!("sess_{n}"));
    }
    assert_eq!(core.connections(), 1);
}

#[tokio::test]
async fn a_tag_of_a_newer_core_and_its_detail_survive() {
    let core = FakeCore::start(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        assert_eq!(request["schemaVersion"], 1);
        peer.send(
            &json!({ "ok": false, "requestId": request["requestId"], "error": "some_future_tag", "message": "m", "detail": { "retryable": true } }),
        )
        .await;
    });
    let error = core.client().call(Ping {}).await.unwrap_err();
    assert_eq!(error.tag(), ErrorTag::Unknown("some_future_tag".into()));
    assert!(error.is_retryable());
}

#[tokio::test]
async fn lists_keep_their_cursor_and_results_their_unknown_fields() {
    let core = FakeCore::start(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            let line = format!("{{\"result\":[], \"nextCursor\":\"c2\",\"ok\":true,\"requestId\":{},\"newer\":1}}\n", request["requestId"]);
            peer.write(line.as_bytes()).await;
        }
    });
    let client = core.client();
    let page = client.sessions().list(SessionsList::default()).await.unwrap();
    assert_eq!((page.items.len(), page.next_cursor.as_deref()), (0, Some("c2")));
    assert_eq!(client.answer(SessionsList::default()).await.unwrap().result.as_ref(), b"[]");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_never_answers_times_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("core.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let client = Client::new(SocketTransport::new(path));
    let started = tokio::time::Instant::now();
    let error = client.call(Ping {}).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(limit) if limit == Duration::from_secs(120)), "{error:?}");
    assert_eq!(started.elapsed().as_secs(), 120);
    let error = client.raw(b"{}").await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
}

#[tokio::test]
async fn a_send_is_repeated_once_with_the_same_client_request_id() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = ids.clone();
    let core = FakeCore::start(move |mut peer, n| {
        let seen = seen.clone();
        async move {
            let request = peer.request().await.unwrap();
            seen.lock().unwrap().push(request["args"]["clientRequestId"].as_str().unwrap().to_owned());
            if n > 0 {
                peer.answer(&request, json!({ "dispatch": "queued" })).await;
                peer.closed().await;
            }
        }
    });
    let client = core.client();
    let sent = client.session("sess_1").send("hello").await.unwrap();
    assert_eq!(sent.dispatch.as_str(), "queued");
    let ids = ids.lock().unwrap().clone();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_client_request_id_of_the_caller_is_kept() {
    let core = FakeCore::start(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        assert_eq!(request["args"]["clientRequestId"], "mine");
        peer.answer(&request, json!({ "dispatch": "queued" })).await;
        peer.closed().await;
    });
    let command = SessionSend { session_id: "s".into(), content: "c".into(), client_request_id: Some("mine".into()), ..SessionSend::default() };
    core.client().call(command).await.unwrap();
}

#[tokio::test]
async fn a_write_that_may_have_been_received_is_not_sent_again() {
    let core = FakeCore::start(|mut peer, _| async move {
        peer.request().await;
    });
    let client = core.client();
    let error = client.call(SessionStop { session_id: "sess_1".into(), ..SessionStop::default() }).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("session.stop") && text.contains("unknown")), "{error:?}");
    assert_eq!(core.connections(), 1);
}

#[tokio::test]
async fn a_connection_closed_for_idleness_is_opened_again() {
    let core = FakeCore::start(|mut peer, n| async move {
        if n == 0 {
            let request = peer.request().await.unwrap();
            peer.answer(&request, json!({ "dispatch": "already_stopped" })).await;
            peer.request().await;
            peer.send(&json!({ "ok": false, "error": "idle_timeout", "message": "idle" })).await;
        } else {
            let request = peer.request().await.unwrap();
            peer.answer(&request, json!({ "dispatch": "abort_sent" })).await;
            peer.closed().await;
        }
    });
    let client = core.client();
    assert_eq!(client.session("s").stop().await.unwrap().as_str(), "already_stopped");
    // Core's farewell crosses this one on the way: it was not read, so even a stop is sent again.
    assert_eq!(client.session("s").stop().await.unwrap().as_str(), "abort_sent");
    assert_eq!(core.connections(), 2);
}

#[tokio::test]
async fn malformed_answers_are_protocol_errors_and_the_next_call_connects_anew() {
    for garbage in ["not json\n", "{}\n", "{\"ok\":true,\"result\":1}\n", "[]\n", "\n"] {
        let core = FakeCore::start(move |mut peer, n| async move {
            let request = peer.request().await.unwrap();
            if n == 0 {
                peer.write(garbage.as_bytes()).await;
            } else {
                peer.answer(&request, json!({ "pong": true })).await;
            }
            peer.closed().await;
        });
        let client = core.client();
        let error = client.call(Ping {}).await.unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{garbage:?}: {error:?}");
        assert!(client.call(Ping {}).await.unwrap().pong, "{garbage:?}");
    }
}

#[tokio::test]
async fn a_result_of_the_wrong_shape_fails_its_call_alone() {
    let core = FakeCore::start(|mut peer, _| async move {
        while let Some(request) = peer.request().await {
            peer.answer(&request, json!({ "pong": request["command"] == "ping" })).await;
        }
    });
    let client = core.client();
    let error = client.call(SessionBriefGet { session_id: "s".into() }).await.unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
    assert!(client.call(Ping {}).await.unwrap().pong);
    assert_eq!(core.connections(), 1);
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_connection_usable() {
    let core = FakeCore::start(|mut peer, _| async move {
        let forgotten = peer.request().await.unwrap();
        let request = peer.request().await.unwrap();
        peer.answer(&forgotten, json!({ "pong": true })).await;
        peer.answer(&request, json!({ "pong": true })).await;
        peer.closed().await;
    });
    let client = core.client();
    let mut call = Box::pin(client.call(Ping {}));
    // Drive it until the request has been written, then drop it.
    while core.connections() == 0 {
        assert!(futures::poll!(&mut call).is_pending());
        tokio::task::yield_now().await;
    }
    drop(call);
    assert!(client.call(Ping {}).await.unwrap().pong);
    assert_eq!(core.connections(), 1);
}

#[tokio::test]
async fn dropping_the_client_closes_its_connection() {
    let (closed, told) = tokio::sync::oneshot::channel();
    let closed = Arc::new(Mutex::new(Some(closed)));
    let core = FakeCore::start(move |mut peer, _| {
        let closed = closed.clone();
        async move {
            let request = peer.request().await.unwrap();
            peer.answer(&request, json!({ "pong": true })).await;
            peer.closed().await;
            closed.lock().unwrap().take().unwrap().send(()).unwrap();
        }
    });
    let client = core.client();
    client.call(Ping {}).await.unwrap();
    drop(client);
    told.await.unwrap();
}

#[tokio::test]
async fn the_raw_door_passes_lines_through() {
    let core = FakeCore::start(|mut peer, _| async move {
        let request = peer.request().await.unwrap();
        assert_eq!(request, json!({ "command": "future.thing" }));
        peer.write(b"{\"ok\":false, \"error\":\"unknown_command\",\"message\":\"no\"}\n").await;
        peer.closed().await;
    });
    let line = core.client().raw(br#"{"command":"future.thing"}"#).await.unwrap();
    assert_eq!(line.as_ref(), b"{\"ok\":false, \"error\":\"unknown_command\",\"message\":\"no\"}");
}
