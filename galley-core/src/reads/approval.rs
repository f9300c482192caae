//! `approval.list` and `approval.rules`.

use super::{ReadContext, session, unknown_word};
use crate::error::Error;
use crate::store::{self, ApprovalQuery};
use galley_protocol::socket::{Approval, ApprovalList, ApprovalRules, ApprovalStateFilter, Rule};

pub(super) async fn list(context: &dyn ReadContext, args: ApprovalList) -> Result<Vec<Approval>, Error> {
    let all = match args.state {
        None | Some(ApprovalStateFilter::Pending) => false,
        Some(ApprovalStateFilter::All) => true,
        Some(other) => return Err(unknown_word("state filter", other.as_str(), ApprovalStateFilter::WORDS)),
    };
    if let Some(session_id) = &args.session_id {
        session::find(context.store(), session_id).await?;
    }
    context.store().approvals(&ApprovalQuery { session_id: args.session_id, id: None, all }).await
}

pub(super) async fn rules(context: &dyn ReadContext, args: ApprovalRules) -> Result<Vec<Rule>, Error> {
    let rules = context.store().rules_of(args.scope.as_deref()).await?;
    Ok(rules.into_iter().map(store::Rule::into_brief).collect())
}
