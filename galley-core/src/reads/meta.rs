//! `ping`, `version`, `status`, `health`.

use super::{CoreView, ReadContext};
use crate::config::{Config, Runtime};
use crate::error::Error;
use crate::runner::key_file;
use galley_protocol::ipc::PROTOCOL_VERSION;
use galley_protocol::socket::{
    ACCEPTED_SCHEMA_VERSIONS, CheckStatus, HealthCheck, HealthGet, HealthReport, Ping, Pong, SCHEMA_VERSION, StatusGet, StatusSummary, Version,
    VersionGet,
};

pub(super) fn ping(_: &Ping) -> Pong {
    Pong { pong: true }
}

pub(super) fn version(_: &VersionGet) -> Version {
    Version {
        galley_version: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: SCHEMA_VERSION,
        accepted_schema_versions: ACCEPTED_SCHEMA_VERSIONS.to_vec(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    }
}

pub(super) async fn status(context: &dyn ReadContext, _: StatusGet) -> Result<StatusSummary, Error> {
    let mut summary = context.store().status().await?;
    summary.live = context.core().map(|core| core.live);
    Ok(summary)
}

/// The probes, in the order of Agent API §5.7, then the ones that were added. A probe that fails is
/// part of the answer, never an error.
pub(super) async fn health(context: &dyn ReadContext, _: HealthGet) -> HealthReport {
    let (mut checks, mut last): (Vec<_>, Vec<_>) = context.store().health().await.into_iter().partition(|check| check.id == "db_readable");
    let config = context.config();
    checks.extend(agent_folder(config.as_deref().ok()));
    checks.push(check("agentmain_import", CheckStatus::Deferred, "not probed by health; `runtime check` starts the agent"));
    checks.push(check("llm_session_init", CheckStatus::Deferred, "not probed by health; `runtime check` starts the agent"));
    checks.push(core_socket(context.core()));
    match &config {
        Ok(config) => checks.extend(config.runtimes().iter().map(runtime)),
        Err(error) => checks.push(check("config", CheckStatus::Fail, error.to_string())),
    }
    checks.append(&mut last);
    HealthReport { checks }
}

fn check(id: impl Into<String>, status: CheckStatus, detail: impl Into<String>) -> HealthCheck {
    HealthCheck { id: id.into(), status, detail: Some(detail.into()) }
}

/// `ga_path` and `mykey_py`, of the current runtime if it has a folder, else of the first that has.
fn agent_folder(config: Option<&Config>) -> [HealthCheck; 2] {
    let current = config.into_iter().filter_map(|config| config.runtime("current").ok());
    let found = current.chain(config.into_iter().flat_map(Config::runtimes)).find_map(|runtime| Some((runtime, runtime.ga_path.as_deref()?)));
    let Some((runtime, folder)) = found else {
        return [
            check("ga_path", CheckStatus::Warn, "no runtime has an agent's folder; the built-in shell needs none"),
            check("mykey_py", CheckStatus::Warn, "there is no ga_path to look in"),
        ];
    };
    let path = match folder.is_dir() {
        true => check("ga_path", CheckStatus::Ok, folder.display().to_string()),
        false => check("ga_path", CheckStatus::Fail, format!("{} is no directory", folder.display())),
    };
    let keys = match key_file(runtime, folder) {
        Some(file) => check("mykey_py", CheckStatus::Ok, file.display().to_string()),
        None => check("mykey_py", CheckStatus::Fail, format!("no mykey.py or mykey.json is where the agent in {} looks", folder.display())),
    };
    [path, keys]
}

fn core_socket(core: Option<CoreView>) -> HealthCheck {
    match core {
        Some(CoreView { socket: Some(path), .. }) => check("core_socket", CheckStatus::Ok, path.display().to_string()),
        Some(_) => check("core_socket", CheckStatus::Ok, "Core runs in this process, without a socket"),
        None => check("core_socket", CheckStatus::Warn, "no Core answered; start `galley serve` to run agents"),
    }
}

fn runtime(runtime: &Runtime) -> HealthCheck {
    let id = format!("runtime:{}", runtime.name);
    match runtime.problem() {
        None => check(id, CheckStatus::Ok, runtime.label()),
        Some(problem) => check(id, CheckStatus::Fail, problem),
    }
}
