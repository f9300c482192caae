//! Newline-delimited JSON as a sans-I/O decoder: bytes in, lines out.
//!
//! A line ends with the byte `0x0A` and with nothing else: U+2028, U+2029 and lone carriage
//! returns are content. One carriage return right before the newline is dropped, so a peer that
//! writes CRLF is understood. A line longer than the cap is skipped while it streams in and
//! reported once, with its size and its first bytes; the line after it is read as usual, and
//! memory stays bounded by the cap.

use memchr::memchr;

/// The cap of every line Galley reads, in bytes: 16 MiB.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// How much of an over-long line is kept to show what it was, in bytes.
pub const OVERSIZE_HEAD: usize = 4 * 1024;

/// What the decoder found.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A whole line, without its newline.
    Complete(&'a [u8]),
    /// A line over the cap, which was skipped.
    Oversize {
        /// Its first bytes, at most [`OVERSIZE_HEAD`].
        head: &'a [u8],
        /// Its length in bytes, without the newline.
        bytes: u64,
    },
}

/// Splits a byte stream into lines.
///
/// ```
/// use galley_protocol::framing::{Line, LineDecoder};
///
/// let mut decoder = LineDecoder::new();
/// decoder.extend(b"{\"a\":1}\n{\"b\"");
/// assert_eq!(decoder.next_line(), Some(Line::Complete(b"{\"a\":1}")));
/// assert_eq!(decoder.next_line(), None);
/// decoder.extend(b":2}\n");
/// assert_eq!(decoder.next_line(), Some(Line::Complete(b"{\"b\":2}")));
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Vec<u8>,
    /// Start of the line being read.
    start: usize,
    /// End of the bytes already searched for a newline.
    searched: usize,
    /// End of the bytes received.
    end: usize,
    max_line: usize,
    /// Bytes of an over-long line already dropped, while one is being skipped.
    skipped: Option<u64>,
    head: Vec<u8>,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl LineDecoder {
    /// A decoder with the usual cap, [`MAX_LINE`].
    pub fn new() -> Self {
        Self::with_max_line(MAX_LINE)
    }

    /// A decoder that reports lines over `max_line` bytes as oversize.
    pub fn with_max_line(max_line: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, searched: 0, end: 0, max_line, skipped: None, head: Vec::new() }
    }

    /// Room for a read of at least `min` bytes; call [`advance`](Self::advance) with what was read.
    pub fn spare(&mut self, min: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.searched, self.end) = (0, 0, 0);
        }
        if self.buffer.len() - self.end < min {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
            if self.buffer.len() - self.end < min {
                self.buffer.resize(self.end + min, 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// Takes over `read` bytes written into [`spare`](Self::spare).
    ///
    /// # Panics
    /// When `read` is more than the room `spare` gave.
    pub fn advance(&mut self, read: usize) {
        assert!(read <= self.buffer.len() - self.end, "advanced past the room given");
        self.end += read;
    }

    /// Adds bytes by copying them.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.spare(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// The next line, or `None` until more bytes arrive.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        match memchr(b'\n', &self.buffer[self.searched..self.end]) {
            Some(at) => {
                let (start, newline) = (self.start, self.searched + at);
                self.start = newline + 1;
                self.searched = self.start;
                if let Some(skipped) = self.skipped.take() {
                    return Some(Line::Oversize { head: &self.head, bytes: skipped + (newline - start) as u64 });
                }
                let mut line = &self.buffer[start..newline];
                if let [rest @ .., b'\r'] = line {
                    line = rest;
                }
                if line.len() > self.max_line {
                    return Some(Line::Oversize { head: &line[..line.len().min(OVERSIZE_HEAD)], bytes: line.len() as u64 });
                }
                Some(Line::Complete(line))
            }
            None => {
                self.searched = self.end;
                self.skip_if_too_long();
                None
            }
        }
    }

    /// What is left at the end of the stream: a last line without its newline. The decoder is
    /// empty afterwards.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        if self.start == self.end && self.skipped.is_none() {
            return None;
        }
        self.extend(b"\n");
        self.next_line()
    }

    /// Bytes held: what has been received of a line that is not complete yet.
    pub fn buffered(&self) -> usize {
        self.end - self.start
    }

    /// Whether an over-long line is being skipped right now.
    pub fn is_skipping(&self) -> bool {
        self.skipped.is_some()
    }

    /// How many bytes of it have been skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped.unwrap_or(0)
    }

    fn skip_if_too_long(&mut self) {
        let held = self.end - self.start;
        if self.skipped.is_none() && held > self.max_line + 1 {
            self.head.clear();
            self.head.extend_from_slice(&self.buffer[self.start..self.start + held.min(OVERSIZE_HEAD)]);
            self.skipped = Some(0);
        }
        if let Some(skipped) = &mut self.skipped {
            *skipped += held as u64;
            (self.start, self.searched, self.end) = (0, 0, 0);
            // The buffer grew for one huge line; do not keep that memory for the lines after it.
            self.buffer.truncate(64 * 1024);
            self.buffer.shrink_to(64 * 1024);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(decoder: &mut LineDecoder, chunks: &[&[u8]]) -> Vec<Result<Vec<u8>, u64>> {
        let mut out = Vec::new();
        let mut take = |line: Line<'_>| {
            out.push(match line {
                Line::Complete(bytes) => Ok(bytes.to_vec()),
                Line::Oversize { bytes, .. } => Err(bytes),
            })
        };
        for chunk in chunks {
            decoder.extend(chunk);
            while let Some(line) = decoder.next_line() {
                take(line);
            }
        }
        if let Some(line) = decoder.finish() {
            take(line);
        }
        out
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let text = "a\u{2028}b\u{2029}c\rd\u{85}e\r\nnext\n";
        let got = lines(&mut LineDecoder::new(), &[text.as_bytes()]);
        assert_eq!(got, [Ok("a\u{2028}b\u{2029}c\rd\u{85}e".as_bytes().to_vec()), Ok(b"next".to_vec())]);
    }

    #[test]
    fn an_overlong_line_is_reported_once_and_the_next_one_parses() {
        let mut decoder = LineDecoder::with_max_line(1000);
        let mut got = Vec::new();
        for _ in 0..100 {
            decoder.extend(&[b'x'; 100]);
            assert!(decoder.next_line().is_none());
            assert!(decoder.buffered() <= 1101, "memory stays bounded");
        }
        decoder.extend(b"\n{}\n");
        while let Some(line) = decoder.next_line() {
            got.push(match line {
                Line::Oversize { head, bytes } => (head.len() as u64, bytes),
                Line::Complete(line) => (line.len() as u64, 0),
            });
        }
        assert_eq!(got, [(1100, 10_000), (2, 0)]);
    }

    #[test]
    fn a_line_of_exactly_the_cap_is_whole() {
        let mut decoder = LineDecoder::with_max_line(4);
        assert_eq!(lines(&mut decoder, &[b"abcd\r\n", b"abcde\n"]), [Ok(b"abcd".to_vec()), Err(5)]);
    }

    #[test]
    fn the_last_line_may_lack_its_newline() {
        assert_eq!(lines(&mut LineDecoder::new(), &[b"a\nb"]), [Ok(b"a".to_vec()), Ok(b"b".to_vec())]);
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(text in proptest::collection::vec(any::<char>(), 0..200), cuts in proptest::collection::vec(0usize..800, 0..20), newlines in proptest::collection::vec(0usize..200, 0..20)) {
            let mut text = text;
            for at in newlines {
                if at < text.len() { text[at] = '\n'; }
            }
            let text: String = text.into_iter().collect();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts { chunks.push(&bytes[from..cut]); from = cut; }
            chunks.push(&bytes[from..]);
            let mut expected: Vec<_> = text.split('\n').map(|l| Ok(l.strip_suffix('\r').unwrap_or(l).as_bytes().to_vec())).collect();
            if text.is_empty() || text.ends_with('\n') { expected.pop(); }
            prop_assert_eq!(lines(&mut LineDecoder::new(), &chunks), expected);
        }
    }
}
