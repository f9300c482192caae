//! Sending a message again.

use super::*;
use galley_protocol::socket::ErrorTag;

#[test]
fn a_retry_is_a_new_message_and_the_old_turn_is_superseded() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad answer");
    session.told.clear();
    let new = session.retry(old);
    session.deliver_all();
    assert_eq!(session.verbs(), ["user work"]);
    assert_eq!((session.dispatch(new), session.state_of(old)), (Dispatch::Dispatched, MessageState::Superseded));
    assert_eq!(session.message_row(new).turn_index, Some(2));
    let answer = session.agent_rows().into_iter().find(|row| row.content == "bad answer").unwrap();
    assert_eq!(answer.state, Some(MessageState::Superseded));
    assert!(session.agent_rows()[0].state.is_none(), "other turns stay");
    let other = session.submitted(new).message.clone().unwrap();
    assert_eq!(other.content, "work");
}

#[test]
fn a_message_is_sent_again_once() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.complete("MAX_TURNS_EXCEEDED");
    session.retry(old);
    session.deliver_all();
    session.answer("ok");
    let before = session.messages.len();
    let twice = session.retry(old);
    assert_eq!(session.error(twice).tag(), ErrorTag::InvalidArgs);
    assert_eq!(session.messages.len(), before);
}

#[test]
fn a_retry_while_a_run_is_open_waits_in_line() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad");
    session.send("next");
    session.deliver_all();
    let again = session.retry(old);
    assert_eq!((session.dispatch(again), session.state_of(old)), (Dispatch::Queued, MessageState::Superseded));
}

#[test]
fn a_retry_is_no_answer_to_the_question_its_turn_ended_with() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    session.step(1, "asking", "EXITED");
    session.complete("EXITED");
    session.told.clear();
    session.retry(old);
    assert_eq!(session.verbs(), ["user work"]);
    assert!(session.row.as_ref().unwrap().ask.is_none());
}

#[test]
fn a_retry_survives_a_runner_that_does_not_start() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.signalled();
    assert_eq!(session.state_of(old), MessageState::Failed);
    let new = session.retry(old);
    session.not_started(crate::error::StartCause::SpawnIo);
    assert_eq!((session.dispatch(new), session.state_of(new)), (Dispatch::PersistedOnly, MessageState::Pending));
}
