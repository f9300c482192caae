//! A Core under test: `galley serve` as a process of its own.

use super::place::{Place, RUNTIME, program};
use super::wire::{Wire, request};
use anyhow::{Context, Result, bail};
use memchr::memmem;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a Core may take to end.
const SHUTDOWN: Duration = Duration::from_secs(10);
/// Between two looks whether it has.
const POLL: Duration = Duration::from_millis(2);

/// A running Core; dropping it ends it.
pub struct CoreProcess {
    child: Child,
    socket: PathBuf,
}

impl CoreProcess {
    /// Starts a Core in `place`. It may not listen yet; [`connect`](Self::connect) waits for it.
    pub fn start(place: &Place) -> Result<Self> {
        let socket = place.socket();
        let child = Command::new(program("galley")?)
            .arg("serve")
            .arg("--db")
            .arg(place.database())
            .arg("--socket")
            .arg(&socket)
            .arg("--config")
            .arg(place.file("config.toml"))
            .arg("--max-live-runners=1000")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start galley")?;
        Ok(Self { child, socket })
    }

    /// A new connection.
    pub fn connect(&self) -> Result<Wire> {
        Wire::connect(&self.socket)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Creates a session with a live runner that has done its first run.
    pub fn session(&self) -> Result<String> {
        let created = self.connect()?.call("session.new", &json!({ "task": "!say ready", "runtime": RUNTIME }))?;
        let id = created["session"]["id"].as_str().context("a session without an id")?.to_owned();
        let mut watch = self.connect()?;
        watch.send(&request("session.watch", &json!({ "sessionId": id, "from": "start" })))?;
        loop {
            let line = watch.line()?;
            if memmem::find(line, b"\"run_complete\"").is_some() {
                return Ok(id);
            }
            if memmem::find(line, b"\"stream\":\"end\"").is_some() {
                bail!("the runner ended: {}", String::from_utf8_lossy(line));
            }
        }
    }

    /// Asks it to end, and waits until its process has.
    pub fn end(mut self) -> Result<()> {
        self.ask_to_end()?;
        self.child.wait()?;
        Ok(())
    }

    fn ask_to_end(&self) -> Result<()> {
        self.connect()?.call("core.shutdown", &json!({})).map(drop)
    }
}

impl Drop for CoreProcess {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        let begun = Instant::now();
        let asked = self.ask_to_end().is_ok();
        while asked && begun.elapsed() < SHUTDOWN {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(POLL);
        }
        // It is past asking; its guard ends what it started.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
