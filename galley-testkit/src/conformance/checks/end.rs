//! The runner's end.

use crate::conformance::dialog::{Dialog, SESSION};
use crate::conformance::launch::{Ended, Start};
use crate::conformance::{Fault, Site, expect};
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long Galley waits after `shutdown`.
const PATIENCE: Duration = Duration::from_secs(2);

fn clean(ended: Ended) -> Result<(), Fault> {
    expect(ended.code == Some(0), || match ended.code {
        Some(code) => format!("the exit code is {code}, not 0"),
        None => "a signal ended it".to_owned(),
    })
}

pub(super) fn shutdown(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    dialog.run(&site.options.task, "allow_once")?;
    dialog.send(&json!({ "kind": "shutdown" }))?;
    let (ended, talk) = dialog.end()?;
    clean(ended)?;
    expect(!talk.has("run_complete"), || "an idle runner completed a run at its end".to_owned())
}

pub(super) fn shutdown_busy(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    dialog.hold()?;
    dialog.send(&json!({ "kind": "shutdown" }))?;
    // It may wait for its run; Galley does not wait for ever.
    let waits = dialog.connection.ended(PATIENCE).is_none();
    if waits {
        dialog.connection.close_input();
    }
    let (ended, _) = dialog.end()?;
    // Where there is no input to end, closing it is the use of force.
    if waits && !site.launcher.is_program() { Ok(()) } else { clean(ended) }
}

pub(super) fn tail(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    dialog.message(&site.options.task)?;
    dialog.send(&json!({ "kind": "shutdown" }))?;
    let (ended, talk) = dialog.end()?;
    clean(ended)?;
    let complete = talk.has("run_complete");
    expect(complete, || "a run that was open at `shutdown` was never completed".to_owned())
}

pub(super) fn input(site: &Site<'_>) -> Result<(), Fault> {
    site.needs_program()?;
    let mut dialog = Dialog::start(site)?;
    dialog.run(&site.options.task, "allow_once")?;
    dialog.connection.close_input();
    clean(dialog.end()?.0)
}

pub(super) fn input_busy(site: &Site<'_>) -> Result<(), Fault> {
    site.needs_program()?;
    let mut dialog = Dialog::start(site)?;
    dialog.hold()?;
    dialog.connection.close_input();
    clean(dialog.end()?.0)
}

pub(super) fn parent(site: &Site<'_>) -> Result<(), Fault> {
    site.needs_program()?;
    let Some(mut stand_in) = StandIn::start() else {
        return Err(Fault::skipped("there is no `sleep` to stand in for a parent"));
    };
    let mut dialog = Dialog::start_with(site, Start { session_id: SESSION.to_owned(), arguments: Vec::new(), parent: Some(stand_in.0.id()) })?;
    stand_in.end();
    // Its input stays open: that is not what ends it.
    dialog.end().map(drop)
}

/// A process that a runner takes for the one that started it.
struct StandIn(Child);

impl StandIn {
    fn start() -> Option<Self> {
        let child = Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.ok().map(Self)
    }

    fn end(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.end();
    }
}
