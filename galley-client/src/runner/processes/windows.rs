//! Parents. What a runner started ends with Galley's job object.

use windows::Win32::Foundation::{CloseHandle, HANDLE};
use windows::Win32::System::Threading::{INFINITE, OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject};

/// Waits for the end of process `pid`.
pub(in crate::runner) async fn gone(pid: u32) {
    // A failed wait is no end of the process.
    if tokio::task::spawn_blocking(move || wait_for(pid)).await.is_err() {
        std::future::pending().await
    }
}

#[allow(unsafe_code)]
fn wait_for(pid: u32) {
    // SAFETY: the handle is used and closed here alone. It keeps the id from being given to another
    // process.
    unsafe {
        if let Ok(handle) = OpenProcess(PROCESS_SYNCHRONIZE, false, pid) {
            let handle: HANDLE = handle;
            WaitForSingleObject(handle, INFINITE);
            let _ = CloseHandle(handle);
        }
    }
}

/// There is no such signal here.
pub(in crate::runner) async fn terminated() {
    std::future::pending().await
}

/// The job object holds them.
pub(in crate::runner) fn end_descendants() {}
