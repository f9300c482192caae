//! The commands' way in: bytes to lines, on a thread of their own.

use galley_protocol::framing::{Line, LineDecoder, MAX_LINE};
use std::fs::File;
use std::io::{self, Read};
use std::thread;
use tokio::sync::mpsc;

/// Lines that may wait to be handled.
const QUEUE: usize = 16;

/// Bytes read at a time.
const READ: usize = 64 * 1024;

/// A line of the input, or why it is none.
pub(super) type Input = Result<Vec<u8>, String>;

/// Reads lines from `file`. The channel ends with the input; a last line without its end is
/// dropped, as its end never came.
pub(super) fn start(file: File) -> io::Result<mpsc::Receiver<Input>> {
    let (lines, received) = mpsc::channel(QUEUE);
    thread::Builder::new().name("galley-input".to_owned()).spawn(move || read(file, &lines))?;
    Ok(received)
}

fn read(mut file: File, lines: &mpsc::Sender<Input>) {
    let mut decoder = LineDecoder::new();
    loop {
        match file.read(&mut decoder.spare(READ)[..READ]) {
            Ok(0) => return,
            Ok(read) => decoder.advance(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        while let Some(line) = decoder.next_line() {
            let line = match line {
                Line::Complete([]) => continue,
                Line::Complete(line) => Ok(line.to_vec()),
                Line::Oversize { bytes, .. } => Err(format!("a line of {bytes} bytes is too long; the limit is {MAX_LINE}")),
            };
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    }
}
