//! Rows as clients see them.

use super::{ApprovalRow, MessageRow, SessionRow};
use galley_protocol::socket::{Approval, MessageBrief, SessionBrief, Visibility};

impl SessionRow {
    /// The row as clients see it, with what is counted elsewhere.
    pub fn brief(&self, queued: u32, pending: u32, last_index: u64) -> SessionBrief {
        SessionBrief {
            id: self.id.clone(),
            project_id: self.project_id.clone(),
            title: self.title.clone(),
            status: self.status.clone(),
            summary: self.summary.clone(),
            turn_count: Some(self.turn_count),
            last_activity_at: self.last_activity_at.to_string(),
            created_at: self.created_at.to_string(),
            updated_at: self.updated_at.to_string(),
            pinned: self.pinned,
            has_unread: self.has_unread,
            origin: self.origin.clone(),
            selected_llm_index: self.llm_index,
            selected_llm_key: self.llm.as_ref().map(|llm| llm.key.clone()),
            selected_llm_display_name: self.llm.as_ref().and_then(|llm| llm.display_name.clone()),
            runtime_kind: self.runtime_kind.clone(),
            runtime_label: self.runtime_label.clone(),
            ga_runtime_kind: self.runtime_kind.clone(),
            ga_runtime_id: Some(self.runtime_id.clone()),
            prompt_profile: self.prompt_profile.clone(),
            approval_mode: self.approval_mode.clone(),
            last_exit: self.last_exit.clone(),
            queued_count: (queued > 0).then_some(queued),
            pending_count: (pending > 0).then_some(pending),
            ask_pending: self.ask.is_some().then_some(true),
            last_index: Some(last_index),
            cwd: self.cwd.clone(),
        }
    }
}

impl MessageRow {
    /// The row as clients see it.
    pub fn brief(&self) -> MessageBrief {
        MessageBrief {
            id: self.id.clone(),
            session_id: self.session_id.clone(),
            role: self.role.clone(),
            content: self.content.clone(),
            final_answer: self.final_answer.clone(),
            created_at: self.created_at.to_string(),
            summary: self.summary.clone(),
            turn_index: self.turn_index,
            origin: self.origin.clone(),
            visibility: (self.visibility != Visibility::Visible).then(|| self.visibility.clone()),
            attachments: None,
            state: self.state.clone(),
            step_index: self.step_index,
            partial: self.partial.then_some(true),
            thinking: self.thinking.clone(),
            tool_calls: self.tool_calls.clone(),
            tool_results: self.tool_results.clone(),
            ask_user: self.ask_user.clone(),
            telemetry: self.telemetry.clone(),
        }
    }
}

impl ApprovalRow {
    /// The row as clients see it.
    pub fn brief(&self) -> Approval {
        Approval {
            id: self.id.clone(),
            approval_id: self.approval_id.clone(),
            session_id: self.session_id.clone(),
            run: self.run,
            tool_name: self.tool_name.clone(),
            args: self.args.clone(),
            args_preview: self.args_preview.clone(),
            risk_level: self.risk_level.clone(),
            reason: self.reason.clone(),
            state: self.state.clone(),
            decision: self.decision.clone(),
            by: self.by.clone(),
            created_at: self.created_at.to_string(),
            decided_at: self.decided_at.map(|at| at.to_string()),
        }
    }
}
