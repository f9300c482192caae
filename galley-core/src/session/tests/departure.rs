//! Putting a session away, taking it back, deleting it.

use super::*;
use galley_protocol::socket::{ArchiveIfBusy, ErrorTag, Origin, Via, Visibility};

#[test]
fn a_busy_session_is_not_archived_when_that_is_refused() {
    let mut session = Session::running();
    let token = session.ask(|to| Input::Archive { if_busy: ArchiveIfBusy::Reject, origin: harness::origin(), to });
    assert_eq!(session.error(token).tag(), ErrorTag::Busy);
    assert!(session.verbs().is_empty() && session.status() == SessionStatus::Running);
}

#[test]
fn archiving_stops_the_run_and_the_runner_and_keeps_the_queue_as_pending() {
    let mut session = Session::running();
    let queued = session.send("later");
    let token = session.archive();
    let again = session.archive();
    assert_eq!(session.verbs(), ["abort", "shutdown"]);
    assert_eq!(session.status(), SessionStatus::Running, "not before the run has ended");
    assert!(!session.replies.contains_key(&token));
    let late = session.send("too late");
    assert_eq!(session.error(late).tag(), ErrorTag::InvalidArgs);
    session.complete("ABORTED");
    session.exit_code(0);
    assert_eq!(session.session_told(token).status, SessionStatus::Archived);
    assert_eq!(session.session_told(token), session.session_told(again));
    assert_eq!((session.status(), session.state_of(queued)), (SessionStatus::Archived, MessageState::Pending));
    assert_eq!((session.downs.last(), session.closed.clone()), (Some(&(1, EndReason::Archived)), Some(EndReason::Archived)));
}

#[test]
fn a_runner_that_does_not_leave_is_killed_for_the_archive() {
    let mut session = Session::running();
    let token = session.archive();
    session.ring(Timer::Shutdown);
    assert_eq!(session.kills, [1]);
    session.signalled();
    assert_eq!(session.session_told(token).status, SessionStatus::Archived);
}

#[test]
fn archiving_takes_back_the_message_that_waits_for_its_runner() {
    let mut session = Session::new();
    let first = session.send("a");
    let token = session.archive();
    session.started();
    session.exit_code(0);
    assert_eq!((session.dispatch(first), session.state_of(first)), (Dispatch::PersistedOnly, MessageState::Cancelled));
    assert_eq!(session.session_told(token).status, SessionStatus::Archived);
    assert_eq!(session.starts, [1], "no runner for a session that is put away");
}

#[test]
fn restoring_gives_an_idle_session_and_one_that_was_not_away_stays_as_it_is() {
    let mut session = Session::idle();
    let before = session.unarchive();
    assert_eq!(session.session_told(before).status, SessionStatus::Completed);
    session.archive();
    session.exit_code(0);
    let refused = session.resume();
    assert_eq!(session.error(refused).tag(), ErrorTag::InvalidArgs);
    let token = session.unarchive();
    assert_eq!(session.session_told(token).status, SessionStatus::Idle);
    let message = session.send("again");
    session.up();
    assert_eq!(session.dispatch(message), Dispatch::Dispatched);
}

#[test]
fn whoever_gives_a_name_or_a_reason_leaves_a_trace() {
    let mut session = Session::idle();
    let boss = Origin { via: Via::Supervisor, supervisor: Some("boss".to_owned()), reason: Some("tidy".to_owned()) };
    let by = |origin: &Origin| origin.clone();
    session.ask(|to| Input::Move { project: Some("proj_1".to_owned()), origin: by(&boss), to });
    session.ask(|to| Input::Kill { origin: by(&boss), to });
    session.exit_code(0);
    session.ask(|to| Input::Kill { origin: by(&boss), to });
    session.ask(|to| Input::Archive { if_busy: ArchiveIfBusy::Stop, origin: by(&boss), to });
    session.ask(|to| Input::Restore { origin: by(&boss), to });
    session.archive();
    let trail: Vec<_> = session.messages.iter().filter(|row| row.visibility == Visibility::Internal).collect();
    let words: Vec<&str> = trail.iter().map(|row| row.content.as_str()).collect();
    assert_eq!(words, ["move", "kill", "archive", "restore"], "what changed nothing leaves none");
    assert!(trail.iter().all(|row| row.role == MessageRole::System && row.origin.as_ref() == Some(&boss)));
}

#[test]
fn deleting_stops_the_run_first_and_leaves_nothing() {
    let mut session = Session::running();
    let archiving = session.archive();
    let token = session.delete();
    let again = session.delete();
    assert_eq!(session.error(archiving).tag(), ErrorTag::NotFound);
    let late = session.send("x");
    assert_eq!(session.error(late).tag(), ErrorTag::NotFound);
    assert!(session.row.is_some() && !session.replies.contains_key(&token), "not before its runner is gone");
    session.line(json!({"kind":"turn_progress","delta":"last words"}));
    session.signalled();
    session.partial("last words");
    assert!(matches!((session.reply(token), session.reply(again)), (Ok(Reply::Deleted), Ok(Reply::Deleted))));
    assert!(session.deleted && session.forgotten && session.row.is_none());
    assert_eq!(session.closed, Some(EndReason::Deleted));
}

#[test]
fn a_deleted_session_answers_that_it_is_not_there_and_writes_nothing() {
    let mut session = Session::idle();
    session.exit_code(0);
    session.delete();
    session.raw_line("late");
    let all = [session.send("x"), session.stop(), session.archive(), session.delete(), session.resume(), session.set_llm(0)];
    assert!(all.iter().all(|token| session.error(*token).tag() == ErrorTag::NotFound));
}
