//! What the events of a run change, and how it is settled, once.

use super::*;
use galley_protocol::socket::ApprovalMode;

/// Ends a run with `result` and tells the session's status and the message's state.
fn ended_with(result: &str) -> (SessionStatus, MessageState) {
    let mut session = Session::idle();
    let message = session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.step(1, "text", result);
    session.complete(result);
    assert_eq!(session.row.as_ref().unwrap().last_exit.as_ref().unwrap().result.as_str(), result, "kept verbatim");
    (session.status(), session.state_of(message))
}

#[test]
fn every_exit_result_has_its_status() {
    assert_eq!(ended_with("CURRENT_TASK_DONE"), (SessionStatus::Completed, MessageState::Answered));
    assert_eq!(ended_with("ABORTED"), (SessionStatus::Cancelled, MessageState::Cancelled));
    assert_eq!(ended_with("EXITED"), (SessionStatus::Idle, MessageState::Answered));
    assert_eq!(ended_with("MAX_TURNS_EXCEEDED"), (SessionStatus::Idle, MessageState::Failed));
    assert_eq!(ended_with("SLASH_COMMAND_COMPLETED"), (SessionStatus::Idle, MessageState::Answered));
    assert_eq!(ended_with("DONE_WITHOUT_EXIT"), (SessionStatus::Idle, MessageState::Failed));
}

/// A run with an error before its end.
fn errored(category: &str, severity: &str, later_step: bool) -> (SessionStatus, MessageState) {
    let mut session = Session::idle();
    let message = session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    session.line(json!({"kind":"error","message":"401","category":category,"severity":severity}));
    if later_step {
        session.step(1, "recovered", "");
    }
    session.complete("CURRENT_TASK_DONE");
    (session.status(), session.state_of(message))
}

#[test]
fn only_a_serious_error_that_is_not_of_business_fails_a_run() {
    let failed = (SessionStatus::Error, MessageState::Failed);
    let fine = (SessionStatus::Completed, MessageState::Answered);
    assert_eq!(errored("runtime", "error", false), failed, "though the agent says it is done");
    assert_eq!(errored("bridge", "error", false), failed);
    assert_eq!(errored("runtime", "error", true), fine, "a later step got over it");
    assert_eq!(errored("business", "error", false), fine);
    assert_eq!(errored("runtime", "warning", false), fine);
}

#[test]
fn an_error_without_fields_counts_as_serious() {
    let mut session = Session::running();
    session.line(json!({"kind":"error","message":"?"}));
    session.complete("CURRENT_TASK_DONE");
    assert_eq!(session.status(), SessionStatus::Error);
}

#[test]
fn a_second_run_complete_settles_nothing() {
    let mut session = Session::running();
    let next = session.send("next");
    session.complete("CURRENT_TASK_DONE");
    session.deliver_all();
    session.complete("CURRENT_TASK_DONE");
    session.step(1, "late", "CURRENT_TASK_DONE");
    assert_eq!(session.state_of(next), MessageState::Dispatched);
    assert_eq!(session.status(), SessionStatus::Running);
    session.wait(29_000);
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    assert!(!session.timers.contains_key(&Timer::RunComplete), "the run goes on: nothing is presumed any more");
    session.answer("ok");
    assert_eq!(session.state_of(next), MessageState::Answered);
    assert_eq!(session.agent_rows().len(), 2, "the late step is in the log only");
}

