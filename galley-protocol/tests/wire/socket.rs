//! Lines between a client and Core.

use crate::sample::{Sample, changed, json_of, recode, samples};
use crate::schema::Schema;
use galley_protocol::socket::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

type Recode = fn(&str) -> Result<Value, serde_json::Error>;

/// How a command's arguments and its answer (a result, or a frame) are read and written.
struct Codec {
    args: Recode,
    answer: Recode,
}

macro_rules! codecs {
    (replies { $($args:ident = $name:literal, $access:ident -> $output:ty $(, once by $_id:ident)?;)+ } streams { $($stream_args:ident = $stream_name:literal, $stream_access:ident -> $frame:ty $(, acknowledged by $_from:ident)?;)+ }) => {
        fn codec(command: &str) -> Codec {
            match command {
                $($name => Codec { args: recode::<$args>, answer: recode::<$output> },)+
                $($stream_name => Codec { args: recode::<$stream_args>, answer: recode::<$frame> },)+
                other => panic!("no command {other}"),
            }
        }
    };
}
galley_protocol::for_each_command!(codecs);

pub fn command_names() -> BTreeSet<String> {
    COMMANDS.iter().map(|command| command.name.to_owned()).collect()
}

pub fn exit_code(tag: &str) -> u8 {
    ErrorTag::from(tag).exit_code()
}

fn sampled(folder: &str) -> BTreeSet<String> {
    samples(folder).iter().map(|sample| sample.of().to_owned()).collect()
}

fn check(sample: &Sample, part: &Value, recode: Recode) {
    let spelled = Sample { name: sample.name.clone(), text: part.to_string() };
    for text in spelled.spellings() {
        assert_eq!(&recode(&text).unwrap_or_else(|error| panic!("{}: {error}", sample.name)), part, "{}", sample.name);
    }
}

