//! `approval.*`: answers, rules, the mode.

use super::{origin, own_mode, unexpected};
use crate::core::Inner;
use crate::error::Error;
use crate::session::{Input, Reply, already_answered};
use crate::store::{ApprovalQuery, Change, ReadStore, SessionStore};
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{ApprovalMode, ApprovalModeResult, ApprovalModeSet, ApprovalRespond, ApprovalRespondResult, ApprovalRevoke, Rule};

impl Inner {
    pub(in crate::server) async fn approval_respond(&self, args: ApprovalRespond) -> Result<ApprovalRespondResult, Error> {
        if !args.decision.is_known() {
            return Err(Error::invalid(format!("decision {:?} is not one of {:?}", args.decision.as_str(), Decision::WORDS)));
        }
        let session_id = match (&args.session_id, self.store.approval_session(&args.id).await?) {
            (Some(given), Some(owner)) if *given != owner => {
                return Err(Error::invalid(format!("approval {} belongs to session {owner}, not {given}", args.id)));
            }
            (_, Some(owner)) => owner,
            (Some(given), None) => given.clone(),
            (None, None) => return Err(Error::NotFound(format!("approval {} does not exist; a runner's own id needs sessionId", args.id))),
        };
        let origin = origin(args.supervisor, args.reason);
        let (id, decision) = (args.id.clone(), args.decision);
        match self.ask_session(&session_id, move |to| Input::Respond { id, decision, origin, to }).await {
            Ok(Reply::Approved(approval)) => Ok(ApprovalRespondResult { approval: *approval }),
            Ok(other) => Err(unexpected(&other)),
            Err(Error::NotFound(message)) => Err(self.settled_approval(&session_id, &args.id).await?.unwrap_or(Error::NotFound(message))),
            Err(error) => Err(error),
        }
    }

    /// The error for an approval that is not open any more: it says how it ended.
    async fn settled_approval(&self, session_id: &str, id: &str) -> Result<Option<Error>, Error> {
        let query = ApprovalQuery { session_id: Some(session_id.to_owned()), id: None, all: true };
        let all = self.store.approvals(&query).await?;
        Ok(all.iter().rev().find(|approval| approval.id == id || approval.approval_id == id).map(already_answered))
    }

    pub(in crate::server) async fn approval_mode(&self, args: ApprovalModeSet) -> Result<ApprovalModeResult, Error> {
        let own = own_mode(Some(args.mode.clone()))?;
        let Some(session_id) = args.session_id else {
            let mode = own.unwrap_or(ApprovalMode::Ask);
            self.set_default_mode(mode.clone()).await?;
            return Ok(ApprovalModeResult { mode });
        };
        match self.ask_session(&session_id, |to| Input::SetMode { mode: own, to }).await? {
            Reply::Mode(mode) => Ok(ApprovalModeResult { mode }),
            other => Err(unexpected(&other)),
        }
    }

    pub(in crate::server) async fn approval_revoke(&self, args: ApprovalRevoke) -> Result<Vec<Rule>, Error> {
        if !self.store.rules_of(Some(&args.scope)).await?.iter().any(|rule| rule.tool == args.tool) {
            return Err(Error::NotFound(format!("no rule allows {} in scope {}", args.tool, args.scope)));
        }
        self.store.commit(vec![Change::RemoveRule { tool: args.tool.clone(), scope: args.scope.clone() }]).await?;
        // Every live runner that had the rule is told before the answer: it is safe from then on.
        for session in self.sessions.live() {
            session.inform(Input::RulesChanged { scope: args.scope.clone() }).await;
        }
        Ok(self.store.rules_of(Some(&args.scope)).await?.into_iter().map(crate::store::Rule::into_brief).collect())
    }
}
