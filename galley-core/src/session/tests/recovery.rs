//! What Core finds when it starts again.

use super::*;
use galley_protocol::ipc::Decision;

#[test]
fn a_run_that_was_open_is_failed_and_said_so_once() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_progress","delta":"half"}));
    let queued = session.send("later");
    let (run, first_index) = session.state.last_run();
    session.restart();
    session.partial("half");
    assert_eq!((session.status(), session.state.last_run()), (SessionStatus::Error, (run, first_index)));
    let work = session.messages.iter().find(|row| row.content == "work").unwrap();
    assert_eq!((work.state.clone(), work.run), (Some(MessageState::Failed), Some(2)));
    let partial = session.agent_rows().last().unwrap().to_owned().clone();
    let last = &session.messages[session.messages.len() - 2..];
    assert_eq!((last[0].id.as_str(), &last[1].role), (partial.id.as_str(), &MessageRole::System), "what arrived, then what became of it");
    assert_eq!((partial.partial, partial.turn_index, partial.run), (true, Some(1), Some(2)));
    assert_eq!(session.state_of(queued), MessageState::Pending);
    assert_eq!(session.messages.iter().filter(|row| row.role == MessageRole::System).count(), 1);
    assert_eq!(session.events("error").last().unwrap()["context"], "core_restart");
    assert!(session.starts.is_empty(), "nothing is sent again by itself");
    session.restart();
    assert_eq!(session.messages.iter().filter(|row| row.role == MessageRole::System).count(), 1);
    assert!(matches!(session.state.gate, Gate::Free));
}

#[test]
fn a_session_left_connecting_keeps_its_message_pending() {
    let mut session = Session::new();
    let message = session.send("a");
    session.restart();
    assert_eq!((session.status(), session.state_of(message)), (SessionStatus::Error, MessageState::Pending));
    session.send("b");
    session.up();
    assert_eq!(session.state_of(message), MessageState::Dispatched);
}

#[test]
fn open_approvals_are_resolved_and_an_answered_one_says_that_nobody_knows() {
    let mut session = Session::running();
    let ids = ["a", "b"].map(|id| session.ask_approval(id));
    session.respond(&ids[0], Decision::AllowOnce);
    session.restart();
    session.partial("");
    let reasons: Vec<_> = session.events("approval_resolved").iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(reasons, ["delivery unknown", "the session was interrupted before anybody answered"]);
    assert!(ids.iter().all(|id| session.approvals[id].reason.as_deref() == Some("dangerous")), "why it was asked stays");
    assert!(ids.iter().all(|id| session.approvals[id].state == ApprovalState::Cancelled));
}

#[test]
fn an_answer_that_waited_keeps_its_place() {
    let mut session = Session::running();
    let queued = session.send("later");
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    let answer = session.send("this");
    session.restart();
    session.partial("");
    session.send("more");
    session.up();
    assert_eq!(session.state_of(answer), MessageState::Dispatched);
    session.answer("ok");
    assert_eq!(session.state_of(queued), MessageState::Dispatched);
}

#[test]
fn a_quiet_session_is_left_as_it_was() {
    let mut session = Session::idle();
    let (rows, events) = (session.messages.len(), session.log.len());
    session.restart();
    assert_eq!((session.messages.len(), session.log.len(), session.status()), (rows, events, SessionStatus::Completed));
    let next = session.send("next");
    session.up();
    assert!(session.verbs().contains(&"history".to_owned()), "a fresh runner hears of the conversation");
    assert_eq!(session.dispatch(next), Dispatch::Dispatched);
}