#[test]
fn a_late_end_is_not_believed_when_something_follows_it() {
    let mut session = Session::running();
    let next = session.send("next");
    session.complete("CURRENT_TASK_DONE");
    session.deliver_all();
    session.complete("CURRENT_TASK_DONE");
    session.wait(1);
    session.line(json!({"kind":"turn_progress","delta":"working"}));
    session.ring(Timer::RunComplete);
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn a_run_without_announcement_is_settled_by_its_end_when_nothing_follows() {
    let mut session = Session::running();
    let next = session.send("/clear");
    session.complete("CURRENT_TASK_DONE");
    session.deliver_all();
    session.line(json!({"kind":"run_complete","exitReason":{"result":"SLASH_COMMAND_COMPLETED"},"finalContent":"cleared"}));
    session.ring(Timer::RunComplete);
    assert_eq!(session.state_of(next), MessageState::Answered);
    assert_eq!(session.agent_rows().last().unwrap().final_answer.as_deref(), Some("cleared"));
}

#[test]
fn a_runner_that_never_announces_is_believed_at_once() {
    let mut session = Session::new();
    let message = session.send("a");
    session.up();
    session.step(1, "text", "CURRENT_TASK_DONE");
    session.complete("CURRENT_TASK_DONE");
    assert_eq!(session.state_of(message), MessageState::Answered);
}

#[test]
fn a_predicted_turn_start_opens_no_run() {
    let mut session = Session::idle();
    session.line(json!({"kind":"turn_start","turnIndex":2}));
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    assert!(matches!(session.state.gate, Gate::Free), "nor does a first one, without the capability");
    assert_eq!(session.events("turn_start").len(), 3, "all are logged");
}

#[test]
fn an_agent_with_the_capability_starts_runs_itself() {
    let mut session = Session::new();
    session.send("a");
    session.started();
    session.line(json!({"kind":"ready","protocolVersion":"0.1","capabilities":["self_start"],"availableLLMs":[]}));
    session.deliver_all();
    session.answer("ok");
    session.line(json!({"kind":"turn_start","turnIndex":2}));
    assert!(matches!(session.state.gate, Gate::Free));
    session.line(json!({"kind":"turn_start","turnIndex":1}));
    assert_eq!(session.status(), SessionStatus::Running);
    let (run, first_index) = session.state.last_run();
    assert_eq!((run, first_index), (2, session.log.len() as u64));
    assert_eq!(session.log.last().unwrap().0, 2, "the announcement belongs to its run");
    let queued = session.send("b");
    assert_eq!(session.dispatch(queued), Dispatch::Queued);
    session.answer("by myself");
    assert_eq!(session.state_of(queued), MessageState::Dispatched);
}

#[test]
fn a_missing_run_complete_is_made_up_for_after_a_while() {
    let mut session = Session::running();
    session.step(1, "text", "CURRENT_TASK_DONE");
    assert_eq!(session.status(), SessionStatus::Running);
    session.ring(Timer::RunComplete);
    assert_eq!(session.status(), SessionStatus::Completed);
    session.complete("CURRENT_TASK_DONE");
    assert_eq!(session.status(), SessionStatus::Completed);
}

#[test]
fn a_run_complete_without_a_step_makes_the_row() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_progress","delta":"the ans"}));
    session.line(json!({"kind":"run_complete","exitReason":{"result":"CURRENT_TASK_DONE"},"finalContent":"the answer","totalTurns":1}));
    let row = session.agent_rows().last().unwrap().to_owned().clone();
    assert_eq!((row.content.as_str(), row.final_answer.as_deref(), row.partial, row.run), ("the answer", Some("the answer"), false, Some(2)));
    assert!(!session.collecting, "the answer has it all");
}

#[test]
fn the_final_content_replaces_the_answer_of_the_last_step() {
    let mut session = Session::running();
    session.step(1, "first", "");
    session.step(2, "draft", "CURRENT_TASK_DONE");
    assert_eq!(session.agent_rows().last().unwrap().final_answer.as_deref(), Some("draft"));
    session.line(json!({"kind":"run_complete","exitReason":{"result":"CURRENT_TASK_DONE"},"finalContent":"clean"}));
    let rows = session.agent_rows();
    assert_eq!(rows.last().unwrap().final_answer.as_deref(), Some("clean"));
    assert_eq!((rows.last().unwrap().content.as_str(), &rows[rows.len() - 2].final_answer), ("draft", &None));
}

#[test]
fn a_repeated_step_is_one_row_and_the_same_number_with_other_content_is_two() {
    let mut session = Session::running();
    session.step(1, "text", "");
    session.step(1, "text", "");
    assert_eq!(session.agent_rows().len(), 2);
    session.step(1, "other", "");
    assert_eq!(session.agent_rows().len(), 3);
    assert_eq!(session.state.row.turn_count, 2, "steps are no turns");
}

#[test]
fn steps_of_two_runs_never_collide() {
    let mut session = Session::running();
    session.answer("same");
    session.send("again");
    session.deliver_all();
    session.answer("same");
    let rows: Vec<_> = session.agent_rows().iter().map(|row| (row.turn_index, row.step_index, row.run)).collect();
    assert_eq!(rows, [(Some(0), Some(1), Some(1)), (Some(1), Some(1), Some(2)), (Some(2), Some(1), Some(3))]);
}

#[test]
fn a_step_keeps_what_it_says_and_drops_the_noise() {
    let mut session = Session::running();
    session.line(json!({
        "kind":"turn_end","turnIndex":1,"summary":"é".repeat(100),"responseContent":"text","exitReason":null,
        "toolCalls":[{"toolName":"no_tool","args":{}},{"toolName":"code_run","args":{"x":1}}],"toolResults":[{"content":"y"}],"telemetry":{"tokens":3}
    }));
    let row = session.agent_rows().last().unwrap().to_owned().clone();
    assert_eq!(
        row.tool_calls.unwrap().as_str(),
        r#"[{"toolName":"code_run","args":{"x":1}}]"#.replace(r#""toolName":"code_run","args":{"x":1}"#, r#""args":{"x":1},"toolName":"code_run""#)
    );
    assert!(row.tool_results.is_some() && row.telemetry.is_some());
    assert_eq!(row.summary.unwrap().chars().count(), 100);
    let session_row = session.row.as_ref().unwrap();
    assert_eq!((session_row.summary.as_ref().unwrap().chars().count(), session_row.has_unread), (80, Some(true)));
}

