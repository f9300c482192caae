//! Approvals: asked by the runner, answered once, resolved exactly once.

use super::harness::{Token, origin};
use super::*;
use crate::error::StartCause;
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{Approval, ErrorTag, Origin, Via};

fn approved(session: &Session, token: Token) -> &Approval {
    match session.reply(token) {
        Ok(Reply::Approved(approval)) => approval,
        other => panic!("not approved: {other:?}"),
    }
}

fn supervisor(name: &str) -> Origin {
    Origin { via: Via::Supervisor, supervisor: Some(name.to_owned()), reason: Some("looks fine".to_owned()) }
}

#[test]
fn an_approval_is_answered_once_and_delivered_before_it_is_resolved() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    assert_eq!(id, format!("appr_0a_{}", session.log.len()));
    assert_eq!(session.status(), SessionStatus::WaitingApproval);
    let answer = session.respond(&id, Decision::AllowOnce);
    assert_eq!(session.approvals[&id].state, ApprovalState::Answered);
    assert!(session.events("approval_resolved").is_empty() && !session.replies.contains_key(&answer));
    session.deliver_all();
    assert_eq!(session.verbs(), ["approval a allow_once"]);
    assert_eq!((approved(&session, answer).state.clone(), session.status()), (ApprovalState::Allowed, SessionStatus::Running));
    let event = session.events("approval_resolved")[0];
    assert_eq!((&event["id"], &event["outcome"], &event["by"]), (&json!(id), &json!("allowed"), &json!("cli")));
}

#[test]
fn the_second_answer_is_told_who_was_first() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    session.respond_as(&id, Decision::Deny, supervisor("ada"));
    let second = session.respond(&id, Decision::AllowOnce);
    assert_eq!(session.error(second).tag(), ErrorTag::InvalidArgs);
    assert!(session.error(second).to_string().contains("deny by ada"), "{}", session.error(second));
    session.deliver_all();
    assert_eq!(session.approvals[&id].state, ApprovalState::Denied);
    let third = session.respond(&id, Decision::AllowOnce);
    assert_eq!(session.error(third).tag(), ErrorTag::NotFound, "the store knows the rest");
}

#[test]
fn a_malformed_answer_uses_nothing_up() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    for (id, decision) in [(id.as_str(), Decision::Unknown("yes".to_owned())), ("appr_0a_99", Decision::AllowOnce)] {
        let token = session.respond(id, decision);
        assert!(session.reply(token).is_err());
    }
    assert_eq!(session.approvals[&id].state, ApprovalState::Pending);
    assert!(session.verbs().is_empty());
}

#[test]
fn an_undelivered_answer_makes_the_approval_pending_again() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    let before = session.approvals[&id].clone();
    let answer = session.respond_as(&id, Decision::AlwaysAllowGlobal, supervisor("ada"));
    session.refuse_all();
    assert_eq!(failed(session.reply(answer)).0, StartCause::PipeUnavailable);
    assert_eq!(session.approvals[&id], before, "as if it had not been answered");
    assert!(session.rules.is_empty(), "a failed answer teaches nothing");
    assert_eq!(session.status(), SessionStatus::WaitingApproval);
}

#[test]
fn several_approvals_wait_side_by_side() {
    let mut session = Session::running();
    let ids = ["a", "b"].map(|id| session.ask_approval(id));
    session.respond("b", Decision::Deny);
    session.deliver_all();
    assert_eq!(session.status(), SessionStatus::WaitingApproval);
    session.respond(&ids[0], Decision::AllowOnce);
    session.deliver_all();
    assert_eq!(session.status(), SessionStatus::Running);
    assert_eq!(session.verbs(), ["approval b deny", "approval a allow_once"]);
}

#[test]
fn an_id_the_runner_uses_twice_is_two_approvals() {
    let mut session = Session::running();
    let first = session.ask_approval("a");
    let second = session.ask_approval("a");
    assert_ne!(first, second);
    session.respond("a", Decision::AllowOnce);
    assert_eq!(
        (session.approvals[&first].state.clone(), session.approvals[&second].state.clone()),
        (ApprovalState::Pending, ApprovalState::Answered)
    );
    session.respond("a", Decision::Deny);
    session.deliver_all();
    assert_eq!((session.approvals[&first].state.clone(), session.approvals[&second].state.clone()), (ApprovalState::Denied, ApprovalState::Allowed));
}

#[test]
fn always_becomes_a_rule_of_the_scope_once_it_is_delivered() {
    for (project, decision, scope) in [
        (None, Decision::AlwaysAllowProject, "ungrouped"),
        (Some("proj_1"), Decision::AlwaysAllowProject, "proj_1"),
        (Some("proj_1"), Decision::AlwaysAllowGlobal, "global"),
    ] {
        let mut session = Session::running();
        session.state.row.project_id = project.map(str::to_owned);
        session.row.as_mut().unwrap().project_id = project.map(str::to_owned);
        let id = session.ask_approval("a");
        session.respond(&id, decision);
        assert!(session.rules.is_empty());
        session.deliver_all();
        assert_eq!((session.rules[0].tool.as_str(), session.rules[0].scope.as_str()), ("code_run", scope));
        assert_eq!(session.rules_changed, [scope]);
    }
}

#[test]
fn a_tool_too_sensitive_is_never_allowed_everywhere() {
    let mut session = Session::running();
    let id = session.ask_approval_of("a", "start_long_term_update");
    let token = session.respond(&id, Decision::AlwaysAllowGlobal);
    assert_eq!(session.error(token).tag(), ErrorTag::InvalidArgs);
    assert_eq!(session.approvals[&id].state, ApprovalState::Pending);
    session.respond(&id, Decision::AlwaysAllowProject);
    session.deliver_all();
    assert_eq!(session.rules[0].scope, "ungrouped");
}

#[test]
fn the_end_of_the_run_cancels_what_is_open() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    let answer = session.respond(&id, Decision::AllowOnce);
    session.complete("ABORTED");
    assert_eq!(session.approvals[&id].state, ApprovalState::Cancelled);
    assert_eq!(session.error(answer).tag(), ErrorTag::InvalidArgs);
    session.deliver_all();
    assert_eq!(session.events("approval_resolved").len(), 1);
}

#[test]
fn nobody_is_asked_for_a_call_outside_a_run_and_it_is_denied() {
    let mut session = Session::idle();
    let id = session.ask_approval("a");
    assert_eq!((session.approvals[&id].state.clone(), session.status()), (ApprovalState::Cancelled, SessionStatus::Completed));
    assert_eq!(session.verbs(), ["approval a deny"]);
    let token = session.respond_as(&id, Decision::AllowOnce, origin());
    assert_eq!(session.error(token).tag(), ErrorTag::NotFound);
}

#[test]
fn the_decider_s_reason_is_told_with_the_resolution_and_the_tool_s_stays() {
    let mut session = Session::running();
    let id = session.ask_approval("a");
    let token = session.respond_as(&id, Decision::Deny, supervisor("boss"));
    session.deliver_all();
    let Ok(Reply::Approved(approval)) = session.reply(token) else { panic!() };
    assert_eq!((approval.reason.as_deref(), approval.by.as_deref()), (Some("dangerous"), Some("boss")));
    assert_eq!(session.approvals[&id].reason.as_deref(), Some("dangerous"));
    let resolved = session.events("approval_resolved").pop().unwrap();
    assert_eq!((resolved["reason"].as_str(), resolved["by"].as_str()), (Some("looks fine"), Some("boss")));
}
