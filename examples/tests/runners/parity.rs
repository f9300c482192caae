//! What the SDKs promise beyond the protocol is the same in all of them.

use crate::probes;
use galley_testkit::conformance::{Connection, Launcher, Program, Received, Start};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// A probe that is ready.
struct Probe(Box<dyn Connection>);

impl Probe {
    fn start(program: &Program, arguments: &[&str]) -> Self {
        let start = Start { session_id: "sess_1".into(), arguments: arguments.iter().map(ToString::to_string).collect(), parent: None };
        Self(program.start(&start).unwrap())
    }

    fn ready(program: &Program) -> Self {
        let mut probe = Self::start(program, &[]);
        probe.until("ready");
        probe
    }

    fn send(&mut self, command: Value) {
        self.0.write(format!("{command}\n").as_bytes()).unwrap();
    }

    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        while events.last().is_none_or(|event| event["kind"] != kind) {
            match self.0.read(LIMIT) {
                Received::Line(line) => events.push(serde_json::from_slice(&line).unwrap()),
                other => panic!("{other:?} instead of {kind} after {events:?}"),
            }
        }
        events
    }

    fn run(&mut self, text: &str) -> Vec<Value> {
        self.send(json!({ "kind": "user_message", "text": text }));
        self.until("run_complete")
    }

    fn answer(&mut self, text: &str) -> Value {
        self.run(text).pop().unwrap()["finalContent"].clone()
    }
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["kind"].as_str()).collect()
}

/// Those of `fields` in `event`.
fn some(event: &Value, fields: &[&str]) -> Value {
    fields.iter().map(|field| (field.to_string(), event[field].clone())).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn ready_tells_what_the_agent_can_do() {
    for program in probes() {
        let mut probe = Probe::start(&program, &["--llm-no", "1"]);
        let ready = probe.until("ready").pop().unwrap();
        let capabilities = ["abort", "approvals", "btw", "history", "models", "questions"];
        let expected = json!({
            "protocolVersion": "0.1", "llmName": "big", "capabilities": capabilities, "availableLLMs": [
                { "index": 0, "name": "small", "displayName": "small", "isCurrent": false },
                { "index": 1, "name": "big", "displayName": "Big One", "isCurrent": true },
            ],
        });
        assert_eq!(some(&ready, &["protocolVersion", "llmName", "capabilities", "availableLLMs"]), expected);
        assert_eq!(probe.answer("model"), "big");
        probe.send(json!({ "kind": "set_llm", "llmIndex": 0 }));
        probe.until("llm_changed");
        assert_eq!(probe.answer("model"), "small");
    }
}

#[test]
fn steps_end_with_what_they_streamed() {
    for program in probes() {
        let events = Probe::ready(&program).run("steps");
        let expected = ["turn_start", "turn_progress", "turn_end", "turn_start", "turn_progress", "turn_end", "run_complete"];
        assert_eq!(kinds(&events), expected);
        assert_eq!(
            some(&events[2], &["summary", "responseContent", "exitReason"]),
            json!({ "summary": "one", "responseContent": "first", "exitReason": null })
        );
        let done = json!({ "result": "CURRENT_TASK_DONE", "data": null });
        assert_eq!(
            some(&events[6], &["exitReason", "finalContent", "totalTurns"]),
            json!({ "exitReason": done, "finalContent": "second", "totalTurns": 2 })
        );
    }
}

#[test]
fn an_error_and_a_panic_end_their_run_alone() {
    for program in probes() {
        let mut probe = Probe::ready(&program);
        for (task, message, hint) in [("fail", "told to fail", json!("network")), ("panic", "told to panic", Value::Null)] {
            let events = probe.run(task);
            assert_eq!(kinds(&events), ["turn_start", "error", "run_complete"], "{task}");
            assert!(events[1]["message"].as_str().unwrap().contains(message), "{events:?}");
            let fields = some(&events[1], &["category", "severity", "retryable", "context"]);
            assert_eq!(fields, json!({ "category": "runtime", "severity": "error", "retryable": true, "context": "user_message" }));
            assert_eq!(events[1]["hint"], hint);
            assert_eq!(events[2]["exitReason"]["result"], "EXITED");
        }
        assert_eq!(probe.answer("hello"), "done");
    }
}

#[test]
fn an_agent_that_does_not_stop_holds_up_the_next_message() {
    for program in probes() {
        let mut probe = Probe::ready(&program);
        probe.send(json!({ "kind": "user_message", "text": "stubborn" }));
        probe.until("turn_progress");
        probe.send(json!({ "kind": "abort" }));
        let events = probe.until("run_complete");
        assert_eq!(kinds(&events), ["error", "run_complete"]);
        assert_eq!(some(&events[0], &["severity", "context"]), json!({ "severity": "warning", "context": "abort" }));
        assert_eq!(events[1]["exitReason"]["result"], "ABORTED");
        // Stopped while it is queued: it never begins.
        probe.send(json!({ "kind": "user_message", "text": "queued" }));
        probe.send(json!({ "kind": "abort" }));
        let queued = probe.until("run_complete");
        assert_eq!((kinds(&queued), &queued[0]["totalTurns"]), (vec!["run_complete"], &json!(0)));
        assert_eq!(probe.answer("hello"), "done");
    }
}

#[test]
fn the_history_is_what_was_loaded_and_what_was_said_since() {
    for program in probes() {
        let mut probe = Probe::ready(&program);
        let messages = json!([{ "role": "user", "content": "one" }, { "role": "assistant", "content": "two", "toolCalls": null }]);
        probe.send(json!({ "kind": "load_history", "messages": messages }));
        assert_eq!(probe.until("history_loaded")[0]["messageCount"], 2);
        assert_eq!(probe.answer("history"), "one | two");
        assert_eq!(probe.answer("history"), "one | two | history | one | two");
    }
}
