//! Aborts.

use crate::conformance::dialog::{Dialog, Talk, message};
use crate::conformance::{Fault, Site, expect};
use serde_json::{Value, json};

fn abort() -> Value {
    json!({ "kind": "abort" })
}

fn aborted(talk: &Talk) -> Result<(), Fault> {
    expect(talk.result() == "ABORTED", || format!("the run ended as {:?}, not as ABORTED", talk.result()))
}

/// The runner does the next run as if nothing had been.
fn goes_on(dialog: &mut Dialog<'_>, site: &Site<'_>) -> Result<Talk, Fault> {
    let after = dialog.fence()?;
    expect(!after.has("run_complete"), || "an aborted run was completed twice".to_owned())?;
    let next = dialog.run(&site.options.task, "allow_once")?;
    expect(next.result() != "ABORTED", || "the abort ended the next run as well".to_owned())?;
    Ok(after)
}

pub(super) fn idle(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("abort")?;
    let mut dialog = Dialog::start(site)?;
    for _ in 0..2 {
        dialog.send(&abort())?;
        let after = goes_on(&mut dialog, site)?;
        expect(!after.has("turn_start"), || "an abort opened a run".to_owned())?;
    }
    Ok(())
}

pub(super) fn at_once(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("abort")?;
    let mut dialog = Dialog::start(site)?;
    let task = site.options.long.as_deref().unwrap_or(&site.options.task);
    dialog.message_bytes(format!("{}\n{}\n", message(task), abort()).as_bytes())?;
    // What it asks is not answered: the answer might come after the end, and open a run.
    let talk = dialog.until("run_complete")?;
    if site.options.long.is_some() {
        aborted(&talk)?;
    }
    goes_on(&mut dialog, site).map(drop)
}

pub(super) fn work(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("abort")?;
    site.task(&site.options.long, "--task-long")?;
    let mut dialog = Dialog::start(site)?;
    dialog.hold()?;
    dialog.send(&abort())?;
    aborted(&dialog.until("run_complete")?)?;
    goes_on(&mut dialog, site).map(drop)
}

pub(super) fn approval(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("abort")?;
    site.needs("approvals")?;
    let task = site.task(&site.options.approval, "--task-approval")?;
    let mut dialog = Dialog::start(site)?;
    let pending = dialog.run_until(task, "tool_call_pending")?;
    dialog.send(&abort())?;
    aborted(&dialog.until("run_complete")?)?;
    dialog.decide(&pending, "allow_once")?;
    let late = dialog.refusal("the late answer")?;
    let after = goes_on(&mut dialog, site)?;
    let ran = late.has("tool_call_start") || after.has("tool_call_start");
    expect(!ran, || "the late answer ran the tool".to_owned())
}

pub(super) fn question(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("abort")?;
    let task = site.task(&site.options.question, "--task-question")?;
    let mut dialog = Dialog::start(site)?;
    let question = dialog.run_until(task, "ask_user")?;
    if question["blocking"] != true {
        return Err(Fault::skipped("its questions end the run"));
    }
    dialog.send(&abort())?;
    aborted(&dialog.until("run_complete")?)?;
    goes_on(&mut dialog, site).map(drop)
}
