//! One run: a command line from its message to `run_complete`.

use super::output::{Decoder, Output};
use super::place::{Environment, Place};
use super::report::{Call, Verdict, Voice};
use crate::runner::descriptors::Listed;
use crate::runner::marker;
use crate::runner::spawn::{Process, Processes, Status};
use bytes::Bytes;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep_until;

/// Evaluates the keeper, then the command line, neither of them quoted once more. The arguments are
/// cleared before the command line begins, in its first line, so that its line numbers are right.
const SCRIPT: &str = r#"eval "$3"; eval "set --; $1"; { __galley_keep "$?"; set +x; } 2>/dev/null; exit "$__galley_code""#;
const KEEPER: &str = include_str!("keep.sh");

/// A command line longer than this, in bytes, is passed in a file: systems bound the length of an
/// argument, Linux at 128 KiB.
const LONGEST_ARGUMENT: usize = 96 << 10;

/// As [`SCRIPT`], for a command line in a file. What its end loses are newlines.
const SCRIPT_OF_FILE: &str =
    r#"eval "$3"; eval "set --; $(command -p cat "$1")"; { __galley_keep "$?"; set +x; } 2>/dev/null; exit "$__galley_code""#;

/// How long output is waited for after the shell's exit when something else still holds the pipe.
const LINGER: Duration = Duration::from_millis(250);

/// What a pipe may hold: written before the shell's exit, it is read however slow the reader is.
const PIPE_CAPACITY: usize = 64 << 10;

const READ_SIZE: usize = 16 << 10;

/// The exit code of what could not be started, as shells have it.
const NOT_STARTED: i32 = 126;

/// What all runs of an agent have in common.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) processes: Arc<Processes>,
    /// The user's shell.
    pub(super) shell: PathBuf,
    /// The session's own folder below the data directory.
    pub(super) folder: PathBuf,
    pub(super) session: String,
    /// The agent's mark; each command has a narrower one.
    pub(super) mark: String,
    /// Where a new session starts.
    pub(super) start: PathBuf,
    /// Where it goes when its directory is gone.
    pub(super) home: PathBuf,
    pub(super) voice: Voice,
    pub(super) lines: mpsc::Sender<Bytes>,
}

/// A run about to begin.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) base: Arc<Base>,
    pub(super) call: Call,
    pub(super) place: Place,
    /// The approval to ask for, and where its answer (may it run?) comes from.
    pub(super) approval: Option<(String, oneshot::Receiver<bool>)>,
    /// Becomes true when the user stops it.
    pub(super) abort: watch::Receiver<bool>,
}

/// What a run leaves behind.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) place: Place,
    /// The pipe, when something in the background still holds it.
    pub(super) pipe: Option<Pipe>,
}

/// Our end of a command's output.
#[derive(Debug)]
pub(super) struct Pipe {
    _listed: Listed,
    pub(super) end: platform::Reader,
}

/// A command that has ended.
struct Ended {
    verdict: Verdict,
    output: String,
    pipe: Option<Pipe>,
}

impl Run {
    /// Says everything from `turn_start` to `run_complete`. Dropping it kills the command.
    pub(super) async fn perform(mut self) -> Left {
        let base = Arc::clone(&self.base);
        let voice = &base.voice;
        base.say(voice.turn_start()).await;
        let (begun, ended) = match self.permission().await {
            Ok(()) => {
                base.say(voice.tool_start(&self.call)).await;
                (Instant::now(), self.execute().await)
            }
            Err(verdict) => (Instant::now(), Ended { verdict, output: String::new(), pipe: None }),
        };
        let Ended { verdict, output, pipe } = ended;
        let elapsed = begun.elapsed();
        base.say(voice.tool_end(&self.call, verdict, &output, elapsed)).await;
        if verdict != Verdict::Aborted {
            base.say(voice.turn_end(&self.call, verdict, &output, elapsed)).await;
        }
        base.say(voice.run_complete(verdict, &output)).await;
        Left { place: self.place, pipe }
    }

