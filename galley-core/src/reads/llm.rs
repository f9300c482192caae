//! `llm.list`: the models of a runtime, as its last `ready` told them.

use super::ReadContext;
use crate::error::Error;
use crate::store::ReadStore;
use galley_protocol::ipc::Llm;
use galley_protocol::socket::{LlmList, LlmRow};

pub(super) async fn list(context: &dyn ReadContext, args: LlmList) -> Result<Vec<LlmRow>, Error> {
    let config = context.config()?;
    let word = args.runtime.as_deref().unwrap_or("current");
    let mut rows = Vec::new();
    for runtime in config.runtimes().iter().filter(|_| word == "all") {
        rows.append(&mut of_runtime(context.store(), &runtime.name).await?);
    }
    if word != "all" {
        rows = of_runtime(context.store(), &config.runtime(word)?.name).await?;
    }
    Ok(rows.into_iter().map(LlmRow::from).collect())
}

/// The models of the runtime called `name`; none before its first `ready`.
pub async fn of_runtime(store: &dyn ReadStore, name: &str) -> Result<Vec<Llm>, Error> {
    let listed = store.setting(&format!("llms:{name}")).await?;
    // Written by Core; what an older one wrote differently counts as none.
    Ok(listed.and_then(|listed| serde_json::from_str(&listed).ok()).unwrap_or_default())
}
