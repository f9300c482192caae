//! How a wait learns that it is worth looking again.

use crate::store::ReadStore;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often a file is asked whether somebody has committed.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Tells when something was committed. Created before the first look, so that nothing falls between.
#[async_trait]
pub trait Changes: Send + Sync {
    /// Returns after the next commit since the last call. Cancelling it loses none.
    async fn changed(&mut self);
}

/// Told by whoever commits.
#[async_trait]
impl Changes for watch::Receiver<u64> {
    async fn changed(&mut self) {
        if watch::Receiver::changed(self).await.is_err() {
            // Nobody commits any more; the wait's own clock goes on.
            std::future::pending::<()>().await;
        }
    }
}

/// Asks the file: for readers beside a Core, or without one.
pub struct PolledChanges {
    store: Arc<dyn ReadStore>,
    seen: Option<i64>,
}

impl PolledChanges {
    /// Changes from now on.
    pub async fn of(store: Arc<dyn ReadStore>) -> Self {
        // A file that cannot be asked now counts as changed when it can.
        let seen = store.data_version().await.ok();
        Self { store, seen }
    }
}

#[async_trait]
impl Changes for PolledChanges {
    async fn changed(&mut self) {
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            let now = self.store.data_version().await.ok();
            if now.is_some() && now != self.seen {
                self.seen = now;
                return;
            }
        }
    }
}
