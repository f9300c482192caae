//! The one look every line of a runner gets before it is an event of the log.

use bytes::Bytes;
use galley_protocol::ipc::Event;
use galley_protocol::ipc::{EventLine, Malformed};
use std::borrow::Cow;

/// How much of a line that is no event is shown in `malformed`, in bytes.
const MALFORMED_HEAD: usize = 4 * 1024;

/// What the state machine has to look at more closely. Everything else is only logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Streamed text: the hot path.
    Progress,
    /// An event that may change the session's state.
    Significant,
    /// Known or unknown, it changes nothing.
    Other,
}

/// A line that is fit for the log: valid UTF-8, one JSON object with a string `kind`, no newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The bytes for log and watchers.
    pub line: Bytes,
    /// How closely to look.
    pub kind: Kind,
}

/// Checks a line once. A JSON object with a string `kind` is always an event and keeps its bytes;
/// invalid UTF-8 is replaced and flagged (`"invalidUtf8":true`); anything else, and a line that
/// names another session, becomes Core's own `malformed` event.
pub fn admit(session_id: &str, line: Bytes) -> Admitted {
    let (text, replaced) = match std::str::from_utf8(&line) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (String::from_utf8_lossy(&line), true),
    };
    let event = match EventLine::peek(text.as_bytes()) {
        Ok(event) => event,
        Err(error) => return malformed(session_id, &text, error.to_string()),
    };
    if let Some(other) = event.session_id.as_deref().filter(|id| *id != session_id) {
        return malformed(session_id, &text, format!("the line names session {other}, and this is {session_id}'s runner"));
    }
    let kind = match event.kind.as_ref() {
        "turn_progress" => Kind::Progress,
        "ready" | "turn_start" | "tool_call_pending" | "turn_end" | "ask_user" | "run_complete" | "error" | "history_loaded" | "llm_changed"
        | "system_message" => Kind::Significant,
        _ => Kind::Other,
    };
    drop(event);
    if replaced {
        // The bytes had to change anyway; say so in them, for the log and every watcher alike.
        let body = text.trim_start().strip_prefix('{').unwrap_or(&text);
        return Admitted { line: Bytes::from(format!("{{\"invalidUtf8\":true,{body}")), kind };
    }
    drop(text);
    Admitted { line, kind }
}

fn malformed(session_id: &str, text: &str, reason: String) -> Admitted {
    let mut end = text.len().min(MALFORMED_HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let event = Malformed {
        session_id: Some(session_id.to_owned()),
        source: "core".to_owned(),
        line: text[..end].to_owned(),
        reason: Some(reason),
        bytes: (end < text.len()).then_some(text.len() as u64),
        timestamp: Some(crate::time::Timestamp::now().to_string()),
    };
    Admitted { line: line_of(&event.into()), kind: Kind::Other }
}

/// An event of Core's own as a line.
pub fn line_of(event: &Event) -> Bytes {
    // Strings and numbers only: serialising cannot fail; an empty object would still be a line.
    Bytes::from(event.to_line().unwrap_or_else(|_| b"{}".to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(admitted: &Admitted) -> &str {
        std::str::from_utf8(&admitted.line).unwrap()
    }

    #[test]
    fn an_event_keeps_its_bytes() {
        for line in [
            r#"{"kind":"brand_new","z":1,"a":{"deep":[1.0e2]}}"#,
            r#"  { "kind" : "turn_progress", "sessionId":"s", "delta":"x" } "#,
            r#"{"k\u0069nd":"turn\u005fend"}"#,
        ] {
            let got = admit("s", Bytes::from_static(line.as_bytes()));
            assert_eq!(text(&got), line);
        }
        assert_eq!(admit("s", Bytes::from_static(br#"{"k\u0069nd":"turn\u005fend"}"#)).kind, Kind::Significant);
    }

    #[test]
    fn invalid_utf8_is_replaced_and_flagged() {
        let got = admit("s", Bytes::from_static(b"{\"kind\":\"turn_progress\",\"delta\":\"a\xffb\"}"));
        assert_eq!(text(&got), "{\"invalidUtf8\":true,\"kind\":\"turn_progress\",\"delta\":\"a\u{fffd}b\"}");
        assert_eq!(got.kind, Kind::Progress);
        serde_json::from_slice::<serde_json::Value>(&got.line).unwrap();
    }

    #[test]
    fn what_is_no_event_becomes_malformed_and_is_kept() {
        for line in ["hello", "[1]", r#"{"kind":3}"#, "{}", "null", "", r#"{"kind":"ready","sessionId":"other"}"#] {
            let got = admit("s", Bytes::copy_from_slice(line.as_bytes()));
            let Event::Malformed(event) = Event::from_line(&got.line).unwrap() else { panic!("{line}") };
            assert_eq!(event.line, line);
            assert_eq!(got.kind, Kind::Other);
        }
    }

    #[test]
    fn a_long_line_of_noise_is_shown_in_part() {
        let noise = "é".repeat(10_000);
        let got = admit("s", Bytes::from(noise));
        let Event::Malformed(event) = Event::from_line(&got.line).unwrap() else { panic!() };
        assert_eq!((event.line.len(), event.bytes), (MALFORMED_HEAD, Some(20_000)));
    }
}
