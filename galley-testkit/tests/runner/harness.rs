//! A runner under test.

use galley_testkit::wait_some;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// Long enough for a loaded machine; only a failing test waits for it.
pub const LIMIT: Duration = Duration::from_secs(20);

pub const BINARY: &str = env!("CARGO_BIN_EXE_galley-testkit-runner");

pub struct Runner {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Runner {
    /// Starts a runner and does not wait for its `ready`.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(Command::new(BINARY).args(["--session-id", "sess_1"]).args(arguments))
    }

    pub fn start_with(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = sync_channel(1024);
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                if stdout.read_until(b'\n', &mut line).unwrap_or(0) == 0 || send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines }
    }

    /// Starts a runner and takes its `ready`.
    pub fn ready(arguments: &[&str]) -> Self {
        let mut runner = Self::start(arguments);
        assert_eq!(runner.event()["kind"], "ready");
        runner
    }

    pub fn send(&mut self, command: Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{command}\n").as_bytes()).unwrap();
    }

    pub fn message(&mut self, text: &str) {
        self.send(json!({ "kind": "user_message", "text": text, "images": [] }));
    }

    pub fn command(&mut self, kind: &str) {
        self.send(json!({ "kind": kind }));
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    /// The next line, without its newline.
    pub fn line(&mut self) -> Vec<u8> {
        let mut line = self.lines.recv_timeout(LIMIT).expect("the runner writes a line");
        assert_eq!(line.pop(), Some(b'\n'), "a whole line");
        line
    }

    pub fn event(&mut self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)))
    }

    /// Takes events up to the first of `kind`, which is the last returned.
    pub fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = vec![self.event()];
        while events.last().unwrap()["kind"] != kind {
            events.push(self.event());
        }
        events
    }

    /// Sends a message and takes the events of its run.
    pub fn run(&mut self, text: &str) -> Vec<Value> {
        self.message(text);
        self.until("run_complete")
    }

    /// The rest of stdout, up to its end.
    pub fn rest(&mut self) -> Vec<Vec<u8>> {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => rest.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return rest,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("stdout does not end"),
            }
        }
    }

    /// Waits for the process to end.
    pub fn exit(&mut self) -> ExitStatus {
        wait_some(LIMIT, "the runner exits", || self.child.try_wait().unwrap()).unwrap()
    }

    /// Whether the runner still answers: a side question needs no run.
    pub fn answers(&mut self) -> bool {
        self.message("/btw alive?");
        self.until("system_message").last().unwrap()["variant"] == "side_question"
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Ended already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

/// All the text of a run's deltas.
pub fn text(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

pub fn result(events: &[Value]) -> &str {
    events.last().unwrap()["exitReason"]["result"].as_str().unwrap()
}

/// The pid in the text `child PID`.
#[cfg(unix)]
pub fn child_pid(events: &[Value]) -> u32 {
    text(events).strip_prefix("child ").unwrap().parse().unwrap()
}

pub fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).unwrap();
    all
}
