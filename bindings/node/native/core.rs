//! Embedded Cores.

use crate::client::NativeClient;
use crate::reply::{Arguments, Waiting, answer};
use galley_client::Error;
use galley_core::{Core, Runtime};
use galley_protocol::socket::ErrorTag;
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::RwLock;

/// A running Core.
#[napi]
pub struct NativeCore {
    /// `None` once it was asked to end.
    core: Arc<RwLock<Option<Core>>>,
    client: galley_client::Client,
    socket: Option<String>,
    database: String,
}

/// How a Core is started.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    database: Option<PathBuf>,
    socket: Option<PathBuf>,
    config: Option<PathBuf>,
    max_live_runners: Option<usize>,
    #[serde(default)]
    runtimes: Vec<OwnRuntime>,
}

/// A runtime of this Core alone.
#[derive(Deserialize)]
#[serde(tag = "backend", rename_all_fields = "camelCase", deny_unknown_fields)]
enum OwnRuntime {
    #[serde(rename = "shell")]
    Shell { name: String },
    #[serde(rename = "process")]
    Process { name: String, command: Vec<String> },
    #[serde(rename = "genericagent")]
    GenericAgent { name: String, ga_path: PathBuf },
}

impl From<OwnRuntime> for Runtime {
    fn from(runtime: OwnRuntime) -> Self {
        match runtime {
            OwnRuntime::Shell { name } => Self::shell(name),
            OwnRuntime::Process { name, command } => Self::process(name, command),
            OwnRuntime::GenericAgent { name, ga_path } => Self::generic_agent(name, ga_path),
        }
    }
}

/// Starts a Core; `options` is a JSON object.
#[napi]
pub fn start_core(options: String, done: Function<'_, Arguments<NativeCore>, ()>) -> napi::Result<Waiting> {
    answer(&done, async move {
        let options: Options = serde_json::from_str(&options).map_err(|error| Error::Api {
            tag: ErrorTag::InvalidArgs,
            message: format!("the options of a Core: {error}"),
            detail: None,
        })?;
        let mut builder = Core::builder();
        if let Some(database) = options.database {
            builder = builder.database(database);
        }
        if let Some(socket) = options.socket {
            builder = builder.socket(socket);
        }
        if let Some(config) = options.config {
            builder = builder.config(config);
        }
        if let Some(count) = options.max_live_runners {
            builder = builder.max_live_runners(count);
        }
        for runtime in options.runtimes {
            builder = builder.runtime(runtime.into());
        }
        let core = builder.start().await.map_err(|error| Error::Api { tag: error.tag(), message: error.to_string(), detail: error.detail() })?;
        Ok(Some(NativeCore {
            client: core.client(),
            socket: core.socket().map(|path| path.display().to_string()),
            database: core.database().display().to_string(),
            core: Arc::new(RwLock::new(Some(core))),
        }))
    })
}

#[napi]
impl NativeCore {
    /// A client within this process.
    #[napi]
    pub fn client(&self) -> NativeClient {
        NativeClient::new(self.client.clone())
    }

    /// The socket it listens on, if it does.
    #[napi(getter)]
    pub fn socket(&self) -> Option<String> {
        self.socket.clone()
    }

    /// The database.
    #[napi(getter)]
    pub fn database(&self) -> String {
        self.database.clone()
    }

    /// Waits until somebody asks this Core to end (`core.shutdown`), or it was ended.
    #[napi]
    pub fn shutdown_requested(&self, done: Function<'_, Arguments<bool>, ()>) -> napi::Result<Waiting> {
        let core = self.core.clone();
        answer(&done, async move {
            if let Some(core) = core.read().await.as_ref() {
                core.shutdown_requested().await;
            }
            Ok(Some(true))
        })
    }

    /// Ends the Core: runs are stopped, runners shut down, everything is stored.
    #[napi]
    pub fn shutdown(&self, done: Function<'_, Arguments<bool>, ()>) -> napi::Result<Waiting> {
        let core = self.core.clone();
        answer(&done, async move {
            let running = core.write().await.take();
            if let Some(running) = running {
                running.shutdown().await;
            }
            Ok(Some(true))
        })
    }
}
