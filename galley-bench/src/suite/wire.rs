//! A plain blocking connection. It shares no code with what is measured, and both sides of every
//! comparison are spoken to through it.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take to listen, and then to say its next word.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts to connect.
const RETRY: Duration = Duration::from_micros(50);

/// A connection that is read line by line.
pub struct Wire {
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl Wire {
    /// Connects as soon as somebody listens at `socket`.
    pub fn connect(socket: &Path) -> Result<Self> {
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) if begun.elapsed() < PATIENCE && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                    thread::sleep(RETRY);
                }
                Err(error) => return Err(error).with_context(|| format!("cannot connect to {}", socket.display())),
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), line: Vec::new() })
    }

    /// Writes whole lines.
    pub fn send(&mut self, lines: &[u8]) -> Result<()> {
        Ok(self.stream.get_mut().write_all(lines)?)
    }

    /// Reads the next line, without its newline.
    pub fn line(&mut self) -> Result<&[u8]> {
        self.line.clear();
        self.stream.read_until(b'\n', &mut self.line)?;
        ensure!(self.line.pop() == Some(b'\n'), "the connection was closed");
        Ok(&self.line)
    }

    /// Sends a line and reads the answer to it.
    pub fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.send(request)?;
        self.line()
    }

    /// Carries out a command and returns its result.
    pub fn call(&mut self, command: &str, args: &Value) -> Result<Value> {
        let answer = self.exchange(&request(command, args))?;
        let mut answer: Value = serde_json::from_slice(answer)?;
        ensure!(answer["ok"] == true, "{command} failed: {answer}");
        Ok(answer["result"].take())
    }
}

/// A request as one line.
pub fn request(command: &str, args: &Value) -> Vec<u8> {
    format!("{{\"command\":\"{command}\",\"args\":{args},\"schemaVersion\":1}}\n").into_bytes()
}
