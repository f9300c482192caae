//! Steps that talk.

use crate::harness::{Runner, kinds, result, text};
use galley_testkit::EventLogChecker;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_message_without_a_script_is_echoed() {
    let mut runner = Runner::ready(&[]);
    let events = runner.run("hello wide world");
    assert_eq!(kinds(&events), ["turn_start", "turn_progress", "turn_progress", "turn_progress", "turn_progress", "turn_end", "run_complete"]);
    assert_eq!(text(&events), "echo: hello wide world");
    assert_eq!(events[5]["exitReason"]["result"], "CURRENT_TASK_DONE");
    assert_eq!(events[6]["finalContent"], "echo: hello wide world");
    assert!(events.iter().all(|event| event["sessionId"] == "sess_1" && event["timestamp"].is_string()));
}

#[test]
fn steps_are_numbered_within_the_run() {
    let mut runner = Runner::ready(&[]);
    for _ in 0..2 {
        let events = runner.run("!step one; step two; done three");
        let turns: Vec<_> = events.iter().filter(|event| event["kind"] == "turn_end").collect();
        assert_eq!(turns.iter().map(|turn| turn["turnIndex"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(turns.iter().map(|turn| turn["responseContent"].as_str().unwrap()).collect::<Vec<_>>(), ["one", "two", "three"]);
        assert_eq!(turns.iter().map(|turn| turn["exitReason"].is_null()).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(events.last().unwrap()["totalTurns"], 3);
    }
}

#[test]
fn runs_end_in_every_way() {
    let mut runner = Runner::ready(&[]);
    runner.message("!turn_end_only");
    assert_eq!(kinds(&runner.until("turn_end")), ["turn_start", "turn_end"]);
    // The next message is welcome although no run_complete came.
    assert_eq!(kinds(&runner.run("!complete_only")), ["turn_start", "run_complete"]);
    assert_eq!(result(&runner.run("!end SLASH_COMMAND_COMPLETED fine")), "SLASH_COMMAND_COMPLETED");
    assert_eq!(kinds(&runner.run("!dup_complete; late 2")), ["turn_start", "turn_end", "run_complete"]);
    assert_eq!(kinds(&[runner.event(), runner.event(), runner.event()]), ["run_complete", "turn_progress", "turn_progress"]);
    // A script that forgets to end its run is ended.
    assert_eq!(kinds(&runner.run("!say x")), ["turn_start", "turn_progress", "turn_end", "run_complete"]);
}

#[test]
fn steps_can_be_predicted_doubled_and_left_out() {
    let mut runner = Runner::ready(&[]);
    let events = runner.run("!step a; predict_turn; done b");
    assert_eq!(kinds(&events), ["turn_start", "turn_progress", "turn_end", "turn_start", "turn_start", "turn_end", "run_complete"]);
    assert_eq!((&events[3]["turnIndex"], &events[4]["turnIndex"]), (&json!(2), &json!(2)));
    assert_eq!(kinds(&runner.run("!no_turn_start; say x")), ["turn_progress", "turn_end", "run_complete"]);
}

#[test]
fn a_runner_can_start_a_run_of_its_own() {
    let mut runner = Runner::start(&["--on-start", "ready; self_start; say hi; done"]);
    assert_eq!(kinds(&runner.until("run_complete")), ["ready", "turn_start", "turn_progress", "turn_end", "run_complete"]);
    // A message that comes in between waits for the run that is open.
    let events = runner.run("!done; wait_for user_message; self_start; say own; done");
    assert_eq!(kinds(&events), ["turn_start", "turn_end", "run_complete"]);
    runner.message("mine");
    assert_eq!(text(&runner.until("run_complete")), "own");
    assert_eq!(text(&runner.until("run_complete")), "echo: mine");
    let events = runner.run("!done; self_start; say again");
    assert_eq!(kinds(&events), ["turn_start", "turn_end", "run_complete"]);
    assert_eq!(kinds(&runner.until("run_complete")), ["turn_start", "turn_progress", "turn_end", "run_complete"]);
}

#[test]
fn emitted_events_are_counted_timed_and_of_the_size_asked_for() {
    let mut runner = Runner::ready(&[]);
    runner.message("!emit 3000 300; emit 10 100 2000");
    let mut log = EventLogChecker::from(0);
    let (start, mut last_sent) = (Instant::now(), 0);
    runner.line();
    for index in 0..3010 {
        let line = runner.line();
        log.see(index, &line).unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(event["seq"], index);
        if index < 3000 {
            assert!((285..=315).contains(&line.len()), "{} bytes", line.len());
        }
        let sent = event["sentNs"].as_u64().unwrap();
        assert!(sent >= last_sent);
        last_sent = sent;
    }
    assert!(start.elapsed() >= Duration::from_millis(18), "nine gaps of 2 ms");
    assert_eq!(kinds(&runner.until("run_complete")), ["turn_end", "run_complete"]);
}

#[test]
fn a_mistake_in_a_script_is_an_error_event_and_ends_the_run() {
    let mut runner = Runner::ready(&[]);
    for (script, expected) in [("!jump 3", "unknown step `jump`"), ("!say x; emit many 3", "write `emit N SIZE [GAP_US]`"), ("!flock /", "flock /")] {
        let events = runner.run(script);
        let error = events.iter().find(|event| event["kind"] == "error").unwrap();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected) || (script == "!flock /" && !message.is_empty()), "{message}");
        assert_eq!(result(&events), "EXITED");
    }
}

#[test]
fn errors_repeats_and_raw_lines_are_written_as_told() {
    let mut runner = Runner::ready(&[]);
    let events = runner.run("!error runtime warning slow model\nrepeat 3 { say x; step }; raw {\"kind\":\"custom\",\"a\":1}");
    assert_eq!((&events[1]["category"], &events[1]["severity"], &events[1]["message"]), (&json!("runtime"), &json!("warning"), &json!("slow model")));
    assert_eq!(text(&events), "xxx");
    assert_eq!(events.iter().filter(|event| event["kind"] == "turn_end").count(), 4);
    assert!(events.contains(&json!({ "kind": "custom", "a": 1 })));
}

#[test]
fn the_environment_and_the_arguments_can_be_read_back() {
    let mut command = std::process::Command::new(crate::harness::BINARY);
    let mut runner = Runner::start_with(command.args(["--llm-no=1", "--what", "--cwd", "/"]).env("GALLEY_SESSION_ID", "s 9"));
    let ready = runner.event();
    assert_eq!(ready["llmName"], "testkit/model-1");
    assert_eq!(text(&runner.run("!print_env GALLEY_SESSION_ID")), "GALLEY_SESSION_ID=s 9");
    assert_eq!(text(&runner.run("!print_env GALLEY_NO_SUCH_THING")), "GALLEY_NO_SUCH_THING is not set");
    assert_eq!(text(&runner.run("!print_args")), r#"["--llm-no=1","--what","--cwd","/"]"#);
}
