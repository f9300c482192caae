//! `runtime.*`: the agents that can be started. These commands edit or read the configuration
//! file; a running Core notices.

use super::wire;
use crate::open_enum::open_enum;

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
        /// Why it cannot be used, when it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub problem: Option<String>,
    }

    /// Adds a runtime to the configuration.
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
        pub llms: Vec<crate::ipc::Llm>,
        /// What it can do; absent means everything the specification has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub capabilities: Option<Vec<String>>,
    }
}
