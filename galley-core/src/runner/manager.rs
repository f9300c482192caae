//! The runners of one Core: at most one per session, and nothing of any left behind.

use super::backend::{Backend, Exit, Runner, StartSpec};
use super::descriptors::Descriptors;
use super::spawn::Processes;
use crate::error::Error;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Starts runners and cleans up behind them. Dropping the last handle to it (and to its runners)
/// ends every process it started.
#[derive(Debug)]
pub struct RunnerManager {
    processes: Arc<Processes>,
    live: Arc<Live>,
    next_generation: AtomicU64,
}

impl RunnerManager {
    /// The runners of the Core that holds `lock_file`. By that path, what an earlier Core left
    /// behind is told from what belongs to others.
    pub fn new(lock_file: &Path) -> Self {
        Self { processes: Processes::new(lock_file), live: Arc::default(), next_generation: AtomicU64::new(1) }
    }

    /// What a new runner of a session is started with; fill in the rest. Generations only grow.
    pub fn spec(&self, session_id: impl Into<String>) -> StartSpec {
        let session_id = session_id.into();
        let generation = self.next_generation.fetch_add(1, Ordering::Relaxed);
        let marker = self.processes.identity().runner(&session_id, generation);
        StartSpec { session_id, generation, marker, llm_no: None, workspace_root: None, cwd: None }
    }

    /// Starts a runner. Its `exit` comes when everything that carries its mark is gone, and only
    /// then may the session have another.
    ///
    /// # Errors
    /// What the backend says, and [`Error::Internal`] when the session has a runner already.
    pub async fn start(&self, backend: &dyn Backend, spec: StartSpec) -> Result<Runner, Error> {
        let entry = self.live.enter(&spec)?;
        let (mark, processes) = (spec.marker.clone(), Arc::clone(&self.processes));
        let mut runner = match backend.start(spec).await {
            Ok(runner) => runner,
            Err(error) => {
                processes.clean_up(&mark).await;
                return Err(error);
            }
        };
        let (exit_out, exit) = oneshot::channel();
        let ended = std::mem::replace(&mut runner.exit, exit);
        tokio::spawn(async move {
            // A backend that fails to say how its runner ended has ended all the same.
            let how: Exit = ended.await.unwrap_or_default();
            processes.clean_up(&mark).await;
            drop(entry);
            let _ = exit_out.send(how);
        });
        Ok(runner)
    }

    /// The generation of the session's runner, if it has one that has not ended.
    pub fn generation(&self, session_id: &str) -> Option<u64> {
        self.live.sessions().get(session_id).copied()
    }

    /// How many runners there are.
    pub fn count(&self) -> usize {
        self.live.sessions().len()
    }

    /// Kills what an earlier Core on the same data left behind. To be called under the instance
    /// lock, before the first runner starts: without the lock, that Core may be alive.
    pub async fn sweep_predecessors(&self) {
        self.processes.sweep_predecessors().await;
    }

    /// Kills everything this Core started: the last step of a shutdown.
    pub async fn kill_all(&self) {
        self.processes.clean_up(self.processes.identity().instance()).await;
    }

    /// Lets go of everything in the child of a `fork` that executes no other program (such as
    /// Python's `os.fork`): every pipe of this Core is pointed to nothing there, so that the child
    /// neither writes into one nor keeps one open, and nothing is killed from it. In any other
    /// process it does nothing. The child must not use its copy of this Core, nor drop it: leak it.
    pub fn after_fork_child(&self) {
        self.descriptors().release_in_child();
    }

    /// What a forked child lets go of.
    pub(crate) fn descriptors(&self) -> &Descriptors {
        self.processes.descriptors()
    }

    pub(crate) fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }
}

/// Which sessions have a runner.
#[derive(Debug, Default)]
struct Live(Mutex<HashMap<String, u64>>);

/// A session's entry, until dropped.
#[derive(Debug)]
struct Entry {
    live: Arc<Live>,
    session_id: String,
}

impl Live {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        // Every change is one step, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>, spec: &StartSpec) -> Result<Entry, Error> {
        let mut sessions = self.sessions();
        if sessions.contains_key(&spec.session_id) {
            return Err(Error::Internal(format!("session {} has a runner already", spec.session_id)));
        }
        sessions.insert(spec.session_id.clone(), spec.generation);
        Ok(Entry { live: Arc::clone(self), session_id: spec.session_id.clone() })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.live.sessions().remove(&self.session_id);
    }
}
