//! Lines no well-behaved runner writes.

use crate::output::Output;
use galley_testkit::Step;
use serde_json::json;

/// Bytes written at a time by the lines that are larger than memory should be.
const CHUNK: usize = 64 * 1024;

/// Writes the line of `fault`; false when it is no fault of lines.
pub fn write(output: &Output, turn: u32, fault: &Step) -> bool {
    let session = json!(output.session());
    match fault {
        Step::Garbage => output.line(b"this is not JSON, and it was never meant to be"),
        Step::InvalidUtf8 => output.line(b"{\"kind\":\"turn_progress\",\"delta\":\"\xff\xfe broken\"}"),
        Step::Glued => output.line(br#"noise without a newline{"kind":"turn_progress","delta":"glued"}"#),
        Step::UnknownKind => {
            // Spaces, key order and number spelling show whether the line survives byte for byte.
            output.line(
                format!(r#"{{ "mood":"calm", "kind":"mood_changed", "sessionId":{session}, "level":1.50e2, "nested":{{"z":[1,null],"a":true}} }}"#)
                    .as_bytes(),
            );
        }
        Step::UnknownFields => {
            output.line(
                format!(r#"{{"kind":"turn_progress","zebra":{{"b":1.0,"a":[]}},"sessionId":{session},"delta":"extra ","émoji":"⛵"}}"#).as_bytes(),
            );
        }
        Step::EscapedKind => output.line(format!(r#"{{"kind":"turn\u005fprogress","sessionId":{session},"delta":"escaped "}}"#).as_bytes()),
        Step::WrongSession => output.line(br#"{"kind":"turn_progress","sessionId":"sess_of_another","delta":"strange "}"#),
        Step::NullLists => output.line(
            format!(r#"{{"kind":"turn_end","sessionId":{session},"turnIndex":{turn},"toolCalls":null,"toolResults":null,"exitReason":null}}"#)
                .as_bytes(),
        ),
        Step::BigLine(bytes) => {
            let (head, tail) = (format!(r#"{{"kind":"turn_progress","sessionId":{session},"delta":""#), "\"}");
            let mut pipe = output.lock();
            pipe.add(head.as_bytes());
            fill(&mut pipe, bytes.saturating_sub((head.len() + tail.len()) as u64));
            pipe.add(tail.as_bytes());
            pipe.add(b"\n");
            pipe.flush();
        }
        Step::NoNewline(bytes) => {
            let mut pipe = output.lock();
            fill(&mut pipe, *bytes);
            pipe.flush();
        }
        _ => return false,
    }
    true
}

fn fill(pipe: &mut crate::output::Pipe, bytes: u64) {
    let chunk = [b'x'; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(CHUNK as u64);
        pipe.add(&chunk[..now as usize]);
        left -= now;
    }
}
