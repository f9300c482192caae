//! The conformance suite for authors of runners: does a program speak IPC v0.1 as Galley expects?
//!
//! ```no_run
//! use galley_testkit::conformance::{Options, Program, check};
//!
//! let program = Program::new(["python3", "agent.py"]);
//! let report = check(&program, &Options { approval: Some("delete old files".into()), ..Options::default() });
//! print!("{report}");
//! assert!(report.passed());
//! ```
//!
//! The same from a shell: `galley-testkit-conformance --task-approval "delete old files" -- python3 agent.py`.
//!
//! Each check starts a runner of its own. A runner is made to ask, to wait or to print by the text
//! of a task, and only its author knows such texts: [`Options`] takes them, and what has no task is
//! skipped, as is what `ready` does not list among its capabilities.

mod checks;
mod dialog;
mod launch;
mod order;
mod process;
mod report;

pub use launch::{Connection, Ended, Launcher, Received, Start};
pub use process::Program;
pub use report::{Finding, Report, Verdict};

use serde_json::Value;
use std::cell::RefCell;
use std::time::Duration;

/// What the suite says to a runner, and how long it waits.
#[derive(Debug, Clone)]
pub struct Options {
    /// A task that any run does.
    pub task: String,
    /// A task that asks for an approval.
    pub approval: Option<String>,
    /// A task that asks the user a question.
    pub question: Option<String>,
    /// A task that goes on for minutes and shows that it has begun.
    pub long: Option<String>,
    /// A task that prints to standard output, past the protocol.
    pub print: Option<String>,
    /// The answer to questions; the first candidate, or `yes`, if absent.
    pub answer: Option<String>,
    /// The checks to run, by the beginnings of their names; all, if empty. The first is always run.
    pub only: Vec<String>,
    /// How long anything may take.
    pub limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            task: "Say hello.".to_owned(),
            approval: None,
            question: None,
            long: None,
            print: None,
            answer: None,
            only: Vec::new(),
            limit: Duration::from_secs(30),
        }
    }
}

/// Runs every check against runners that `launcher` starts.
pub fn check(launcher: &dyn Launcher, options: &Options) -> Report {
    let site = Site { launcher, options, ready: RefCell::default(), strays: RefCell::default(), order: RefCell::default() };
    let mut report = Report::default();
    let wanted = |name: &str| name == checks::FIRST || options.only.is_empty() || options.only.iter().any(|only| name.starts_with(only));
    for check in checks::ALL.iter().filter(|check| wanted(check.name)) {
        let verdict = match (check.run)(&site) {
            Ok(()) => Verdict::Passed,
            Err(Fault::Failed(why)) => Verdict::Failed(why),
            Err(Fault::Skipped(why)) => Verdict::Skipped(why),
        };
        let failed = matches!(verdict, Verdict::Failed(_));
        report.findings.push(Finding { name: check.name, what: check.what, verdict });
        if failed && check.name == checks::FIRST {
            // Nothing else would say more.
            break;
        }
    }
    report
}

/// What all checks share.
struct Site<'a> {
    launcher: &'a dyn Launcher,
    options: &'a Options,
    /// The first runner's `ready`.
    ready: RefCell<Value>,
    /// Lines of all runners that were no event.
    strays: RefCell<Vec<String>>,
    /// What was out of order, of all runners.
    order: RefCell<Vec<String>>,
}

impl Site<'_> {
    /// Skips a check of something that `ready` does not list. A runner that lists nothing can do
    /// everything.
    fn needs(&self, capability: &str) -> Result<(), Fault> {
        match self.lists(capability) {
            Some(false) => Err(Fault::skipped(format!("`ready` does not list `{capability}`"))),
            _ => Ok(()),
        }
    }

    /// Whether `ready` lists a capability; `None` when it lists none at all.
    fn lists(&self, capability: &str) -> Option<bool> {
        let ready = self.ready.borrow();
        Some(ready["capabilities"].as_array()?.iter().any(|listed| listed == capability))
    }

    /// Skips a check of lines, arguments or processes.
    fn needs_program(&self) -> Result<(), Fault> {
        if self.launcher.is_program() { Ok(()) } else { Err(Fault::skipped("the runner is no program of its own")) }
    }

    fn task<'o>(&self, task: &'o Option<String>, option: &str) -> Result<&'o str, Fault> {
        task.as_deref().ok_or_else(|| Fault::skipped(format!("no {option} was given")))
    }
}

/// Why a check did not pass.
#[derive(Debug)]
enum Fault {
    Failed(String),
    Skipped(String),
}

impl Fault {
    fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped(why.into())
    }
}

/// Fails with `why` unless `holds`.
fn expect(holds: bool, why: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Failed(why())) }
}
