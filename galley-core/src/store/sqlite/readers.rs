//! Reader threads: each has a connection of its own, started when all others are at work. They need
//! no runtime, and one long search never keeps a small read waiting.
//!
//! A program that does nothing else meanwhile reads on its own thread instead: handing a read over
//! and back would take it longer than the read.

use super::{file, refused, sqlite_error};
use crate::error::Error;
use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// Reader threads of one store.
const MAX_THREADS: usize = 4;
/// Reads that may wait for a thread.
const QUEUE: usize = 256;

type Job = Box<dyn FnOnce(Result<&Connection, Error>) + Send>;

#[derive(Debug)]
pub(super) struct Readers {
    path: Arc<Path>,
    /// Why nothing can be read, when the file was refused.
    refusal: Option<Error>,
    /// `None` only while dropping.
    jobs: Option<mpsc::Sender<Job>>,
    queue: Arc<Mutex<mpsc::Receiver<Job>>>,
    /// Reads asked for and not yet done.
    outstanding: Arc<AtomicUsize>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Reads in place, with this connection once it is open.
    in_place: Option<Mutex<Option<Connection>>>,
}

impl Readers {
    /// Readers of the file at `path`; with a refusal, every read answers it.
    pub(super) fn new(path: &Path, refusal: Option<Error>) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        Self {
            path: path.into(),
            refusal,
            in_place: None,
            jobs: Some(jobs),
            queue: Arc::new(Mutex::new(queue)),
            outstanding: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// The same, without threads: whoever asks waits for its own read, and blocks its thread.
    pub(super) fn in_place(path: &Path, refusal: Option<Error>) -> Self {
        let mut readers = Self::new(path, refusal);
        readers.in_place = Some(Mutex::default());
        readers
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `read`, on a reader thread if there are any.
    pub(super) async fn read<T: Send + 'static>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static) -> Result<T, Error> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        if let Some(slot) = &self.in_place {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            return read(opened(&mut slot, &self.path)?).map_err(|error| sqlite_error(&self.path, error));
        }
        let (done, result) = oneshot::channel();
        let path = Arc::clone(&self.path);
        let count = Outstanding::of(&self.outstanding);
        let job: Job = Box::new(move |connection| {
            let value = connection.and_then(|connection| read(connection).map_err(|error| sqlite_error(&path, error)));
            // Before the answer: whoever gets it may ask the next thing at once.
            drop(count);
            // The caller may have stopped waiting.
            let _ = done.send(value);
        });
        self.start_thread_if_all_are_busy()?;
        let gone = || Error::Internal("a reader thread ended early".to_owned());
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).await.map_err(|_| gone())?;
        result.await.map_err(|_| gone())?
    }

    fn start_thread_if_all_are_busy(&self) -> Result<(), Error> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= self.outstanding.load(Ordering::Relaxed).min(MAX_THREADS) {
            return Ok(());
        }
        let (path, queue) = (Arc::clone(&self.path), Arc::clone(&self.queue));
        let thread = thread::Builder::new()
            .name("galley-db-read".to_owned())
            .spawn(move || serve(&path, &queue))
            .map_err(|error| refused(format!("cannot start a reader thread: {error}")))?;
        threads.push(thread);
        Ok(())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A panic in a read has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn serve(path: &Path, queue: &Mutex<mpsc::Receiver<Job>>) {
    let mut connection = None;
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        let Some(job) = job else { return };
        job(opened(&mut connection, path));
    }
}

/// The connection of the slot, opened when it is first needed.
pub(super) fn opened<'a>(slot: &'a mut Option<Connection>, path: &Path) -> Result<&'a Connection, Error> {
    let connection = match slot.take() {
        Some(connection) => connection,
        None => file::open_reader(path)?,
    };
    Ok(slot.insert(connection))
}

/// Counts one read until it is dropped, done or not.
struct Outstanding(Arc<AtomicUsize>);

impl Outstanding {
    fn of(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
