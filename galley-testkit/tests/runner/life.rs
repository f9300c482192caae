//! Start, settings, history, abort and the end.

use crate::harness::{Runner, kinds, result, text};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn ready_says_what_the_script_wants() {
    let mut runner = Runner::start(&["--on-start", "version 0.2; capabilities self_start, approvals; llms 3", "--ga-path", "/ga"]);
    let ready = runner.event();
    assert_eq!((&ready["protocolVersion"], &ready["gaPath"]), (&json!("0.2"), &json!("/ga")));
    assert_eq!(ready["capabilities"], json!(["self_start", "approvals"]));
    assert_eq!(ready["availableLLMs"].as_array().unwrap().len(), 3);
    assert_eq!(ready["pid"], runner.child.id());
}

#[test]
fn ready_can_come_late_twice_or_never() {
    let start = Instant::now();
    let mut late = Runner::start(&["--on-start", "garbage; ready_after 60ms; ready"]);
    assert!(late.line().starts_with(b"this is not JSON"));
    assert_eq!(late.event()["kind"], "ready");
    assert!(start.elapsed() >= Duration::from_millis(60));
    assert_eq!(late.event()["kind"], "ready");

    let mut never = Runner::start(&["--on-start", "never_ready"]);
    assert_eq!(kinds(&never.run("x"))[0], "turn_start", "no ready came first");
}

#[test]
fn a_bad_script_at_the_start_is_said_and_exits_2() {
    let mut runner = Runner::start(&["--script", "/no/such/file"]);
    let error = runner.event();
    assert_eq!(error["kind"], "error");
    assert!(error["message"].as_str().unwrap().contains("/no/such/file"));
    assert_eq!(runner.exit().code(), Some(2));
}

#[test]
fn shutdown_finishes_what_came_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "[shutdown]\nlate 100\n").unwrap();
    let mut runner = Runner::ready(&["--script", script.to_str().unwrap()]);
    runner.message("!say a; emit 100 200");
    runner.command("shutdown");
    runner.close_stdin();
    let events = runner.until("run_complete");
    assert_eq!(events.len(), 104);
    assert_eq!(runner.rest().len(), 100);
    assert!(runner.exit().success());
}

#[test]
fn shutdown_and_the_end_of_stdin_can_be_ignored() {
    let mut runner = Runner::ready(&["--on-start", "ignore_shutdown; ignore_stdin_eof"]);
    runner.command("shutdown");
    assert!(runner.answers());
    runner.message("!wait 150ms; say survived");
    assert_eq!(runner.event()["kind"], "turn_start");
    runner.close_stdin();
    assert_eq!(text(&runner.until("run_complete")), "survived");
    assert!(runner.child.try_wait().unwrap().is_none());
}

#[test]
fn the_end_of_stdin_ends_the_runner_whatever_it_does() {
    for script in ["!wait 1m", "!silence", "!no_complete", "!emit 100000000 300", "!ask_approval code_run"] {
        let mut runner = Runner::ready(&[]);
        runner.message(script);
        assert_eq!(runner.event()["kind"], "turn_start");
        runner.close_stdin();
        assert!(runner.exit().success(), "{script}");
    }
}

#[test]
fn silence_answers_nothing() {
    let mut runner = Runner::ready(&[]);
    runner.message("!silence quiet");
    assert_eq!(text(&runner.until("turn_progress")), "quiet");
    for kind in ["abort", "shutdown", "detach_pet"] {
        runner.command(kind);
    }
    runner.message("/btw?");
    runner.close_stdin();
    assert!(runner.rest().is_empty());
}

#[test]
fn abort_ends_the_run_in_the_middle_of_a_step() {
    let mut runner = Runner::ready(&[]);
    for script in [
        "!say x; wait 1m",
        "!say x; repeat 1000000 { wait 1ms }",
        "!say x; no_complete",
        "!say x; emit 100000000 200 1000",
        "!say x; ask_approvals 3",
    ] {
        runner.message(script);
        assert_eq!(runner.event()["kind"], "turn_start");
        assert_eq!(text(&[runner.event()]), "x");
        runner.command("abort");
        let events = runner.until("run_complete");
        assert_eq!(result(&events), "ABORTED", "{script}");
        assert!(!kinds(&events).contains(&"turn_end"), "{script}");
    }
    assert_eq!(result(&runner.run("next")), "CURRENT_TASK_DONE");
}

