//! Starting a runtime for real, to see whether it works.

use super::backend::Runner;
use super::genericagent;
use super::manager::RunnerManager;
use super::process::ProcessBackend;
use super::shell::ShellBackend;
use super::{Backend, StartSpec};
use crate::config::Runtime;
use crate::error::{Error, StartCause};
use crate::session::{admit, describe_exit};
use galley_protocol::ipc::{ErrorEvent, Event, PROTOCOL_VERSION, Ready, Severity};
use galley_protocol::socket::{Backend as BackendKind, RuntimeCheckResult};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// A runtime that is checked must be ready within this time.
const READY: Duration = Duration::from_secs(30);

/// Starts an agent of `runtime`.
///
/// # Errors
/// [`Error::Runner`] with the cause, when the runtime is not configured well or cannot be started.
pub async fn start_runtime(manager: &RunnerManager, data_dir: &Path, runtime: &Runtime, spec: StartSpec) -> Result<Runner, Error> {
    if let Some(problem) = runtime.problem() {
        return Err(Error::runner(StartCause::RuntimeInvalid, problem));
    }
    let backend: Box<dyn Backend> = match &runtime.backend {
        BackendKind::Shell => Box::new(ShellBackend::new(manager, data_dir)),
        BackendKind::Process => {
            let env = runtime.env.clone().into_iter().collect();
            Box::new(ProcessBackend::new(manager, runtime.command.clone(), runtime.ga_path.clone(), env)?)
        }
        BackendKind::GenericAgent => Box::new(genericagent::backend(manager, data_dir, runtime)?),
        other => return Err(Error::runner(StartCause::RuntimeInvalid, format!("runtime {} has the unknown backend {other}", runtime.name))),
    };
    manager.start(backend.as_ref(), spec).await
}

/// Starts `runtime`, waits until it is ready, and ends it.
///
/// # Errors
/// [`Error::Runner`] with the cause and the last lines of its standard error.
pub async fn check_runtime(manager: &RunnerManager, data_dir: &Path, runtime: &Runtime) -> Result<RuntimeCheckResult, Error> {
    let session_id = format!("check_{}", uuid::Uuid::new_v4().simple());
    let begun = Instant::now();
    let mut runner = start_runtime(manager, data_dir, runtime, manager.spec(session_id.as_str())).await?;
    let ready = tokio::time::timeout(READY, first_ready(&mut runner, &session_id)).await;
    let ready_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    runner.control.kill();
    drop(runner.lines);
    let exit = runner.exit.await.unwrap_or_default();
    let failed = |cause, message| Error::Runner { cause, message, stderr_tail: exit.stderr_tail.clone(), detail: None };
    let ready = match ready {
        Ok(Ok(ready)) => ready,
        Ok(Err(Some(reason))) => return Err(refused(&reason, exit.stderr_tail)),
        Ok(Err(None)) => return Err(failed(StartCause::RunnerExited, format!("{} before it was ready", describe_exit(&exit)))),
        Err(_) => return Err(failed(StartCause::ReadyTimeout, format!("it was not ready within {} s", READY.as_secs()))),
    };
    if ready.protocol_version != PROTOCOL_VERSION {
        let message = format!("it speaks protocol {}, and this Galley speaks {PROTOCOL_VERSION}", ready.protocol_version);
        return Err(failed(StartCause::ProtocolMismatch, message));
    }
    Ok(RuntimeCheckResult {
        name: runtime.name.clone(),
        ok: true,
        ready_ms,
        protocol_version: ready.protocol_version,
        llms: ready.available_llms,
        capabilities: ready.capabilities,
    })
}

/// The runner's `ready`; without one, the last serious error it reported.
async fn first_ready(runner: &mut Runner, session_id: &str) -> Result<Ready, Option<ErrorEvent>> {
    let mut reason = None;
    while let Some(line) = runner.lines.recv().await {
        match Event::from_line(&admit(session_id, line).line) {
            Ok(Event::Ready(ready)) => return Ok(ready),
            Ok(Event::Error(error)) if error.severity == Severity::Error => reason = Some(error),
            _ => {}
        }
    }
    Err(reason)
}

/// The error of a runner that said itself why it cannot start.
pub(crate) fn refused(reason: &ErrorEvent, stderr_tail: Vec<String>) -> Error {
    let hint = reason.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Error::Runner {
        cause: StartCause::RunnerExited,
        message: format!("{}{hint}", reason.message),
        stderr_tail,
        detail: Some(json!({ "startupError": reason })),
    }
}
