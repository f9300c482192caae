//! Signals, pipes that outlive their writer, and processes left behind.

use crate::harness::{BINARY, LIMIT, Runner, child_pid, text};
use galley_testkit::{descendants, marked_processes, process_gone, wait_until};
use rustix::process::{Pid, Signal, getpgid, kill_process};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

/// Kills a process this test started, at the latest when the test ends.
struct Leftover(u32);

impl Leftover {
    fn pid(&self) -> Pid {
        Pid::from_raw(self.0 as i32).unwrap()
    }

    fn kill(&self) {
        let _ = kill_process(self.pid(), Signal::KILL);
        wait_until(LIMIT, "the killed child is gone", || process_gone(self.0)).unwrap();
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        if !process_gone(self.0) {
            let _ = kill_process(self.pid(), Signal::KILL);
        }
    }
}

#[test]
fn it_dies_by_the_signal_asked_for() {
    for (step, signal) in [("die KILL", 9), ("die TERM", 15), ("die 11", 11), ("die BUS", 0), ("abort_self", 6)] {
        let mut runner = Runner::ready(&[]);
        runner.message(&format!("!say last words; {step}"));
        if signal == 0 {
            assert!(runner.until("error").last().unwrap()["message"].as_str().unwrap().contains("SIGNAL must be"));
            continue;
        }
        assert_eq!(runner.exit().signal(), Some(signal), "{step}");
        assert_eq!(runner.rest().len(), 3, "what was said before is out: {step}");
    }
}

#[test]
fn a_closed_stdout_ends_the_stream_and_not_the_runner() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let mut runner = Runner::ready(&["--record", record.to_str().unwrap()]);
    runner.message("!say x; close_stdout; say unheard; spawn_sleep 0; echo_child unheard; wait_for abort; exit 3");
    assert_eq!(runner.rest().len(), 2);
    assert!(runner.child.try_wait().unwrap().is_none());
    runner.send(serde_json::json!({ "kind": "set_yolo_mode", "enabled": true }));
    wait_until(LIMIT, "it still reads", || std::fs::read_to_string(&record).unwrap().contains("set_yolo_mode")).unwrap();
    runner.close_stdin();
    assert!(runner.exit().success());
}

#[test]
fn a_child_that_holds_the_pipe_keeps_it_open_after_the_runner() {
    let mut runner = Runner::ready(&[]);
    runner.message("!fork_holding_pipe; exit 0");
    runner.event();
    let child = Leftover(child_pid(&[runner.event()]));
    assert!(runner.exit().success());
    assert!(!process_gone(child.0), "the child lives, and with it the pipe");
    child.kill();
    assert!(runner.rest().is_empty());
}

#[test]
fn children_are_found_by_parent_group_or_environment() {
    let marker = format!("galley-testkit-{}-{:?}", std::process::id(), std::thread::current().id());
    let mut runner = Runner::start_with(Command::new(BINARY).env("TESTKIT_MARKER", &marker).process_group(0));
    runner.event();
    let near = Leftover(child_pid(&runner.run("!spawn_sleep 600")));
    let far = Leftover(child_pid(&runner.run("!spawn_escaped 600")));

    let me = runner.child.id();
    assert_eq!(descendants(me).unwrap(), [near.0]);
    assert!(descendants(std::process::id()).unwrap().contains(&near.0));
    assert_eq!(getpgid(Some(near.pid())).unwrap().as_raw_nonzero().get(), me as i32);
    assert_ne!(getpgid(Some(far.pid())).unwrap().as_raw_nonzero().get(), me as i32);
    let mut marked = marked_processes(&marker).unwrap();
    let mut expected = vec![me, near.0, far.0];
    marked.sort_unstable();
    expected.sort_unstable();
    assert_eq!(marked, expected);

    runner.close_stdin();
    runner.exit();
    assert!(process_gone(me) && !process_gone(near.0) && !process_gone(far.0));
    near.kill();
    far.kill();
    assert!(marked_processes(&marker).unwrap().is_empty());
}

#[test]
fn a_lock_is_held_until_the_holder_exits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let script = format!("!flock {}; say locked", path.display());
    let mut first = Runner::ready(&[]);
    assert_eq!(text(&first.run(&script)), "locked");
    let mut second = Runner::ready(&[]);
    assert_eq!(text(&second.run(&script)), "");
    first.close_stdin();
    first.exit();
    assert_eq!(text(&second.run(&script)), "locked");
}

#[test]
fn a_broken_stdout_ends_the_runner_unless_told_otherwise() {
    let mut command = Command::new(BINARY);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.args(["--on-start", "ready; repeat 1000000 { late 1; wait 1ms }"]).spawn().unwrap();
    drop(child.stdout.take());
    wait_until(LIMIT, "it exits although its stdin is open", || child.try_wait().unwrap().is_some()).unwrap();
}
