//! The Python package's part of `test`: its wheel is built and installed as a user would have it, then
//! checked and tested under the real interpreter.

use crate::root;
use anyhow::{Context, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the checks are made with.
const TOOLS: [&str; 6] = ["maturin>=1.9.4,<2", "pytest>=8", "mypy>=1.15", "pyright>=1.1.390", "ruff>=0.11", "anyio>=4"];

/// Builds the wheel into an environment below `target`, then runs every check of the package.
pub fn test() -> anyhow::Result<()> {
    super::bring_runner()?;
    let package = root().join("bindings/python");
    let environment = root().join("target/python/venv");
    let (bin, suffix) = if cfg!(windows) { ("Scripts", ".exe") } else { ("bin", "") };
    let tool = |name: &str| environment.join(bin).join(format!("{name}{suffix}"));
    let python = tool("python");
    if !python.exists() {
        let system = env::var_os("PYTHON").unwrap_or_else(|| if cfg!(windows) { "python".into() } else { "python3".into() });
        run(&PathBuf::from(system), ["-m".as_ref(), "venv".as_ref(), environment.as_os_str()], root())?;
    }
    run(&python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"].into_iter().chain(TOOLS), root())?;
    let wheels = root().join("target/python/wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    run(&tool("maturin"), ["build".as_ref(), "--profile".as_ref(), "dev".as_ref(), "--out".as_ref(), wheels.as_os_str()], &package)?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin built no wheel")??.path();
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
    run(&python, install.iter().map(OsStr::new).chain([wheel.as_os_str()]), root())?;
    run(&tool("ruff"), ["check", ".", "../../examples"], &package)?;
    run(&tool("mypy"), ["python/galley", "tests", "bench"], &package)?;
    run(&tool("pyright"), ["--pythonpath".as_ref(), python.as_os_str()], &package)?;
    run(&python, ["-m", "mypy.stubtest", "galley._native"], &package)?;
    run(&python, ["-m", "pytest", "--quiet"], &package)
}

fn run<I: IntoIterator<Item: AsRef<OsStr>>>(program: &Path, args: I, folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let status = command.args(args).current_dir(folder).status().with_context(|| format!("cannot run {}", program.display()))?;
    ensure!(status.success(), "{} ended with {status}", program.display());
    Ok(())
}
