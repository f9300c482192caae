//! Lines between a runner and Core.

use crate::sample::{Sample, changed, json_of, samples};
use crate::schema::Schema;
use galley_protocol::ipc::{Category, Command, DecodeError, Event, EventLine, ExitResult, RiskLevel, Severity, SystemVariant};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const EVENT_KINDS: &[&str] = Event::KINDS;
pub const COMMAND_KINDS: &[&str] = Command::KINDS;

type Recode = fn(&str) -> Result<Value, DecodeError>;

fn event(text: &str) -> Result<Value, DecodeError> {
    Event::from_line(text.as_bytes()).map(|event| json_of(&event))
}

fn command(text: &str) -> Result<Value, DecodeError> {
    Command::from_line(text.as_bytes()).map(|command| json_of(&command))
}

/// Every sample of a known kind, with its decoder and the name of its table in the schema.
fn known_samples() -> impl Iterator<Item = (Sample, Recode, &'static str)> {
    let events = samples("ipc/events").into_iter().filter(|sample| sample.name != "unknown").map(|sample| (sample, event as Recode, "events"));
    let commands = samples("ipc/commands").into_iter().map(|sample| (sample, command as Recode, "commands"));
    events.chain(commands)
}

fn decoded(line: &str) -> Event {
    Event::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn every_kind_has_a_sample_and_every_sample_a_kind() {
    for (folder, kinds) in [("ipc/events", EVENT_KINDS), ("ipc/commands", COMMAND_KINDS)] {
        let found: BTreeSet<_> = samples(folder).iter().map(|sample| sample.json()["kind"].as_str().unwrap().to_owned()).collect();
        let kinds: BTreeSet<_> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let missing: Vec<_> = kinds.difference(&found).collect();
        assert!(missing.is_empty(), "{folder} lacks {missing:?}");
        for sample in samples(folder).iter().filter(|sample| sample.name != "unknown") {
            assert_eq!(sample.json()["kind"], sample.of(), "{folder}/{}", sample.name);
        }
    }
    assert_eq!((EVENT_KINDS.len(), COMMAND_KINDS.len()), (17 + 3, 12), "17 events of the protocol, 3 of Core's own; 12 commands");
}

#[test]
fn samples_come_back_as_they_were_in_any_order_of_keys() {
    for (sample, recode, _) in known_samples() {
        for text in sample.spellings() {
            assert_eq!(recode(&text).unwrap_or_else(|error| panic!("{}: {error}", sample.name)), sample.json(), "{}", sample.name);
        }
    }
}

#[test]
fn typed_events_know_their_kind() {
    for sample in samples("ipc/events") {
        let event = decoded(&sample.text);
        assert_eq!(event.kind(), sample.json()["kind"]);
        assert_eq!(matches!(event, Event::Unknown(_)), sample.name == "unknown", "{}", sample.name);
    }
}

#[test]
fn null_is_the_same_as_absence() {
    let schema = Schema::load();
    for (sample, recode, table) in known_samples() {
        let (optional, _) = schema.fields(schema.table(&["ipc", table, sample.of()]));
        for field in optional {
            let absent = recode(&changed(&sample.json(), |line| drop(line.remove(field)))).unwrap();
            let null = recode(&changed(&sample.json(), |line| drop(line.insert(field.into(), Value::Null))));
            assert_eq!(null.unwrap_or_else(|error| panic!("{} {field}: {error}", sample.name)), absent, "{} {field}", sample.name);
        }
    }
}

#[test]
fn a_required_field_that_is_missing_is_named() {
    let schema = Schema::load();
    for (sample, recode, table) in known_samples() {
        let (_, required) = schema.fields(schema.table(&["ipc", table, sample.of()]));
        let validator = schema.validator(schema.table(&["ipc", table.trim_end_matches('s')]));
        for field in required {
            let text = changed(&sample.json(), |line| drop(line.remove(field)));
            assert!(!validator.is_valid(&serde_json::from_str(&text).unwrap()), "the schema accepts {} without {field}", sample.name);
            match recode(&text) {
                Err(DecodeError::BadFields { kind, source }) => {
                    assert_eq!(kind, sample.of());
                    assert!(source.to_string().contains(field), "{source}");
                }
                other => panic!("{} without {field}: {other:?}", sample.name),
            }
        }
    }
}

#[test]
fn a_ready_that_misspells_its_models_is_refused() {
    for line in [r#"{"kind":"ready","protocolVersion":"0.1"}"#, r#"{"kind":"ready","protocolVersion":"0.1","availableLlms":[]}"#] {
        let error = Event::from_line(line.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("availableLLMs"), "{error}");
    }
}

#[test]
fn unknown_fields_are_no_error() {
    for (sample, recode, _) in known_samples() {
        let text = changed(&sample.json(), |line| drop(line.insert("mood".into(), json!({ "deep": [[1.5, null]] }))));
        assert_eq!(recode(&text).unwrap_or_else(|error| panic!("{}: {error}", sample.name)), sample.json());
    }
}

#[test]
fn an_unknown_kind_is_passed_on_byte_for_byte() {
    let line = r#"{ "z":1.0,"kind" : "mood_\u0063hanged", "n":12345678901234567890123, "a":"\u00e9\/","z":2 , "kind2":null}"#;
    let event = decoded(line);
    assert_eq!(event.kind(), "mood_changed");
    assert_eq!(event.to_line().unwrap(), line.as_bytes());
}

#[test]
fn unknown_words_survive() {
    let line = json!({ "kind": "tool_call_pending", "approvalId": "a", "toolName": "t", "riskLevel": "apocalyptic" }).to_string();
    let Event::ToolCallPending(pending) = decoded(&line) else { panic!("another kind") };
    assert_eq!(pending.risk_level, Some(RiskLevel::Unknown("apocalyptic".into())));
    let line = json!({ "kind": "run_complete", "exitReason": { "result": "TOKENS_EXHAUSTED", "data": { "left": 0 } } }).to_string();
    let Event::RunComplete(complete) = decoded(&line) else { panic!("another kind") };
    assert_eq!(complete.exit_reason.result, ExitResult::Unknown("TOKENS_EXHAUSTED".into()));
    assert_eq!(json_of(&Event::from(complete)), serde_json::from_str::<Value>(&line).unwrap());
}

#[test]
fn what_is_carried_verbatim_keeps_its_spelling() {
    let args = r#"{ "z":1.0, "a":1e3, "big":12345678901234567890123, "s":"\u00e9" }"#;
    let event = decoded(&format!(r#"{{"kind":"tool_call_start","toolCallId":"tc","toolName":"t","args":{args}}}"#));
    assert!(String::from_utf8(event.to_line().unwrap()).unwrap().contains(args));
    let command = format!(r#"{{"kind":"load_history","messages":[{{"role":"user","content":"","toolCalls":[{args}],"toolResults":[]}}]}}"#);
    assert_eq!(Command::from_line(command.as_bytes()).unwrap().to_line().unwrap(), format!("{command}\n").into_bytes());
    assert_eq!(json_of(&serde_json::from_str::<Command>(&command).unwrap()), serde_json::from_str::<Value>(&command).unwrap());
}

#[test]
fn kinds_and_keys_may_be_escaped() {
    let line = r#"{"\u006bind":"turn\u005fstart","session\u0049d":"s\u00e9","turnIndex":7}"#;
    let peeked = EventLine::peek(line.as_bytes()).unwrap();
    assert_eq!((peeked.kind.as_ref(), peeked.session_id.as_deref()), ("turn_start", Some("sé")));
    let Event::TurnStart(start) = decoded(line) else { panic!("another kind") };
    assert_eq!(start.turn_index, 7);
    assert_eq!(Command::from_line(br#"{"kind":"\u0061bort"}"#).unwrap().kind(), "abort");
}

#[test]
fn an_error_needs_only_its_message() {
    for line in [r#"{"kind":"error","message":"oh"}"#, r#"{"kind":"error","message":"oh","category":null,"severity":null,"retryable":null}"#] {
        let Event::Error(error) = decoded(line) else { panic!("another kind") };
        assert_eq!((error.category, error.severity, error.retryable), (Category::Bridge, Severity::Error, false));
    }
    let Event::SystemMessage(message) = decoded(r#"{"kind":"system_message","content":"hi"}"#) else { panic!("another kind") };
    assert_eq!(message.variant, SystemVariant::System);
}

#[test]
fn a_session_id_that_is_no_string_is_none() {
    for odd in ["7", "null", "[\"s\"]", "{\"a\":\"b\"}", r#""\ud800""#] {
        let line = format!(r#"{{"kind":"mood_changed","sessionId":{odd}}}"#);
        assert_eq!(EventLine::peek(line.as_bytes()).unwrap(), EventLine { kind: "mood_changed".into(), session_id: None }, "{odd}");
        assert_eq!(decoded(&line).to_line().unwrap(), line.as_bytes());
    }
}

#[test]
fn of_a_repeated_key_the_last_value_counts() {
    let line = r#"{"kind":"ready","sessionId":"a","kind":"turn_start","turnIndex":1,"sessionId":7,"sessionId":"b","turnIndex":2}"#;
    let peeked = EventLine::peek(line.as_bytes()).unwrap();
    assert_eq!((peeked.kind.as_ref(), peeked.session_id.as_deref()), ("turn_start", Some("b")));
    let Event::TurnStart(start) = decoded(line) else { panic!("another kind") };
    assert_eq!((start.session_id.as_deref(), start.turn_index), (Some("b"), 2));

    let error = Event::from_line(br#"{"kind":"turn_start","sessionId":"a","sessionId":"b"}"#).unwrap_err();
    assert!(matches!(error, DecodeError::BadFields { kind: "turn_start", .. }), "{error}");
}

#[test]
fn what_is_no_event_is_told_apart() {
    for line in [
        "",
        "[]",
        "7",
        "null",
        "{}",
        r#"{"kind":7}"#,
        r#"{"kind":null}"#,
        r#"{"kind":"x"}}"#,
        r#"{"kind":"x""#,
        "plain text",
        "\u{feff}{\"kind\":\"x\"}",
    ] {
        assert!(matches!(Event::from_line(line.as_bytes()), Err(DecodeError::NotAnEvent(_))), "{line}");
        assert!(matches!(Command::from_line(line.as_bytes()), Err(DecodeError::NotACommand(_))), "{line}");
    }
    assert!(matches!(Event::from_line(b"{\"kind\":\"x\",\"s\":\"\xff\"}"), Err(DecodeError::NotAnEvent(_))), "not UTF-8");
    assert!(matches!(Command::from_line(br#"{"kind":"dance"}"#), Err(DecodeError::UnknownCommand(kind)) if kind == "dance"));
}
