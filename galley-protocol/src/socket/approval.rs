//! `approval.*`: what waits for a yes or a no.

use super::{wire, write_command};
use crate::RawJson;
use crate::ipc::{Decision, RiskLevel};
use crate::open_enum::open_enum;

open_enum! {
    /// Where an approval stands.
    pub enum ApprovalState {
        /// Nobody has answered.
        Pending = "pending",
        /// Answered; the runner has not got it yet.
        Answered = "answered",
        /// The runner was told yes.
        Allowed = "allowed",
        /// The runner was told no.
        Denied = "denied",
        /// The run ended first.
        Cancelled = "cancelled",
    }
}

open_enum! {
    /// Which approvals to list.
    pub enum ApprovalStateFilter { Pending = "pending", All = "all" }
}

open_enum! {
    /// How a session's approvals are handled.
    pub enum ApprovalMode {
        /// Every risky call waits for an answer.
        Ask = "ask",
        /// Calls run without asking.
        Auto = "auto",
        /// As the app default says.
        Default = "default",
    }
}

wire! {
    /// One approval.
    pub struct Approval {
        /// Core's id of it.
        pub id: String,
        /// The runner's id of it.
        pub approval_id: String,
        /// The session.
        pub session_id: String,
        /// The run.
        pub run: u64,
        /// The tool.
        pub tool_name: String,
        /// Its full arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub args: Option<RawJson>,
        /// The arguments for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub args_preview: Option<String>,
        /// How dangerous it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub risk_level: Option<RiskLevel>,
        /// Why it needs approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// Where it stands.
        pub state: ApprovalState,
        /// What was decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub decision: Option<Decision>,
        /// Who decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub by: Option<String>,
        /// When it was asked.
        pub created_at: String,
        /// When it was decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub decided_at: Option<String>,
    }

    /// Lists approvals, oldest first.
    #[derive(Default)]
    pub struct ApprovalList {
        /// One session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub session_id: Option<String>,
        /// `pending` by default, which includes those answered and not yet delivered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub state: Option<ApprovalStateFilter>,
    }

    /// An approval that was answered.
    pub struct ApprovalRespondResult {
        /// As it stands now.
        pub approval: Approval,
    }
}

write_command! {
    /// Answers an approval. The first answer wins.
    pub struct ApprovalRespond {
        /// Core's id, or the runner's together with `sessionId`.
        pub id: String,
        /// The session, for a runner's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub session_id: Option<String>,
        /// The answer.
        pub decision: Decision,
    }

    /// Takes a rule back, in live runners too; answered by the rules that remain in its scope.
    /// `not_found` if there is no such rule.
    #[derive(Default)]
    pub struct ApprovalRevoke {
        /// The tool.
        pub tool: String,
        /// The rule's scope, as in [`Rule`].
        pub scope: String,
    }
}

write_command! {
    /// Sets how approvals are handled: for one session, or the app default.
    pub struct ApprovalModeSet {
        /// One session; absent for the app default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub session_id: Option<String>,
        /// The mode.
        pub mode: ApprovalMode,
    }
}

wire! {
    /// Lists the rules, by scope and tool.
    #[derive(Default)]
    pub struct ApprovalRules {
        /// Only those of this scope, as in [`Rule`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub scope: Option<String>,
    }

    /// A tool that needs no approval.
    pub struct Rule {
        /// The tool.
        pub tool: String,
        /// Where: `global`, `ungrouped` (sessions without a project), or a project's id.
        pub scope: String,
        /// Who said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub by: Option<String>,
        /// When.
        pub created_at: String,
    }

    /// The mode in force.
    pub struct ApprovalModeResult {
        /// The mode that was set.
        pub mode: ApprovalMode,
    }
}
