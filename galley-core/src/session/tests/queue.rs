//! The line of waiting messages, as its owner changes it.

use super::*;
use galley_protocol::socket::ErrorTag;

#[test]
fn only_a_message_that_waits_can_be_changed() {
    let mut session = Session::running();
    let running = session.messages.iter().find(|row| row.state == Some(MessageState::Dispatched)).unwrap().id.clone();
    for edit in [QueueEdit::Remove, QueueEdit::Jump, QueueEdit::Edit("x".to_owned())] {
        for message in [running.clone(), "m1".to_owned(), "nobody".to_owned()] {
            let (of, edit) = (message.clone(), edit.clone());
            let token = session.ask(|to| Input::EditQueue { message, edit, to });
            assert_eq!(session.error(token).tag(), ErrorTag::InvalidArgs);
            assert!(session.error(token).to_string().contains(&of));
        }
    }
    assert!(session.verbs().is_empty());
}

#[test]
fn a_removed_message_stays_as_cancelled_and_is_never_sent() {
    let mut session = Session::running();
    let [b, c] = ["b", "c"].map(|text| session.send(text));
    let token = session.edit(b, QueueEdit::Remove);
    assert_eq!(session.queue_told(token), [format!("m{c}")]);
    assert_eq!(session.state_of(b), MessageState::Cancelled);
    session.answer("ok");
    session.deliver_all();
    assert_eq!(session.verbs(), ["user c"]);
}

#[test]
fn a_jump_puts_a_message_first_and_stops_the_run_and_the_queue_goes_on() {
    let mut session = Session::running();
    let [b, c] = ["b", "c"].map(|text| session.send(text));
    let token = session.edit(c, QueueEdit::Jump);
    assert_eq!(session.queue_told(token), [format!("m{c}"), format!("m{b}")]);
    assert_eq!(session.verbs(), ["abort"]);
    session.complete("ABORTED");
    session.deliver_all();
    session.answer("ok");
    session.deliver_all();
    assert_eq!(session.verbs(), ["abort", "user c", "user b"]);
}

#[test]
fn an_edited_message_goes_out_with_its_new_text() {
    let mut session = Session::running();
    let b = session.send("b");
    session.edit(b, QueueEdit::Edit("better".to_owned()));
    assert_eq!(session.message_row(b).content, "better");
    session.answer("ok");
    assert_eq!(session.verbs(), ["user better"]);
}

#[test]
fn the_message_that_waits_for_its_runner_can_be_taken_back() {
    let mut session = Session::new();
    let first = session.send("a");
    session.edit(first, QueueEdit::Remove);
    assert_eq!((session.dispatch(first), session.state_of(first)), (Dispatch::PersistedOnly, MessageState::Cancelled));
    assert_eq!((session.status(), session.state.is_busy()), (SessionStatus::Cancelled, false));
    session.up();
    assert!(session.verbs().iter().all(|verb| !verb.starts_with("user")));

    let mut session = Session::new();
    let [first, second] = ["a", "b"].map(|text| session.send(text));
    session.edit(first, QueueEdit::Remove);
    session.up();
    assert_eq!(session.state_of(second), MessageState::Dispatched, "the next takes its place");
}

#[test]
fn a_jump_before_the_runner_is_up_changes_who_is_first() {
    let mut session = Session::new();
    let [first, second] = ["a", "b"].map(|text| session.send(text));
    session.edit(second, QueueEdit::Jump);
    assert!(!session.replies.contains_key(&first) && !session.replies.contains_key(&second), "nobody knows yet");
    session.up();
    assert_eq!((session.dispatch(second), session.dispatch(first)), (Dispatch::Dispatched, Dispatch::Queued));
    assert_eq!((session.state_of(second), session.state_of(first)), (MessageState::Dispatched, MessageState::Queued));
}

/// A runner that asked and ended its run, and an answer that waits because its successor does not start.
fn answered_without_a_runner() -> (Session, u64) {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"which?","candidates":["a","b"]}));
    session.complete("EXITED");
    session.exit_code(0);
    let answer = session.send("a");
    assert!(session.row.as_ref().unwrap().ask.is_none(), "it is answered");
    (session, answer)
}

#[test]
fn a_question_whose_answer_is_taken_back_is_open_again() {
    let (mut session, answer) = answered_without_a_runner();
    let held = session.send("more");
    session.edit(answer, QueueEdit::Remove);
    assert_eq!(session.row.as_ref().unwrap().ask.as_ref().unwrap().question, "which?");
    session.up();
    assert_eq!(session.state_of(held), MessageState::Queued, "the line waits for the answer");
    let second = session.send("b");
    session.deliver_all();
    assert_eq!((session.dispatch(second), session.row.as_ref().unwrap().ask.is_none()), (Dispatch::Dispatched, true));

    let (mut session, _) = answered_without_a_runner();
    session.stop();
    assert!(session.row.as_ref().unwrap().ask.is_some(), "a stop takes it back, too");
}

#[test]
fn an_answer_taken_back_in_the_run_that_asked_leaves_the_question() {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    let answer = session.send("a");
    session.edit(answer, QueueEdit::Remove);
    session.complete("EXITED");
    assert!(session.row.as_ref().unwrap().ask.is_some());
    session.told.clear();
    session.send("b");
    assert_eq!(session.verbs(), ["answer b"]);
}
