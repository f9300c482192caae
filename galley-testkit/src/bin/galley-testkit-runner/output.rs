//! What the runner writes.

use galley_protocol::ipc::{ErrorEvent, Event};
use jiff::Timestamp;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is gathered before it is written.
const CHUNK: usize = 64 * 1024;

/// Standard output, for all threads. A line is written whole; lines of different threads do not mix.
pub struct Output {
    session_id: Option<String>,
    pipe: Mutex<Pipe>,
}

/// The pipe, held by one thread for as long as its lines belong together.
pub struct Pipe {
    /// A descriptor of our own: children share the one they inherit. `None` once it is closed.
    file: Option<File>,
    buffer: Vec<u8>,
    /// Set when the other end is gone.
    broken: bool,
}

impl Output {
    pub fn open(session_id: Option<&str>) -> io::Result<Self> {
        let pipe = Pipe { file: Some(own_stdout()?), buffer: Vec::with_capacity(CHUNK + 4096), broken: false };
        Ok(Self { session_id: session_id.map(str::to_owned), pipe: Mutex::new(pipe) })
    }

    /// The session's id, as events carry it.
    pub fn session(&self) -> Option<String> {
        self.session_id.clone()
    }

    pub fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one event.
    pub fn event(&self, event: impl Into<Event>) {
        if let Ok(line) = event.into().to_line() {
            self.line(&line);
        }
    }

    /// Writes one line, whatever it is.
    pub fn line(&self, line: &[u8]) {
        let mut pipe = self.lock();
        pipe.add(line);
        pipe.add(b"\n");
        pipe.flush();
    }

    pub fn error(&self, category: &str, severity: &str, context: &str, message: &str) {
        self.event(ErrorEvent {
            session_id: self.session(),
            message: message.to_owned(),
            category: category.into(),
            severity: severity.into(),
            retryable: false,
            hint: None,
            context: Some(context.to_owned()),
            traceback: None,
            source: None,
            exit_code: None,
            signal: None,
            stderr_tail: None,
            timestamp: now(),
        });
    }

    /// Whether the other end is gone.
    pub fn broken(&self) -> bool {
        self.lock().broken()
    }

    /// Closes standard output, here and for children started later.
    pub fn close(&self) -> io::Result<()> {
        let mut pipe = self.lock();
        pipe.flush();
        pipe.file = None;
        point_stdout_to_nothing()
    }
}

impl Pipe {
    /// Adds bytes; they are written when enough came together.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush();
        }
    }

    /// Adds a number in decimal.
    pub fn number(&mut self, number: u128) {
        // Writing to memory does not fail.
        let _ = write!(self.buffer, "{number}");
    }

    /// Whether the other end is gone.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// Writes what was added.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && file.write_all(&self.buffer).is_err()
        {
            self.file = None;
            self.broken = true;
        }
        self.buffer.clear();
    }
}

/// The time, as events carry it.
pub fn now() -> Option<String> {
    Some(Timestamp::now().to_string())
}

#[cfg(unix)]
fn own_stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn own_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(unix)]
fn point_stdout_to_nothing() -> io::Result<()> {
    let nothing = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nothing)?)
}

#[cfg(windows)]
fn point_stdout_to_nothing() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
