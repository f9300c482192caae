//! `runtime.check`.

use crate::core::Inner;
use crate::error::Error;
use galley_protocol::socket::{RuntimeCheck, RuntimeCheckResult};

impl Inner {
    pub(in crate::server) async fn runtime_check(&self, args: RuntimeCheck) -> Result<RuntimeCheckResult, Error> {
        self.check_runtime(&args.name).await
    }
}
