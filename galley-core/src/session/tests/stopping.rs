//! What a stop, a kill and an eviction mean in each phase.

use super::*;
use galley_protocol::socket::Visibility;

#[test]
fn stop_when_nothing_runs_changes_nothing() {
    let mut session = Session::idle();
    let token = session.stop();
    assert_eq!(session.stopped(token), StopDispatch::AlreadyStopped);
    assert_eq!(session.status(), SessionStatus::Completed);
    assert!(session.verbs().is_empty());
}

#[test]
fn stop_cancels_a_dispatch_not_yet_made() {
    let mut session = Session::new();
    let first = session.send("a");
    let second = session.send("b");
    let token = session.stop();
    assert_eq!(session.stopped(token), StopDispatch::AbortSent);
    assert_eq!((session.dispatch(first), session.state_of(first)), (Dispatch::PersistedOnly, MessageState::Cancelled));
    assert_eq!(session.status(), SessionStatus::Cancelled);
    session.up();
    assert_eq!(session.state_of(second), MessageState::Queued, "held until the next send");
    assert!(!session.verbs().iter().any(|verb| verb.starts_with("user")));
    session.send("c");
    assert_eq!(session.state_of(second), MessageState::Dispatched);
}

#[test]
fn stop_right_after_the_dispatch_is_not_lost() {
    let mut session = Session::idle();
    let message = session.send("work");
    session.stop();
    session.deliver_all();
    assert_eq!(session.verbs(), ["user work", "abort"]);
    session.complete("ABORTED");
    assert_eq!((session.state_of(message), session.status()), (MessageState::Cancelled, SessionStatus::Cancelled));
}

#[test]
fn stop_aborts_once_and_holds_the_queue_until_the_next_send() {
    let mut session = Session::running();
    let queued = session.send("b");
    session.stop();
    session.stop();
    assert_eq!(session.verbs(), ["abort"]);
    session.complete("ABORTED");
    assert_eq!(session.state_of(queued), MessageState::Queued);
    let next = session.send("c");
    assert_eq!((session.state_of(queued), session.state_of(next)), (MessageState::Dispatched, MessageState::Queued));
}

#[test]
fn a_send_before_the_stop_has_settled_ends_its_hold() {
    let mut session = Session::running();
    session.stop();
    let next = session.send("instead");
    session.complete("ABORTED");
    session.deliver_all();
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn stop_is_stronger_than_the_jump_before_it() {
    let mut session = Session::running();
    let jumped = session.jump("now");
    session.stop();
    session.complete("ABORTED");
    assert_eq!(session.state_of(jumped), MessageState::Queued);
}

#[test]
fn stop_resolves_every_approval_and_leaves_waiting_approval() {
    let mut session = Session::running();
    let ids = ["a", "b"].map(|id| session.ask_approval(id));
    assert_eq!(session.status(), SessionStatus::WaitingApproval);
    session.stop();
    assert_eq!(session.status(), SessionStatus::Running);
    assert!(ids.iter().all(|id| session.approvals[id].state == ApprovalState::Cancelled));
    session.ask_approval("late");
    assert_eq!(session.events("approval_resolved").len(), 3, "nobody is asked for a run that is being stopped");
}

#[test]
fn a_jump_resolves_approvals_too() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    session.jump("now");
    assert_eq!((session.approvals[&id].state.clone(), session.status()), (ApprovalState::Cancelled, SessionStatus::Running));
}

#[test]
fn stop_while_the_last_text_is_read_back_holds_the_queue() {
    let mut session = Session::running();
    let queued = session.send("b");
    session.line(json!({"kind":"turn_progress","delta":"half"}));
    session.complete("CURRENT_TASK_DONE");
    let token = session.stop();
    assert_eq!(session.stopped(token), StopDispatch::AbortSent);
    session.partial("half");
    assert_eq!((session.status(), session.state_of(queued)), (SessionStatus::Completed, MessageState::Queued));
    assert!(session.state.hold);
}

#[test]
fn a_stop_with_a_name_or_a_reason_leaves_an_internal_row() {
    let mut session = Session::running();
    let to = session.token();
    let mut origin = harness::origin();
    origin.reason = Some("too slow".to_owned());
    session.apply(Input::Stop { origin: origin.clone(), to: ReplyTo(to) });
    let row = session.messages.last().unwrap();
    assert_eq!((&row.visibility, &row.origin), (&Visibility::Internal, &Some(origin)));
}

#[test]
fn an_abort_without_settlement_kills_the_runner_and_is_no_crash() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_progress","delta":"half a"}));
    let queued = session.send("b");
    session.stop();
    session.ring(Timer::Abort);
    assert_eq!(session.kills, [1]);
    session.signalled();
    assert!(session.downs.is_empty(), "watchers are told once the outcome is stored");
    session.partial("half a");
    assert_eq!(session.status(), SessionStatus::Cancelled);
    assert!(session.events("error").is_empty());
    let partial = session.agent_rows().last().unwrap().to_owned().clone();
    assert!(partial.partial && partial.content == "half a");
    assert_eq!(session.state_of(queued), MessageState::Pending);
    assert_eq!(session.downs, [(1, EndReason::SubprocessError)]);
}

