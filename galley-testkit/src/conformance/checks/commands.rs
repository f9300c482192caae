//! History, models, side questions, and what is left.

use crate::conformance::dialog::{Dialog, Held, message};
use crate::conformance::{Fault, Site, expect};
use serde_json::{Value, json};

fn conversation() -> Value {
    json!({ "kind": "load_history", "messages": [
        { "role": "user", "content": "What is the capital of France?", "toolCalls": [], "toolResults": [] },
        { "role": "assistant", "content": "Paris.", "toolCalls": [{ "toolName": "look_up", "args": { "word": "France" } }],
          "toolResults": [{ "toolUseId": "tc_1", "content": "Paris" }] },
        { "role": "user", "content": "And of Italy?" },
        { "role": "assistant", "content": "Rome." },
    ] })
}

pub(super) fn history(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("history")?;
    let mut dialog = Dialog::start(site)?;
    dialog.send(&conversation())?;
    let loaded = dialog.until("history_loaded")?;
    let count = loaded.of("history_loaded").map(|loaded| loaded["messageCount"].clone()).last();
    expect(count == Some(json!(4)), || format!("`messageCount` is {count:?}, not 4"))?;
    dialog.run(&site.options.task, "allow_once").map(drop)
}

pub(super) fn late_history(site: &Site<'_>) -> Result<(), Fault> {
    site.needs("history")?;
    let mut dialog = Dialog::start(site)?;
    dialog.run(&site.options.task, "allow_once")?;
    dialog.send(&conversation())?;
    dialog.until_any(&["error", "history_loaded"], "`history_loaded` or `error`")?;
    dialog.run(&site.options.task, "allow_once").map(drop)
}

pub(super) fn models(site: &Site<'_>) -> Result<(), Fault> {
    let models = site.ready.borrow()["availableLLMs"].as_array().cloned().unwrap_or_default();
    let mut dialog = Dialog::start(site)?;
    // The fence asks for a model that does not exist.
    expect(!dialog.fence()?.has("llm_changed"), || "a model that does not exist was taken".to_owned())?;
    let Some(other) = models.iter().find(|model| model["isCurrent"] != true) else {
        return Err(Fault::skipped("`ready` lists no model to change to"));
    };
    dialog.send(&json!({ "kind": "set_llm", "llmIndex": other["index"] }))?;
    let changed = dialog.until("llm_changed")?.events.pop().unwrap_or_default();
    let right = changed["index"] == other["index"] && changed["name"] == other["name"];
    expect(right, || format!("`llm_changed` does not name the model {other}: {changed}"))
}

pub(super) fn models_busy(site: &Site<'_>) -> Result<(), Fault> {
    let models = site.ready.borrow()["availableLLMs"].as_array().map_or(0, Vec::len);
    if models < 2 {
        return Err(Fault::skipped("`ready` lists no model to change to"));
    }
    let mut dialog = Dialog::start(site)?;
    dialog.hold()?;
    dialog.send(&json!({ "kind": "set_llm", "llmIndex": 1 }))?;
    let talk = dialog.fence()?;
    expect(!talk.has("llm_changed"), || "the model was changed in the middle of a run".to_owned())
}

pub(super) fn side_question(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    let held = match dialog.hold() {
        Ok(held) => Some(held),
        Err(Fault::Skipped(_)) => None,
        Err(fault) => return Err(fault),
    };
    // Beside a run if one can be kept open.
    dialog.send(&message("  /btw\thow is it going?"))?;
    let answer = loop {
        let event = dialog.event("answer to `/btw`")?;
        if matches!(event["kind"].as_str(), Some("system_message" | "error")) {
            break event;
        }
    };
    if site.lists("btw") != Some(false) {
        let right = answer["kind"] == "system_message" && answer["variant"] == "side_question";
        expect(right, || format!("`/btw` is answered by a `system_message` of the variant `side_question`, not by {answer}"))?;
    }
    let talk = dialog.fence()?;
    let quiet = held.is_some_and(|held| matches!(held, Held::AtWork)) || !talk.has("turn_start");
    expect(quiet && !talk.has("run_complete"), || "`/btw` opened or ended a run".to_owned())
}

pub(super) fn others(site: &Site<'_>) -> Result<(), Fault> {
    let mut dialog = Dialog::start(site)?;
    let mut wanted = vec![(json!({ "kind": "reinject_tools" }), "tools_reinjected"), (json!({ "kind": "detach_pet" }), "pet_detached")];
    // A runner that can attach the pet would show it to whoever sits here.
    if site.lists("pet") == Some(false) {
        wanted.push((json!({ "kind": "attach_pet", "port": 41983 }), "pet_attached"));
    }
    for (command, answer) in wanted {
        dialog.send(&command)?;
        dialog.until_any(&[answer, "error"], &format!("`{answer}` or `error` that answers {}", command["kind"]))?;
    }
    Ok(())
}
