//! The `genericagent` backend: a GenericAgent, spoken to through a bridge in Python that Core brings
//! with it and runs with the agent's own interpreter.

mod bridge;
mod install;
mod keys;

pub(crate) use install::{Installation, install};
pub(crate) use keys::key_file;

use super::manager::RunnerManager;
use super::process::ProcessBackend;
use crate::config::Runtime;
use crate::error::{Error, StartCause};
use std::path::{Path, PathBuf};

/// Where a virtual environment has its interpreter.
const IN_ENVIRONMENT: &str = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };

/// The interpreter when none is named.
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// Names that people give to the virtual environment in an agent's folder.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// The variable in which GenericAgent looks for the file with its models' settings.
const KEY_FILE: &str = "GENERICAGENT_MYKEY";

/// A backend for the GenericAgent of `runtime`.
///
/// # Errors
/// [`StartCause::GaPathInvalid`] without its folder; [`StartCause::SpawnIo`] when the bridge cannot
/// be put into `data_dir`.
pub(crate) fn backend(manager: &RunnerManager, data_dir: &Path, runtime: &Runtime) -> Result<ProcessBackend, Error> {
    let Some(folder) = &runtime.ga_path else {
        return Err(Error::runner(StartCause::GaPathInvalid, format!("runtime {} has no ga_path", runtime.name)));
    };
    let entry = bridge::unpack(data_dir).map_err(|error| {
        let message = format!("the bridge cannot be written to {}: {error}", data_dir.display());
        Error::runner(StartCause::SpawnIo, message)
    })?;
    let mut command = Vec::with_capacity(2);
    for path in [interpreter(runtime, folder), entry] {
        command.push(utf8(path)?);
    }
    let mut env: Vec<_> = runtime.env.clone().into_iter().collect();
    if let Some(file) = &runtime.key_file {
        env.push((KEY_FILE.to_owned(), utf8(file.clone())?));
    }
    ProcessBackend::new(manager, command, Some(folder.clone()), env)
}

/// The interpreter of a GenericAgent: the one that was named, else that of the virtual environment in
/// its folder, else the system's.
fn interpreter(runtime: &Runtime, folder: &Path) -> PathBuf {
    let named = runtime.python.clone();
    let own = || ENVIRONMENTS.iter().map(|name| folder.join(name).join(IN_ENVIRONMENT)).find(|path| path.is_file());
    named.or_else(own).unwrap_or_else(|| PYTHON.into())
}

fn utf8(path: PathBuf) -> Result<String, Error> {
    let wrong = |path: std::ffi::OsString| Error::runner(StartCause::PathEncoding, format!("the path {} is not valid UTF-8", path.display()));
    path.into_os_string().into_string().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_named_one_then_the_folders_then_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        let mut runtime = Runtime::generic_agent("external", folder.path());
        assert_eq!(interpreter(&runtime, folder.path()), Path::new(PYTHON));
        let own = folder.path().join("venv").join(IN_ENVIRONMENT);
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "").unwrap();
        assert_eq!(interpreter(&runtime, folder.path()), own);
        runtime.python = Some("/opt/python".into());
        assert_eq!(interpreter(&runtime, folder.path()), Path::new("/opt/python"));
    }
}
