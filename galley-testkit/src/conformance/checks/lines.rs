//! Lines that are not as they should be.

use crate::conformance::dialog::{Dialog, message};
use crate::conformance::{Fault, Site, expect};
use galley_protocol::framing::MAX_LINE;
use serde_json::json;

fn start<'a>(site: &'a Site<'a>) -> Result<Dialog<'a>, Fault> {
    site.needs_program()?;
    Dialog::start(site)
}

/// `what`, which was just sent, is refused, and the runner is still good for a run.
fn refused(site: &Site<'_>, dialog: &mut Dialog<'_>, what: &str) -> Result<(), Fault> {
    let mut talk = dialog.refusal(what)?;
    talk.events.extend(dialog.fence()?.events);
    expect(!talk.has("turn_start"), || format!("{what} opened a run"))?;
    dialog.run(&site.options.task, "allow_once").map(drop)
}

pub(super) fn unknown(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = start(site)?;
    dialog.send(&json!({ "kind": "conformance_unknown", "level": 1.5, "list": [null] }))?;
    refused(site, &mut dialog, "a command nobody knows")
}

pub(super) fn malformed(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = start(site)?;
    let deep = "[".repeat(100_000);
    let lines = [
        "nonsense",
        "[]",
        "{\"kind\":5}",
        "{\"kind\":\"user_message\"}",
        "{\"kind\":\"user_message\",\"text\":7}",
        "{\"kind\":\"user_message\",\"te",
        &deep,
    ];
    for line in lines {
        dialog.send_bytes(format!("{line}\n").as_bytes())?;
        refused(site, &mut dialog, &format!("the line {:?}", &line[..line.len().min(40)]))?;
    }
    Ok(())
}

pub(super) fn tolerated(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = start(site)?;
    let text = &site.options.task;
    let command = json!({ "kind": "user_message", "text": text, "images": null, "absoluteTurnIndex": 3, "newField": { "deep": [1] } });
    dialog.send(&json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": null, "newField": true }))?;
    dialog.message_bytes(format!("\n\r\n{command}\r\n").as_bytes())?;
    dialog.finish("allow_once").map(drop)
}

pub(super) fn too_long(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = start(site)?;
    dialog.send(&message(&"x".repeat(MAX_LINE + 1)))?;
    refused(site, &mut dialog, "a line over 16 MiB")
}

pub(super) fn not_utf8(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = start(site)?;
    dialog.message_bytes(b"{\"kind\":\"user_message\",\"text\":\"\xff\xfe bytes\"}\n")?;
    loop {
        let event = dialog.event("`run_complete` or `error`")?;
        match event["kind"].as_str() {
            Some("tool_call_pending") => dialog.decide(&event, "deny")?,
            Some("ask_user") if event["blocking"] == true => dialog.answer(&event)?,
            // Refused, or run with the bytes replaced.
            Some("run_complete" | "error") => break,
            _ => {}
        }
    }
    dialog.fence()?;
    dialog.run(&site.options.task, "allow_once").map(drop)
}
