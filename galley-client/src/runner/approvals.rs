//! Which tools may run: the rules Galley sends, and the approvals that wait for a person.

use super::error::AgentError;
use galley_protocol::ipc::{ApprovalResponse, Decision, SetApprovalRules};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use uuid::Uuid;

/// The approval state of a session (IPC protocol §5.2, §5.6, §5.7).
///
/// Only a known decision about an approval that waits changes anything; a lost or late answer, the
/// end of the input and an abort never mean yes.
#[derive(Debug, Default)]
pub(super) struct Approvals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    automatic: bool,
    everywhere: HashSet<String>,
    project: HashSet<String>,
    waiting: HashMap<String, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    tool: String,
    answer: oneshot::Sender<Decision>,
}

impl Approvals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the tools that need no approval.
    pub(super) fn set_rules(&self, rules: SetApprovalRules) {
        let mut state = self.state();
        state.everywhere = rules.always_allow_global.into_iter().collect();
        state.project = rules.always_allow_project.into_iter().collect();
    }

    /// Turns automatic execution on or off. It does not answer what already waits.
    pub(super) fn set_automatic(&self, enabled: bool) {
        self.state().automatic = enabled;
    }

    /// Whether `tool` may run without asking.
    pub(super) fn allows(&self, tool: &str) -> bool {
        let state = self.state();
        state.automatic || state.everywhere.contains(tool) || state.project.contains(tool)
    }

    /// Begins to wait for an answer about `tool`.
    pub(super) fn open(&self, tool: &str) -> Open<'_> {
        let id = format!("appr_{}", Uuid::new_v4().simple());
        let (answer, answered) = oneshot::channel();
        self.state().waiting.insert(id.clone(), Waiting { tool: tool.to_owned(), answer });
        Open { approvals: self, id, answered }
    }

    /// Takes an answer. An `always_allow` one is remembered until the next [`set_rules`](Self::set_rules).
    ///
    /// # Errors
    /// Nothing of this id waits, or the decision is none; what waits goes on waiting.
    pub(super) fn answer(&self, response: ApprovalResponse) -> Result<(), AgentError> {
        let ApprovalResponse { approval_id, decision } = response;
        if !decision.is_known() {
            return Err(AgentError::refused(format!("no such decision: {decision}")));
        }
        let mut state = self.state();
        let Some(Waiting { tool, answer }) = state.waiting.remove(&approval_id) else {
            return Err(AgentError::refused(format!("no approval {approval_id} is waiting")));
        };
        match decision {
            Decision::AlwaysAllowGlobal => drop(state.everywhere.insert(tool)),
            Decision::AlwaysAllowProject => drop(state.project.insert(tool)),
            _ => {}
        }
        // Whoever asked may have been stopped meanwhile.
        let _ = answer.send(decision);
        Ok(())
    }
}

/// An approval that waits. Dropped, it waits no longer, and an answer from there on is refused.
pub(super) struct Open<'a> {
    approvals: &'a Approvals,
    pub(super) id: String,
    answered: oneshot::Receiver<Decision>,
}

impl Open<'_> {
    /// Whether the answer was yes; no answer is no.
    pub(super) async fn allowed(mut self) -> bool {
        (&mut self.answered).await.is_ok_and(|decision| decision.allows())
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.approvals.state().waiting.remove(&self.id);
    }
}
