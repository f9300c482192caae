//! Rows as the wire shows them.

use super::{ApprovalRow, MessageRow, Rule, SessionRow};
use galley_protocol::socket::{self, Approval, MessageBrief, MessageState, QueueItem, SessionBrief, Visibility};

/// What a session's brief counts besides its row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Messages waiting behind the open run.
    pub queued: u32,
    /// Messages waiting for a runner.
    pub pending: u32,
    /// Index of the log's last event, 0 when it is empty.
    pub last_index: u64,
}

impl SessionRow {
    /// The row as the wire shows it.
    pub fn into_brief(self, counts: SessionCounts) -> SessionBrief {
        let (llm_key, llm_name) = self.llm.map_or((None, None), |llm| (Some(llm.key), llm.display_name));
        SessionBrief {
            id: self.id,
            project_id: self.project_id,
            title: self.title,
            status: self.status,
            summary: self.summary,
            turn_count: Some(self.turn_count),
            last_activity_at: self.last_activity_at.to_string(),
            created_at: self.created_at.to_string(),
            updated_at: self.updated_at.to_string(),
            pinned: self.pinned,
            has_unread: self.has_unread,
            origin: self.origin,
            selected_llm_index: self.llm_index,
            selected_llm_key: llm_key,
            selected_llm_display_name: llm_name,
            runtime_kind: self.runtime_kind.clone(),
            runtime_label: self.runtime_label,
            ga_runtime_kind: self.runtime_kind,
            ga_runtime_id: Some(self.runtime_id),
            prompt_profile: self.prompt_profile,
            approval_mode: self.approval_mode,
            last_exit: self.last_exit,
            queued_count: (counts.queued > 0).then_some(counts.queued),
            pending_count: (counts.pending > 0).then_some(counts.pending),
            ask_pending: self.ask.is_some().then_some(true),
            last_index: Some(counts.last_index),
            cwd: self.cwd,
        }
    }
}

impl MessageRow {
    /// The row as the wire shows it.
    pub fn into_brief(self) -> MessageBrief {
        MessageBrief {
            id: self.id,
            session_id: self.session_id,
            role: self.role,
            content: self.content,
            final_answer: self.final_answer,
            created_at: self.created_at.to_string(),
            summary: self.summary,
            turn_index: self.turn_index,
            origin: self.origin,
            visibility: (self.visibility != Visibility::Visible).then_some(self.visibility),
            attachments: None,
            state: self.state,
            step_index: self.step_index,
            partial: self.partial.then_some(true),
            thinking: self.thinking,
            tool_calls: self.tool_calls,
            tool_results: self.tool_results,
            ask_user: self.ask_user,
            telemetry: self.telemetry,
        }
    }
}

impl MessageRow {
    /// A message that waits, at its place in the line.
    pub fn into_queue_item(self, position: u32) -> QueueItem {
        QueueItem {
            message_id: self.id,
            position,
            state: self.state.unwrap_or(MessageState::Pending),
            content: self.content,
            created_at: self.created_at.to_string(),
        }
    }
}

impl Rule {
    /// The rule as the wire shows it.
    pub fn into_brief(self) -> socket::Rule {
        socket::Rule { tool: self.tool, scope: self.scope, by: self.by, created_at: self.created_at.to_string() }
    }
}

impl ApprovalRow {
    /// The row as the wire shows it.
    pub fn into_brief(self) -> Approval {
        Approval {
            id: self.id,
            approval_id: self.approval_id,
            session_id: self.session_id,
            run: self.run,
            tool_name: self.tool_name,
            args: self.args,
            args_preview: self.args_preview,
            risk_level: self.risk_level,
            reason: self.reason,
            state: self.state,
            decision: self.decision,
            by: self.by,
            created_at: self.created_at.to_string(),
            decided_at: self.decided_at.map(|time| time.to_string()),
        }
    }
}
