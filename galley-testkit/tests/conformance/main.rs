//! The conformance suite on the test runner, as it should be and deliberately wrong.

#![allow(clippy::unwrap_used)]

use galley_testkit::conformance::{Options, Program, Report, check};
use std::fs;
use std::time::Duration;

const RUNNER: &str = env!("CARGO_BIN_EXE_galley-testkit-runner");

fn options() -> Options {
    Options {
        task: "hello".into(),
        approval: Some("!ask_approval code_run".into()),
        question: Some("!ask_blocking Which? | red | blue".into()),
        long: Some("!say working; wait 10m".into()),
        limit: Duration::from_secs(20),
        ..Options::default()
    }
}

fn failed(report: &Report) -> Vec<&'static str> {
    report.failed().collect()
}

#[test]
fn the_test_runner_passes() {
    let report = check(&Program::new([RUNNER]), &options());
    assert!(report.passed(), "{report}");
    // Its children print past the protocol on purpose.
    assert_eq!(report.skipped().collect::<Vec<_>>(), ["stdout"], "{report}");
}

/// What fails when every run of the runner does `message`.
fn wrong_in_runs(message: &str, only: &[&str]) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, format!("[message]\n{message}\n")).unwrap();
    let only = only.iter().map(ToString::to_string).collect();
    let report = check(&Program::new([RUNNER, "--script", script.to_str().unwrap()]), &Options { only, ..options() });
    failed(&report)
}

#[test]
fn a_wrong_run_fails_the_checks_of_runs() {
    let only = ["run", "events", "order"];
    assert_eq!(wrong_in_runs("say right", &only), [""; 0]);
    assert_eq!(wrong_in_runs("dup_complete", &["run", "order"])[..1], ["run"]);
    assert!(wrong_in_runs("dup_complete", &["run", "order"]).contains(&"order"));
    assert_eq!(wrong_in_runs("say x; done; late 2", &only), ["order"]);
    assert_eq!(wrong_in_runs("no_turn_start; say x", &only), ["run", "run.again", "order"]);
    assert_eq!(wrong_in_runs("garbage", &only), ["events"]);
    assert_eq!(wrong_in_runs("invalid_utf8", &only), ["events"]);
    assert_eq!(wrong_in_runs("wrong_session", &only), ["events"]);
    assert_eq!(wrong_in_runs("self_start", &["order"]), [""; 0]);
}

/// What fails when the runner begins with `fault`.
fn wrong_from_the_start(fault: &str, only: &[&str]) -> Vec<&'static str> {
    let only = only.iter().map(ToString::to_string).collect();
    let options = Options { only, limit: Duration::from_secs(2), ..options() };
    failed(&check(&Program::new([RUNNER, "--on-start", fault]), &options))
}

#[test]
fn a_runner_that_does_not_get_ready_fails_at_once() {
    for fault in ["never_ready", "version 0.2", "exit 3", "garbage; raw {\"kind\":\"ready\"}; never_ready"] {
        assert_eq!(wrong_from_the_start(fault, &[]), ["ready"], "{fault}");
    }
}

#[test]
fn a_runner_that_does_not_obey_fails_the_checks_of_it() {
    assert_eq!(wrong_from_the_start("ignore_abort", &["abort"]), ["abort.at-once", "abort.work", "abort.approval", "abort.question"]);
    assert_eq!(wrong_from_the_start("refuse_history", &["history"]), ["history"]);
    assert_eq!(wrong_from_the_start("ignore_shutdown", &["end.shutdown", "end.input"]), ["end.shutdown"]);
    // It waits for its run at a shutdown, until its input ends.
    let deaf = ["end.shutdown-busy", "end.input", "end.input-busy", "end.parent"];
    assert_eq!(wrong_from_the_start("ignore_stdin_eof", &["end"]), deaf);
}

#[cfg(unix)]
#[test]
fn what_a_runner_prints_or_leaves_behind_is_found() {
    let options = Options { print: Some("!echo_child past the protocol".into()), only: vec!["stdout".into()], ..options() };
    assert_eq!(failed(&check(&Program::new([RUNNER]), &options)), ["stdout"]);
    assert_eq!(wrong_from_the_start("spawn_escaped 600", &["end.shutdown"]), ["end.shutdown", "end.shutdown-busy"]);
}
