//! Resuming: a runner for whatever waits, or for nothing yet.

use super::*;
use crate::error::StartCause;
use galley_protocol::socket::{ErrorTag, IfBusy};

#[test]
fn resume_delivers_what_a_dead_runner_left() {
    let mut session = Session::running();
    let queued = session.send("later");
    session.signalled();
    assert_eq!(session.state_of(queued), MessageState::Pending);
    let token = session.resume();
    assert_eq!(session.status(), SessionStatus::Connecting);
    assert!(!session.replies.contains_key(&token), "the reply comes after the hand-over");
    session.up();
    assert_eq!((session.resumed(token), session.state_of(queued)), (Dispatch::Dispatched, MessageState::Dispatched));
    let Ok(Reply::Resumed(resumed)) = session.reply(token) else { panic!() };
    assert_eq!(resumed.session.status, SessionStatus::Running);
}

#[test]
fn resume_without_anything_to_deliver_brings_a_runner_up() {
    let mut session = Session::idle();
    session.kill();
    session.exit_code(0);
    let token = session.resume();
    assert_eq!((session.status(), session.state.is_busy()), (SessionStatus::Completed, false));
    assert!(!session.replies.contains_key(&token));
    session.up();
    assert_eq!(session.resumed(token), Dispatch::Dispatched);
    let again = session.resume();
    assert_eq!((session.resumed(again), session.starts.len()), (Dispatch::Dispatched, 2), "the runner is there");
}

#[test]
fn a_resume_that_gets_no_runner_says_why() {
    let mut session = Session::new();
    session.send_with("x", |message| message.spawn = false);
    let with_message = session.resume();
    session.not_started(StartCause::PythonNotFound);
    assert_eq!(failed(session.reply(with_message)).0, StartCause::PythonNotFound);
    assert_eq!(session.status(), SessionStatus::Error);

    let mut session = Session::idle();
    session.exit_code(0);
    let without = session.resume();
    session.started();
    session.exit_code(3);
    assert_eq!(failed(session.reply(without)).0, StartCause::RunnerExited);
    assert_eq!(session.starts.len(), 2, "no second attempt");
}

#[test]
fn a_resume_lifts_the_hold_of_a_stop() {
    let mut session = Session::running();
    let queued = session.send("later");
    session.stop();
    session.complete("ABORTED");
    assert_eq!(session.state_of(queued), MessageState::Queued);
    let token = session.resume();
    session.deliver_all();
    assert_eq!((session.resumed(token), session.state_of(queued)), (Dispatch::Dispatched, MessageState::Dispatched));
}

#[test]
fn a_resume_while_a_run_is_open_waits_behind_it() {
    let mut session = Session::running();
    let queued = session.send("later");
    let token = session.resume();
    assert_eq!(session.resumed(token), Dispatch::Queued);
    session.answer("ok");
    assert_eq!(session.state_of(queued), MessageState::Dispatched);
}

#[test]
fn a_resume_while_the_runner_is_killed_starts_another() {
    let mut session = Session::running();
    let queued = session.send("later");
    session.kill();
    let token = session.resume();
    assert_eq!(session.resumed(token), Dispatch::Queued);
    session.exit_code(0);
    session.up();
    assert_eq!(session.state_of(queued), MessageState::Dispatched);
    session.answer("ok");
    session.kill();
    let token = session.resume();
    assert!(!session.replies.contains_key(&token));
    session.exit_code(0);
    session.up();
    assert_eq!(session.resumed(token), Dispatch::Dispatched);
}

#[test]
fn a_kill_disappoints_whoever_resumed() {
    let mut session = Session::idle();
    session.exit_code(0);
    let token = session.resume();
    session.started();
    session.kill();
    assert_eq!(session.error(token).tag(), ErrorTag::RunnerError);
    session.exit_code(0);
    assert_eq!(session.starts.len(), 2, "what was killed stays down");
}

#[test]
fn an_open_question_holds_the_queue_also_after_a_resume() {
    let mut session = Session::running();
    let queued = session.send_with("later", |message| message.if_busy = IfBusy::Queue);
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    session.complete("EXITED");
    session.exit_code(0);
    let token = session.resume();
    session.up();
    assert_eq!((session.resumed(token), session.state_of(queued)), (Dispatch::Dispatched, MessageState::Pending));
}
