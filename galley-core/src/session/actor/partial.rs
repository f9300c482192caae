//! The text of a run that was cut off, read back from the log.

use crate::event_log::EventLog;
use crate::store::{LogChunk, SessionStore};
use galley_protocol::ipc::Event;

/// The most text kept of a run that was cut off.
const PARTIAL_BYTES: usize = 1024 * 1024;
/// How much of the log is read at once for it.
const PARTIAL_PAGE: usize = 256 * 1024;

/// The run's streamed text after its last step; its end when it is very long. The committed part of
/// the log goes up to `batch`.
pub(super) async fn partial_text(log: &EventLog, store: &dyn SessionStore, from: u64, batch: &[LogChunk]) -> String {
    let mut text = String::new();
    let last = log.last();
    let mut next = from.max(1);
    while next <= last {
        let page = match log.page(store, next, PARTIAL_PAGE).await {
            Ok(page) if !page.is_empty() => page,
            Ok(_) => break,
            Err(error) => {
                tracing::warn!(%error, "could not read the text of a run that was cut off");
                break;
            }
        };
        for chunk in &page {
            next = chunk.last + 1;
            add_text(&mut text, chunk, from);
        }
    }
    for chunk in batch {
        add_text(&mut text, chunk, from);
    }
    keep_end(&mut text);
    text
}

/// Adds the text of a chunk's events from index `from` on.
fn add_text(text: &mut String, chunk: &LogChunk, from: u64) {
    let skip = usize::try_from(from.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
    for line in chunk.lines.iter().flat_map(|lines| lines.split(|byte| *byte == b'\n')).skip(skip) {
        match Event::from_line(line) {
            Ok(Event::TurnProgress(progress)) => text.push_str(&progress.delta),
            Ok(Event::TurnEnd(_)) => text.clear(),
            _ => {}
        }
    }
    if text.len() > 2 * PARTIAL_BYTES {
        keep_end(text);
    }
}

fn keep_end(text: &mut String) {
    let mut cut = text.len().saturating_sub(PARTIAL_BYTES);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}
