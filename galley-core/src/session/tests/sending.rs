//! Where a message goes, and what the queue does.

use super::*;
use crate::error::{Error, StartCause};
use galley_protocol::socket::{ErrorTag, IfBusy};

#[test]
fn the_gate_is_reserved_before_the_runner_exists() {
    let mut session = Session::new();
    let first = session.send("a");
    assert!(matches!(session.state.gate, Gate::Reserved) && session.state.is_busy());
    assert_eq!(session.status(), SessionStatus::Connecting);
    assert!(!session.replies.contains_key(&first), "the reply comes after the hand-over");
    let second = session.send("b");
    session.up();
    assert_eq!((session.dispatch(first), session.dispatch(second)), (Dispatch::Dispatched, Dispatch::Queued));
    assert_eq!((session.state_of(first), session.state_of(second)), (MessageState::Dispatched, MessageState::Queued));
    assert_eq!(session.starts, [1], "one start for both");
}

#[test]
fn a_new_session_is_told_its_row_as_it_stands_after_the_dispatch() {
    let mut session = Session::new();
    let to = session.create("task");
    session.up();
    let Ok(Reply::Created(created)) = session.reply(to) else { panic!() };
    assert_eq!((&created.session.status, &created.dispatch), (&SessionStatus::Running, &Dispatch::Dispatched));
    assert_eq!(created.message.id, format!("m{to}"));
}

#[test]
fn the_queue_is_first_in_first_out_and_every_message_runs_once() {
    let mut session = Session::running();
    let tokens = ["b", "c", "d"].map(|text| session.send(text));
    let positions: Vec<u32> = tokens.iter().map(|token| session.submitted(*token).queue.as_ref().unwrap().position).collect();
    assert_eq!(positions, [1, 2, 3]);
    for _ in 0..4 {
        session.answer("ok");
        session.deliver_all();
    }
    assert_eq!(session.verbs(), ["user b", "user c", "user d"]);
    assert!(tokens.iter().all(|token| session.state_of(*token) == MessageState::Answered));
}

#[test]
fn a_send_between_the_steps_of_a_run_is_queued() {
    let mut session = Session::running();
    for step in 1..=3 {
        session.step(step, "more", "");
        let token = session.send("between");
        assert_eq!(session.dispatch(token), Dispatch::Queued);
    }
    assert!(session.verbs().is_empty());
}

#[test]
fn a_jump_goes_ahead_of_the_queue_and_aborts_the_run_and_the_queue_drains() {
    let mut session = Session::running();
    let queued = session.send("later");
    let jumped = session.jump("now");
    assert_eq!((session.dispatch(jumped), session.submitted(jumped).queue.as_ref().unwrap().position), (Dispatch::Queued, 1));
    assert_eq!(session.verbs(), ["abort"]);
    session.complete("ABORTED");
    assert_eq!(session.verbs(), ["abort", "user now"]);
    session.deliver_all();
    session.answer("ok");
    assert_eq!(session.state_of(queued), MessageState::Dispatched);
}

#[test]
fn a_jump_never_keeps_the_overtaken_sender_waiting() {
    let mut session = Session::new();
    let first = session.send("a");
    let jumped = session.jump("b");
    session.up();
    assert_eq!((session.dispatch(jumped), session.dispatch(first)), (Dispatch::Dispatched, Dispatch::Queued));
    assert_eq!(session.submitted(first).queue.as_ref().unwrap().position, 1);
    assert_eq!((session.state_of(jumped), session.state_of(first)), (MessageState::Dispatched, MessageState::Queued));
}

#[test]
fn reject_refuses_while_busy_and_leaves_no_trace() {
    let mut session = Session::running();
    let rows = session.messages.len();
    let token = session.send_with("x", |message| message.if_busy = IfBusy::Reject);
    assert_eq!(session.error(token).tag(), ErrorTag::Busy);
    assert_eq!((session.messages.len(), session.state.row.turn_count), (rows, 2));
    session.answer("ok");
    let token = session.send_with("x", |message| message.if_busy = IfBusy::Reject);
    session.deliver_all();
    assert_eq!(session.dispatch(token), Dispatch::Dispatched);
}

#[test]
fn a_full_queue_refuses_but_lets_an_answer_in() {
    let mut session = Session::running();
    session.state.limits.max_queued = 1;
    session.send("b");
    let token = session.send("c");
    assert!(matches!(session.error(token), Error::QueueFull { limit: 1, .. }));
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    let answer = session.send("this");
    assert_eq!(session.submitted(answer).queue.as_ref().unwrap().position, 1);
}

