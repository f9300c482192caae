//! A command's output: as text while it comes, and as a whole once it has ended.

use super::place::create_private;
use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Output up to this size, in bytes, is kept in memory and answered whole; of more, the first and
/// the last half of it are.
pub(super) const WHOLE_LIMIT: usize = 1 << 20;
const PART: usize = WHOLE_LIMIT / 2;

/// A file of output ends at this size, in bytes: a command that never stops talking does not fill
/// the disk.
const FILE_LIMIT: u64 = 64 << 20;

/// Turns bytes into text without cutting characters: what may be the beginning of one waits for its
/// rest. Bytes that are no UTF-8 become U+FFFD.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    begun: Vec<u8>,
}

impl Decoder {
    /// The text that `bytes` complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let whole = self.begun.len() - unfinished(&self.begun);
        let rest = self.begun.split_off(whole);
        String::from_utf8_lossy(&std::mem::replace(&mut self.begun, rest)).into_owned()
    }

    /// What is left when nothing follows.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned()
    }
}

/// How many bytes at the end are the beginning of a character that may go on.
fn unfinished(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(last) if std::str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none()) => last.invalid().len(),
        _ => 0,
    }
}

/// The whole output: in memory while it is small, else its head and tail, and all of it in a file,
/// up to the file's limit.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    total: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    file: Option<io::Result<File>>,
    /// The file's limit.
    limit: u64,
    /// What the file holds, in bytes.
    written: u64,
}

impl Output {
    /// Nothing yet; `path` is where a file is made if it becomes large.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, total: 0, head: Vec::new(), tail: Vec::new(), file: None, limit: FILE_LIMIT, written: 0 }
    }

    /// Adds what came. A file that cannot be written ends the file, not the command.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.file.is_none() {
            self.head.extend_from_slice(bytes);
            if self.head.len() > WHOLE_LIMIT {
                self.written = self.head.len() as u64;
                self.file = Some(begin(&self.path, &self.head).await);
                self.tail = self.head.split_off(PART);
            }
            return;
        }
        let room = usize::try_from(self.limit.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let fits = &bytes[..bytes.len().min(room)];
        if let Some(Ok(file)) = &mut self.file {
            match file.write_all(fits).await {
                Ok(()) => self.written += fits.len() as u64,
                Err(error) => self.file = Some(Err(error)),
            }
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * PART {
            self.tail.drain(..self.tail.len() - PART);
        }
    }

    /// The output as text: all of it, or head, a line that says what is left out and where all of
    /// it is, and tail.
    pub(super) async fn into_text(mut self) -> String {
        let Some(file) = self.file.take() else {
            return String::from_utf8_lossy(&self.head).into_owned();
        };
        let kept = match file {
            Ok(mut file) => self.close(&mut file).await,
            Err(error) => Err(error),
        };
        self.tail.drain(..self.tail.len().saturating_sub(PART));
        let head = &self.head[..self.head.len() - unfinished(&self.head)];
        // The tail may begin within a character, of which at most three bytes are left.
        let start = self.tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        let tail = &self.tail[start..];
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let place = match kept {
            Ok(()) if self.written < self.total => format!("its first {} bytes are in {}", self.written, self.path.display()),
            Ok(()) => format!("all of it is in {}", self.path.display()),
            Err(error) => format!("{} could not be written: {error}", self.path.display()),
        };
        let mut text = String::from_utf8_lossy(head).into_owned();
        text.push_str(&format!("\n[{left_out} of {} bytes are left out here; {place}]\n", self.total));
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

impl Output {
    /// Ends the file; one that was cut says so at its end.
    async fn close(&self, file: &mut File) -> io::Result<()> {
        if self.written < self.total {
            file.write_all(format!("\n[cut here: {} of {} bytes]\n", self.written, self.total).as_bytes()).await?;
        }
        file.flush().await
    }
}

async fn begin(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from_std(create_private(path)?);
    file.write_all(bytes).await?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_never_cut_wherever_the_reads_end() {
        let bytes = "aé€😀\u{1b}[1m".as_bytes();
        for cut in 0..=bytes.len() {
            for end in cut..=bytes.len() {
                let mut decoder = Decoder::default();
                let mut text = decoder.push(&bytes[..cut]);
                text += &decoder.push(&bytes[cut..end]);
                text += &decoder.push(&bytes[end..]);
                assert_eq!(text + &decoder.finish(), "aé€😀\u{1b}[1m");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_replaced_and_nothing_is_held_back() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xffb\xc3"), "a\u{fffd}b");
        assert_eq!(decoder.push(b"x\xe2\x82"), "\u{fffd}x");
        assert_eq!(decoder.finish(), "\u{fffd}");
        assert_eq!(decoder.finish(), "");
    }

    #[tokio::test]
    async fn large_output_keeps_head_tail_and_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let whole: Vec<u8> = "0123456789€".bytes().cycle().take(3 * WHOLE_LIMIT + 5).collect();
        let mut output = Output::new(path.clone());
        for piece in whole.chunks(10_007) {
            output.push(piece).await;
        }
        let text = output.into_text().await;
        assert!(text.starts_with("0123456789€") && !text.contains('\u{fffd}'));
        assert!(text.contains(path.to_str().unwrap()) && text.contains(&whole.len().to_string()));
        assert!(text.len() < WHOLE_LIMIT + 400);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[tokio::test]
    async fn a_file_ends_at_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all");
        let limit = 2 * WHOLE_LIMIT as u64;
        let mut output = Output { limit, ..Output::new(path.clone()) };
        let piece = vec![b'x'; 100_003];
        for _ in 0..30 {
            output.push(&piece).await;
        }
        output.push(b"end").await;
        let text = output.into_text().await;
        assert!(text.contains(&format!("its first {limit} bytes are in {}", path.display())) && text.ends_with("xend"));
        let kept = std::fs::read(&path).unwrap();
        assert!(kept.ends_with(format!("\n[cut here: {limit} of 3000093 bytes]\n").as_bytes()) && kept.len() < limit as usize + 64);
    }

    #[tokio::test]
    async fn output_at_the_limit_is_whole() {
        let mut output = Output::new("/nowhere/all".into());
        output.push(&vec![b'x'; WHOLE_LIMIT]).await;
        assert_eq!(output.into_text().await.len(), WHOLE_LIMIT);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_said() {
        let mut output = Output::new("/nowhere/all".into());
        output.push(&vec![b'x'; WHOLE_LIMIT + 1]).await;
        output.push(b"end").await;
        let text = output.into_text().await;
        assert!(text.contains("/nowhere/all could not be written") && text.ends_with("xend"));
    }
}
