//! Where the built runner is.

use crate::Error;
use std::env;
use std::path::PathBuf;

/// The built `galley-testkit-runner`, looked for beside the running test and in the folders above
/// it (`target/debug/deps`, `target/debug`, …). Cargo builds a dependency's binaries only when
/// asked to: run `cargo build -p galley-testkit` (or any build of the workspace) first.
///
/// # Errors
/// [`Error::RunnerNotFound`] names the folders searched and the command to run.
pub fn runner_path() -> Result<PathBuf, Error> {
    let file = format!("galley-testkit-runner{}", env::consts::EXE_SUFFIX);
    let test = env::current_exe()?;
    let looked: Vec<PathBuf> = test.ancestors().skip(1).take(3).map(PathBuf::from).collect();
    looked.iter().map(|folder| folder.join(&file)).find(|path| path.is_file()).ok_or(Error::RunnerNotFound { looked })
}