#[test]
fn without_spawn_a_message_is_only_stored() {
    let mut session = Session::new();
    let token = session.send_with("a", |message| message.spawn = false);
    assert_eq!((session.dispatch(token), session.state_of(token)), (Dispatch::PersistedOnly, MessageState::Pending));
    assert!(session.starts.is_empty() && !session.state.is_busy());
}

#[test]
fn pending_messages_go_first_in_order_and_none_is_stranded() {
    let mut session = Session::new();
    for text in ["a", "b"] {
        session.send_with(text, |message| message.spawn = false);
    }
    let last = session.send("c");
    session.up();
    assert_eq!((session.dispatch(last), session.submitted(last).queue.as_ref().unwrap().position), (Dispatch::Queued, 2));
    for _ in 0..3 {
        session.answer("ok");
        session.deliver_all();
    }
    let messages: Vec<String> = session.verbs().into_iter().filter(|verb| verb.starts_with("user")).collect();
    assert_eq!(messages, ["user a", "user b", "user c"]);
    assert_eq!(session.state_of(last), MessageState::Answered);
}

#[test]
fn the_turn_index_is_fixed_at_acceptance() {
    let mut session = Session::running();
    let queued = session.send("b");
    let jumped = session.jump("c");
    session.complete("ABORTED");
    assert_eq!((session.message_row(queued).turn_index, session.message_row(jumped).turn_index), (Some(2), Some(3)));
    let Order::Command { command: galley_protocol::ipc::Command::UserMessage(message), .. } = &session.told.last().unwrap().1 else { panic!() };
    assert_eq!((message.text.as_str(), message.absolute_turn_index), ("c", Some(3)));
    assert_eq!(session.state.row.turn_count, 4);
}

#[test]
fn a_side_question_goes_at_once_without_row_or_gate() {
    let mut session = Session::running();
    let rows = session.messages.len();
    let token = session.send(" /btw\thow far?");
    assert!(!session.replies.contains_key(&token));
    session.deliver_all();
    assert_eq!(session.verbs(), ["user  /btw\thow far?"]);
    assert!(matches!(session.reply(token), Ok(Reply::Told)));
    assert_eq!(session.messages.len(), rows);
    let other = session.send("/btwice");
    assert_eq!(session.dispatch(other), Dispatch::Queued);
}

#[test]
fn a_side_question_needs_a_runner_and_begins_no_session() {
    let mut session = Session::new();
    let token = session.send("/btw x");
    assert_eq!(failed(session.reply(token)).0, StartCause::RunnerExited);
    let mut session = Session::new();
    let token = session.create("/btw x");
    assert_eq!(session.error(token).tag(), ErrorTag::InvalidArgs);
    assert!(session.row.is_none(), "nothing was stored");
}

#[test]
fn an_archived_session_takes_nothing() {
    let mut session = Session::with(|row| row.status = SessionStatus::Archived, Limits::default(), galley_protocol::socket::ApprovalMode::Ask);
    let token = session.send("x");
    assert_eq!(session.error(token).tag(), ErrorTag::InvalidArgs);
    assert!(session.messages.is_empty());
}

#[test]
fn an_answer_goes_ahead_of_the_held_queue_with_its_own_verb() {
    let mut session = Session::running();
    let held = session.send("later");
    session.line(json!({"kind":"ask_user","question":"which?","candidates":["a","b"]}));
    session.step(1, "asking", "EXITED");
    session.complete("EXITED");
    assert_eq!((session.status(), session.state_of(held)), (SessionStatus::Idle, MessageState::Queued));
    assert!(session.verbs().is_empty(), "an open question holds the queue");
    assert_eq!(
        session.agent_rows().last().unwrap().ask_user.as_ref().unwrap().as_str(),
        r#"{"question":"which?","candidates":["a","b"],"blocking":false}"#
    );
    let answer = session.send("a");
    session.deliver_all();
    assert_eq!(session.dispatch(answer), Dispatch::Dispatched);
    session.answer("thanks");
    assert_eq!(session.verbs(), ["answer a", "user later"]);
}

