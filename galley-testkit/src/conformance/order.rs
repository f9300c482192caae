//! What the protocol says about the order of events.

use serde_json::Value;
use std::collections::HashSet;

/// Follows one runner's events. Every complaint is one sentence.
#[derive(Debug, Default)]
pub(super) struct Order {
    ready: bool,
    /// Messages that may open a run and have not.
    messages: u32,
    run: Option<Run>,
    complaints: Vec<String>,
}

#[derive(Debug, Default)]
struct Run {
    step: u64,
    step_open: bool,
    calls: HashSet<String>,
    pending: HashSet<String>,
}

impl Order {
    /// A message that may open a run is sent.
    pub(super) fn message(&mut self) {
        self.messages += 1;
    }

    /// What was wrong since the last call.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    fn check(&mut self, holds: bool, rule: &str, event: &Value) {
        if !holds {
            self.complaints.push(format!("{rule}: {event}"));
        }
    }

    /// The next event.
    pub(super) fn event(&mut self, event: &Value) {
        let kind = event["kind"].as_str().unwrap_or_default();
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        if kind == "ready" {
            self.check(!self.ready, "`ready` comes once", event);
            self.ready = true;
            return;
        }
        self.check(self.ready || kind == "error", "`ready` comes first", event);
        let of_a_run = matches!(
            kind,
            "turn_start"
                | "turn_progress"
                | "turn_end"
                | "tool_call_pending"
                | "tool_call_start"
                | "tool_call_progress"
                | "tool_call_end"
                | "run_complete"
        );
        if !of_a_run {
            return;
        }
        let opens = self.run.is_none() && self.messages > 0;
        self.check(self.run.is_some() || opens, "nothing of a run comes outside of one", event);
        if opens {
            self.messages -= 1;
        }
        let mut run = self.run.take().unwrap_or_default();
        match kind {
            "turn_start" => {
                let step = event["turnIndex"].as_u64().unwrap_or_default();
                // A step may be announced twice by runners that predict it.
                self.check(step == run.step + 1 || (step == run.step && run.step_open), "steps are counted from 1", event);
                (run.step, run.step_open) = (step, true);
            }
            "turn_progress" => self.check(run.step_open, "text belongs to an open step", event),
            "turn_end" => {
                let right = run.step_open && event["turnIndex"].as_u64() == Some(run.step);
                self.check(right, "an open step ends once", event);
                run.step_open = false;
            }
            "tool_call_pending" => {
                self.check(run.step_open, "an approval belongs to an open step", event);
                self.check(run.pending.insert(text("approvalId")), "an approval's id is its own", event);
            }
            "tool_call_start" => {
                self.check(run.step_open, "a tool call belongs to an open step", event);
                self.check(run.calls.insert(text("toolCallId")), "a tool call's id is its own", event);
            }
            "tool_call_end" => {
                let known = run.calls.remove(&text("toolCallId"));
                // One that waited for approval ends without a start.
                let waited = event["status"] == "denied" || event["status"] == "cancelled";
                self.check(known || waited, "a tool call that started ends once", event);
            }
            "run_complete" => {
                // Only a run that was stopped before may end without a beginning.
                let begun = run.step > 0 || event["exitReason"]["result"] == "ABORTED";
                self.check(begun, "a run begins before it ends", event);
                self.check(run.calls.is_empty(), "tool calls end before their run", event);
                return;
            }
            _ => {}
        }
        self.run = Some(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complaints(events: &[Value]) -> Vec<String> {
        let mut order = Order::default();
        order.message();
        events.iter().for_each(|event| order.event(event));
        order.complaints().iter().map(|complaint| complaint.split(':').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn a_run_as_it_should_be() {
        let events = [
            json!({ "kind": "ready" }),
            json!({ "kind": "turn_start", "turnIndex": 1 }),
            json!({ "kind": "turn_start", "turnIndex": 1 }),
            json!({ "kind": "turn_progress" }),
            json!({ "kind": "tool_call_pending", "approvalId": "a" }),
            json!({ "kind": "tool_call_end", "toolCallId": "t0", "status": "denied" }),
            json!({ "kind": "tool_call_start", "toolCallId": "t1" }),
            json!({ "kind": "tool_call_end", "toolCallId": "t1", "status": "success" }),
            json!({ "kind": "turn_end", "turnIndex": 1 }),
            json!({ "kind": "turn_start", "turnIndex": 2 }),
            json!({ "kind": "run_complete" }),
            json!({ "kind": "error" }),
        ];
        assert_eq!(complaints(&events), [""; 0]);
    }

    #[test]
    fn what_is_out_of_order_is_told() {
        let ready = json!({ "kind": "ready" });
        let start = json!({ "kind": "turn_start", "turnIndex": 1 });
        let complete = json!({ "kind": "run_complete" });
        let progress = json!({ "kind": "turn_progress" });
        assert_eq!(complaints(std::slice::from_ref(&start)), ["`ready` comes first"]);
        assert_eq!(complaints(&[ready.clone(), ready.clone()]), ["`ready` comes once"]);
        assert_eq!(complaints(&[ready.clone(), progress.clone()]), ["text belongs to an open step"]);
        assert_eq!(complaints(&[ready.clone(), json!({ "kind": "turn_start", "turnIndex": 2 })]), ["steps are counted from 1"]);
        assert_eq!(complaints(&[ready.clone(), complete.clone()]), ["a run begins before it ends"]);
        let twice = [ready.clone(), start.clone(), complete.clone(), complete.clone()];
        assert_eq!(complaints(&twice)[0], "nothing of a run comes outside of one");
        assert_eq!(complaints(&[ready, start, complete, progress])[0], "nothing of a run comes outside of one");
    }
}