    async fn permission(&mut self) -> Result<(), Verdict> {
        if let Some((id, answer)) = self.approval.take() {
            self.base.say(self.base.voice.pending(&self.call, &id)).await;
            tokio::select! {
                biased;
                () = aborted(&mut self.abort) => return Err(Verdict::Aborted),
                // An approval that nobody can answer any more is not one.
                answer = answer => if !answer.unwrap_or(false) { return Err(Verdict::Denied) },
            }
        }
        if *self.abort.borrow() { Err(Verdict::Aborted) } else { Ok(()) }
    }

    async fn execute(&mut self) -> Ended {
        let base = Arc::clone(&self.base);
        let directory = self.place.directory.clone().unwrap_or_else(|| base.start.clone());
        if !is_directory(&directory).await {
            // What was meant for one directory is not run in another.
            let why = format!(
                "The directory {} does not exist any more. Nothing was run; the next command starts in {}.\n",
                directory.display(),
                base.home.display()
            );
            self.place.directory = Some(base.home.clone());
            self.remember().await;
            return base.not_started(why).await;
        }
        self.place.directory = Some(directory);
        let before = self.place.clone();
        match self.start() {
            Ok(started) => {
                let ended = self.follow(started).await;
                if self.place != before {
                    self.remember().await;
                }
                ended
            }
            Err(error) => base.not_started(format!("The command could not be started: {error}\n")).await,
        }
    }

    fn start(&self) -> io::Result<Started> {
        let base = &self.base;
        let report = tempfile::Builder::new().prefix("report-").tempfile_in(&base.folder)?.into_temp_path();
        let mut given = self.place.environment(std::env::vars_os().collect());
        let ours = base.variables();
        given.extend(ours.iter().map(|(name, value)| ((*name).into(), value.into())));
        // Output should come when it is written, unless the user wants it otherwise.
        given.entry("PYTHONUNBUFFERED".into()).or_insert_with(|| "1".into());
        given.entry("PYTHONIOENCODING".into()).or_insert_with(|| "utf-8".into());

        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&base.shell);
        let name = base.shell.file_name().unwrap_or(base.shell.as_os_str());
        let text = if self.call.text.len() > LONGEST_ARGUMENT { Some(self.text_in_file()?) } else { None };
        match &text {
            Some(file) => command.args(["-c", SCRIPT_OF_FILE]).arg(name).arg(file),
            None => command.args(["-c", SCRIPT]).arg(name).arg(&self.call.text),
        };
        command.arg(&report).arg(KEEPER);
        command.env_clear().envs(&given);
        if let Some(directory) = &self.place.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let process = base.processes.spawn(command, &marker::command(&base.mark, &self.call.id))?;
        let pipe = Pipe { _listed: base.processes.descriptors().list(&reader), end: platform::reader(reader)? };
        Ok(Started { process, pipe, report, _text: text, given })
    }

    fn text_in_file(&self) -> io::Result<tempfile::TempPath> {
        if self.call.text.contains('\0') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a command line holds no NUL"));
        }
        let mut file = tempfile::Builder::new().prefix("command-").tempfile_in(&self.base.folder)?;
        file.write_all(self.call.text.as_bytes())?;
        Ok(file.into_temp_path())
    }

    /// Passes the output on until the command has ended or is stopped.
    async fn follow(&mut self, started: Started) -> Ended {
        let Started { mut process, mut pipe, report, _text, given } = started;
        let base = &self.base;
        let mut decoder = Decoder::default();
        let mut output = Output::new(base.folder.join(format!("output-{}.txt", self.call.id)));
        let mut buffer = vec![0; READ_SIZE];
        let mut unsaid: Option<Bytes> = None;
        let mut open = true;
        let mut exit: Option<Exited> = None;
        let stopped = loop {
            if !open && unsaid.is_none() && exit.is_some() {
                break false;
            }
            let waits_until = exit.as_ref().map(|exit| exit.until);
            tokio::select! {
                biased;
                () = aborted(&mut self.abort) => break true,
                () = process.exited(), if exit.is_none() => exit = Some(Exited { until: tokio::time::Instant::now() + LINGER, read: 0 }),
                // While nobody takes the output, no more is read, and the command waits on its pipe.
                permit = base.lines.reserve(), if unsaid.is_some() => match (permit, unsaid.take()) {
                    (Ok(permit), Some(line)) => permit.send(line),
                    // Nobody listens any more: this is about to be dropped.
                    _ => open = false,
                },
                read = pipe.end.read(&mut buffer), if open && unsaid.is_none() => {
                    let count = read.unwrap_or(0);
                    open = count > 0;
                    output.push(&buffer[..count]).await;
                    let text = decoder.push(&buffer[..count]);
                    unsaid = (!text.is_empty()).then(|| base.voice.progress(text));
                    if let Some(exit) = &mut exit {
                        exit.read += count;
                        if exit.read > PIPE_CAPACITY && tokio::time::Instant::now() >= exit.until {
                            break false;
                        }
                    }
                }
                () = sleep_until(waits_until.unwrap_or_else(tokio::time::Instant::now)), if open && unsaid.is_none() && exit.is_some() => break false,
            }
        };
        let verdict = if stopped {
            process.end().await;
            Verdict::Aborted
        } else {
            let Status { code, signal } = process.release().await;
            let reported = self.place.absorb(&tokio::fs::read(&report).await.unwrap_or_default(), &given, &base.ours());
            Verdict::Ended { code: if signal.is_none() { code.or(reported) } else { None }, signal }
        };
        let rest = decoder.finish();
        for line in unsaid.into_iter().chain((!rest.is_empty()).then(|| base.voice.progress(rest))) {
            base.say(line).await;
        }
        Ended { verdict, output: output.into_text().await, pipe: (open && !stopped).then_some(pipe) }
    }

    async fn remember(&self) {
        let (place, folder) = (self.place.clone(), self.base.folder.clone());
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || place.save(&folder)).await {
            tracing::warn!(session = self.base.session, %error, "the directory and variables of a shell session cannot be kept");
        }
    }
}

