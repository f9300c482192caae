use crate::home::{Home, answer};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};

const FRAMES: &str = "{\"stream\":\"event\",\"requestId\":null,\"index\":1,\"run\":1,\"data\":{ \"kind\":\"novel\" }}\n";
const END: &str = "{\"stream\":\"end\",\"requestId\":null,\"reason\":\"subprocess_exited\"}\n";

#[test]
fn a_watch_prints_the_frames_as_received() {
    let home = Home::new();
    let core = answer(home.listen(), vec![format!("{FRAMES}{END}")]);
    let done = home.galley(&["session", "watch", "sess_1", "--from=run", "--stay"]);
    assert_eq!((done.code, done.stdout, done.stderr), (Some(0), format!("{FRAMES}{END}"), String::new()));
    let request = &core.join().unwrap()[0];
    assert_eq!(request["args"], serde_json::json!({ "sessionId": "sess_1", "from": "run", "stay": true }));
    assert!(request.get("requestId").is_none());
}

#[test]
fn a_watch_that_cannot_start_is_an_error_line() {
    let home = Home::new();
    let core = answer(home.listen(), vec!["{\"ok\":false,\"error\":\"not_found\",\"message\":\"no live runner\"}\n".to_owned()]);
    let done = home.galley(&["session", "watch", "sess_1"]);
    assert_eq!((done.code, done.error().0.as_str()), (Some(3), "not_found"));
    core.join().unwrap();
}

#[test]
fn a_core_that_dies_during_a_watch_is_an_error_line_after_the_frames() {
    let home = Home::new();
    let core = answer(home.listen(), vec![FRAMES.to_owned()]);
    let done = home.galley(&["session", "watch", "sess_1"]);
    assert_eq!(done.code, Some(4));
    let rest = done.stdout.strip_prefix(FRAMES).unwrap();
    assert!(rest.starts_with("{\"error\":\"db_unavailable\"") && rest.ends_with("}\n"), "{rest}");
    core.join().unwrap();
}

/// A stream of a running session, and its first frame.
fn open(home: &Home, args: &[&str]) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut child = home.command(args).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.contains("\"phase\":\"initial\""), "{first}");
    (child, stdout)
}

#[test]
fn a_core_that_dies_ends_no_wait_and_says_so_to_followers() {
    let mut home = Home::serving();
    let id = home.galley(&["session", "new", "echo started; sleep 1000", "--approval-mode=auto"]).row()["session"]["id"].as_str().unwrap().to_owned();
    let (mut wait, mut waited) = open(&home, &["session", "wait", &id, "--until-idle", "--timeout=60"]);
    let (mut follow, mut followed) = open(&home, &["session", "follow", &id]);
    kill_process(Pid::from_raw(home.serving_pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    home.served();
    let mut rest = String::new();
    followed.read_to_string(&mut rest).unwrap();
    assert_eq!(follow.wait().unwrap().code(), Some(0));
    assert!(rest.ends_with("{\"schemaVersion\":1,\"stream\":\"end\",\"reason\":\"core_unavailable\"}\n"), "{rest}");
    rest.clear();
    waited.read_to_string(&mut rest).unwrap();
    assert_eq!(wait.wait().unwrap().code(), Some(0));
    // The initial frame is not repeated, and nobody waits for a run whose Core is gone.
    let statuses: Vec<_> = rest.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).collect();
    assert_eq!((statuses.len(), &statuses[0]["status"], &statuses[1]["reason"]), (2, &"session_error".into(), &"session_error".into()), "{rest}");
}

#[test]
fn an_interrupt_ends_a_watch_with_exit_0() {
    let home = Home::new();
    let listener = home.listen();
    let mut child = home.command(&["session", "watch", "sess_1"]).spawn().unwrap();
    let (stream, _) = listener.accept().unwrap();
    std::io::Write::write_all(&mut &stream, FRAMES.as_bytes()).unwrap();
    // Once a frame is out, the watch is under way.
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, FRAMES);
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(0), ""));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::new();
    let many = FRAMES.repeat(50_000) + END;
    let listener = home.listen();
    let core = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        // The program leaves before it has read everything.
        std::io::Write::write_all(&mut &stream, many.as_bytes()).ok();
    });
    let mut child = home.command(&["session", "watch", "sess_1"]).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    core.join().unwrap();
}