#[test]
fn abort_can_be_slow_ignored_or_scripted() {
    let mut runner = Runner::ready(&[]);
    runner.message("!slow_abort 80ms; say x; wait 1m");
    runner.until("turn_progress");
    let start = Instant::now();
    runner.command("abort");
    assert_eq!(result(&runner.until("run_complete")), "ABORTED");
    assert!(start.elapsed() >= Duration::from_millis(80));

    runner.message("!ignore_abort; say x; wait_for abort; done deaf");
    runner.until("turn_progress");
    runner.command("abort");
    assert_eq!(result(&runner.until("run_complete")), "CURRENT_TASK_DONE");

    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "[message]\nsay x\nwait 1m\n[abort]\nend ABORTED stopped\nlate 2\n").unwrap();
    let mut runner = Runner::ready(&["--script", script.to_str().unwrap()]);
    runner.message("anything");
    runner.until("turn_progress");
    runner.command("abort");
    assert_eq!(kinds(&runner.until("run_complete")), ["turn_end", "run_complete"]);
    assert_eq!(kinds(&[runner.event(), runner.event()]), ["turn_progress", "turn_progress"]);
    assert!(runner.answers(), "and no second run_complete");
}

#[test]
fn commands_in_the_middle_of_a_run_are_refused_or_answered_at_once() {
    let mut runner = Runner::ready(&[]);
    runner.message("!say x; wait_for detach_pet");
    runner.until("turn_progress");
    for command in [
        json!({ "kind": "user_message", "text": "too early" }),
        json!({ "kind": "ask_user_response", "text": "to what?" }),
        json!({ "kind": "set_llm", "llmIndex": 1 }),
        json!({ "kind": "approval_response", "approvalId": "none", "decision": "deny" }),
    ] {
        runner.send(command.clone());
        let error = runner.event();
        assert_eq!((&error["kind"], &error["category"], &error["context"]), (&json!("error"), &json!("business"), &command["kind"]));
    }
    assert!(runner.answers());
    runner.command("detach_pet");
    assert_eq!(kinds(&runner.until("run_complete"))[0], "pet_detached");
}

#[test]
fn commands_between_runs_are_answered() {
    let mut runner = Runner::ready(&[]);
    runner.send(json!({ "kind": "set_llm", "llmIndex": 1 }));
    assert_eq!(runner.event()["name"], "testkit/model-1");
    runner.send(json!({ "kind": "set_llm", "llmIndex": 2 }));
    assert_eq!(runner.event()["context"], "set_llm");
    runner.send(json!({ "kind": "attach_pet", "port": 41983 }));
    assert_eq!(runner.event()["port"], 41983);
    runner.command("reinject_tools");
    assert_eq!(runner.event()["kind"], "tools_reinjected");
    runner.command("dance");
    let error = runner.event();
    assert!(error["message"].as_str().unwrap().contains("dance"), "{error}");
}

#[test]
fn history_is_loaded_refused_warned_about_or_late() {
    let history = json!({ "kind": "load_history", "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }] });
    let mut runner = Runner::ready(&[]);
    runner.send(history.clone());
    assert_eq!(runner.event()["messageCount"], 2);
    runner.run("x");
    runner.send(history.clone());
    assert_eq!(runner.event()["context"], "load_history", "too late");

    let mut runner = Runner::ready(&["--on-start", "refuse_history"]);
    runner.send(history.clone());
    assert_eq!(runner.event()["severity"], "error");

    let mut runner = Runner::ready(&["--on-start", "warn_history; slow_history 50ms"]);
    let start = Instant::now();
    runner.send(history);
    assert_eq!(runner.event()["severity"], "warning");
    assert_eq!(runner.event()["kind"], "history_loaded");
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn the_lines_received_are_recorded_verbatim_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let mut runner = Runner::ready(&["--record", record.to_str().unwrap()]);
    let commands = [
        json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": [], "alwaysAllowProject": ["code_run"] }),
        json!({ "kind": "set_yolo_mode", "enabled": true, "extra": 1.5 }),
        json!({ "kind": "user_message", "text": "!wait 1ms", "images": [] }),
        json!({ "kind": "nonsense" }),
    ];
    let mut expected = String::new();
    for command in commands {
        expected.push_str(&format!("{command}\n"));
        runner.send(command);
    }
    runner.until("run_complete");
    runner.command("shutdown");
    expected.push_str("{\"kind\":\"shutdown\"}\n");
    runner.exit();
    assert_eq!(fs::read_to_string(&record).unwrap(), expected);
}

#[test]
fn a_runner_that_stopped_reading_acts_on_nothing() {
    let mut runner = Runner::ready(&[]);
    runner.message("!stop_reading; say stopped; wait 100ms; say resumed; resume_reading; wait_for detach_pet");
    assert_eq!(runner.event()["kind"], "turn_start");
    assert_eq!(text(&[runner.event()]), "stopped");
    runner.command("detach_pet");
    assert_eq!(text(&[runner.event()]), "resumed");
    assert_eq!(kinds(&runner.until("run_complete")), ["pet_detached", "turn_end", "run_complete"]);
}

#[test]
fn it_exits_with_the_code_asked_for() {
    let mut runner = Runner::start(&["--on-start", "stderr 2; exit 7"]);
    assert!(runner.rest().is_empty());
    assert_eq!(runner.exit().code(), Some(7));
}
