//! `version`, `status`, `health`: about Galley itself.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use galley_client::protocol::ipc::PROTOCOL_VERSION;
use galley_client::protocol::socket::{ACCEPTED_SCHEMA_VERSIONS, HealthGet, SCHEMA_VERSION, StatusGet, Version};

/// The versions of this program, whatever Core is running.
pub fn version(output: &mut Output) -> Result<(), Failure> {
    let version = Version {
        galley_version: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: SCHEMA_VERSION,
        accepted_schema_versions: ACCEPTED_SCHEMA_VERSIONS.to_vec(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    };
    output.line(&serde_json::to_vec(&version).map_err(std::io::Error::from)?)
}

pub async fn status(engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    output.line(&engine.answer(StatusGet {}).await?.result)
}

pub async fn health(engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    output.line(&engine.answer(HealthGet {}).await?.result)
}
