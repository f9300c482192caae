//! Approvals: asked by the runner, answered once, resolved exactly once.

use super::output::{Effect, Output, Purpose, Reply, ReplyTo};
use super::state::{Delivered, Gate, OpenApproval, SessionState};
use crate::error::{Error, StartCause};
use crate::store::{ApprovalRow, Change, Rule};
use crate::time::Timestamp;
use galley_protocol::ipc::{ApprovalOutcome, ApprovalResolved, ApprovalResponse, Command, Decision, ToolCallPending};
use galley_protocol::socket::{Approval, ApprovalState, Origin, SessionStatus};

/// Tools too sensitive to be allowed everywhere for good.
const NEVER_GLOBAL: &[&str] = &["start_long_term_update"];

/// Core's id of the approval asked at `index` of a session's log.
pub fn approval_id(session_id: &str, index: u64) -> String {
    format!("appr_{}_{index}", session_id.strip_prefix("sess_").unwrap_or(session_id))
}

impl SessionState {
    pub(super) fn approval_asked(&mut self, now: Timestamp, asked: ToolCallPending, out: &mut Output) {
        let row = ApprovalRow {
            id: approval_id(&self.row.id, self.last_index),
            approval_id: asked.approval_id,
            session_id: self.row.id.clone(),
            run: self.row.run,
            tool_name: asked.tool_name,
            args: asked.args,
            args_preview: asked.args_preview,
            risk_level: asked.risk_level,
            reason: asked.reason,
            state: ApprovalState::Pending,
            decision: None,
            by: None,
            created_at: now,
            decided_at: None,
        };
        out.change(Change::PutApproval(Box::new(row.clone())));
        let refusal = ApprovalResponse { approval_id: row.approval_id.clone(), decision: Decision::Deny };
        self.approvals.push(OpenApproval { row, note: None, reply: None });
        match &self.gate {
            Gate::Open(run) if run.abort.is_none() => self.set_status(now, SessionStatus::WaitingApproval),
            // The abort is on its way and ends the call.
            Gate::Open(_) => self.cancel_approvals(now, "the run was stopped", out),
            _ => {
                self.cancel_approvals(now, "no run is open", out);
                self.tell(Command::ApprovalResponse(refusal), Purpose::None, out);
            }
        }
    }

    pub(super) fn respond(&mut self, now: Timestamp, id: &str, decision: Decision, origin: &Origin, to: ReplyTo, out: &mut Output) {
        if !decision.is_known() {
            return out.reply(Some(to), Err(Error::invalid(format!("{decision} is no decision; it is one of {}", Decision::WORDS.join(", ")))));
        }
        // A runner may use one id twice; the newest that waits is meant.
        let meant = |open: &OpenApproval| (open.row.id == id, open.row.approval_id == id, open.row.state == ApprovalState::Pending);
        let found = self.approvals.iter_mut().filter(|open| open.row.id == id || open.row.approval_id == id).max_by_key(|open| meant(open));
        let Some(open) = found else {
            return out.reply(Some(to), Err(Error::NotFound(format!("no open approval {id} in session {}", self.row.id))));
        };
        if open.row.state == ApprovalState::Answered {
            return out.reply(Some(to), Err(already_answered(&open.row.clone().into_brief())));
        }
        if decision == Decision::AlwaysAllowGlobal && NEVER_GLOBAL.contains(&open.row.tool_name.as_str()) {
            let message = format!("{} is too sensitive to be allowed everywhere; use allow_once or always_allow_project", open.row.tool_name);
            return out.reply(Some(to), Err(Error::invalid(message)));
        }
        open.row.state = ApprovalState::Answered;
        open.row.decision = Some(decision.clone());
        open.row.by = Some(answered_by(origin));
        open.row.decided_at = Some(now);
        open.note.clone_from(&origin.reason);
        open.reply = Some(to);
        out.change(Change::PutApproval(Box::new(open.row.clone())));
        let response = ApprovalResponse { approval_id: open.row.approval_id.clone(), decision };
        let purpose = Purpose::Approval { id: open.row.id.clone() };
        self.tell(Command::ApprovalResponse(response), purpose, out);
    }

