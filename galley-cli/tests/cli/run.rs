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
