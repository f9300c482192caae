//! The three pipes of a runner.

use super::backend::{Delivery, Undelivered};
use super::spawn::Pipe;
use crate::time::Timestamp;
use bytes::{Bytes, BytesMut};
use galley_protocol::framing::{Line, LineDecoder};
use galley_protocol::ipc::{Event, Malformed};
use memchr::{memchr, memrchr_iter};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// How much is read at once from a runner that says little, as most do most of the time, and from
/// one that says more than that: what a pipe holds.
const READ: usize = 4 * 1024;
const READ_BURST: usize = 64 * 1024;

/// How long after the process's end its pipes are still waited for, when somebody else holds them.
const DRAIN: Duration = Duration::from_millis(250);

/// What is left in a pipe when the process ends is never more than this. Somebody who goes on
/// writing is not listened to for longer.
const MOST_LEFT: usize = 1024 * 1024;

/// A line from this length on is handed over only when nothing else waits, so that what waits is
/// bounded in bytes and not only in lines.
const BULKY: usize = 64 * 1024;

/// The lines of standard error that are kept, and how much of each.
const TAIL_LINES: usize = 8;
const TAIL_LINE: usize = 4 * 1024;

/// Tells the tasks on a process's pipes when it has ended.
#[derive(Debug, Clone)]
pub(super) struct Ended(watch::Receiver<Option<Instant>>);

impl Ended {
    /// The handle, and the sender of the moment of the end.
    pub(super) fn new() -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    async fn wait(&mut self) -> Instant {
        // A sender that is gone has nothing more to tell: over, too.
        self.0.wait_for(Option::is_some).await.ok().and_then(|at| *at).unwrap_or_else(Instant::now)
    }

    fn at(&self) -> Option<Instant> {
        *self.0.borrow()
    }
}

/// Writes commands to standard input, each whole or never again: when one is not taken within
/// `limit`, `stuck` is told and nothing more is written. Answers every delivery once.
pub(super) async fn write(
    mut stdin: Pipe<ChildStdin>,
    mut deliveries: mpsc::Receiver<Delivery>,
    limit: Duration,
    stuck: oneshot::Sender<()>,
    mut ended: Ended,
) {
    loop {
        let delivery = tokio::select! {
            biased;
            _ = ended.wait() => break,
            delivery = deliveries.recv() => delivery,
        };
        // The last sender is gone: nobody will say anything more, which the end of the pipe tells.
        let Some(Delivery { command, done }) = delivery else { return };
        let Ok(line) = command.to_line() else {
            answer(done, Err(Undelivered));
            continue;
        };
        let written = tokio::select! {
            biased;
            written = timeout(limit, stdin.end.write_all(&line)) => written,
            _ = ended.wait() => Ok(Err(std::io::ErrorKind::BrokenPipe.into())),
        };
        match written {
            Ok(Ok(())) => answer(done, Ok(())),
            // It closed its standard input or has ended.
            Ok(Err(_)) => {
                answer(done, Err(Undelivered));
                break;
            }
            Err(_) => {
                answer(done, Err(Undelivered));
                let _ = stuck.send(());
                break;
            }
        }
    }
    deliveries.close();
    while let Some(delivery) = deliveries.recv().await {
        answer(delivery.done, Err(Undelivered));
    }
    // Kept open until then: half a command followed by the end of the pipe could pass for a whole one.
    ended.wait().await;
}

fn answer(done: oneshot::Sender<Result<(), Undelivered>>, result: Result<(), Undelivered>) {
    // Whoever asked need not care any more.
    let _ = done.send(result);
}

/// A pipe that is read to its end, or for a moment after the process's.
struct Drain<T> {
    pipe: Pipe<T>,
    ended: Ended,
    after_end: usize,
}

impl<T: AsyncRead + Unpin> Drain<T> {
    fn new(pipe: Pipe<T>, ended: Ended) -> Self {
        Self { pipe, ended, after_end: 0 }
    }

    /// Reads something into `room`; `None` at the end.
    async fn read(&mut self, room: &mut [u8]) -> Option<usize> {
        if let Some(at) = self.ended.at()
            && self.after_end > MOST_LEFT
            && at.elapsed() > DRAIN
        {
            return None;
        }
        let ended = &mut self.ended;
        let over = async move { sleep_until(ended.wait().await + DRAIN).await };
        // In this order: what is there is read even when the time is over, because the reader of
        // the lines may have kept us waiting.
        let read = tokio::select! {
            biased;
            read = self.pipe.end.read(room) => read.ok().filter(|read| *read > 0)?,
            () = over => return None,
        };
        if self.ended.at().is_some() {
            self.after_end += read;
        }
        Some(read)
    }
}

/// How much to read next, when a buffer of `room` bytes took `read`.
fn next_read(read: usize, room: usize) -> usize {
    if read < room { READ } else { READ_BURST }
}

/// Nobody takes a runner's lines any more.
#[derive(Debug)]
pub(super) struct Unheard;

