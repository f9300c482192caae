//! Approvals and questions.

use crate::conformance::dialog::{Dialog, Talk};
use crate::conformance::{Fault, Site, expect};
use serde_json::{Value, json};

fn start<'a>(site: &'a Site<'a>) -> Result<(Dialog<'a>, &'a str), Fault> {
    site.needs("approvals")?;
    let task = site.task(&site.options.approval, "--task-approval")?;
    Ok((Dialog::start(site)?, task))
}

/// The approval that a task asks for first.
fn asked(talk: &Talk) -> Result<&Value, Fault> {
    talk.of("tool_call_pending").next().ok_or_else(|| Fault::failed("no approval was asked for"))
}

/// Whether `tool` was started.
fn ran(talk: &Talk, tool: &Value) -> bool {
    talk.of("tool_call_start").any(|start| start["toolName"] == *tool)
}

pub(super) fn allow(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    let talk = dialog.run(task, "allow_once")?;
    let pending = asked(&talk)?;
    for field in ["approvalId", "toolName", "argsPreview"] {
        expect(pending[field].is_string(), || format!("`{field}` is missing: {pending}"))?;
    }
    expect(pending["args"].is_object(), || format!("`args` is not an object: {pending}"))?;
    let risk = pending["riskLevel"].as_str().unwrap_or_default();
    expect(["low", "medium", "high"].contains(&risk), || format!("`riskLevel` is none: {pending}"))?;
    let preview = pending["argsPreview"].as_str().unwrap_or_default().chars().count();
    expect(preview <= 200, || format!("`argsPreview` has {preview} characters, more than 200"))?;
    // A bridge may leave tool calls out; one that reports them must report this one.
    let denied = talk.of("tool_call_end").any(|end| end["status"] == "denied");
    expect(!denied, || "an allowed tool call was reported as denied".to_owned())?;
    expect(ran(&talk, &pending["toolName"]) || !talk.has("tool_call_start"), || format!("{} was allowed and did not run", pending["toolName"]))?;
    let again = dialog.run(task, "allow_once")?;
    expect(again.has("tool_call_pending"), || "`allow_once` allowed more than once".to_owned())
}

pub(super) fn deny(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    let talk = dialog.run(task, "deny")?;
    let tool = &asked(&talk)?["toolName"];
    expect(!ran(&talk, tool), || format!("{tool} was denied and ran"))?;
    let denied = talk.of("tool_call_end").any(|end| end["status"] == "denied");
    expect(denied, || "no `tool_call_end` with the status `denied`".to_owned())
}

pub(super) fn always(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    let talk = dialog.run(task, "always_allow_project")?;
    let tool = &asked(&talk)?["toolName"];
    let denied = talk.of("tool_call_end").any(|end| end["status"] == "denied");
    expect(!denied, || format!("{tool} was always allowed and reported as denied"))?;
    // As Galley does, for runners that keep no rules of their own.
    dialog.send(&json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": [], "alwaysAllowProject": [tool] }))?;
    let again = dialog.run(task, "deny")?;
    let asked_again = again.of("tool_call_pending").any(|pending| pending["toolName"] == *tool);
    expect(!asked_again, || format!("{tool} is always allowed and was asked about again"))
}

pub(super) fn rules(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    let tool = asked(&dialog.run(task, "deny")?)?["toolName"].clone();
    for (global, project) in [(json!([tool]), json!([])), (json!([]), json!([tool]))] {
        dialog.send(&json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": global, "alwaysAllowProject": project }))?;
        let talk = dialog.run(task, "deny")?;
        let asked = talk.of("tool_call_pending").any(|pending| pending["toolName"] == tool);
        expect(!asked, || format!("a rule allows {tool}, and it was asked about"))?;
    }
    dialog.send(&json!({ "kind": "set_approval_rules", "alwaysAllowGlobal": [], "alwaysAllowProject": [] }))?;
    let talk = dialog.run(task, "deny")?;
    expect(talk.has("tool_call_pending"), || format!("no rule allows {tool} any more, and it was not asked about"))
}

pub(super) fn automatic(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    dialog.send(&json!({ "kind": "set_yolo_mode", "enabled": true }))?;
    let talk = dialog.run(task, "deny")?;
    expect(!talk.has("tool_call_pending"), || "automatic mode is on, and an approval was asked for".to_owned())?;
    dialog.send(&json!({ "kind": "set_yolo_mode", "enabled": false }))?;
    let talk = dialog.run(task, "deny")?;
    expect(talk.has("tool_call_pending"), || "automatic mode is off, and no approval was asked for".to_owned())
}

pub(super) fn bad_answer(site: &Site<'_>) -> Result<(), Fault> {
    let (mut dialog, task) = start(site)?;
    let pending = dialog.run_until(task, "tool_call_pending")?;
    let other = json!({ "approvalId": "appr_of_nobody" });
    let mut wrong = vec![(other, "allow_once")];
    if site.launcher.is_program() {
        wrong.push((pending.clone(), "perhaps"));
    }
    for (pending, decision) in wrong {
        dialog.decide(&pending, decision)?;
        let mut talk = dialog.refusal(&format!("the answer {decision:?} about {}", pending["approvalId"]))?;
        talk.events.extend(dialog.fence()?.events);
        let moved = ["tool_call_start", "tool_call_end", "run_complete"].into_iter().any(|kind| talk.has(kind));
        expect(!moved, || format!("the answer {decision:?} about {} was taken for one", pending["approvalId"]))?;
    }
    dialog.decide(&pending, "deny")?;
    let talk = dialog.finish("deny")?;
    expect(!ran(&talk, &pending["toolName"]), || "the tool was denied and ran".to_owned())
}

pub(super) fn question(site: &Site<'_>) -> Result<(), Fault> {
    let task = site.task(&site.options.question, "--task-question")?;
    let mut dialog = Dialog::start(site)?;
    let talk = dialog.run(task, "allow_once")?;
    let Some(question) = talk.of("ask_user").next() else {
        return Err(Fault::failed("no question was asked"));
    };
    expect(question["question"].as_str().is_some_and(|text| !text.is_empty()), || format!("`question` is empty: {question}"))?;
    let runs = talk.of("run_complete").count();
    let blocking = question["blocking"] == true;
    expect(blocking || runs > 1, || "the answer to a question that ended its run started none".to_owned())?;
    if !blocking {
        let first = talk.of("run_complete").next().map(|complete| complete["exitReason"]["result"].clone());
        expect(first == Some(json!("EXITED")), || format!("a question ends a run as EXITED, not as {first:?}"))?;
    }
    Ok(())
}
