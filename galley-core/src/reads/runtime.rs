//! `runtime.list`.

use super::ReadContext;
use crate::error::Error;
use galley_protocol::socket::{RuntimeBrief, RuntimeList};

pub(super) fn list(context: &dyn ReadContext, _: &RuntimeList) -> Result<Vec<RuntimeBrief>, Error> {
    context.config().map(|config| config.briefs())
}
