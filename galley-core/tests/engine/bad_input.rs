//! Requests that are wrong in every way there is: each gets its error, and everything goes on.

use crate::engine::{Engine, socket};
use crate::second_process::SecondCore;
use crate::wire::{LIMIT, Wire, ask};
use galley_protocol::ipc::Event;
use galley_protocol::socket::SessionStatus;
use serde_json::{Value, json};

/// What is sent, the error's tag, and a part of its message.
type Case<'a> = (&'a str, &'a str, &'a str);

#[tokio::test]
async fn a_wrong_request_is_told_what_would_be_right_and_the_connection_goes_on() {
    let engine = Engine::start().await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    let cases: &[Case<'_>] = &[
        ("not json", "invalid_args", r#"{"command","args""#),
        ("{", "invalid_args", "JSON"),
        ("[]", "invalid_args", "JSON object"),
        ("null", "invalid_args", "JSON object"),
        ("42", "invalid_args", "JSON object"),
        (r#"{"command":"ping"}{"command":"ping"}"#, "invalid_args", "JSON"),
        ("{}", "invalid_args", "command"),
        (r#"{"command":7}"#, "invalid_args", "JSON object"),
        (r#"{"command":"ping","requestId":7}"#, "invalid_args", "JSON object"),
        (r#"{"command":"reboot"}"#, "unknown_command", "reboot"),
        (r#"{"command":""}"#, "unknown_command", "no command"),
        (r#"{"command":"ping","schemaVersion":2}"#, "schema_mismatch", "[1]"),
        (r#"{"command":"ping","schemaVersion":"1"}"#, "schema_mismatch", "[1]"),
        (r#"{"command":"ping","schemaVersion":-1}"#, "schema_mismatch", "[1]"),
        (r#"{"command":"ping","schemaVersion":1.5}"#, "schema_mismatch", "[1]"),
        (r#"{"command":"session.new"}"#, "invalid_args", "task"),
        (r#"{"command":"session.new","args":null}"#, "invalid_args", "task"),
        (r#"{"command":"session.new","args":[]}"#, "invalid_args", "session.new"),
        (r#"{"command":"session.new","args":"x"}"#, "invalid_args", "session.new"),
        (r#"{"command":"session.new","args":{"task":5}}"#, "invalid_args", "string"),
        (r#"{"command":"session.new","args":{"task":" \n\t "}}"#, "invalid_args", "blank"),
        (r#"{"command":"session.new","args":{"task":"x","runtime":"nobody"}}"#, "invalid_args", "nobody"),
        (r#"{"command":"session.new","args":{"task":"x","cwd":"relative"}}"#, "invalid_args", "absolute"),
        (r#"{"command":"session.new","args":{"task":"x","approvalMode":"yolo"}}"#, "invalid_args", "yolo"),
        (r#"{"command":"session.new","args":{"task":"x","projectId":"proj_0"}}"#, "invalid_args", "proj_0"),
        (r#"{"command":"session.send","args":{"sessionId":"sess_0","content":"x"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.send","args":{"sessionId":"sess_0","content":""}}"#, "invalid_args", "blank"),
        (r#"{"command":"session.send","args":{"sessionId":"sess_0","content":"x","ifBusy":"wait"}}"#, "invalid_args", "queue"),
        (r#"{"command":"session.send","args":{"content":"x"}}"#, "invalid_args", "sessionId"),
        (r#"{"command":"session.stop","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.state","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.brief","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.show","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.show","args":{"sessionId":"sess_0","tail":-1}}"#, "invalid_args", "session.show"),
        (r#"{"command":"session.watch","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"session.wait","args":{"sessionId":"sess_0"}}"#, "not_found", "sess_0"),
        (r#"{"command":"sessions.list","args":{"cursor":"nonsense"}}"#, "invalid_args", "cursor"),
        (r#"{"command":"approval.respond","args":{"id":"appr_0","decision":"allow_once"}}"#, "not_found", "appr_0"),
        (r#"{"command":"approval.respond","args":{"id":"appr_0","decision":"sure"}}"#, "invalid_args", "allow_once"),
        (r#"{"command":"approval.mode","args":{"mode":"yolo"}}"#, "invalid_args", "yolo"),
        (r#"{"command":"runtime.check","args":{"name":"nobody"}}"#, "not_found", "nobody"),
        (r#"{"command":"stream.cancel","args":{}}"#, "invalid_args", "requestId"),
    ];
    for (request, tag, part) in cases {
        wire.line(request).await;
        let answer = wire.next().await.unwrap_or_else(|| panic!("no answer to {request}"));
        assert_eq!((&answer["ok"], &answer["error"]), (&json!(false), &json!(tag)), "{request}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(part), "{request}: {answer}");
    }
    for bytes in [&b"\xff\xfe\n"[..], b"{\"command\":\"\xc3\"}\n"] {
        wire.send(bytes).await;
        assert_eq!(wire.next().await.unwrap()["error"], "invalid_args");
    }
    wire.send("\n  \n\r\n").await;
    assert_eq!(wire.ask("ping", json!({})).await["ok"], true, "blank lines are nothing");
    engine.stop().await;
}

#[tokio::test]
async fn an_unknown_word_does_not_use_up_an_approval() {
    let engine = Engine::start().await;
    let id = engine.new_session("!ask_approval rm; done").await.session.id;
    let asked = engine.event(&id, |event| matches!(event, Event::ToolCallPending(_))).await.approval.unwrap();
    let respond = async |decision: &str| ask(&socket(&engine.dir), "approval.respond", json!({ "id": asked, "decision": decision })).await;
    for decision in ["yes", "ALLOW_ONCE", "", "allow"] {
        assert_eq!(respond(decision).await["error"], "invalid_args");
    }
    assert_eq!(respond("allow_once").await["ok"], true);
    assert_eq!(engine.idle(&id).await.status, SessionStatus::Completed);
    engine.stop().await;
}

#[tokio::test]
async fn many_requests_at_once_are_all_answered_and_those_without_an_id_in_order() {
    let engine = Engine::start().await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    let mut requests = String::new();
    for number in 0..1000 {
        let command = if number % 2 == 0 { "ping" } else { "sessions.list" };
        requests.push_str(&format!("{}\n", json!({ "command": command })));
        requests.push_str(&format!("{}\n", json!({ "command": "status", "requestId": number.to_string() })));
    }
    wire.send(requests).await;
    let (mut with_id, mut in_order) = (std::collections::BTreeSet::new(), Vec::new());
    for _ in 0..2000 {
        let answer = wire.next().await.unwrap();
        assert_eq!(answer["ok"], true, "{answer}");
        match answer["requestId"].as_str() {
            Some(id) => assert!(with_id.insert(id.to_owned()), "{id} twice"),
            None => in_order.push(answer["result"].is_array()),
        }
    }
    assert_eq!(with_id.len(), 1000);
    assert!(in_order.iter().enumerate().all(|(number, is_list)| *is_list == (number % 2 == 1)));
    engine.stop().await;
}

#[tokio::test]
async fn a_half_closed_connection_gets_the_answers_it_asked_for() {
    let engine = Engine::start().await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    wire.send("{\"command\":\"sessions.list\"}\n{\"command\":\"status\",\"requestId\":\"s\"}\n{\"command\":\"ping\"}").await;
    wire.half_close().await;
    let mut answers = 0;
    while let Some(answer) = wire.next().await {
        assert_eq!(answer["ok"], true);
        answers += 1;
    }
    assert_eq!(answers, 3, "the last line lacked its newline");
    engine.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_endless_line_is_refused_and_costs_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start(&dir);
    let socket = socket(&dir);
    assert_eq!(ask(&socket, "ping", json!({})).await["ok"], true);
    let before = core.peak_memory();
    for _ in 0..3 {
        let mut wire = Wire::connect(&socket).await;
        let block = vec![b'x'; 1 << 20];
        let mut taken = 0;
        while taken < 100 && wire.try_send(&block).await {
            taken += 1;
        }
        assert!(taken < 20, "{taken} MiB were taken");
        let answer = tokio::time::timeout(LIMIT, wire.next()).await.unwrap().expect("an answer");
        assert_eq!((&answer["error"], answer.get("requestId")), (&json!("invalid_args"), None::<&Value>), "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("16777216"), "{answer}");
        assert_eq!(ask(&socket, "ping", json!({})).await["ok"], true);
    }
    let grown = core.peak_memory() - before;
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);
    core.end();
}
