//! The runner's start, set-up and end.

use super::*;
use crate::error::{Error, StartCause};
use crate::runner::Exit;
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{ApprovalMode, LlmChoice};
use harness::ID;

fn two_models(current: u32) -> serde_json::Value {
    let llm = |index: u32, key: &str| json!({"index":index,"name":key,"displayName":key,"isCurrent":index == current});
    json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[llm(0, "small"), llm(1, "large")]})
}

#[test]
fn a_fresh_runner_is_set_up_before_it_hears_of_the_message() {
    let mut session = Session::with(
        |row| {
            row.approval_mode = Some(ApprovalMode::Auto);
            row.llm = Some(LlmChoice { key: "large".to_owned(), display_name: None });
            row.project_id = Some("proj_1".to_owned());
            (row.run, row.run_first_index) = (1, 1);
        },
        Limits::default(),
        ApprovalMode::Ask,
    );
    let message = session.send("work");
    session.started();
    assert!(session.verbs().is_empty(), "nothing before ready");
    session.line(two_models(0));
    assert_eq!(session.verbs(), ["rules proj_1", "yolo true", "llm 1"]);
    session.line(json!({"kind":"llm_changed","index":1,"name":"large"}));
    let Order::History { exclude, .. } = &session.told.last().unwrap().1 else { panic!() };
    assert_eq!(exclude.as_deref(), Some(format!("m{message}").as_str()), "the message is not its own history");
    session.deliver_all();
    assert_eq!(session.verbs().len(), 4);
    session.line(json!({"kind":"history_loaded","messageCount":2}));
    assert_eq!(session.verbs(), ["rules proj_1", "yolo true", "llm 1", "history", "user work"]);
    assert_eq!(session.row.as_ref().unwrap().llm_index, Some(1));
    assert!(!session.timers.contains_key(&Timer::Start));
    assert!(session.settings.contains_key("llms:mock"));
}

#[test]
fn a_runner_asks_unless_it_was_told_otherwise() {
    for (own, default, told) in [
        (None, ApprovalMode::Ask, false),
        (None, ApprovalMode::Auto, true),
        (Some(ApprovalMode::Ask), ApprovalMode::Auto, false),
        (Some(ApprovalMode::Default), ApprovalMode::Auto, false),
    ] {
        let mut session = Session::with(|row| row.approval_mode = own, Limits::default(), default);
        session.send("a");
        session.up();
        assert_eq!(session.verbs().contains(&"yolo true".to_owned()), told);
    }
}

#[test]
fn the_chosen_model_is_found_by_its_key() {
    let mut session =
        Session::with(|row| row.llm = Some(LlmChoice { key: "large".to_owned(), display_name: None }), Limits::default(), ApprovalMode::Ask);
    session.send("a");
    session.started();
    session.line(two_models(1));
    assert_eq!(session.verbs(), ["rules ungrouped", "user a"], "it is current already");
}

#[test]
fn without_a_history_there_is_nothing_to_wait_for() {
    let mut session = Session::with(|row| row.run = 1, Limits::default(), ApprovalMode::Ask);
    session.send("a");
    session.started();
    session.ready();
    session.deliver(Delivered::Yes);
    assert_eq!(session.verbs(), ["rules ungrouped", "history"]);
    session.deliver(Delivered::Nothing);
    assert_eq!(session.verbs().last().unwrap(), "user a");
}

#[test]
fn a_warning_about_the_history_is_no_failure() {
    let mut session = at_history();
    session.line(json!({"kind":"error","message":"shape","category":"business","severity":"warning"}));
    session.line(json!({"kind":"history_loaded","messageCount":1}));
    assert!(matches!(session.state.runner, RunnerPhase::Up));
}

fn at_history() -> Session {
    let mut session = Session::with(|row| row.run = 1, Limits::default(), ApprovalMode::Ask);
    session.send("a");
    session.started();
    session.ready();
    session
}

/// A start that failed: its cause, the caller told, the message pending, no second start.
fn failed_with(session: &mut Session, cause: StartCause) {
    assert_eq!(session.dispatch(1), Dispatch::PersistedOnly);
    let warning = session.submitted(1).warning.clone().unwrap();
    assert_eq!(warning.id, cause.as_str());
    assert_eq!((session.state_of(1), session.status()), (MessageState::Pending, SessionStatus::Error));
    assert_eq!(session.starts, [1], "no restart loop");
    assert_eq!(session.events("error").last().unwrap()["context"], "runner_start");
    assert!(matches!(session.state.runner, RunnerPhase::Down) && session.timers.is_empty());
    session.send("again");
    assert_eq!(session.starts, [1, 2], "the next send tries again");
}

