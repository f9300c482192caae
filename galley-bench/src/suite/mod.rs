//! The benchmarks, and what they share.

mod core_process;
mod crowd;
mod event_path;
mod figure;
mod memory;
mod place;
mod reads;
mod request;
mod samples;
mod search;
mod start;
mod wire;

use anyhow::{Result, bail};
use figure::Figure;
use std::time::Instant;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    quick: bool,
}

impl Effort {
    /// `usual` times, or a tenth of it in a quick run.
    pub fn times(self, usual: usize) -> usize {
        if self.quick { (usual / 10).max(1) } else { usual }
    }
}

struct Benchmark {
    name: &'static str,
    about: &'static str,
    run: fn(Effort) -> Result<Vec<Figure>>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "events", about: "events per second, from a runner's output to a watcher", run: event_path::throughput },
    Benchmark { name: "latency", about: "time of one event on that path, at 900 a second", run: event_path::latency },
    Benchmark { name: "request", about: "a request over the socket", run: request::run },
    Benchmark { name: "start", about: "Core's start, and a command that reads the database", run: start::run },
    Benchmark { name: "memory", about: "resident memory of an idle Core and of a session", run: memory::run },
    Benchmark { name: "reads", about: "lists, pages of a log and transcripts, in large databases", run: reads::run },
    Benchmark { name: "search", about: "words among a million messages", run: search::run },
    Benchmark { name: "crowd", about: "500 sessions that stream at once", run: crowd::streams },
    Benchmark { name: "shutdown", about: "the end of a Core with 20 runners, one of them wedged", run: crowd::shutdown },
];

/// Runs the benchmarks that `args` name, all of them if it names none, and prints their figures.
///
/// # Errors
/// When one cannot be run. A figure that misses its target is no error.
pub fn run(args: impl Iterator<Item = String>) -> Result<()> {
    let mut effort = Effort { quick: false };
    let mut names = Vec::new();
    for arg in args {
        match arg.as_str() {
            "--quick" => effort.quick = true,
            name if BENCHMARKS.iter().any(|benchmark| benchmark.name == name) => names.push(arg),
            other => bail!("no such benchmark: `{other}`\n\n{}", usage()),
        }
    }
    println!("{}", figure::header());
    for benchmark in BENCHMARKS.iter().filter(|benchmark| names.is_empty() || names.iter().any(|name| name == benchmark.name)) {
        let begun = Instant::now();
        for figure in (benchmark.run)(effort)? {
            println!("{figure}");
        }
        eprintln!("({} took {:.1} s)", benchmark.name, begun.elapsed().as_secs_f64());
    }
    Ok(())
}

fn usage() -> String {
    let list: String = BENCHMARKS.iter().map(|benchmark| format!("\n  {:<10}{}", benchmark.name, benchmark.about)).collect();
    format!("Usage: cargo xtask bench [NAME…] [--quick]\n\nBenchmarks:{list}")
}
