//! Approvals and questions.

use crate::harness::{Runner, kinds, result, text};
use serde_json::{Value, json};

fn decide(runner: &mut Runner, id: &Value, decision: &str) {
    runner.send(json!({ "kind": "approval_response", "approvalId": id, "decision": decision }));
}

#[test]
fn an_approval_is_waited_for_and_obeyed() {
    let mut runner = Runner::ready(&[]);
    for (decision, end, status) in [
        ("allow_once", ["tool_call_start", "tool_call_end", "turn_end", "run_complete"].as_slice(), "success"),
        ("deny", ["tool_call_end", "turn_end", "run_complete"].as_slice(), "denied"),
    ] {
        runner.message("!ask_approval code_run medium");
        let pending = runner.until("tool_call_pending").pop().unwrap();
        assert_eq!((&pending["toolName"], &pending["riskLevel"]), (&json!("code_run"), &json!("medium")));
        decide(&mut runner, &pending["approvalId"], decision);
        let events = runner.until("run_complete");
        assert_eq!(kinds(&events), end);
        let ended = events.iter().find(|event| event["kind"] == "tool_call_end").unwrap();
        assert_eq!(ended["status"], status);
        let turn = events.iter().find(|event| event["kind"] == "turn_end").unwrap();
        assert_eq!(turn["toolCalls"][0]["toolName"], "code_run");
        assert_eq!(turn["toolResults"][0]["toolUseId"], ended["toolCallId"]);
    }
}

#[test]
fn rules_and_the_automatic_mode_need_no_answer() {
    let mut runner = Runner::ready(&[]);
    let unasked = ["turn_start", "tool_call_start", "tool_call_end", "turn_end", "run_complete"];
    runner.send(json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": ["file_read"], "alwaysAllowProject": ["code_run"] }));
    assert_eq!(kinds(&runner.run("!ask_approval code_run")), unasked);
    assert_eq!(kinds(&runner.run("!ask_approval file_read")), unasked);
    runner.send(json!({ "kind": "set_yolo_mode", "enabled": true }));
    assert_eq!(kinds(&runner.run("!ask_approval anything")), unasked);
    runner.send(json!({ "kind": "set_yolo_mode", "enabled": false }));
    runner.message("!ask_approval anything");
    runner.until("tool_call_pending");
}

#[test]
fn several_approvals_are_open_at_once() {
    let mut runner = Runner::ready(&[]);
    runner.message("!ask_approvals 3");
    runner.event();
    let pending = [runner.event(), runner.event(), runner.event()];
    for (ask, decision) in pending.iter().zip(["allow_once", "deny", "always_allow_global"]).rev() {
        decide(&mut runner, &ask["approvalId"], decision);
    }
    let ends: Vec<Value> = runner.until("run_complete").into_iter().filter(|event| event["kind"] == "tool_call_end").collect();
    assert_eq!(ends.iter().map(|end| end["status"].as_str().unwrap()).collect::<Vec<_>>(), ["success", "denied", "success"]);
}

#[test]
fn approvals_may_share_one_id() {
    let mut runner = Runner::ready(&[]);
    runner.message("!same_approval_id; ask_approvals 2");
    runner.event();
    let pending = [runner.event(), runner.event()];
    assert_eq!(pending[0]["approvalId"], pending[1]["approvalId"]);
    decide(&mut runner, &pending[0]["approvalId"], "allow_once");
    decide(&mut runner, &pending[0]["approvalId"], "deny");
    assert_eq!(result(&runner.until("run_complete")), "CURRENT_TASK_DONE");
}

#[test]
fn an_answer_after_an_abort_finds_nothing() {
    let mut runner = Runner::ready(&[]);
    runner.message("!ask_approval code_run");
    let pending = runner.until("tool_call_pending").pop().unwrap();
    runner.command("abort");
    assert_eq!(result(&runner.until("run_complete")), "ABORTED");
    decide(&mut runner, &pending["approvalId"], "allow_once");
    assert_eq!(runner.event()["context"], "approval_response");
}

#[test]
fn a_question_ends_the_run_and_its_answer_opens_one() {
    let mut runner = Runner::ready(&[]);
    let events = runner.run("!ask Which colour? | red | blue");
    assert_eq!(kinds(&events), ["turn_start", "ask_user", "turn_end", "run_complete"]);
    assert_eq!((&events[1]["question"], &events[1]["candidates"]), (&json!("Which colour?"), &json!(["red", "blue"])));
    assert_eq!(result(&events), "EXITED");
    runner.send(json!({ "kind": "ask_user_response", "text": "red" }));
    assert_eq!(text(&runner.until("run_complete")), "echo: red");
}

#[test]
fn a_blocking_question_keeps_the_run_open() {
    let mut runner = Runner::ready(&[]);
    runner.message("!ask_blocking Sure?; done");
    let asked = runner.until("ask_user").pop().unwrap();
    assert_eq!((&asked["blocking"], &asked["candidates"]), (&json!(true), &json!([])));
    runner.send(json!({ "kind": "ask_user_response", "text": "yes" }));
    let events = runner.until("run_complete");
    assert_eq!(text(&events), "answer: yes");
    assert_eq!(result(&events), "CURRENT_TASK_DONE");
}
