//! Whether a watcher saw every event exactly once, in order.

use crate::Error;
use serde::Deserialize;

/// How much of an event an error shows, in characters.
const SHOWN: usize = 200;

/// Checks what a watcher sees: indexes that rise by one, without gap or repetition. The sequence
/// numbers that the runner's `emit` writes into its events are checked as well, which shows a line
/// that was lost or doubled before it got its index.
///
/// ```
/// use galley_testkit::EventLogChecker;
///
/// let mut log = EventLogChecker::from(7);
/// log.see(7, br#"{"kind":"turn_start","turnIndex":1}"#)?;
/// log.see(8, br#"{"kind":"turn_progress","delta":"a","seq":0}"#)?;
/// assert!(log.see(10, b"{}").unwrap_err().to_string().contains("gap"));
/// # Ok::<(), galley_testkit::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct EventLogChecker {
    next: Option<u64>,
    seq: Option<u64>,
    seen: u64,
}

impl From<u64> for EventLogChecker {
    fn from(first: u64) -> Self {
        Self { next: Some(first), ..Self::default() }
    }
}

impl EventLogChecker {
    /// A checker that takes the first index as it comes; use `from` to demand one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// [`Error::BrokenOrder`] or [`Error::BrokenSequence`] when it does not follow the one before.
    pub fn see(&mut self, index: u64, data: &[u8]) -> Result<(), Error> {
        if let Some(next) = self.next
            && index != next
        {
            let previous = next.saturating_sub(1);
            let problem = match index {
                _ if index > next => "gap",
                _ if index == previous => "duplicate",
                _ => "step back",
            };
            let data = String::from_utf8_lossy(data).chars().take(SHOWN).collect();
            return Err(Error::BrokenOrder { problem, index, previous, data });
        }
        if let Some(seq) = emitted_seq(data) {
            // A new runner process starts at 0 again.
            if let Some(previous) = self.seq
                && seq != previous + 1
                && seq != 0
            {
                return Err(Error::BrokenSequence { index, seq, previous });
            }
            self.seq = Some(seq);
        }
        self.next = Some(index + 1);
        self.seen += 1;
        Ok(())
    }

    /// How many events were seen.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The index that must come next; what a watcher that reconnects asks for.
    pub fn next_index(&self) -> Option<u64> {
        self.next
    }
}

fn emitted_seq(data: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Emitted {
        seq: Option<u64>,
    }
    serde_json::from_slice::<Emitted>(data).ok()?.seq
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_duplicates_and_steps_back_are_told_apart() {
        for (index, problem) in [(7, "gap"), (4, "duplicate"), (2, "step back")] {
            let mut log = EventLogChecker::from(4);
            log.see(4, b"{}").unwrap();
            let message = log.see(index, b"{\"kind\":\"error\"}").unwrap_err().to_string();
            assert!(message.contains(problem) && message.contains("error"), "{message}");
            assert_eq!((log.seen(), log.next_index()), (1, Some(5)));
        }
    }

    #[test]
    fn a_line_lost_before_it_got_its_index_is_found() {
        let mut log = EventLogChecker::new();
        for (index, seq) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            log.see(index, format!("{{\"seq\":{seq}}}").as_bytes()).unwrap();
        }
        assert!(matches!(log.see(4, b"{\"seq\":3}"), Err(Error::BrokenSequence { index: 4, seq: 3, previous: 1 })));
    }
}
