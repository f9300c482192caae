//! The signals that ask a program to end, and the exit codes that tell of them.

/// Ctrl-C, and what a system or a closing terminal sends.
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

/// The exit code of a program that Ctrl-C ended.
pub const INTERRUPTED: i32 = 130;

#[cfg(unix)]
impl Signals {
    /// Takes the signals over from now on.
    pub fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup: signal(SignalKind::hangup())? })
    }

    /// Waits for the next one; returns 128 and its number, the exit code that tells of it. Cancelling
    /// loses none.
    pub async fn arrived(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => 143,
            _ = self.hangup.recv() => 129,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Takes Ctrl-C over from now on.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next one; returns the exit code that tells of it.
    pub async fn arrived(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPTED
    }
}
