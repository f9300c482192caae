//! `runtime.install`: an installation as the frames it yields.

use super::connection::FrameStream;
use crate::error::Error;
use futures::FutureExt;
use futures::future::BoxFuture;
use galley_protocol::socket::{InstallEnd, InstallFrame, InstallStep, RuntimeBrief};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Messages that may wait for the reader; the installation waits for a reader that is further behind.
const WAITING: usize = 64;

/// One installation. Dropping it ends the installation and what it has started.
pub struct InstallStream {
    request_id: Option<String>,
    progress: mpsc::Receiver<(InstallStep, String)>,
    outcome: JoinHandle<Result<RuntimeBrief, Error>>,
}

impl InstallStream {
    /// Starts `install`, which is handed where to tell its progress.
    pub fn start<F: Future<Output = Result<RuntimeBrief, Error>> + Send + 'static>(
        request_id: Option<String>,
        install: impl FnOnce(mpsc::Sender<(InstallStep, String)>) -> F,
    ) -> Self {
        let (sender, progress) = mpsc::channel(WAITING);
        Self { request_id, progress, outcome: tokio::spawn(install(sender)) }
    }

    async fn next(&mut self) -> InstallFrame {
        let request_id = self.request_id.clone();
        if let Some((step, message)) = self.progress.recv().await {
            return InstallFrame::Progress { request_id, step, message };
        }
        match (&mut self.outcome).await {
            Ok(Ok(runtime)) => {
                InstallFrame::End { request_id, reason: InstallEnd::Installed, runtime: Some(runtime), error: None, message: None, detail: None }
            }
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.failed(&Error::Internal("the installation broke off".to_owned())),
        }
    }

    fn failed(&self, error: &Error) -> InstallFrame {
        InstallFrame::End {
            request_id: self.request_id.clone(),
            reason: InstallEnd::Failed,
            runtime: None,
            error: Some(error.tag()),
            message: Some(error.to_string()),
            detail: error.detail(),
        }
    }
}

impl Drop for InstallStream {
    fn drop(&mut self) {
        self.outcome.abort();
    }
}

impl FrameStream for InstallStream {
    fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    fn next(&mut self) -> BoxFuture<'_, (Vec<u8>, bool)> {
        async {
            let frame = Self::next(self).await;
            (super::connection::line(&frame), matches!(frame, InstallFrame::End { .. }))
        }
        .boxed()
    }

    fn cancel(&self) -> Vec<u8> {
        super::connection::line(&self.failed(&Error::invalid("the installation was cancelled")))
    }
}
