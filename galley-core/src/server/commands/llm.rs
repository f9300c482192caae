//! `llm.set`: choosing a model by the names its runtime last told.

use super::unexpected;
use crate::core::Inner;
use crate::error::Error;
use crate::reads::{llm, session};
use crate::session::{Input, Reply};
use galley_protocol::ipc::Llm;
use galley_protocol::socket::{LlmSet, LlmSetResult};

impl Inner {
    pub(in crate::server) async fn llm_set(&self, args: LlmSet) -> Result<LlmSetResult, Error> {
        let session = session::find(self.store.as_ref(), &args.session_id).await?;
        let runtime = session.ga_runtime_id.unwrap_or_default();
        let llm = self.find_llm(&runtime, &args.llm).await?;
        match self.ask_session(&args.session_id, move |to| Input::SetLlm { llm, to }).await? {
            Reply::Model(result) => Ok(*result),
            other => Err(unexpected(&other)),
        }
    }

    /// The model that a runtime's last `ready` listed under this display name, else under this raw
    /// name or key; upper and lower case are the same.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] when there is none, or no list yet.
    pub(super) async fn find_llm(&self, runtime: &str, wanted: &str) -> Result<Llm, Error> {
        let llms = llm::of_runtime(self.store.as_ref(), runtime).await?;
        if llms.is_empty() {
            return Err(Error::invalid(format!("runtime {runtime} has not listed any models yet; start a session or check the runtime first")));
        }
        let wanted = wanted.trim().to_lowercase();
        let names: [fn(&Llm) -> &str; 3] = [|llm| &llm.display_name, |llm| &llm.name, Llm::key];
        let found = names.iter().find_map(|name| llms.iter().find(|llm| name(llm).to_lowercase() == wanted));
        found.cloned().ok_or_else(|| {
            let known = llms.iter().map(|llm| llm.display_name.as_str()).collect::<Vec<_>>().join(", ");
            Error::invalid(format!("runtime {runtime} has no model {wanted:?}; it has {known}"))
        })
    }
}
