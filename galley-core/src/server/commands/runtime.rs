//! `runtime.*` with a Core.

use crate::core::Inner;
use crate::error::Error;
use crate::server::install::InstallStream;
use galley_protocol::socket::{RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult, RuntimeInstall};
use std::sync::Arc;

impl Inner {
    pub(in crate::server) async fn runtime_add(&self, args: RuntimeAdd) -> Result<RuntimeBrief, Error> {
        self.runtimes().await.add(args).await
    }

    pub(in crate::server) async fn runtime_check(&self, args: RuntimeCheck) -> Result<RuntimeCheckResult, Error> {
        self.runtimes().await.check(self.config()?.as_ref(), args).await
    }

    pub(in crate::server) fn runtime_install(self: Arc<Self>, args: RuntimeInstall, request_id: Option<String>) -> InstallStream {
        InstallStream::start(request_id, async move |progress| self.runtimes().await.install(args, progress).await)
    }
}
