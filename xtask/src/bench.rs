//! `bench`: builds the programs to measure as they are released, and runs the benchmarks.

use crate::root;
use anyhow::{Context, ensure};
use std::process::Command;

/// Runs `galley-bench` with `args`.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    let packages = ["galley-cli", "galley-testkit", "galley-bench"];
    // One build: a runner, a Core and floors of the same profile, side by side.
    cargo(["build", "--release", "--bins"].into_iter().chain(packages.into_iter().flat_map(|package| ["--package", package])))?;
    cargo(["run", "--release", "--quiet", "--package=galley-bench", "--bin=galley-bench", "--"].into_iter().chain(args.iter().copied()))
}

fn cargo<'a>(args: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let status = Command::new("cargo").args(args).current_dir(root()).status().context("cannot run cargo")?;
    ensure!(status.success(), "cargo ended with {status}");
    Ok(())
}
