//! The `runtime` commands that do more than read: they work on the configuration file and start
//! agents, with a Core and without one.

use crate::config::{Config, ConfigFile, requested};
use crate::error::{Error, StartCause};
use crate::runner::{Installation, RunnerManager, check_runtime, install};
use galley_protocol::socket::{Backend, InstallStep, RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult, RuntimeInstall};
use std::path::Path;
use tokio::sync::mpsc;

/// What these commands work on.
#[derive(Clone, Copy)]
pub(crate) struct Runtimes<'a> {
    /// Starts what is checked.
    pub(crate) manager: &'a RunnerManager,
    /// Where runtimes keep their things.
    pub(crate) data_dir: &'a Path,
    /// The configuration file.
    pub(crate) file: &'a ConfigFile,
}

impl Runtimes<'_> {
    /// `runtime.add`. A GenericAgent must start before it is written down, unless the caller wants no
    /// check.
    ///
    /// # Errors
    /// As [`ConfigFile::add`]; [`Error::Runner`] when the check fails.
    pub(crate) async fn add(self, add: RuntimeAdd) -> Result<RuntimeBrief, Error> {
        let runtime = requested(&add)?;
        self.file.check_free(&runtime.name, add.replace == Some(true))?;
        if runtime.backend == Backend::GenericAgent && add.check != Some(false) {
            if let Some(problem) = runtime.problem() {
                return Err(Error::runner(StartCause::RuntimeInvalid, problem));
            }
            check_runtime(self.manager, self.data_dir, &runtime).await?;
        }
        self.file.write(&runtime, add.replace == Some(true))
    }

    /// `runtime.check`; `config` is the configuration in force.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Runner`] when it does not start.
    pub(crate) async fn check(self, config: &Config, check: RuntimeCheck) -> Result<RuntimeCheckResult, Error> {
        check_runtime(self.manager, self.data_dir, config.runtime(&check.name)?).await
    }

    /// `runtime.install`; `progress` is told what is being done.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`]; [`Error::Runner`] when a step fails.
    pub(crate) async fn install(self, args: RuntimeInstall, progress: mpsc::Sender<(InstallStep, String)>) -> Result<RuntimeBrief, Error> {
        let at = Installation { manager: self.manager, data_dir: self.data_dir, config: self.file, progress };
        install(at, &args).await
    }
}