#[test]
fn a_runner_that_cannot_be_started() {
    let mut session = Session::new();
    session.send("a");
    session.not_started(StartCause::PythonNotFound);
    failed_with(&mut session, StartCause::PythonNotFound);
}

#[test]
fn a_runner_that_dies_before_it_is_ready_tells_its_last_words() {
    let mut session = Session::new();
    session.send("a");
    session.started();
    session.exit_code(1);
    let detail = session.submitted(1).warning.clone().unwrap().detail.unwrap();
    assert!(detail.as_str().contains("last words"));
    assert_eq!(session.downs, [(1, EndReason::SubprocessError)]);
    failed_with(&mut session, StartCause::RunnerExited);
}

#[test]
fn a_runner_that_is_never_ready() {
    let mut session = Session::new();
    session.send("a");
    session.started();
    session.ring(Timer::Start);
    assert_eq!(session.kills, [1]);
    session.ready();
    assert!(session.verbs().is_empty(), "too late");
    session.signalled();
    failed_with(&mut session, StartCause::ReadyTimeout);
}

#[test]
fn a_runner_of_another_protocol() {
    let mut session = Session::new();
    session.send("a");
    session.started();
    session.line(json!({"kind":"ready","protocolVersion":"0.2","availableLLMs":[]}));
    assert_eq!(session.verbs(), ["shutdown"]);
    session.ring(Timer::Shutdown);
    assert_eq!(session.kills, [1]);
    session.signalled();
    failed_with(&mut session, StartCause::ProtocolMismatch);
}

#[test]
fn a_runner_that_refuses_the_history() {
    let mut session = at_history();
    session.line(json!({"kind":"error","message":"no","category":"business","severity":"error"}));
    session.exit_code(0);
    failed_with(&mut session, StartCause::HistoryReplay);
}

#[test]
fn a_runner_that_never_loads_the_history_or_does_not_take_it() {
    let mut session = at_history();
    session.ring(Timer::Start);
    session.signalled();
    failed_with(&mut session, StartCause::HistoryReplay);
    let mut session = at_history();
    session.refuse_all();
    session.exit_code(0);
    failed_with(&mut session, StartCause::HistoryReplay);
}

#[test]
fn a_creator_is_told_with_an_error_that_names_the_rows() {
    let mut session = Session::new();
    let to = session.create("task");
    let second = session.send("more");
    session.not_started(StartCause::SpawnIo);
    let Err(Error::Runner { cause: StartCause::SpawnIo, detail: Some(detail), .. }) = session.reply(to) else { panic!() };
    assert_eq!((detail["sessionId"].as_str(), detail["messageId"].as_str()), (Some(ID), Some(format!("m{to}").as_str())));
    assert_eq!((session.state_of(to), session.state_of(second)), (MessageState::Pending, MessageState::Pending));
}

#[test]
fn an_undelivered_message_gets_one_fresh_runner_and_no_more() {
    let mut session = Session::idle();
    let message = session.send("work");
    let behind = session.send("behind");
    session.refuse_all();
    assert_eq!((session.state_of(message), session.status()), (MessageState::Pending, SessionStatus::Connecting));
    session.exit(Exit { poisoned: true, ..Exit::default() });
    assert_eq!(session.starts, [1, 2]);
    session.started();
    session.ready();
    session.deliver(Delivered::Yes);
    session.deliver(Delivered::Nothing);
    assert!(!session.replies.contains_key(&message));
    session.refuse_all();
    assert_eq!((session.dispatch(message), session.status()), (Dispatch::PersistedOnly, SessionStatus::Error));
    session.signalled();
    assert_eq!(session.starts, [1, 2]);
    assert_eq!((session.state_of(message), session.state_of(behind)), (MessageState::Pending, MessageState::Pending));
}

#[test]
fn a_runner_found_dead_at_the_hand_over_is_replaced() {
    let mut session = Session::idle();
    let message = session.send("work");
    session.exit_code(1);
    session.up();
    assert_eq!((session.dispatch(message), session.state_of(message)), (Dispatch::Dispatched, MessageState::Dispatched));
}

#[test]
fn an_undelivered_message_that_was_stopped_meanwhile_is_cancelled() {
    let mut session = Session::idle();
    let message = session.send("work");
    session.stop();
    session.refuse_all();
    assert_eq!(session.dispatch(message), Dispatch::PersistedOnly);
    session.signalled();
    assert_eq!((session.state_of(message), session.status()), (MessageState::Cancelled, SessionStatus::Cancelled));
    assert_eq!(session.starts, [1]);
}

