use crate::home::Home;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};

#[test]
fn a_run_shows_the_output_ends_with_the_commands_code_and_can_be_found() {
    let home = Home::new();
    let done = home.galley(&["run", "--auto", "echo findable; exit 7"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "findable\n"), "{done:?}");
    let id = done.stderr.split("session ").nth(1).unwrap().split(' ').next().unwrap();
    let row = home.galley(&["session", "brief", id]).row();
    assert_eq!(row["status"], "completed");
    assert_eq!(home.galley(&["sessions", "search", "findable"]).rows()[0]["sessionId"], id);
    assert_eq!(home.galley(&["run", "--auto", "true"]).code, Some(0));
}

#[test]
fn without_a_terminal_an_approval_is_denied_and_said_so() {
    let home = Home::new();
    let done = home.galley(&["run", "echo no > forbidden"]);
    assert_eq!(done.code, Some(126), "{done:?}");
    assert!(done.stderr.contains("denied: code_run") && done.stderr.contains("--auto"), "{done:?}");
    assert!(!std::path::Path::new("forbidden").exists());
}

#[test]
fn a_run_uses_the_core_that_is_up() {
    let home = Home::serving();
    let done = home.galley(&["run", "--auto", "echo here"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "here\n"), "{done:?}");
    assert_eq!(home.galley(&["core", "info"]).row()["pid"], home.serving_pid());
}

#[test]
fn an_interrupt_stops_the_run_and_what_it_started() {
    let home = Home::new();
    let mut child = home.command(&["run", "--auto", "echo $$; sleep 1000"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let command = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains("stopped"), "{stderr}");
    assert!(rustix::process::test_kill_process(command).is_err(), "the command is gone");
}

#[test]
fn a_runner_that_cannot_start_exits_5() {
    let home = Home::serving();
    home.galley(&["runtime", "add", "broken", "--command=/nonexistent/agent"]).row();
    let done = home.galley(&["run", "--auto", "--runtime=broken", "x"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{done:?}");
    assert!(done.stderr.starts_with("galley: "), "{done:?}");
}

#[test]
fn a_command_that_a_signal_ended_is_no_success() {
    let home = Home::new();
    let done = home.galley(&["run", "--auto", "kill -9 $$"]);
    assert_eq!(done.code, Some(137), "{done:?}");
    assert!(done.stderr.contains("ended by signal 9"), "{done:?}");
}

#[test]
fn a_terminated_run_is_stopped_and_says_by_what() {
    let home = Home::new();
    let mut child = home.command(&["run", "--auto", "echo started; sleep 1000"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(home.galley(&["sessions", "list"]).rows()[0]["status"], "cancelled");
}

#[test]
fn a_run_that_nobody_reads_is_stopped() {
    let home = Home::new();
    let mut child = home.command(&["run", "--auto", "yes"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(home.galley(&["sessions", "list"]).rows()[0]["status"], "cancelled");
}
