use crate::fake::FakeCore;
use galley_client::{Batch, Batches, Error, Reconnect};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn event(index: u64) -> String {
    format!(r#"{{"kind":"novel", "n": {index}.50}}"#)
}

fn frame(index: u64, run: u64) -> String {
    let approval = if index.is_multiple_of(100) { r#","approval":"appr_x""# } else { "" };
    format!("{{\"stream\":\"event\",\"requestId\":null,\"index\":{index},\"run\":{run}{approval},\"data\":{}}}\n", event(index))
}

async fn drain(mut batches: Batches) -> Vec<Batch> {
    let mut all = Vec::new();
    while let Some(batch) = batches.next().await {
        all.push(batch.unwrap());
    }
    all
}

#[tokio::test]
async fn a_named_call_keeps_the_rules_of_a_typed_one() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = seen.clone();
    let core = FakeCore::start(move |mut peer, n| {
        let requests = requests.clone();
        async move {
            while let Some(request) = peer.request().await {
                requests.lock().unwrap().push(request.clone());
                if n == 0 && request["command"] == "session.send" {
                    return;
                }
                peer.answer(&request, json!({ "new": true })).await;
            }
        }
    });
    let client = core.client();
    let answer = client.call_named("session.send", r#"{"sessionId":"s","content":"x","novel":[1]}"#).await.unwrap();
    assert_eq!(answer.result, r#"{"new":true}"#);
    assert_eq!(client.call_named("novel.command", "{}").await.unwrap().result, r#"{"new":true}"#);
    let seen = seen.lock().unwrap();
    let ids: Vec<&Value> = seen[..2].iter().map(|request| &request["args"]["clientRequestId"]).collect();
    assert!(ids[0].is_string() && ids[0] == ids[1], "sent again with the same id: {ids:?}");
    assert_eq!((&seen[0]["args"]["novel"], &seen[0]["schemaVersion"]), (&json!([1]), &json!(1)));
}

#[tokio::test]
async fn what_is_no_object_or_no_stream_is_refused_before_anybody_is_asked() {
    let core = FakeCore::start(|_, _| async {});
    let client = core.client();
    let tag = |error: Error| error.tag().as_str().to_owned();
    assert_eq!(tag(client.call_named("session.send", "[]").await.unwrap_err()), "invalid_args");
    assert_eq!(tag(client.call_named("session.watch", "{}").await.unwrap_err()), "invalid_args");
    for (name, args) in [("session.brief", "{}"), ("session.watch", "{}"), ("session.wait", "1")] {
        assert_eq!(client.stream_named(name, args, Reconnect::Never).err().map(tag).as_deref(), Some("invalid_args"), "{name}");
    }
    assert_eq!(core.connections(), 0);
}

#[tokio::test]
async fn events_come_in_batches_of_one_run_with_their_own_bytes_across_a_break() {
    let core = FakeCore::start(|mut peer, n| async move {
        let request = peer.request().await.unwrap();
        let from = request["args"]["from"].as_u64().unwrap_or(1);
        let upto = if n == 0 { 700 } else { 1000 };
        let start = format!("{{\"stream\":\"start\",\"requestId\":null,\"nextIndex\":{from}}}\n");
        let frames: String = (from..=upto).map(|index| frame(index, if index <= 300 { 1 } else { 2 })).collect();
        let end = if n == 0 { "" } else { "{\"stream\":\"end\",\"requestId\":null,\"reason\":\"not_live\"}\n" };
        peer.write((start + &frames + end).as_bytes()).await;
    });
    let batches = core.client().stream_named("session.watch", r#"{"sessionId":"s","from":"start"}"#, Reconnect::Forever).unwrap();
    let all = drain(batches).await;
    let (mut next, mut approvals_seen) = (1, Vec::new());
    for batch in &all[1..all.len() - 1] {
        let Batch::Events { first, run, approvals, lines } = batch else { panic!("{batch:?}") };
        assert_eq!(*first, next);
        approvals_seen.extend(approvals.iter().map(|(index, _)| *index));
        for line in std::str::from_utf8(lines).unwrap().lines() {
            assert_eq!(line, event(next));
            assert_eq!(*run, if next <= 300 { 1 } else { 2 });
            next += 1;
        }
        assert!(next - first <= 256);
    }
    assert_eq!((next, approvals_seen.len()), (1001, 10));
    assert_eq!(all[0], Batch::Frames("{\"stream\":\"start\",\"requestId\":null,\"nextIndex\":1}\n".into()));
    assert_eq!(all[all.len() - 1], Batch::Frames("{\"stream\":\"end\",\"requestId\":null,\"reason\":\"not_live\"}\n".into()));
}

#[tokio::test]
async fn other_streams_come_as_their_frames_and_an_error_response_is_the_last_item() {
    let frames = "{\"stream\":\"wait\",\"a\":1}\n{\"stream\":\"end\"}\n";
    let core = FakeCore::start(move |mut peer, n| async move {
        peer.request().await;
        let error = "{\"ok\":false,\"error\":\"not_found\",\"message\":\"no\"}\n";
        peer.write(if n == 0 { frames } else { error }.as_bytes()).await;
    });
    let open = || core.client().stream_named("session.wait", r#"{"sessionId":"s"}"#, Reconnect::Never).unwrap();
    let lines: Vec<_> = drain(open()).await.into_iter().flat_map(|batch| if let Batch::Frames(lines) = batch { lines } else { panic!() }).collect();
    assert_eq!(lines, frames.as_bytes());
    let mut refused = open();
    assert_eq!(refused.next().await.unwrap().unwrap_err().tag().as_str(), "not_found");
    assert!(refused.next().await.is_none());
}
