//! `llm.list`: the models of a runtime, as its last `ready` told them.

use super::ReadContext;
use crate::error::Error;
use crate::store::ReadStore;
use galley_protocol::ipc::Llm;
use galley_protocol::socket::{LlmList, LlmRow, RuntimeKind};

pub(super) async fn list(context: &dyn ReadContext, args: LlmList) -> Result<Vec<LlmRow>, Error> {
    let config = context.config()?;
    let named = |word| config.runtime(word).map(|runtime| vec![runtime]);
    let of_kind = |kind| config.runtimes().iter().filter(|runtime| runtime.kind() == kind).collect();
    let runtimes = match args.runtime.as_deref() {
        None => named("current")?,
        Some("all") => config.runtimes().iter().collect(),
        Some("managed") => of_kind(RuntimeKind::Managed),
        Some("external") => of_kind(RuntimeKind::External),
        Some(word) => named(word)?,
    };
    let mut rows = Vec::new();
    for runtime in runtimes {
        rows.extend(of_runtime(context.store(), &runtime.name).await?.into_iter().map(LlmRow::from));
    }
    Ok(rows)
}

/// The models of the runtime called `name`; none before its first `ready`.
pub async fn of_runtime(store: &dyn ReadStore, name: &str) -> Result<Vec<Llm>, Error> {
    let listed = store.setting(&format!("llms:{name}")).await?;
    // Written by Core; what an older one wrote differently counts as none.
    Ok(listed.and_then(|listed| serde_json::from_str(&listed).ok()).unwrap_or_default())
}