#[test]
fn a_step_of_nothing_but_noise_has_no_tool_calls() {
    let mut session = Session::running();
    session.line(json!({"kind":"turn_end","turnIndex":1,"toolCalls":[{"toolName":"no_tool"}],"toolResults":null}));
    assert!(session.agent_rows().last().unwrap().tool_calls.is_none());
}

#[test]
fn progress_before_turn_start_is_fine() {
    let mut session = Session::idle();
    session.send("work");
    session.deliver_all();
    session.line(json!({"kind":"turn_progress","delta":"early"}));
    session.answer("early and late");
    assert_eq!(session.status(), SessionStatus::Completed);
    assert!(!session.collecting);
}

#[test]
fn text_after_the_last_step_is_kept_before_the_next_message_goes_out() {
    let mut session = Session::running();
    session.step(1, "one", "");
    session.line(json!({"kind":"turn_progress","delta":"two"}));
    let next = session.send("next");
    session.complete("ABORTED");
    assert!(matches!(session.state.gate, Gate::Closing(..)));
    assert_eq!(session.state_of(next), MessageState::Queued);
    session.partial("two");
    let row = session.agent_rows().last().unwrap().to_owned().clone();
    assert_eq!((row.content.as_str(), row.partial, row.step_index), ("two", true, Some(2)));
    assert_eq!(session.state_of(next), MessageState::Dispatched);
}

#[test]
fn system_messages_become_rows_and_side_answers_do_not() {
    let mut session = Session::idle();
    let rows = session.messages.len();
    session.line(json!({"kind":"system_message","content":"it goes well","variant":"side_question"}));
    assert_eq!(session.messages.len(), rows);
    session.line(json!({"kind":"system_message","content":"note"}));
    assert_eq!(session.messages.last().unwrap().role, MessageRole::System);
}

#[test]
fn unknown_events_and_noise_change_nothing_and_are_logged() {
    let mut session = Session::running();
    session.raw_line("noise");
    session.line(json!({"kind":"brand_new","x":1}));
    session.line(json!({"kind":"turn_end","turnIndex":"wrong"}));
    assert_eq!((session.events("malformed").len(), session.events("brand_new").len()), (1, 1));
    assert_eq!(session.status(), SessionStatus::Running);
}

#[test]
fn a_stale_runner_is_logged_and_changes_nothing() {
    let mut session = Session::running();
    session.signalled();
    let next = session.send("next");
    session.up();
    for line in
        [json!({"kind":"run_complete","exitReason":{"result":"CURRENT_TASK_DONE"}}), json!({"kind":"turn_end","turnIndex":1,"responseContent":"x"})]
    {
        session.line_of(1, line);
    }
    session.apply(Input::Exited { generation: 1, exit: crate::runner::Exit::default() });
    session.apply(Input::Started { generation: 1, result: Ok(None) });
    session.apply(Input::Delivered { generation: 1, purpose: Purpose::Message { id: format!("m{next}") }, outcome: Delivered::No });
    assert_eq!((session.state_of(next), session.status()), (MessageState::Dispatched, SessionStatus::Running));
}

#[test]
fn silence_is_reported_once_and_kills_nobody() {
    let mut session = Session::running();
    session.ring(Timer::Stall);
    session.ring(Timer::Stall);
    assert_eq!(session.events("stalled").len(), 1);
    session.line(json!({"kind":"turn_progress","delta":"x"}));
    session.wait(60_000);
    session.ring(Timer::Stall);
    session.ring(Timer::Stall);
    assert_eq!(session.events("stalled").len(), 2, "a new silence");
    assert!(session.kills.is_empty());
    session.complete("CURRENT_TASK_DONE");
    session.partial("x");
    assert!(!session.timers.contains_key(&Timer::Stall));
}

#[test]
fn a_run_that_waits_for_a_person_is_not_stalled() {
    let mut session = Session::with(|_| {}, Limits::default(), ApprovalMode::Ask);
    session.send("work");
    session.up();
    let id = session.ask_approval("a");
    session.wait(10_000_000);
    session.ring(Timer::Stall);
    session.wait(1_000);
    session.respond(&id, galley_protocol::ipc::Decision::AllowOnce);
    session.deliver_all();
    session.ring(Timer::Stall);
    assert!(session.events("stalled").is_empty(), "the silence begins with the answer");
    session.ring(Timer::Stall);
    assert_eq!(session.events("stalled").len(), 1);
}
