//! The path of an event: a runner's standard output, Core, the database, a watcher on the socket.
//!
//! At the floor the same runner writes the same bytes to a process that peeks at each line, gives
//! it a number, puts it into a table, and writes it to the watcher once that is committed. Both
//! commit as durably: `synchronous=NORMAL`, as Core does for what holds no decision.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::{Place, program};
use super::samples::{Samples, median};
use super::wire::{Wire, request};
use anyhow::{Context, Result};
use galley_protocol::ipc::{Command as IpcCommand, UserMessage};
use memchr::memmem;
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of an event's line, in bytes.
const SIZE: usize = 300;
/// Between two events of a paced run, for about 900 a second.
const GAP: Duration = Duration::from_micros(1100);

/// Events per second, flat out.
pub fn throughput(effort: Effort) -> Result<Vec<Figure>> {
    let count = effort.times(300_000);
    let (mut ours, mut floor) = (Core::start()?, Floor::start()?);
    let (mut ours_rates, mut floor_rates) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        ours_rates.push(ours.play(count, Duration::ZERO)?.rate());
        floor_rates.push(floor.play(count, Duration::ZERO)?.rate());
    }
    let figure = Figure::new("durable events, runner to one watcher", "/s", median(ours_rates));
    Ok(vec![figure.floor(median(floor_rates)).target(Target::RatioAtLeast(0.7))])
}

/// Time from the runner's write to the watcher's read, at a pace that leaves everybody time.
pub fn latency(effort: Effort) -> Result<Vec<Figure>> {
    let count = effort.times(5_000);
    let (mut ours, mut floor) = (Core::start()?, Floor::start()?);
    let (ours, floor) = (ours.play(count, GAP)?.delays(), floor.play(count, GAP)?.delays());
    let figure =
        |percent| Figure::new(format!("watcher latency at 900 events/s, p{percent}"), "µs", ours.micros(percent)).floor(floor.micros(percent));
    Ok(vec![figure(50).target(Target::AtMost(300.0)), figure(99)])
}

/// When events were sent and received, in nanoseconds since 1970.
pub struct Played(Vec<(u64, u64)>);

impl Played {
    fn rate(&self) -> f64 {
        match (self.0.first(), self.0.last()) {
            (Some((sent, _)), Some((_, received))) => self.0.len() as f64 * 1e9 / received.saturating_sub(*sent) as f64,
            _ => 0.0,
        }
    }

    /// How long each event took.
    pub fn delays(&self) -> Samples {
        self.0.iter().map(|(sent, received)| Duration::from_nanos(received.saturating_sub(*sent))).collect()
    }
}

/// Reads the next `count` emitted events, whatever is between them.
pub fn receive(watch: &mut Wire, count: usize) -> Result<Played> {
    let sent_field = memmem::Finder::new(b"\"sentNs\":");
    let mut played = Vec::with_capacity(count);
    while played.len() < count {
        let line = watch.line()?;
        if let Some(at) = sent_field.find(line) {
            let digits = line[at + sent_field.needle().len()..].iter().take_while(|byte| byte.is_ascii_digit());
            let sent = digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
            let received = SystemTime::now().duration_since(UNIX_EPOCH)?;
            played.push((sent, u64::try_from(received.as_nanos())?));
        }
    }
    Ok(Played(played))
}

/// What the runner is told.
pub fn script(count: usize, gap: Duration) -> String {
    format!("!emit {count} {SIZE} {}", gap.as_micros())
}

struct Core {
    core: CoreProcess,
    session: String,
    watch: Wire,
    _place: Place,
}

impl Core {
    fn start() -> Result<Self> {
        let place = Place::new()?;
        place.configure()?;
        let core = CoreProcess::start(&place)?;
        let session = core.session()?;
        let mut watch = core.connect()?;
        watch.send(&request("session.watch", &json!({ "sessionId": session, "from": "now" })))?;
        watch.line().context("a watch did not start")?;
        Ok(Self { core, session, watch, _place: place })
    }

    fn play(&mut self, count: usize, gap: Duration) -> Result<Played> {
        self.core.connect()?.call("session.send", &json!({ "sessionId": self.session, "content": script(count, gap) }))?;
        receive(&mut self.watch, count)
    }
}

struct Floor {
    child: Child,
    wire: Wire,
    _place: Place,
}

impl Floor {
    const SESSION: &str = "sess_00000000000000000000";

    fn start() -> Result<Self> {
        let place = Place::new()?;
        let mut child = Command::new(program("galley-bench-floor")?)
            .arg("engine")
            .args([place.socket(), place.database(), program("galley-testkit-runner")?])
            .arg(Self::SESSION)
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start the floor")?;
        match Wire::connect(&place.socket()) {
            Ok(wire) => Ok(Self { child, wire, _place: place }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// What the watcher writes goes to the runner.
    fn play(&mut self, count: usize, gap: Duration) -> Result<Played> {
        let message = UserMessage { text: script(count, gap), ..UserMessage::default() };
        self.wire.send(&IpcCommand::UserMessage(message).to_line()?)?;
        receive(&mut self.wire, count)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        // Its runner ends with its standard input.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
