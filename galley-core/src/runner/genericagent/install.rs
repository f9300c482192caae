//! `runtime.install`: a GenericAgent of Galley's own, in a virtual environment in the data directory.

use super::IN_ENVIRONMENT;
use super::PYTHON;
use crate::config::{ConfigFile, INSTALLED, Runtime};
use crate::error::{Error, StartCause};
use crate::runner::backend::Exit;
use crate::runner::manager::RunnerManager;
use crate::runner::pipes::{self, Ended};
use crate::runner::{check_runtime, find_program};
use galley_protocol::socket::{InstallStep, ModelKind, ModelSettings, RuntimeBrief, RuntimeInstall};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The version that is installed. Others may be attached; this one has been tried with the bridge.
const GENERIC_AGENT: &str = "genericagent==1.0.7";

/// What of its many dependencies the agent needs; the others are for front ends Galley does not use.
const NEEDED: [&str; 2] = ["requests", "beautifulsoup4"];

/// The oldest interpreter the bridge runs on.
const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// How long one program of an installation may take.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Prints the version of an interpreter that can make virtual environments.
const VERSION_PROBE: &str = "import sys, venv; print('%d.%d.%d' % sys.version_info[:3])";

/// Prints where the package is, without importing it.
const FOLDER_PROBE: &str = "import importlib.util as u; print(u.find_spec('genericagent').submodule_search_locations[0])";

/// What an installation works on.
pub(crate) struct Installation<'a> {
    /// Starts its programs.
    pub(crate) manager: &'a RunnerManager,
    /// Where the agent goes.
    pub(crate) data_dir: &'a Path,
    /// Where it is configured.
    pub(crate) config: &'a ConfigFile,
    /// Is told what is being done.
    pub(crate) progress: mpsc::Sender<(InstallStep, String)>,
}

/// Installs the agent, or brings it up to date, and configures it once it has really started.
///
/// # Errors
/// [`Error::InvalidArgs`] for wrong arguments, before anything is done; [`Error::Runner`] with a
/// cause, and the step in its detail, when a step fails.
pub(crate) async fn install(at: Installation<'_>, args: &RuntimeInstall) -> Result<RuntimeBrief, Error> {
    check_arguments(args)?;
    let environment = at.data_dir.join("genericagent");
    let key_file = at.data_dir.join("mykey.json");
    if args.model.is_none() && !key_file.is_file() {
        return Err(Error::invalid("model is missing: say how the model is reached (its kind, base URL, key and name)"));
    }
    let base = args.python.as_deref().unwrap_or(PYTHON);

    at.say(InstallStep::Python, format!("looking at {base}")).await;
    let version = at.python_version(base).await?;

    at.say(InstallStep::Environment, format!("making {} with Python {version}", environment.display())).await;
    at.run(InstallStep::Environment, base, &["-m", "venv", &utf8(&environment)?]).await?;
    let python = environment.join(IN_ENVIRONMENT);
    let interpreter = utf8(&python)?;

    at.say(InstallStep::Packages, format!("installing {GENERIC_AGENT}")).await;
    let pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"];
    at.run(InstallStep::Packages, &interpreter, &[&pip[..], &["--no-deps", GENERIC_AGENT]].concat()).await?;
    at.run(InstallStep::Packages, &interpreter, &[&pip[..], &NEEDED].concat()).await?;
    let folder = at.run(InstallStep::Packages, &interpreter, &["-c", FOLDER_PROBE]).await?;

    if let Some(model) = &args.model {
        at.say(InstallStep::Model, format!("writing {}", key_file.display())).await;
        write_keys(&key_file, model).map_err(|error| failed(InstallStep::Model, StartCause::SpawnIo, format!("{}: {error}", key_file.display())))?;
    }

    at.say(InstallStep::Check, "starting the agent".to_owned()).await;
    let runtime = Runtime { python: Some(python), key_file: Some(key_file), ..Runtime::generic_agent(INSTALLED, folder.trim()) };
    check_runtime(at.manager, at.data_dir, &runtime).await?;
    at.config.write(&runtime, true)
}

fn check_arguments(args: &RuntimeInstall) -> Result<(), Error> {
    if args.name != INSTALLED {
        return Err(Error::invalid(format!(
            "only the runtime {INSTALLED:?} can be installed, not {:?}; attach an agent of yours with runtime.add",
            args.name
        )));
    }
    let Some(model) = &args.model else { return Ok(()) };
    if !model.kind.is_known() {
        return Err(Error::invalid(format!("model.kind {:?} is not one of {:?}", model.kind.as_str(), ModelKind::WORDS)));
    }
    if !model.base_url.starts_with("http://") && !model.base_url.starts_with("https://") {
        return Err(Error::invalid(format!("model.baseUrl {:?} must begin with http:// or https://", model.base_url)));
    }
    if let Some((name, _)) = [("apiKey", &model.api_key), ("model", &model.model)].iter().find(|(_, value)| value.trim().is_empty()) {
        return Err(Error::invalid(format!("model.{name} is blank")));
    }
    Ok(())
}