#[test]
fn a_message_taken_back_stays_ahead_of_a_jump() {
    let mut session = Session::idle();
    let message = session.send("work");
    session.send("later");
    session.refuse_all();
    let jumped = session.jump("now");
    session.exit_code(1);
    session.up();
    assert_eq!((session.state_of(jumped), session.state_of(message)), (MessageState::Dispatched, MessageState::Queued));
}

#[test]
fn a_crash_fails_the_run_keeps_the_text_and_parks_the_queue() {
    let mut session = Session::idle();
    let message = session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.line(json!({"kind":"turn_progress","delta":"half"}));
    let queued = session.send("later");
    session.exit_code(3);
    assert_eq!(session.state_of(queued), MessageState::Pending);
    assert!(session.downs.is_empty(), "the outcome is stored first");
    session.partial("half");
    let error = session.events("error").last().unwrap().to_owned().clone();
    assert_eq!((&error["source"], &error["context"], &error["exitCode"]), (&json!("core"), &json!("runner_exit"), &json!(3)));
    assert_eq!(error["stderrTail"], json!(["last words"]));
    assert_eq!((session.state_of(message), session.status()), (MessageState::Failed, SessionStatus::Error));
    assert!(session.agent_rows().last().unwrap().partial);
    assert_eq!(session.downs, [(1, EndReason::SubprocessError)]);
    assert_eq!(session.starts, [1], "nothing restarts by itself");
    assert_eq!(session.row.as_ref().unwrap().last_exit.as_ref().unwrap().result.as_str(), "CRASHED");
}

#[test]
fn an_exit_with_code_0_in_a_run_is_a_crash_too() {
    let mut session = Session::running();
    session.exit_code(0);
    assert_eq!((session.status(), session.downs.clone()), (SessionStatus::Error, vec![(1, EndReason::SubprocessError)]));
}

#[test]
fn a_message_sent_while_the_crash_is_being_settled_gets_a_fresh_runner() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_progress","delta":"half"}));
    session.signalled();
    let next = session.send("next");
    session.partial("half");
    assert_eq!(session.starts, [1, 2]);
    session.up();
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn a_run_that_had_said_it_was_done_is_not_failed_by_the_exit() {
    let mut session = Session::running();
    let next = session.send("next");
    session.step(1, "text", "CURRENT_TASK_DONE");
    session.exit_code(0);
    assert_eq!(session.starts, [1, 2], "the queue goes on");
    assert_eq!(session.row.as_ref().unwrap().last_exit.as_ref().unwrap().result.as_str(), "CURRENT_TASK_DONE");
    session.up();
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn an_idle_exit_is_told_as_what_it_was() {
    for (code, reason) in [(0, EndReason::SubprocessExited), (1, EndReason::SubprocessError)] {
        let mut session = Session::idle();
        session.exit_code(code);
        assert_eq!((session.downs.clone(), session.status()), (vec![(1, reason)], SessionStatus::Completed));
        assert!(!session.state.is_runner_alive());
    }
}

#[test]
fn the_mode_is_pushed_to_a_live_runner() {
    let mut session = Session::idle();
    let to = session.token();
    session.apply(Input::SetMode { mode: Some(ApprovalMode::Auto), to: ReplyTo(to) });
    session.apply(Input::DefaultMode(ApprovalMode::Auto));
    let to = session.token();
    session.apply(Input::SetMode { mode: None, to: ReplyTo(to) });
    session.apply(Input::DefaultMode(ApprovalMode::Ask));
    assert_eq!(session.verbs(), ["yolo true", "yolo true", "yolo false"]);
    assert!(matches!(session.reply(to), Ok(Reply::Mode(ApprovalMode::Default))));
}

#[test]
fn rules_are_pushed_to_the_live_runners_they_concern() {
    let mut session = Session::idle();
    for scope in ["global", "ungrouped", "proj_other"] {
        session.apply(Input::RulesChanged { scope: scope.to_owned() });
    }
    assert_eq!(session.verbs(), ["rules ungrouped", "rules ungrouped"]);
}

#[test]
fn a_model_change_is_remembered_as_the_runner_tells_it() {
    let mut session = Session::new();
    session.send("a");
    session.started();
    session.line(two_models(0));
    session.line(json!({"kind":"llm_changed","index":1,"name":"large"}));
    let row = session.row.as_ref().unwrap();
    assert_eq!((row.llm.as_ref().unwrap().key.as_str(), row.llm_index), ("large", Some(1)));
}

#[test]
fn an_approval_dies_with_its_runner() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    let answer = session.respond(&id, Decision::AllowOnce);
    session.signalled();
    assert_eq!(session.approvals[&id].state, ApprovalState::Cancelled);
    assert!(session.reply(answer).is_err());
}
