//! Sending a message again.

use super::*;
use galley_protocol::socket::ErrorTag;

/// The runner leaves and another comes up with the conversation as it is now.
fn renew(session: &mut Session) {
    session.exit_code(0);
    session.up();
}

#[test]
fn a_retry_is_a_new_message_and_the_old_turn_is_superseded() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad answer");
    session.told.clear();
    let new = session.retry(old);
    renew(&mut session);
    assert_eq!(session.verbs().last().unwrap(), "user work");
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
    renew(&mut session);
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
    renew(&mut session);
    assert_eq!(session.verbs().last().unwrap(), "user work");
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

#[test]
fn a_runner_that_remembers_the_old_turn_makes_room_before_the_message() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad");
    session.told.clear();
    let new = session.retry(old);
    assert_eq!((session.verbs(), session.status()), (vec!["shutdown".to_owned()], SessionStatus::Connecting));
    assert!(session.state.is_busy() && !session.state.is_evictable());
    session.exit_code(0);
    assert_eq!((session.downs.last(), session.starts.len()), (Some(&(1, EndReason::SubprocessExited)), 2));
    session.up();
    assert_eq!(session.verbs(), ["shutdown", "rules ungrouped", "history", "user work"]);
    assert_eq!(session.dispatch(new), Dispatch::Dispatched);
}

#[test]
fn a_runner_that_can_is_told_the_conversation_anew_instead() {
    let mut session = Session::new();
    let old = session.send("work");
    session.started();
    session.line(json!({"kind":"ready","protocolVersion":"0.1","capabilities":["history","reload_history"],"availableLLMs":[]}));
    session.deliver_all();
    session.answer("bad");
    session.told.clear();
    session.retry(old);
    assert_eq!(session.verbs(), ["history"]);
    assert!(matches!(&session.told[0].1, Order::History { replaces: true, .. }), "an empty one, too");
    session.deliver_all();
    session.line(json!({"kind":"history_loaded","messageCount":0}));
    assert_eq!((session.verbs(), session.starts.len()), (vec!["history".to_owned(), "user work".to_owned()], 1));
}

#[test]
fn whatever_comes_next_does_not_meet_the_old_turn() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad");
    let between = session.send("next");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.retry(old);
    session.told.clear();
    session.complete("CURRENT_TASK_DONE");
    assert_eq!((session.verbs(), session.state_of(between)), (vec!["shutdown".to_owned()], MessageState::Answered));
    renew(&mut session);
    assert_eq!(session.verbs().last().unwrap(), "user work");
    session.answer("good");
    session.told.clear();
    session.send("after");
    assert_eq!(session.verbs(), ["user after"], "the new runner stays");
}

#[test]
fn a_stop_while_the_runner_makes_room_takes_the_retry_back() {
    let mut session = Session::idle();
    let old = session.send("work");
    session.deliver_all();
    session.answer("bad");
    let new = session.retry(old);
    session.stop();
    session.exit_code(0);
    assert_eq!((session.state_of(new), session.starts.len()), (MessageState::Cancelled, 1));
}
