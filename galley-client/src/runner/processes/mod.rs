//! The processes around a runner: the one that started it, and those it started itself.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{end_descendants, gone, terminated};
#[cfg(windows)]
pub(super) use windows::{end_descendants, gone, terminated};

/// Waits for the end of the process that `GALLEY_CORE_PID` names; for ever when it names none.
///
/// Standard input ends with it as well; this helps where somebody else keeps that pipe open.
pub(super) async fn parent_gone() {
    match std::env::var("GALLEY_CORE_PID").ok().and_then(|pid| pid.parse().ok()) {
        Some(pid) => gone(pid).await,
        None => std::future::pending().await,
    }
}
