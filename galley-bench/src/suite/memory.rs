//! Resident memory of a Core, as the system counts it.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::Place;
use anyhow::{Context, Result};
use serde_json::json;
use std::fs;
use std::thread;
use std::time::Duration;

/// Live sessions at the first and at the second look. The first ones grow what all share.
const FEW: usize = 10;
const MANY: usize = 60;
/// What a Core may take to come to rest.
const REST: Duration = Duration::from_millis(500);

/// Memory of an idle Core, and what one more live session adds.
pub fn run(_: Effort) -> Result<Vec<Figure>> {
    let place = Place::new()?;
    place.configure()?;
    place.fill(10_000)?;
    let core = CoreProcess::start(&place)?;
    core.connect()?.call("status", &json!({}))?;
    let idle = resident(core.pid())?;
    for _ in 0..FEW {
        core.session()?;
    }
    let few = resident(core.pid())?;
    for _ in FEW..MANY {
        core.session()?;
    }
    let many = resident(core.pid())?;
    let each = many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
    Ok(vec![
        Figure::new("memory of an idle Core", "MiB", idle as f64 / 1024.0).target(Target::AtMost(15.0)),
        Figure::new("memory of one more live session", "KiB", each).target(Target::AtMost(100.0)),
    ])
}

/// Resident memory of a process at rest, in KiB.
fn resident(pid: u32) -> Result<u64> {
    thread::sleep(REST);
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("memory is measured on Linux only: {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    line.trim().trim_end_matches(" kB").parse().context("VmRSS is no number")
}
