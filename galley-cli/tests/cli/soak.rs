//! Two supervisors drive ten sessions through the command line while their runners are killed at
//! random. For a few seconds; `GALLEY_SOAK_SECONDS=300` makes it five minutes.

use crate::home::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SUPERVISORS: usize = 2;
const SESSIONS: usize = 5;

/// A message that was sent, and the answer its agent gives.
struct Sent {
    session: String,
    message: String,
    answer: String,
}

/// Numbers that differ from run to run.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

fn settled(state: &Value) -> bool {
    ["answered", "failed", "cancelled"].iter().any(|settled| state == settled)
}

/// The state of a message once it is settled, and whether its answer came with the wait. A session whose
/// runner could not start, or that holds its queue after a stop, is resumed.
fn outcome(home: &Home, sent: &Sent) -> (Value, bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let message = format!("--message={}", sent.message);
        let frames = home.galley(&["session", "wait", &sent.session, &message, "--timeout=5", "--tail=500"]).rows();
        let last = frames.iter().find(|frame| frame["phase"] == "final").unwrap_or_else(|| panic!("{frames:?}"));
        let messages = last["messages"].as_array().unwrap();
        let state = messages.iter().find(|row| row["id"] == sent.message.as_str()).map(|row| row["state"].clone()).unwrap_or_default();
        if settled(&state) {
            return (state, messages.iter().any(|row| row["finalAnswer"] == sent.answer.as_str()));
        }
        assert!(Instant::now() < deadline, "{} of {} stays {state}", sent.message, sent.session);
        home.galley(&["session", "resume", &sent.session]);
    }
}

/// Sends to each session in turn, then collects every answer, until the time is up.
fn supervise(home: &Home, name: &str, sessions: &[String], until: Instant, count: &AtomicU64) -> Vec<Sent> {
    let mut all = Vec::new();
    while Instant::now() < until {
        let mut round = Vec::new();
        for session in sessions {
            for _ in 0..1 + random() % 2 {
                let answer = format!("answer {}", count.fetch_add(1, Ordering::Relaxed));
                let text = format!("!say thinking; wait {}ms; done {answer}", random() % 60);
                let busy = if random().is_multiple_of(8) { "--if-busy=jump" } else { "--if-busy=queue" };
                let done = home.galley(&["session", "send", session, &text, busy, &format!("--supervisor={name}")]);
                let row: Value = serde_json::from_str(&done.stdout).unwrap();
                let message = row["message"]["id"].as_str().or(row["detail"]["messageId"].as_str()).unwrap_or_else(|| panic!("{row}"));
                round.push(Sent { session: session.clone(), message: message.to_owned(), answer });
            }
        }
        for sent in &round {
            let (state, found) = outcome(home, sent);
            assert!(state != "answered" || found, "{} was answered, and its answer is not in the wait", sent.message);
        }
        all.append(&mut round);
    }
    all
}

/// Kills the runners of sessions taken at random.
fn kill(home: &Home, sessions: &[String], over: &AtomicBool) -> u64 {
    let mut killed = 0;
    while !over.load(Ordering::Relaxed) {
        let session = &sessions[random() as usize % sessions.len()];
        let state = home.galley(&["session", "state", session]).row();
        if let Some(pid) = state["pid"].as_i64().and_then(|pid| Pid::from_raw(pid as i32)) {
            killed += u64::from(kill_process(pid, Signal::KILL).is_ok());
        }
        std::thread::park_timeout(Duration::from_millis(random() % 400));
    }
    killed
}

#[test]
fn every_message_ends_and_every_answer_is_found_while_runners_are_killed() {
    let home = Home::serving_testkit();
    let seconds = std::env::var("GALLEY_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(8);
    let until = Instant::now() + Duration::from_secs(seconds);
    let create = |_| home.galley(&["session", "new", "hello"]).row()["session"]["id"].as_str().unwrap().to_owned();
    let sessions: Vec<String> = (0..SUPERVISORS * SESSIONS).map(create).collect();
    let (count, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sent, killed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill(&home, &sessions, &over));
        let supervisors: Vec<_> = sessions
            .chunks(SESSIONS)
            .enumerate()
            .map(|(number, own)| {
                let (home, count) = (&home, &count);
                scope.spawn(move || supervise(home, &format!("supervisor-{number}"), own, until, count))
            })
            .collect();
        let sent: Vec<Sent> = supervisors.into_iter().flat_map(|one| one.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        (sent, killer.join().unwrap())
    });
    let mut answered = 0;
    for session in &sessions {
        let rows = home.galley(&["session", "show", session]).rows();
        for row in rows.iter().filter(|row| row["role"] == "user") {
            assert!(settled(&row["state"]), "{row}");
        }
        for sent in sent.iter().filter(|sent| sent.session == *session) {
            let own: Vec<_> = rows.iter().filter(|row| row["id"] == sent.message.as_str()).collect();
            let answers = rows.iter().filter(|row| row["finalAnswer"] == sent.answer.as_str()).count();
            assert_eq!(own.len(), 1, "{} is there once", sent.message);
            assert_eq!(answers, usize::from(own[0]["state"] == "answered"), "{} is {}", sent.message, own[0]["state"]);
            answered += answers;
        }
    }
    println!("{} messages, {answered} answered, {killed} runners killed", sent.len());
    assert!(answered > 0 && killed > 0);
}