#[test]
fn a_jump_whose_abort_had_to_kill_gets_a_fresh_runner() {
    let mut session = Session::running();
    let jumped = session.jump("now");
    session.ring(Timer::Abort);
    session.signalled();
    assert_eq!(session.starts, [1, 2]);
    session.up();
    assert_eq!(session.state_of(jumped), MessageState::Dispatched);
}

#[test]
fn an_abort_that_settles_in_time_kills_nobody() {
    let mut session = Session::running();
    session.stop();
    session.complete("ABORTED");
    assert!(!session.timers.contains_key(&Timer::Abort));
    session.apply(Input::Timer(Timer::Abort));
    assert!(session.kills.is_empty());
}

#[test]
fn a_natural_end_after_the_stop_stays_what_it_is() {
    let mut session = Session::running();
    session.stop();
    session.step(1, "done", "CURRENT_TASK_DONE");
    session.complete("CURRENT_TASK_DONE");
    session.complete("ABORTED");
    assert_eq!(session.status(), SessionStatus::Completed);
}

#[test]
fn kill_answers_when_the_runner_is_gone() {
    let mut session = Session::running();
    let queued = session.send("b");
    let killed = session.kill();
    assert_eq!(session.verbs(), ["abort", "shutdown"]);
    assert_eq!(session.state_of(queued), MessageState::Pending);
    session.deliver_all();
    session.ring(Timer::Shutdown);
    assert_eq!(session.kills, [1]);
    assert!(!session.replies.contains_key(&killed));
    session.signalled();
    assert!(matches!(session.reply(killed), Ok(Reply::RunnerGone)));
    assert_eq!((session.status(), session.downs.clone()), (SessionStatus::Cancelled, vec![(1, EndReason::SubprocessExited)]));
    assert!(!session.timers.contains_key(&Timer::Shutdown));
}

#[test]
fn kill_answers_once_the_outcome_is_stored() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_progress","delta":"half"}));
    let killed = session.kill();
    session.exit_code(0);
    assert!(!session.replies.contains_key(&killed));
    session.partial("half");
    assert!(session.replies.contains_key(&killed));
}

#[test]
fn kill_in_every_other_phase() {
    let mut session = Session::idle();
    session.exit_code(0);
    let killed = session.kill();
    assert!(matches!(session.reply(killed), Ok(Reply::NoRunner)));

    let mut session = Session::idle();
    let killed = session.kill();
    let again = session.kill();
    assert_eq!(session.verbs(), ["shutdown"]);
    session.exit_code(0);
    assert!(session.replies.contains_key(&killed) && session.replies.contains_key(&again));
    assert_eq!(session.status(), SessionStatus::Completed);
}

#[test]
fn kill_during_the_start_cancels_what_waits_for_it() {
    for there in [true, false] {
        let mut session = Session::new();
        let message = session.send("a");
        let killed = session.kill();
        assert_eq!((session.dispatch(message), session.state_of(message)), (Dispatch::PersistedOnly, MessageState::Cancelled));
        assert!(!session.replies.contains_key(&killed));
        if there {
            session.started();
            assert_eq!(session.kills, [1, 1], "it is killed as soon as it is there");
            session.signalled();
        } else {
            session.not_started(crate::error::StartCause::SpawnIo);
        }
        assert!(matches!(session.reply(killed), Ok(Reply::RunnerGone)));
        assert_eq!(session.status(), SessionStatus::Cancelled);
    }
}

#[test]
fn a_message_sent_while_a_runner_is_being_killed_gets_a_fresh_one() {
    for busy in [true, false] {
        let mut session = if busy { Session::running() } else { Session::idle() };
        session.kill();
        let next = session.send("next");
        session.deliver_all();
        session.exit_code(0);
        assert_eq!(session.starts, [1, 2]);
        session.up();
        assert_eq!(session.state_of(next), MessageState::Dispatched);
    }
}

#[test]
fn a_message_sent_while_a_start_is_being_killed_gets_a_fresh_runner() {
    for there in [true, false] {
        let mut session = Session::new();
        session.send("a");
        session.kill();
        let next = session.send("b");
        if there {
            session.started();
            session.signalled();
        } else {
            session.not_started(crate::error::StartCause::SpawnIo);
        }
        session.up();
        assert_eq!(session.dispatch(next), Dispatch::Dispatched);
    }
}

#[test]
fn no_runner_follows_the_end_of_core_and_what_waited_is_pending() {
    let mut session = Session::new();
    let reserved = session.send("a");
    session.end(EndReason::CoreShutdown);
    let late = session.send("b");
    for token in [reserved, late] {
        assert_eq!((session.dispatch(token), session.state_of(token)), (Dispatch::PersistedOnly, MessageState::Pending));
    }
    session.started();
    session.signalled();
    assert_eq!(session.starts, [1]);
    assert_eq!(session.downs, [(1, EndReason::CoreShutdown)]);
}

#[test]
fn eviction_never_takes_a_session_that_has_something_in_hand() {
    let mut session = Session::running();
    session.apply(Input::Evict);
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    session.complete("EXITED");
    session.apply(Input::Evict);
    assert!(session.verbs().is_empty(), "it runs, then it asks");
    session.send("a");
    session.deliver_all();
    session.answer("ok");
    session.apply(Input::Evict);
    assert_eq!(session.verbs().last().unwrap(), "shutdown");
    let next = session.send("b");
    session.exit_code(0);
    session.up();
    assert_eq!(session.dispatch(next), Dispatch::Dispatched, "a send meanwhile gets a fresh runner");
}
