//! `test`: every check the repository must pass, in order.

use crate::{generate, python, root};
use anyhow::{Context, bail};
use std::process::Command;
use std::time::Instant;

/// One check.
struct Step {
    name: &'static str,
    action: Action,
}

enum Action {
    /// A program, its arguments, and what it gets in its environment.
    Program(&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]),
    /// Code of this program.
    Task(fn() -> anyhow::Result<()>),
}

const fn cargo(name: &'static str, args: &'static [&'static str]) -> Step {
    Step { name, action: Action::Program("cargo", args, &[]) }
}

/// Cheap and telling checks first; the build comes before the tests because they start its programs.
const STEPS: &[Step] = &[
    cargo("format", &["fmt", "--all", "--check"]),
    cargo("lint", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    // The native module of Python is linked by maturin only, within the step of its own.
    cargo("build", &["build", "--workspace", "--exclude", "galley-python"]),
    cargo("test", &["test", "--workspace", "--exclude", "galley-python"]),
    Step { name: "docs", action: Action::Program("cargo", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-Dwarnings")]) },
    Step { name: "generated files", action: Action::Task(generate::check) },
];

/// Checks that are run by their names: they install packages of other languages first.
const NAMED: &[Step] = &[
    Step { name: "bridge", action: Action::Task(bridge) },
    Step { name: "python", action: Action::Task(python::test) },
    Step { name: "node", action: Action::Task(node) },
];

/// Runs every step, up to the first that fails.
pub fn run() -> anyhow::Result<()> {
    run_all(&STEPS.iter().collect::<Vec<_>>())
}

/// Runs the steps of these names.
pub fn run_named(names: &[&str]) -> anyhow::Result<()> {
    let find = |name: &&str| STEPS.iter().chain(NAMED).find(|step| step.name == *name).with_context(|| format!("no step is called {name}"));
    run_all(&names.iter().map(find).collect::<anyhow::Result<Vec<_>>>()?)
}

fn run_all(steps: &[&Step]) -> anyhow::Result<()> {
    let start = Instant::now();
    for (number, step) in steps.iter().enumerate() {
        eprintln!("── {}/{} {}", number + 1, steps.len(), step.name);
        let begun = Instant::now();
        step.action.run().with_context(|| format!("step `{}` failed", step.name))?;
        eprintln!("── {} passed in {:.1} s", step.name, begun.elapsed().as_secs_f64());
    }
    eprintln!("── all {} steps passed in {:.1} s", steps.len(), start.elapsed().as_secs_f64());
    Ok(())
}

/// Checks the bridge to GenericAgent and the runner SDK in Python, against the agent's own package.
fn bridge() -> anyhow::Result<()> {
    let folder = root().join("galley-core/python");
    let environment = root().join("target/python-bridge");
    let program = |name: &str| environment.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name);
    let base = if cfg!(windows) { "python" } else { "python3" };
    let run = |program: &std::path::Path, args: &[&std::ffi::OsStr]| {
        let status = Command::new(program).args(args).current_dir(&folder).status();
        match status.with_context(|| format!("cannot run {}", program.display()))? {
            status if status.success() => Ok(()),
            status => bail!("{} ended with {status}", program.display()),
        }
    };
    run(base.as_ref(), &["-m".as_ref(), "venv".as_ref(), environment.as_os_str()])?;
    run(&program("pip"), &["install", "--quiet", "--disable-pip-version-check", "-r", "tests/requirements.txt"].map(AsRef::as_ref))?;
    run(&program("ruff"), &["check", "."].map(AsRef::as_ref))?;
    run(&program("ruff"), &["format", "--check", "."].map(AsRef::as_ref))?;
    run(&program("mypy"), &[])?;
    run(&program("pytest"), &["-n", "4"].map(AsRef::as_ref))
}

/// Builds the npm package, checks its types and runs its tests under Node.
fn node() -> anyhow::Result<()> {
    let package = root().join("bindings/node");
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    for args in [&["ci", "--no-audit", "--no-fund"][..], &["run", "native"], &["run", "build"], &["run", "check"], &["test"]] {
        let status = Command::new(npm).args(args).current_dir(&package).status().context("cannot run npm; install Node 18 or later")?;
        if !status.success() {
            bail!("`npm {}` ended with {status}", args.join(" "));
        }
    }
    Ok(())
}

impl Action {
    fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Task(task) => task(),
            Self::Program(program, args, env) => {
                let line = format!("{program} {}", args.join(" "));
                let status = Command::new(program).args(*args).envs(env.iter().copied()).current_dir(root()).status();
                match status.with_context(|| format!("cannot run `{line}`"))? {
                    status if status.success() => Ok(()),
                    status => bail!("`{line}` ended with {status}"),
                }
            }
        }
    }
}