struct Started {
    process: Process,
    pipe: Pipe,
    report: tempfile::TempPath,
    /// The command line, when it is in a file.
    _text: Option<tempfile::TempPath>,
    given: Environment,
}

/// The shell has exited; something may still hold its pipe.
struct Exited {
    until: tokio::time::Instant,
    read: usize,
}

impl Base {
    pub(super) async fn say(&self, line: Bytes) {
        // Nobody listens when the agent is about to be dropped.
        let _ = self.lines.send(line).await;
    }

    /// The variables every command gets anew.
    fn variables(&self) -> [(&'static str, String); 2] {
        [("GALLEY_CORE_PID", std::process::id().to_string()), ("GALLEY_SESSION_ID", self.session.clone())]
    }

    fn ours(&self) -> [&'static str; 3] {
        let [(pid, _), (session, _)] = self.variables();
        [pid, session, marker::VARIABLE]
    }

    async fn not_started(&self, why: String) -> Ended {
        self.say(self.voice.progress(why.clone())).await;
        Ended { verdict: Verdict::Ended { code: Some(NOT_STARTED), signal: None }, output: why, pipe: None }
    }
}

async fn aborted(abort: &mut watch::Receiver<bool>) {
    if abort.wait_for(|aborted| *aborted).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn is_directory(path: &Path) -> bool {
    tokio::fs::metadata(path).await.is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    pub(in super::super) type Reader = tokio::net::unix::pipe::Receiver;

    pub(super) fn reader(pipe: io::PipeReader) -> io::Result<Reader> {
        Reader::from_owned_fd(OwnedFd::from(pipe))
    }
}

#[cfg(windows)]
mod platform {
    use std::io;
    use std::os::windows::io::OwnedHandle;

    /// Anonymous pipes cannot be waited for there; a file is read on a thread of its own.
    pub(in super::super) type Reader = tokio::fs::File;

    pub(super) fn reader(pipe: io::PipeReader) -> io::Result<Reader> {
        Ok(Reader::from_std(OwnedHandle::from(pipe).into()))
    }
}
