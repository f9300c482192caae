//! Frames as the lines they travel as.

use serde::Serialize;

/// Writes a frame as a line behind `out`. Frames are strings, numbers and JSON that was checked:
/// serialising them to memory cannot fail.
pub fn push(out: &mut Vec<u8>, frame: &impl Serialize) {
    let _ = serde_json::to_writer(&mut *out, frame);
    out.push(b'\n');
}

/// A frame as a line of its own.
pub fn line(frame: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    push(&mut line, frame);
    line
}
