//! `runtime.list` and `runtime.show`.

use super::ReadContext;
use crate::error::Error;
use galley_protocol::socket::{RuntimeBrief, RuntimeList, RuntimeShow};

pub(super) fn list(context: &dyn ReadContext, _: &RuntimeList) -> Result<Vec<RuntimeBrief>, Error> {
    context.config().map(|config| config.briefs())
}

pub(super) fn show(context: &dyn ReadContext, args: &RuntimeShow) -> Result<RuntimeBrief, Error> {
    let config = context.config()?;
    config.runtime(&args.name).map(|runtime| config.brief(runtime))
}
