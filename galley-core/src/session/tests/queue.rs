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
    assert_eq!(session.dispatch(first), Dispatch::Queued);
    session.up();
    assert_eq!((session.state_of(second), session.state_of(first)), (MessageState::Dispatched, MessageState::Queued));
}
