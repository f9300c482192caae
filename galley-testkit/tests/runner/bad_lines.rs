//! Lines no well-behaved runner writes.

use crate::harness::{BINARY, Runner, read_all};
use galley_protocol::ipc::{DecodeError, Event, EventLine};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// The line that `step` writes.
fn line_of(step: &str) -> Vec<u8> {
    let mut runner = Runner::ready(&[]);
    runner.message(&format!("!{step}"));
    runner.line();
    let line = runner.line();
    runner.until("run_complete");
    line
}

#[test]
fn noise_is_no_event() {
    for step in ["garbage", "glued", "echo_child hello"] {
        let line = line_of(step);
        assert!(matches!(Event::from_line(&line), Err(DecodeError::NotAnEvent(_))), "{step}: {}", String::from_utf8_lossy(&line));
    }
    let broken = line_of("invalid_utf8");
    assert!(Event::from_line(&broken).is_err() && std::str::from_utf8(&broken).is_err());
    assert!(line_of("glued").ends_with(br#"{"kind":"turn_progress","delta":"glued"}"#));
    assert_eq!(line_of("echo_child hello"), b"hello");
}

#[test]
fn strange_events_are_still_events() {
    assert!(matches!(Event::from_line(&line_of("unknown_kind")).unwrap(), Event::Unknown(event) if event.kind == "mood_changed"));
    assert!(matches!(Event::from_line(&line_of("unknown_fields")).unwrap(), Event::TurnProgress(event) if event.delta == "extra "));
    assert!(matches!(Event::from_line(&line_of("null_lists")).unwrap(), Event::TurnEnd(event) if event.tool_calls.is_empty()));
    let escaped = line_of("escaped_kind");
    assert!(!escaped.windows(13).any(|window| window == b"turn_progress"));
    assert_eq!(EventLine::peek(&escaped).unwrap().kind, "turn_progress");
    assert_eq!(EventLine::peek(&line_of("wrong_session")).unwrap().session_id.unwrap(), "sess_of_another");
}

#[test]
fn a_huge_line_is_exact_and_costs_no_memory() {
    const SIZE: usize = 100_000_000;
    let mut child = Command::new(BINARY).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
    writeln!(stdin, "{{\"kind\":\"user_message\",\"text\":\"!big_line 100MB; no_newline 1MB\"}}").unwrap();
    let mut line = String::new();
    for _ in ["ready", "turn_start"] {
        line.clear();
        stdout.read_line(&mut line).unwrap();
    }
    assert_eq!(skip_line(&mut stdout), SIZE);
    // What follows the bytes without a newline sticks to them.
    let mut stuck = Vec::new();
    stdout.read_until(b'\n', &mut stuck).unwrap();
    assert!(stuck[..1_000_000].iter().all(|byte| *byte == b'x'));
    assert!(stuck[1_000_000..].starts_with(b"{\"kind\":\"turn_end\""));
    #[cfg(target_os = "linux")]
    assert!(peak_kib(child.id()) < 32 * 1024, "{} KiB", peak_kib(child.id()));
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// Reads to the end of the line without keeping it; returns its length.
fn skip_line(from: &mut impl BufRead) -> usize {
    let mut length = 0;
    loop {
        let buffer = from.fill_buf().unwrap();
        assert!(!buffer.is_empty(), "the line ends");
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                from.consume(at + 1);
                return length + at;
            }
            None => {
                let read = buffer.len();
                from.consume(read);
                length += read;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn stderr_gets_as_many_lines_as_asked_for() {
    let mut runner = Runner::start(&["--on-start", "stderr 3 40; exit 0"]);
    let stderr = String::from_utf8(read_all(runner.stderr())).unwrap();
    assert_eq!(
        stderr.lines().map(|line| (line.trim_end(), line.len())).collect::<Vec<_>>(),
        [("stderr line 1", 40), ("stderr line 2", 40), ("stderr line 3", 40)]
    );
}