/// Hands the lines of standard output to `lines`, to its end. The lines of one read share one
/// allocation.
pub(super) async fn read_lines<T: AsyncRead + Unpin>(
    stdout: Pipe<T>,
    lines: mpsc::Sender<Bytes>,
    session_id: String,
    ended: Ended,
) -> Result<(), Unheard> {
    let mut stdout = Drain::new(stdout, ended);
    let mut decoder = LineDecoder::new();
    let mut batch = Batch::default();
    let mut next = READ;
    loop {
        let buffer = decoder.spare(next);
        let room = buffer.len();
        let read = tokio::select! {
            biased;
            read = stdout.read(buffer) => read,
            () = lines.closed() => return Err(Unheard),
        };
        let Some(read) = read else { break };
        decoder.advance(read);
        next = next_read(read, room);
        let received = decoder.buffered();
        while let Some(line) = decoder.next_line() {
            batch.add(&line, received, &session_id);
        }
        batch.send(&lines).await?;
        // After a burst: a session that waits costs no more than one that never said anything.
        if read < READ && room > READ && decoder.buffered() == 0 {
            decoder = LineDecoder::new();
        }
    }
    let received = decoder.buffered();
    if let Some(line) = decoder.finish() {
        batch.add(&line, received, &session_id);
    }
    batch.send(&lines).await
}

/// Lines on their way, one behind the other.
#[derive(Default)]
struct Batch {
    bytes: BytesMut,
    ends: Vec<usize>,
}

impl Batch {
    /// Adds `line`; `capacity` is what this batch can become at most.
    fn add(&mut self, line: &Line<'_>, capacity: usize, session_id: &str) {
        if self.ends.is_empty() {
            self.bytes.reserve(capacity);
        }
        match line {
            Line::Complete(line) => self.bytes.extend_from_slice(line),
            Line::Oversize { head, bytes } => self.bytes.extend_from_slice(&oversize(head, *bytes, session_id)),
        }
        self.ends.push(self.bytes.len());
    }

    async fn send(&mut self, lines: &mpsc::Sender<Bytes>) -> Result<(), Unheard> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes).freeze();
        let mut start = 0;
        for end in self.ends.drain(..) {
            let line = bytes.slice(start..end);
            let places = if line.len() < BULKY { 1 } else { lines.max_capacity() };
            if let Some(place) = lines.reserve_many(places).await.map_err(|_| Unheard)?.next() {
                place.send(line);
            }
            start = end;
        }
        Ok(())
    }
}

/// Core's own event in place of an over-long line.
fn oversize(head: &[u8], bytes: u64, session_id: &str) -> Vec<u8> {
    let event = Event::Malformed(Malformed {
        session_id: Some(session_id.to_owned()),
        source: "core".to_owned(),
        line: String::from_utf8_lossy(head).into_owned(),
        reason: Some("the line is longer than 16 MiB and was cut".to_owned()),
        bytes: Some(bytes),
        timestamp: Some(Timestamp::now().to_string()),
    });
    // Strings and numbers always serialise.
    event.to_line().unwrap_or_default()
}

/// Reads standard error to its end and returns its last lines.
pub(super) async fn read_tail<T: AsyncRead + Unpin>(stderr: Pipe<T>, ended: Ended) -> Vec<String> {
    let mut stderr = Drain::new(stderr, ended);
    let mut tail = Tail::default();
    let mut buffer = vec![0; READ];
    while let Some(read) = stderr.read(&mut buffer).await {
        tail.add(&buffer[..read]);
        let next = next_read(read, buffer.len());
        buffer.resize(next, 0);
        buffer.shrink_to(next);
    }
    tail.finish()
}

/// The last lines of a stream, each cut to [`TAIL_LINE`] bytes.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<Vec<u8>>,
    partial: Vec<u8>,
}

impl Tail {
    fn add(&mut self, mut bytes: &[u8]) {
        // Of a flood only the end is looked at.
        if let Some(newline) = memrchr_iter(b'\n', bytes).nth(TAIL_LINES) {
            self.partial.clear();
            bytes = &bytes[newline + 1..];
        }
        while let Some(newline) = memchr(b'\n', bytes) {
            self.extend(&bytes[..newline]);
            self.end_line();
            bytes = &bytes[newline + 1..];
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = TAIL_LINE - self.partial.len();
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(std::mem::take(&mut self.partial));
    }

    fn finish(mut self) -> Vec<String> {
        if !self.partial.is_empty() {
            self.end_line();
        }
        self.lines.iter().map(|line| String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(chunks: &[&[u8]]) -> Vec<String> {
        let mut tail = Tail::default();
        chunks.iter().for_each(|chunk| tail.add(chunk));
        tail.finish()
    }

    #[test]
    fn the_last_lines_are_kept_whatever_the_chunks() {
        let text: String = (0..100).map(|n| format!("line {n}\r\n")).collect();
        let expected: Vec<_> = (92..100).map(|n| format!("line {n}")).collect();
        for size in [1, 7, 64, 10_000] {
            assert_eq!(tail(&text.as_bytes().chunks(size).collect::<Vec<_>>()), expected, "chunks of {size}");
        }
        assert_eq!(tail(&[b"a\nb", b"c"]), ["a", "bc"]);
        assert!(tail(&[]).is_empty());
    }

    #[test]
    fn a_line_of_the_tail_is_cut_and_decoded_with_replacement() {
        let lines = tail(&[&[b'x'; 100_000], b"\nbad \xff\n"]);
        assert_eq!(lines, ["x".repeat(TAIL_LINE), "bad \u{fffd}".to_owned()]);
    }

    #[tokio::test]
    async fn lines_of_one_read_share_an_allocation() {
        let mut batch = Batch::default();
        let (sender, mut receiver) = mpsc::channel(4);
        for line in [&b"first"[..], b"", b"third"] {
            batch.add(&Line::Complete(line), 100, "s");
        }
        batch.send(&sender).await.unwrap();
        let got: Vec<Bytes> = [receiver.recv().await, receiver.recv().await, receiver.recv().await].into_iter().flatten().collect();
        assert_eq!(got, ["first", "", "third"]);
        assert_eq!(got[2].as_ptr() as usize - got[0].as_ptr() as usize, 5);
    }
}
