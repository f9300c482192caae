//! Repository tasks, run as `cargo xtask <task>`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod bench;
mod generate;
mod python;
mod reference;
mod schema;
mod test;
mod typescript;

use anyhow::bail;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <task>

Tasks:
  test [STEP…]        run every check the repository must pass, stopping at the first that fails;
                      or those that are named, which may be bridge, python and node too
  generate [--check]  write the generated files, or only check that they are up to date
  bench [NAME…] [--quick]
                      measure Galley against its floors; a quick run measures a tenth";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> anyhow::Result<()> {
    match args {
        ["test"] => test::run(),
        ["test", names @ ..] => test::run_named(names),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["bench", rest @ ..] => bench::run(rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => bail!("no task given\n\n{USAGE}"),
        other => bail!("no such task: `{}`\n\n{USAGE}", other.join(" ")),
    }
}

/// The repository's root.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}