#[test]
fn every_command_has_a_request_and_an_answer() {
    let names =
        |streams| COMMANDS.iter().filter(|command| command.streams == streams).map(|command| command.name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(sampled("socket/requests"), command_names());
    assert_eq!(sampled("socket/responses"), names(false));
    assert_eq!(sampled("socket/frames"), names(true));
    assert_eq!(command_names().len(), COMMANDS.len(), "a name is listed twice");
}

#[test]
fn requests_come_back_as_they_were() {
    for sample in samples("socket/requests") {
        check(&sample, &sample.json(), recode::<Request>);
        let line: RequestLine<'_> = serde_json::from_str(&sample.text).unwrap();
        assert_eq!(line.command, sample.of());
        if let Some(args) = sample.json().get("args") {
            check(&sample, args, codec(sample.of()).args);
            assert_eq!(&serde_json::from_str::<Value>(line.args.unwrap().get()).unwrap(), args);
        }
    }
}

#[test]
fn responses_come_back_as_they_were() {
    for sample in samples("socket/responses") {
        check(&sample, &sample.json(), recode::<Response>);
        check(&sample, &sample.json()["result"], codec(sample.of()).answer);
    }
}

#[test]
fn frames_come_back_as_they_were() {
    for sample in samples("socket/frames") {
        check(&sample, &sample.json(), codec(sample.of()).answer);
    }
}

#[test]
fn errors_come_back_as_they_were_and_every_tag_has_a_sample() {
    for sample in samples("socket/errors") {
        check(&sample, &sample.json(), recode::<Response>);
        let tag = serde_json::from_str::<Response>(&sample.text).unwrap().error.unwrap();
        assert_eq!(tag.is_known(), sample.name != "unknown", "{}", sample.name);
    }
    for sample in samples("cli") {
        check(&sample, &sample.json(), recode::<ErrorBody>);
    }
    let tags: BTreeSet<_> = ErrorTag::WORDS.iter().map(|tag| (*tag).to_owned()).chain(["unknown".to_owned()]).collect();
    assert_eq!(sampled("socket/errors"), tags);
}

#[test]
fn null_is_the_same_as_absence_in_every_argument() {
    let schema = Schema::load();
    for sample in samples("socket/requests") {
        let json = sample.json();
        let Some(args) = json.get("args") else { continue };
        let (optional, required) = schema.fields(schema.table(&["socket", "commands", sample.of(), "args"]));
        let read = codec(sample.of()).args;
        for field in optional {
            let absent = read(&changed(args, |args| drop(args.remove(field)))).unwrap();
            let null = read(&changed(args, |args| drop(args.insert(field.into(), Value::Null))));
            assert_eq!(null.unwrap_or_else(|error| panic!("{} {field}: {error}", sample.name)), absent, "{} {field}", sample.name);
        }
        for field in required {
            let error = read(&changed(args, |args| drop(args.remove(field)))).unwrap_err();
            assert!(error.to_string().contains(field), "{}: {error}", sample.name);
        }
        read(&changed(args, |args| drop(args.insert("mood".into(), json!("good"))))).unwrap_or_else(|error| panic!("{}: {error}", sample.name));
    }
}

#[test]
fn the_envelope_takes_null_for_absence_and_any_schema_version() {
    let line: RequestLine<'_> = serde_json::from_str(r#"{"command":"ping","args":null,"schemaVersion":null,"requestId":null,"mood":1}"#).unwrap();
    assert!(line.args.is_none() && line.schema_version.is_none() && line.request_id.is_none());
    let line: RequestLine<'_> = serde_json::from_str(r#"{"command":"p\u0069ng","schemaVersion":"one"}"#).unwrap();
    assert_eq!((line.command.as_ref(), line.schema_version), ("ping", Some(json!("one"))));
}

#[test]
fn an_event_crosses_a_watch_byte_for_byte() {
    let data = r#"{ "kind":"mood_changed", "z":1.0, "a":1e3, "big":12345678901234567890123 }"#;
    let line = format!(r#"{{"stream":"event","requestId":null,"index":3,"run":1,"data":{data}}}"#);
    let frame: StreamFrame = serde_json::from_str(&line).unwrap();
    assert!(matches!(&frame, StreamFrame::Event { data: kept, .. } if kept.as_str() == data));
    assert_eq!(serde_json::to_string(&frame).unwrap(), line);
}

#[test]
fn a_frame_without_its_fields_is_refused_by_name() {
    for (frame, missing) in [
        (json!({ "stream": "start" }), "nextIndex"),
        (json!({ "stream": "event", "index": 1 }), "data"),
        (json!({ "stream": "gap", "from": 1 }), "to"),
        (json!({ "stream": "end" }), "reason"),
        (json!({ "stream": "dance" }), "dance"),
        (json!({}), "stream"),
    ] {
        let error = serde_json::from_value::<StreamFrame>(frame).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
    }
    for (frame, missing) in [
        (json!({ "stream": "wait", "schemaVersion": 1, "phase": "initial" }), "session"),
        (json!({ "stream": "end", "schemaVersion": 1 }), "reason"),
        (json!({ "stream": "end", "reason": "timeout" }), "schemaVersion"),
    ] {
        let error = serde_json::from_value::<WaitFrame>(frame).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
    }
}

#[test]
fn a_frame_of_the_feed_or_a_follow_without_its_fields_is_refused_by_name() {
    fn refuses<T: serde::de::DeserializeOwned>(frame: Value, missing: &str) {
        let error = serde_json::from_value::<T>(frame).err().unwrap_or_else(|| panic!("took a frame without {missing}"));
        assert!(error.to_string().contains(missing), "{error}");
    }
    refuses::<FollowFrame>(json!({ "stream": "snapshot", "schemaVersion": 1, "session": null, "phase": "final" }), "session");
    refuses::<FollowFrame>(json!({ "stream": "event", "schemaVersion": 1, "data": {} }), "sessionId");
    refuses::<FollowFrame>(json!({ "stream": "dance", "schemaVersion": 1 }), "dance");
    refuses::<ProjectFrame>(json!({ "stream": "snapshot", "schemaVersion": 1, "phase": "initial" }), "project");
    refuses::<ProjectFrame>(json!({ "stream": "sessionEnd", "schemaVersion": 1, "reason": "deleted" }), "sessionId");
    refuses::<ProjectFrame>(json!({ "stream": "end", "schemaVersion": 1 }), "reason");
    refuses::<FeedFrame>(json!({ "stream": "start" }), "revision");
    refuses::<FeedFrame>(json!({ "stream": "event" }), "data");
    refuses::<FeedFrame>(json!({ "stream": "event", "data": { "kind": "session_deleted", "sessionId": "s" } }), "revision");
    refuses::<FeedFrame>(json!({ "stream": "event", "data": { "kind": "session_deleted", "revision": 1 } }), "sessionId");
    refuses::<Exported>(json!({ "format": "json", "schemaVersion": 1 }), "session");
    refuses::<Exported>(json!({ "format": "pdf" }), "pdf");
}

#[test]
fn a_row_of_the_feed_can_be_laid_over_an_older_one() {
    let schema = Schema::load();
    let output = |command: &str| schema.table(&["socket", "commands", command, "output"]);
    let mut rows = 0;
    for sample in samples("socket/frames").iter().filter(|sample| sample.of() == "sessions.watch") {
        let FeedFrame::Event { data, .. } = serde_json::from_str(&sample.text).unwrap() else { continue };
        let row = match &data.change {
            Change::SessionChanged(_) => output("session.brief"),
            Change::MessageAdded(_) => &output("session.show")["items"],
            Change::ApprovalChanged(_) => &output("approval.list")["items"],
            _ => continue,
        };
        let (optional, required) = schema.fields(row);
        let written = json_of(&data);
        assert!(optional.iter().chain(&required).all(|field| written.get(field).is_some()), "{} lacks a field", sample.name);
        rows += 1;
    }
    assert_eq!(rows, 4);
}

#[test]
fn a_session_is_moved_under_either_word() {
    let to = |args: Value| serde_json::from_value::<SessionMove>(args).map(|moved| moved.to);
    assert_eq!(to(json!({ "sessionId": "s", "to": "proj_1" })).unwrap().as_deref(), Some("proj_1"));
    assert_eq!(to(json!({ "sessionId": "s", "projectId": "proj_1" })).unwrap().as_deref(), Some("proj_1"));
    assert_eq!(to(json!({ "sessionId": "s" })).unwrap(), None);
    assert!(to(json!({ "sessionId": "s", "to": "proj_1", "projectId": "proj_2" })).is_err());
}

#[test]
fn only_harmless_commands_reach_a_runner_directly() {
    let direct = |command: Value| serde_json::from_value::<SessionCommand>(json!({ "sessionId": "s", "command": command }));
    for kind in galley_protocol::ipc::Command::KINDS {
        let allowed = ["reinject_tools", "attach_pet", "detach_pet"].contains(kind);
        let command = direct(json!({ "kind": kind, "port": 1 }));
        assert_eq!(command.is_ok(), allowed, "{kind}");
        if let Ok(command) = command {
            assert_eq!(galley_protocol::ipc::Command::from(command.command).kind(), *kind);
        }
    }
}

#[test]
fn words_of_a_later_version_survive() {
    let line = r#"{"stream":"end","requestId":"r","reason":"moved_elsewhere"}"#;
    assert_eq!(serde_json::to_string(&serde_json::from_str::<StreamFrame>(line).unwrap()).unwrap(), line);
    let brief = &samples("socket/responses").into_iter().find(|sample| sample.name == "session.brief-minimal").unwrap().json()["result"];
    let text = changed(brief, |brief| drop(brief.insert("status".into(), json!("daydreaming"))));
    assert_eq!(json_of(&serde_json::from_str::<SessionBrief>(&text).unwrap()), serde_json::from_str::<Value>(&text).unwrap());
}

#[test]
fn a_watch_starts_where_it_says() {
    let from = |json: Value| serde_json::from_value::<SessionWatch>(json!({ "sessionId": "s", "from": json })).map(|watch| watch.from);
    assert_eq!(from(json!(1)).unwrap(), Some(WatchFrom::Index(1)));
    assert_eq!(from(json!("start")).unwrap(), Some(WatchFrom::Start));
    for bad in [json!(0), json!(-1), json!(1.5), json!("soon"), json!(true), json!([1])] {
        let error = from(bad).unwrap_err().to_string();
        assert!(error.contains("`now`, `run` or `start`"), "{error}");
    }
}
