//! What holds of every line.

use galley_protocol::RawJson;
use galley_protocol::ipc::*;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![vec(inner.clone(), 0..6).prop_map(Value::from), btree_map(any::<String>(), inner, 0..6).prop_map(|map| map.into_iter().collect())]
    })
}

/// Any object with a string `kind`; its other keys are often those of real events.
fn line() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![any::<String>(), proptest::sample::select(Event::KINDS).prop_map(str::to_owned)];
    let key = prop_oneof![
        any::<String>(),
        proptest::sample::select(vec!["sessionId", "timestamp", "turnIndex", "message", "exitReason"]).prop_map(str::to_owned)
    ];
    (kind, btree_map(key, json(), 0..6)).prop_map(|(kind, fields)| {
        let mut line: Value = fields.into_iter().collect();
        if line.is_null() {
            line = json!({});
        }
        line["kind"] = kind.into();
        line
    })
}

fn command() -> impl Strategy<Value = Command> {
    let raw = || vec(json().prop_map(|value| RawJson::new(&value).unwrap()), 0..3);
    let text = any::<String>;
    let decision = prop_oneof![Just(Decision::AllowOnce), Just(Decision::Deny), Just(Decision::AlwaysAllowGlobal), Just(Decision::from("perhaps"))];
    let role = prop_oneof![Just(HistoryRole::User), Just(HistoryRole::Assistant), Just(HistoryRole::from("narrator"))];
    let message =
        (role, text(), raw(), raw()).prop_map(|(role, content, tool_calls, tool_results)| HistoryMessage { role, content, tool_calls, tool_results });
    prop_oneof![
        (text(), vec(text(), 0..3), option::of(any::<u32>())).prop_map(|(text, images, absolute_turn_index)| UserMessage {
            text,
            images,
            absolute_turn_index
        }
        .into()),
        (text(), decision).prop_map(|(approval_id, decision)| ApprovalResponse { approval_id, decision }.into()),
        (text(), option::of(any::<u32>())).prop_map(|(text, absolute_turn_index)| AskUserResponse { text, absolute_turn_index }.into()),
        vec(message, 0..4).prop_map(|messages| LoadHistory { messages }.into()),
        (vec(text(), 0..3), vec(text(), 0..3)).prop_map(|(always_allow_global, always_allow_project)| SetApprovalRules {
            always_allow_global,
            always_allow_project
        }
        .into()),
        any::<bool>().prop_map(|enabled| SetYoloMode { enabled }.into()),
        any::<u32>().prop_map(|llm_index| SetLlm { llm_index }.into()),
        any::<u16>().prop_map(|port| AttachPet { port }.into()),
        proptest::sample::select(vec![Abort {}.into(), Shutdown {}.into(), ReinjectTools {}.into(), DetachPet {}.into()]),
    ]
}

proptest! {
    #[test]
    fn an_object_with_a_string_kind_is_an_event(line in line()) {
        let text = line.to_string();
        let peeked = EventLine::peek(text.as_bytes()).unwrap();
        prop_assert_eq!(Some(peeked.kind.as_ref()), line["kind"].as_str());
        prop_assert_eq!(peeked.session_id.as_deref(), line.get("sessionId").and_then(Value::as_str));
        match Event::from_line(text.as_bytes()) {
            Ok(event @ Event::Unknown(_)) => prop_assert_eq!(event.to_line().unwrap(), text.as_bytes()),
            Ok(event) => prop_assert_eq!(event.kind(), peeked.kind),
            Err(DecodeError::BadFields { kind, .. }) => prop_assert_eq!(kind, peeked.kind),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in vec(any::<u8>(), 0..200)) {
        let is_event = EventLine::peek(&bytes).is_ok();
        prop_assert!(is_event || matches!(Event::from_line(&bytes), Err(DecodeError::NotAnEvent(_))));
        prop_assert!(is_event || matches!(Command::from_line(&bytes), Err(DecodeError::NotACommand(_))));
    }

    #[test]
    fn no_damage_is_too_strange(line in line(), at in any::<proptest::sample::Index>(), byte in any::<u8>(), cut in any::<proptest::sample::Index>()) {
        let mut bytes = line.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(event) = Event::from_line(&bytes) {
            prop_assert_eq!(event.kind(), EventLine::peek(&bytes).unwrap().kind);
        }
    }

    #[test]
    fn a_command_comes_back_as_it_was(command in command()) {
        let line = command.to_line().unwrap();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        prop_assert_eq!(Command::from_line(&line).unwrap(), command);
    }
}
