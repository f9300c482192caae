//! Starting and running.

use crate::conformance::dialog::{Dialog, Held, SESSION, Talk, message};
use crate::conformance::launch::Start;
use crate::conformance::{Fault, Site, expect};
use galley_protocol::ipc::PROTOCOL_VERSION;

pub(super) fn ready(site: &Site<'_>) -> Result<(), Fault> {
    let dialog = Dialog::start(site)?;
    let ready = &dialog.ready;
    site.ready.replace(ready.clone());
    expect(ready["protocolVersion"] == PROTOCOL_VERSION, || {
        format!("`protocolVersion` is {}, not \"{PROTOCOL_VERSION}\"", ready["protocolVersion"])
    })?;
    let capabilities = &ready["capabilities"];
    let strings = capabilities.as_array().is_some_and(|listed| listed.iter().all(|one| one.is_string()));
    expect(strings || capabilities.is_null(), || format!("`capabilities` is {capabilities}, not a list of strings"))?;
    let models = ready["availableLLMs"].as_array().map_or(&[][..], Vec::as_slice);
    let indexed = models.iter().enumerate().all(|(index, model)| model["index"] == index);
    expect(indexed, || format!("`availableLLMs` does not count from 0: {}", ready["availableLLMs"]))?;
    let current = models.iter().filter(|model| model["isCurrent"] == true).count();
    expect(current == models.len().min(1), || format!("{current} of {} models are current", models.len()))
}

pub(super) fn unknown_arguments(site: &Site<'_>) -> Result<(), Fault> {
    site.needs_program()?;
    let arguments = ["--conformance-unknown", "value", "--conformance-flag"].map(str::to_owned).into();
    Dialog::start_with(site, Start { session_id: SESSION.to_owned(), arguments, parent: None }).map(drop)
}

pub(super) fn one(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    whole(&dialog.run(&site.options.task, "allow_once")?)?;
    // A second end would stand in front of the next run's beginning.
    let next = dialog.run(&site.options.task, "allow_once")?;
    expect(next.has("turn_start"), || "a run was completed twice".to_owned())
}

/// A run that says what it must.
fn whole(talk: &Talk) -> Result<(), Fault> {
    let complete = talk.of("run_complete").last();
    expect(!talk.result().is_empty(), || format!("`run_complete` has no `exitReason.result`: {complete:?}"))?;
    expect(talk.has("turn_start"), || "the run had no `turn_start`".to_owned())?;
    // A run that failed has no reply, and says why.
    expect(talk.has("turn_end") || talk.has("error"), || "the run had neither a `turn_end` nor an `error`".to_owned())
}

pub(super) fn again(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    for _ in 0..3 {
        whole(&dialog.run(&site.options.task, "allow_once")?)?;
    }
    Ok(())
}

pub(super) fn any_text(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    for text in ["grüß Gott, 你好, 🛠\u{200d}", "one\u{2028}two\u{2029}three\u{85}four", "tab\tquote\"backslash\\nul-free\u{1b}[0m", "  \n "] {
        dialog.run(text, "deny")?;
    }
    Ok(())
}

pub(super) fn busy(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    let held = dialog.hold()?;
    // It opens no run: not counted as one.
    dialog.send(&message(&site.options.task))?;
    let talk = dialog.refusal("a message in the middle of a run")?;
    expect(!talk.has("run_complete"), || "a message in the middle of a run ended it".to_owned())?;
    match held {
        Held::AtWork => {
            dialog.send(&serde_json::json!({ "kind": "abort" }))?;
        }
        Held::Approval(pending) => dialog.decide(&pending, "deny")?,
        Held::Question(question) => dialog.answer(&question)?,
    }
    dialog.finish("deny")?;
    expect(!dialog.fence()?.has("turn_start"), || "the message that was refused was run all the same".to_owned())
}

pub(super) fn prints(site: &Site<'_>) -> Result<(), Fault> {
    site.needs_program()?;
    let task = site.task(&site.options.print, "--task-print")?;
    let mut dialog = Dialog::start(site)?;
    dialog.run(task, "allow_once")?;
    dialog.fence()?;
    match dialog.strays.first() {
        Some(stray) => Err(Fault::failed(format!("a line that is no event: {stray}"))),
        None => Ok(()),
    }
}

pub(super) fn events(site: &Site<'_>) -> Result<(), Fault> {
    none(&site.strays.borrow())
}

pub(super) fn order(site: &Site<'_>) -> Result<(), Fault> {
    none(&site.order.borrow())
}

fn none(complaints: &[String]) -> Result<(), Fault> {
    match complaints {
        [] => Ok(()),
        [one] => Err(Fault::failed(one.clone())),
        [first, rest @ ..] => Err(Fault::failed(format!("{first} (and {} more)", rest.len()))),
    }
}
