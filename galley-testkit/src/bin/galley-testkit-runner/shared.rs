//! What the threads share: commands that wait, the open run, settings, and how to wait for them.

use crate::output::Output;
use galley_protocol::ipc::{Command, Decision};
use galley_testkit::Setting;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Commands that may wait for the engine; the reader stops reading at this many.
const MAX_WORK: usize = 1024;

/// How many commands of each kind came, in the order of [`Command::KINDS`].
pub type Heard = [u64; Command::KINDS.len()];

/// Something for the engine to do.
#[derive(Debug)]
pub enum Work {
    /// A message or an answer that opens `run`.
    Message {
        run: u64,
        text: String,
        heard: Heard,
    },
    /// `load_history` with so many messages.
    History(u32),
    /// `abort` while nothing runs.
    IdleAbort,
    /// `abort` of a run whose script has ended without ending it.
    RunAbort,
    Shutdown,
    /// The end of stdin.
    Closed,
}

/// Why a script cannot go on.
#[derive(Debug)]
pub enum Stop {
    /// The run was aborted.
    Aborted,
    /// Stdin ended, or stdout broke.
    Closed,
    /// A step failed; the text says how.
    Failed(String),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// How the runner behaves until told otherwise.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub never_ready: bool,
    pub version: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub llms: Option<u32>,
    pub ignore_shutdown: bool,
    pub ignore_abort: bool,
    pub ignore_stdin_eof: bool,
    pub slow_abort: Duration,
    pub stop_reading: bool,
    pub same_approval_id: bool,
    pub slow_history: Duration,
    pub refuse_history: bool,
    pub warn_history: bool,
}

impl Settings {
    pub fn llms(&self) -> u32 {
        self.llms.unwrap_or(2)
    }

    fn apply(&mut self, setting: &Setting) -> Result<(), Stop> {
        match setting {
            Setting::NeverReady => self.never_ready = true,
            Setting::Version(version) => self.version = Some(version.clone()),
            Setting::Capabilities(list) => self.capabilities = Some(list.clone()),
            Setting::Llms(count) => self.llms = Some(*count),
            Setting::IgnoreShutdown => self.ignore_shutdown = true,
            Setting::IgnoreAbort => self.ignore_abort = true,
            Setting::IgnoreStdinEof => self.ignore_stdin_eof = true,
            Setting::SlowAbort(delay) => self.slow_abort = *delay,
            Setting::StopReading => self.stop_reading = true,
            Setting::ResumeReading => self.stop_reading = false,
            Setting::SameApprovalId => self.same_approval_id = true,
            Setting::SlowHistory(delay) => self.slow_history = *delay,
            Setting::RefuseHistory => self.refuse_history = true,
            Setting::WarnHistory => self.warn_history = true,
            other => return Err(Stop::Failed(format!("the runner does not know the setting {other:?}"))),
        }
        Ok(())
    }
}

/// Where a blocking question stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Question {
    #[default]
    None,
    Open,
    Answered(String),
}

/// An approval that was asked for.
#[derive(Debug)]
pub struct Approval {
    pub id: String,
    pub tool: String,
    pub decision: Option<Decision>,
}

#[derive(Debug)]
pub struct State {
    pub settings: Settings,
    pub work: VecDeque<Work>,
    /// The run that is open: accepted and not completed.
    pub open_run: Option<u64>,
    runs: u64,
    /// The run that `abort` is to end.
    pub abort: Option<u64>,
    /// Whether the script of `open_run` is over although the run is not.
    pub left_open: bool,
    pub closed: bool,
    pub shutdown: bool,
    /// Whether commands are still answered.
    pub silent: bool,
    pub heard: Heard,
    /// Whether the command heard last is still being answered.
    pub answering: bool,
    /// Whether a message was taken: then it is too late for `load_history`.
    pub conversing: bool,
    pub auto: bool,
    pub allowed: Vec<String>,
    pub approvals: Vec<Approval>,
    pub question: Question,
    pub llm: u32,
    /// Paths of the last message's images.
    pub images: Vec<String>,
}

impl State {
    /// Opens a run.
    pub fn open_run(&mut self) -> u64 {
        self.runs += 1;
        self.open_run = Some(self.runs);
        self.left_open = false;
        self.conversing = true;
        self.runs
    }

    fn aborted(&self, run: Option<u64>) -> bool {
        run.is_some() && self.abort == run
    }
}

/// The state, the way to wait for its changes, and the output.
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    pub output: Output,
}

impl Shared {
    pub fn new(output: Output, llm: u32) -> Self {
        let state = State {
            settings: Settings::default(),
            work: VecDeque::new(),
            open_run: None,
            runs: 0,
            abort: None,
            left_open: false,
            closed: false,
            shutdown: false,
            silent: false,
            heard: Heard::default(),
            answering: false,
            conversing: false,
            auto: false,
            allowed: Vec::new(),
            approvals: Vec::new(),
            question: Question::None,
            llm,
            images: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), output }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes whoever waits for it.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }

    pub fn set(&self, setting: &Setting) -> Result<(), Stop> {
        self.change(|state| state.settings.apply(setting))
    }

    /// Waits for something in the state, for ever or for `limit`, unless `run`, whose script plays,
    /// is aborted or stdin ends. `None` when the time is over.
    pub fn wait<T>(&self, run: Option<u64>, limit: Option<Duration>, mut look: impl FnMut(&mut State) -> Option<T>) -> Result<Option<T>, Stop> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.state();
        loop {
            if state.aborted(run) {
                return Err(Stop::Aborted);
            }
            if let Some(found) = look(&mut state) {
                return Ok(Some(found));
            }
            // Looked first: what came before the end of stdin is still done, but not waited for.
            if state.closed {
                return Err(Stop::Closed);
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Fails when `run`, whose script plays, is aborted.
    pub fn check(&self, run: Option<u64>) -> Result<(), Stop> {
        if self.state().aborted(run) { Err(Stop::Aborted) } else { Ok(()) }
    }

    /// Waits for `time` to pass.
    pub fn sleep(&self, run: Option<u64>, time: Duration) -> Result<(), Stop> {
        self.wait(run, Some(time), |_| None::<()>).map(drop)
    }

    /// The next thing for the engine to do.
    pub fn next_work(&self) -> Work {
        let next = self.wait(None, None, |state| {
            if state.left_open && state.abort.is_some() && state.abort == state.open_run {
                return Some(Work::RunAbort);
            }
            state.work.pop_front()
        });
        self.changed.notify_all();
        next.ok().flatten().unwrap_or(Work::Closed)
    }

    /// Adds something for the engine to do; waits while too much waits already.
    pub fn add_work(&self, work: impl FnOnce(&mut State) -> Work) {
        let mut state = self.state();
        while state.work.len() >= MAX_WORK {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let work = work(&mut state);
        state.work.push_back(work);
        self.changed.notify_all();
    }
}