#[test]
fn an_answer_that_comes_before_the_run_has_ended_waits_for_it() {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    let answer = session.send_with("a", |message| message.if_busy = IfBusy::Reject);
    assert_eq!(session.dispatch(answer), Dispatch::Queued);
    let next = session.send("b");
    session.step(1, "asking", "EXITED");
    assert!(session.agent_rows().last().unwrap().ask_user.is_some());
    session.complete("EXITED");
    session.deliver_all();
    session.answer("thanks");
    assert_eq!(session.verbs(), ["answer a", "user b"]);
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn a_blocking_question_is_answered_within_its_run() {
    let mut session = Session::running();
    session.send("later");
    session.line(json!({"kind":"ask_user","question":"really?","candidates":[],"blocking":true}));
    let answer = session.send("yes");
    assert_eq!(session.verbs(), ["answer yes"]);
    session.deliver_all();
    assert_eq!((session.dispatch(answer), session.message_row(answer).run), (Dispatch::Dispatched, Some(2)));
    let token = session.send("more");
    assert_eq!(session.dispatch(token), Dispatch::Queued, "one answer to one question");
    session.step(1, "ok", "CURRENT_TASK_DONE");
    session.complete("CURRENT_TASK_DONE");
    assert_eq!(session.state_of(answer), MessageState::Answered);
    assert_eq!(session.agent_rows().last().unwrap().turn_index, session.message_row(answer).turn_index);
}

#[test]
fn a_question_outlives_its_runner_and_its_answer_is_a_message_to_the_next() {
    let mut session = Session::running();
    let held = session.send("later");
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    session.complete("EXITED");
    session.exit_code(0);
    assert_eq!(session.state_of(held), MessageState::Pending);
    assert!(session.state.row.ask.is_some());
    session.send("a");
    session.told.clear();
    session.up();
    session.answer("ok");
    assert_eq!(session.verbs()[2..], ["user a", "user later"]);
}

#[test]
fn a_blocking_question_dies_with_its_run() {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"really?","candidates":[],"blocking":true}));
    session.signalled();
    assert!(session.row.as_ref().unwrap().ask.is_none());
}

#[test]
fn the_same_request_id_has_one_effect_and_the_same_answer() {
    let mut session = Session::new();
    let with_id = |message: &mut NewMessage| message.client_request_id = Some("r".to_owned());
    let first = session.send_with("a", with_id);
    let second = session.send_with("a", with_id);
    assert!(!session.replies.contains_key(&second), "it waits with the first");
    session.up();
    assert_eq!(session.submitted(first), session.submitted(second));
    session.answer("ok");
    let third = session.send_with("a", with_id);
    assert_eq!(session.submitted(third), session.submitted(first));
    assert_eq!(session.messages.iter().filter(|row| row.role == MessageRole::User).count(), 1);
}

#[test]
fn a_repeated_answer_to_a_blocking_question_has_one_effect() {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"really?","candidates":[],"blocking":true}));
    let with_id = |message: &mut NewMessage| message.client_request_id = Some("r".to_owned());
    let first = session.send_with("yes", with_id);
    let second = session.send_with("yes", with_id);
    session.deliver_all();
    assert_eq!(session.submitted(first), session.submitted(second));
    assert_eq!(session.verbs(), ["answer yes"]);
}

#[test]
fn time_never_goes_back() {
    let mut session = Session::running();
    session.wait(5_000);
    session.send("b");
    let last = session.state.row.last_activity_at;
    session.wait(-60_000);
    let token = session.send("c");
    assert_eq!(session.message_row(token).created_at, last);
    assert_eq!(session.state.row.last_activity_at, last);
}

#[test]
fn a_report_is_one_consistent_view() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    session.send("b");
    let to = session.token();
    session.apply(Input::Report { to: ReplyTo(to) });
    let Ok(Reply::State(state)) = session.reply(to) else { panic!() };
    assert_eq!((state.open_run, state.queued_count, state.pid, state.runner_alive, state.busy), (Some(2), 1, Some(4_242), true, true));
    assert_eq!(state.approvals, [id]);
}

#[test]
fn whoever_waits_behind_a_start_hears_the_truth_about_it() {
    let mut session = Session::new();
    let [first, second] = ["a", "b"].map(|text| session.send(text));
    assert!(!session.replies.contains_key(&second), "the start may fail");
    session.not_started(crate::error::StartCause::SpawnIo);
    for token in [first, second] {
        assert_eq!((session.dispatch(token), session.state_of(token)), (Dispatch::PersistedOnly, MessageState::Pending));
        assert_eq!(session.submitted(token).warning.as_ref().unwrap().id, "spawn_io");
    }

    let mut session = Session::new();
    let [first, second, third] = ["a", "b", "c"].map(|text| session.send(text));
    session.up();
    assert_eq!(session.dispatch(first), Dispatch::Dispatched);
    for (token, position) in [(second, 1), (third, 2)] {
        assert_eq!((session.dispatch(token), session.submitted(token).queue.as_ref().unwrap().position), (Dispatch::Queued, position));
    }

    let mut session = Session::new();
    let [first, second] = ["a", "b"].map(|text| session.send(text));
    session.stop();
    assert_eq!((session.state_of(first), session.dispatch(second)), (MessageState::Cancelled, Dispatch::Queued), "held by the stop");
}