impl Installation<'_> {
    async fn say(&self, step: InstallStep, message: String) {
        // Nobody need listen.
        let _ = self.progress.send((step, message)).await;
    }

    /// The version of an interpreter that will do.
    async fn python_version(&self, python: &str) -> Result<String, Error> {
        if find_program(python).is_none() {
            let message = format!("{python} does not exist; install Python {}.{} or later, or name an interpreter", OLDEST_PYTHON.0, OLDEST_PYTHON.1);
            return Err(failed(InstallStep::Python, StartCause::PythonNotFound, message));
        }
        let version = self.run(InstallStep::Python, python, &["-c", VERSION_PROBE]).await?;
        let mut numbers = version.trim().split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < OLDEST_PYTHON {
            let message = format!("{python} is Python {}; {}.{} or later is needed", version.trim(), OLDEST_PYTHON.0, OLDEST_PYTHON.1);
            return Err(failed(InstallStep::Python, StartCause::PythonNotFound, message));
        }
        Ok(version.trim().to_owned())
    }

    /// Runs a program to its end, tells its lines, and returns the last one.
    async fn run(&self, step: InstallStep, program: &str, args: &[&str]) -> Result<String, Error> {
        let spec = self.manager.spec("install");
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let unable = |error: io::Error| failed(step.clone(), StartCause::SpawnIo, format!("cannot start {program}: {error}"));
        let mut process = self.manager.processes().spawn(command, &spec.marker).map_err(unable)?;
        let (Some(stdout), Some(stderr)) = (process.stdout.take(), process.stderr.take()) else {
            return Err(failed(step, StartCause::PipeUnavailable, format!("{program} was started without its pipes")));
        };
        let (ended_out, ended) = Ended::new();
        let (lines_out, mut lines) = mpsc::channel(64);
        let read = tokio::spawn(pipes::read_lines(stdout, lines_out, spec.session_id, ended.clone()));
        let errors = tokio::spawn(pipes::read_tail(stderr, ended));
        let mut last = String::new();
        let work = async {
            while let Some(line) = lines.recv().await {
                last = String::from_utf8_lossy(&line).into_owned();
                self.say(step.clone(), last.clone()).await;
            }
            process.exited().await;
        };
        let in_time = tokio::time::timeout(PATIENCE, work).await.is_ok();
        let status = process.end().await;
        ended_out.send_replace(Some(Instant::now()));
        // How the pipes ended makes no difference now.
        let _ = read.await;
        let stderr_tail = errors.await.unwrap_or_default();
        if status.code == Some(0) && in_time {
            return Ok(last);
        }
        let exit = Exit { code: status.code, signal: status.signal, poisoned: false, stderr_tail };
        let why = if in_time { crate::session::describe_exit(&exit) } else { format!("it took longer than {} min", PATIENCE.as_secs() / 60) };
        let said = exit.stderr_tail.last().map(|line| format!(": {line}")).unwrap_or_default();
        let message = format!("`{program} {}` failed, {why}{said}", args.join(" "));
        Err(Error::Runner { cause: StartCause::RunnerExited, message, stderr_tail: exit.stderr_tail, detail: Some(json!({ "step": step })) })
    }
}

fn failed(step: InstallStep, cause: StartCause, message: String) -> Error {
    Error::Runner { cause, message, stderr_tail: Vec::new(), detail: Some(json!({ "step": step })) }
}

/// Writes the file in which the agent finds its model. Only its owner may read it.
fn write_keys(path: &Path, model: &ModelSettings) -> io::Result<()> {
    // The agent tells the wire from the name.
    let name = if model.kind == ModelKind::Anthropic { "native_claude_config_galley" } else { "native_oai_config_galley" };
    let keys = json!({
        name: {
            "name": model.model,
            "model": model.model,
            "apibase": model.base_url,
            "apikey": model.api_key,
            "max_retries": 3,
            "connect_timeout": 10,
            "timeout": 10,
            "read_timeout": 300,
        }
    });
    let mut file = tempfile::NamedTempFile::new_in(crate::paths::data_dir_of(path))?;
    serde_json::to_writer_pretty(&mut file, &keys)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn utf8(path: &PathBuf) -> Result<String, Error> {
    super::utf8(path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ModelSettings {
        ModelSettings { kind: ModelKind::OpenAi, base_url: "http://127.0.0.1:1/v1".into(), api_key: "sk-secret".into(), model: "m".into() }
    }

    fn refusal(args: RuntimeInstall) -> String {
        check_arguments(&args).unwrap_err().to_string()
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        let with = |model| RuntimeInstall { name: "managed".into(), python: None, model: Some(model) };
        assert!(check_arguments(&with(model())).is_ok());
        assert!(refusal(RuntimeInstall { name: "mine".into(), ..RuntimeInstall::default() }).contains("runtime.add"));
        assert!(refusal(with(ModelSettings { kind: "carrier pigeon".into(), ..model() })).contains("model.kind"));
        assert!(refusal(with(ModelSettings { base_url: "models.example".into(), ..model() })).contains("model.baseUrl"));
        assert!(refusal(with(ModelSettings { api_key: " ".into(), ..model() })).contains("model.apiKey"));
        assert!(refusal(with(ModelSettings { model: String::new(), ..model() })).contains("model.model"));
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("mykey.json");
        write_keys(&path, &model()).unwrap();
        write_keys(&path, &ModelSettings { kind: ModelKind::Anthropic, ..model() }).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let keys: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(keys["native_claude_config_galley"]["apikey"], "sk-secret");
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);
    }
}
