//! `runtime.*`: the agents that can be started. These commands edit or read the configuration
//! file; a running Core notices.

use super::wire;
use crate::ipc::Llm;
use crate::open_enum::open_enum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

open_enum! {
    /// Whose agent it is.
    pub enum RuntimeKind {
        /// Galley's own.
        Managed = "managed",
        /// The user's.
        External = "external",
    }
}

open_enum! {
    /// How an agent is spoken to.
    pub enum Backend {
        /// The built-in shell.
        Shell = "shell",
        /// Any program that speaks IPC v0.1.
        Process = "process",
        /// A GenericAgent, through the bridge that Core brings.
        GenericAgent = "genericagent",
    }
}

wire! {
    /// Lists the runtimes.
    #[derive(Default)]
    pub struct RuntimeList {}

    /// One runtime.
    pub struct RuntimeBrief {
        /// Its name.
        pub name: String,
        /// How it is spoken to.
        pub backend: Backend,
        /// Whose it is.
        pub runtime_kind: RuntimeKind,
        /// Its name for people.
        pub label: String,
        /// Whether new sessions use it.
        pub current: bool,
        /// The program and its arguments, for `process`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub command: Option<Vec<String>>,
        /// The agent's folder, when it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ga_path: Option<String>,
        /// The interpreter that was named for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub python: Option<String>,
        /// The file with its models' settings that was named for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub key_file: Option<String>,
        /// Why it cannot be used, when it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub problem: Option<String>,
    }

    /// Adds a runtime to the configuration. A GenericAgent is checked first: its folder, interpreter,
    /// packages, key file, and a real start; nothing is written when a check fails.
    #[derive(Default)]
    pub struct RuntimeAdd {
        /// Its name.
        pub name: String,
        /// How it is spoken to; `process` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub backend: Option<Backend>,
        /// The command line, split as a shell splits words; no shell runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub command: Option<String>,
        /// The agent's folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ga_path: Option<String>,
        /// The interpreter, for `genericagent`; by default the one of the folder's virtual
        /// environment, else `python3`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub python: Option<String>,
        /// The file with its models' settings, for `genericagent`; by default it is looked for where
        /// the agent looks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub key_file: Option<String>,
        /// Variables for its environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub env: Option<BTreeMap<String, String>>,
        /// Whether a GenericAgent is checked before it is written down; true by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub check: Option<bool>,
        /// Replace one that is configured already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub replace: Option<bool>,
    }

    /// Asks for one runtime.
    #[derive(Default)]
    pub struct RuntimeShow {
        /// Which one.
        pub name: String,
    }

    /// Takes a runtime out of the configuration. Its sessions stay; they can be read, and started
    /// again once a runtime of that name is there.
    #[derive(Default)]
    pub struct RuntimeRemove {
        /// Which one.
        pub name: String,
    }

    /// A runtime that is no longer configured.
    pub struct RuntimeRemoved {
        /// Always true.
        pub removed: bool,
        /// Which one it was.
        pub name: String,
    }

    /// Makes a runtime the one that new sessions use.
    #[derive(Default)]
    pub struct RuntimeUse {
        /// Which one.
        pub name: String,
    }

    /// Starts a runtime for real, waits until it is ready, and stops it.
    pub struct RuntimeCheck {
        /// Which one.
        pub name: String,
    }

    /// A runtime that started.
    pub struct RuntimeCheckResult {
        /// Which one.
        pub name: String,
        /// Always true; a failure is an error.
        pub ok: bool,
        /// How long the start took, in milliseconds.
        pub ready_ms: u64,
        /// The protocol it speaks.
        pub protocol_version: String,
        /// Its models.
        pub llms: Vec<Llm>,
        /// What it can do; absent means everything the specification has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub capabilities: Option<Vec<String>>,
    }
}

open_enum! {
    /// The wire that a model provider speaks.
    pub enum ModelKind {
        /// Chat completions, as OpenAI and most others have them.
        OpenAi = "openai",
        /// Messages, as Anthropic has them.
        Anthropic = "anthropic",
    }
}

open_enum! {
    /// A step of an installation.
    pub enum InstallStep {
        /// Finding an interpreter that will do.
        Python = "python",
        /// Making a virtual environment.
        Environment = "environment",
        /// Installing the agent's packages.
        Packages = "packages",
        /// Writing the model's settings.
        Model = "model",
        /// Starting the agent for real.
        Check = "check",
    }
}

open_enum! {
    /// How an installation ended.
    pub enum InstallEnd { Installed = "installed", Failed = "failed" }
}

wire! {
    /// Installs a GenericAgent into Galley's data directory, in a virtual environment of its own, and
    /// configures it as a runtime. What is there already is brought up to date.
    #[derive(Default)]
    pub struct RuntimeInstall {
        /// The runtime's name: `managed`.
        pub name: String,
        /// The interpreter to build upon; `python3` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub python: Option<String>,
        /// The model to use. Without it the settings of an earlier installation stay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub model: Option<ModelSettings>,
    }

    /// How a model is reached. The key is written to a file that only its owner can read, and nowhere
    /// else.
    pub struct ModelSettings {
        /// The provider's wire.
        pub kind: ModelKind,
        /// Where it is.
        pub base_url: String,
        /// The key.
        pub api_key: String,
        /// The model's name.
        pub model: String,
    }
}

/// One line of an installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stream", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InstallFrame {
    /// What is being done.
    Progress {
        /// The request's id, when it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// The step.
        step: InstallStep,
        /// For people.
        message: String,
    },
    /// The last line.
    End {
        /// The request's id, when it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// How it ended.
        reason: InstallEnd,
        /// The runtime, when it is installed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<RuntimeBrief>,
        /// The error's tag, when it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<super::ErrorTag>,
        /// For people, when it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// More about the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<serde_json::Value>,
    },
}