    pub(super) fn approval_delivered(&mut self, now: Timestamp, id: &str, outcome: Delivered, out: &mut Output) {
        let Some(place) = self.approvals.iter().position(|open| open.row.id == id) else { return };
        if outcome == Delivered::No {
            let open = &mut self.approvals[place];
            open.row.state = ApprovalState::Pending;
            open.row.decision = None;
            open.row.by = None;
            open.row.decided_at = None;
            open.note = None;
            out.change(Change::PutApproval(Box::new(open.row.clone())));
            let error = Error::runner(StartCause::PipeUnavailable, "the runner did not take the answer; the approval is pending again");
            return out.reply(open.reply.take(), Err(error));
        }
        let mut open = self.approvals.remove(place);
        let allows = open.row.decision.as_ref().is_some_and(Decision::allows);
        open.row.state = if allows { ApprovalState::Allowed } else { ApprovalState::Denied };
        let outcome = if allows { ApprovalOutcome::Allowed } else { ApprovalOutcome::Denied };
        self.resolved(now, &open.row, outcome, open.note.take(), out);
        self.remember_rule(now, &open.row, out);
        if let Gate::Open(run) = &mut self.gate {
            run.heard(now);
            if self.approvals.is_empty() {
                self.set_status(now, SessionStatus::Running);
            }
        }
        out.reply(open.reply, Ok(Reply::Approved(Box::new(open.row.clone().into_brief()))));
    }

    /// `always_*` becomes a rule, and every live runner in its scope hears of it.
    fn remember_rule(&self, now: Timestamp, row: &ApprovalRow, out: &mut Output) {
        let scope = match row.decision {
            Some(Decision::AlwaysAllowGlobal) => "global",
            Some(Decision::AlwaysAllowProject) => self.scope(),
            _ => return,
        };
        out.change(Change::PutRule(Rule { tool: row.tool_name.clone(), scope: scope.to_owned(), by: row.by.clone(), created_at: now }));
        out.effect(Effect::RulesChanged { scope: scope.to_owned() });
    }

    /// Ends every open approval: nobody's answer can matter any more.
    pub(super) fn cancel_approvals(&mut self, now: Timestamp, why: &str, out: &mut Output) {
        for open in std::mem::take(&mut self.approvals) {
            self.cancel_approval(now, open, why, out);
        }
        if matches!(self.gate, Gate::Open(_)) && self.row.status == SessionStatus::WaitingApproval {
            self.set_status(now, SessionStatus::Running);
        }
    }

    pub(super) fn cancel_approval(&mut self, now: Timestamp, mut open: OpenApproval, why: &str, out: &mut Output) {
        open.row.state = ApprovalState::Cancelled;
        open.row.decided_at = Some(now);
        self.resolved(now, &open.row, ApprovalOutcome::Cancelled, Some(why.to_owned()), out);
        out.reply(open.reply, Err(Error::invalid(format!("approval {} was cancelled: {why}", open.row.id))));
    }

    fn resolved(&mut self, now: Timestamp, row: &ApprovalRow, outcome: ApprovalOutcome, note: Option<String>, out: &mut Output) {
        out.change(Change::PutApproval(Box::new(row.clone())));
        let event = ApprovalResolved {
            session_id: Some(self.row.id.clone()),
            source: "core".to_owned(),
            id: row.id.clone(),
            approval_id: row.approval_id.clone(),
            outcome,
            by: row.by.clone(),
            reason: note,
            timestamp: Some(now.to_string()),
        };
        self.log_event(&event.into(), out);
    }
}

/// The error of a second answer; it says who was first.
pub fn already_answered(approval: &Approval) -> Error {
    let how = match (&approval.decision, &approval.by) {
        (Some(decision), Some(by)) => format!("{decision} by {by}"),
        _ => "its run ended before anybody answered".to_owned(),
    };
    Error::InvalidArgs {
        message: format!("approval {} is {} already: {how}", approval.id, approval.state),
        detail: Some(
            serde_json::json!({ "cause": "already_resolved", "state": approval.state.as_str(), "decision": approval.decision, "by": approval.by }),
        ),
    }
}

fn answered_by(origin: &Origin) -> String {
    origin.supervisor.clone().unwrap_or_else(|| origin.via.to_string())
}
