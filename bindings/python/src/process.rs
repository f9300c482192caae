//! What all handles of one process share: the runtime, and the engines that run on it.
//!
//! A forked child has neither the runtime's threads nor a right to what they work on. It forgets both,
//! without ending anything, and may start anew; handles it got from its parent refuse to work.

use crate::error;
use galley_core::Core;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;

/// How long the exit waits for engines to end, and then for the runtime.
const ENGINES: Duration = Duration::from_secs(6);
const THREADS: Duration = Duration::from_secs(1);

/// Threads of the runtime. Python itself uses one at a time.
const WORKERS: usize = 2;

/// Only threads that are attached to the interpreter hold this lock, and none detaches with it: a
/// thread that forks finds it free.
static CURRENT: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// The runtime of one process.
pub struct Process {
    id: u32,
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    engines: Mutex<Vec<Engine>>,
    /// Cancelled when the interpreter ends.
    pub ending: CancellationToken,
}

struct Engine {
    core: Weak<Core>,
    ended: tokio::sync::watch::Receiver<bool>,
}

impl Process {
    /// This process's runtime, started by the first use.
    pub fn current() -> PyResult<Arc<Self>> {
        let mut current = lock(&CURRENT);
        if let Some(process) = &*current {
            return Ok(process.clone());
        }
        let runtime = Builder::new_multi_thread().worker_threads(WORKERS).thread_name("galley").enable_all().build()?;
        let process = Arc::new(Self {
            id: std::process::id(),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            engines: Mutex::default(),
            ending: CancellationToken::new(),
        });
        *current = Some(process.clone());
        Ok(process)
    }

    /// The runtime.
    ///
    /// # Errors
    /// In a forked child, and once the interpreter ends.
    pub fn handle(&self) -> PyResult<&Handle> {
        if self.is_inherited() {
            return Err(error::closed("this was opened before the process forked; open it again in the child"));
        }
        if self.ending.is_cancelled() {
            return Err(error::closed("the interpreter is ending"));
        }
        Ok(&self.handle)
    }

    /// Whether this is a parent's, in a forked child.
    pub fn is_inherited(&self) -> bool {
        self.id != std::process::id()
    }

    /// Has a new engine ended with the interpreter, and let go of in a forked child.
    pub fn keep(&self, core: &Arc<Core>, ended: tokio::sync::watch::Receiver<bool>) {
        let mut engines = lock(&self.engines);
        engines.retain(|engine| engine.core.strong_count() > 0);
        engines.push(Engine { core: Arc::downgrade(core), ended });
    }
}

/// Ends streams, calls, engines and the runtime.
pub fn end(py: Python<'_>) {
    let Some(process) = lock(&CURRENT).take() else { return };
    process.ending.cancel();
    let engines = std::mem::take(&mut *lock(&process.engines));
    py.detach(|| {
        process.handle.block_on(async {
            let all = async {
                for mut engine in engines {
                    // An error means it is gone already.
                    let _ = engine.ended.wait_for(|ended| *ended).await;
                }
            };
            // What takes longer ends with the process, through its guard.
            let _ = tokio::time::timeout(ENGINES, all).await;
        });
        if let Some(runtime) = lock(&process.runtime).take() {
            runtime.shutdown_timeout(THREADS);
        }
    });
}

/// Lets go of the parent's engines, and forgets its runtime.
pub fn after_fork_child() {
    let Some(process) = lock(&CURRENT).take() else { return };
    // Another thread may have been at it when the process forked, and is not here to let go.
    if let Ok(engines) = process.engines.try_lock() {
        for core in engines.iter().filter_map(|engine| engine.core.upgrade()) {
            core.after_fork_child();
            // Dropping it here would reach for the parent's threads.
            std::mem::forget(core);
        }
    }
    std::mem::forget(process);
}

/// Nothing panics while it holds one of these locks, so a poisoned one is as good as any.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
