//! The runtimes: named ways to start an agent, kept in `config.toml` or passed by an embedder.
//!
//! ```toml
//! current = "helper"
//!
//! [runtimes.helper]
//! backend = "process"
//! command = ["python3", "/opt/helper/agent.py"]
//! env = { HELPER_LANGUAGE = "en" }
//!
//! [runtimes.external]
//! backend = "genericagent"
//! ga_path = "/home/mira/GenericAgent"
//! ```
//!
//! The file is the user's: keys this version does not know stay, and so do comments.

mod file;

pub use file::ConfigFile;
pub(crate) use file::requested;

use crate::error::Error;
use galley_protocol::socket::{Backend, RuntimeBrief, RuntimeKind};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, TableLike, Value};

/// Names that are the built-in shell until something is configured under them.
const BUILT_IN: [&str; 2] = ["managed", "shell"];

/// Name of the runtime that `runtime.install` makes.
pub(crate) const INSTALLED: &str = "managed";

/// Words that `--runtime` gives a meaning of its own; no runtime is called so.
const RESERVED: [&str; 2] = ["current", "all"];

/// The runtimes and which of them new sessions use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    current: String,
    runtimes: Vec<Runtime>,
}

/// A named way to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Its name; the `gaRuntimeId` of its sessions.
    pub name: String,
    /// How it is spoken to.
    pub backend: Backend,
    /// The program and its arguments; empty for the shell.
    pub command: Vec<String>,
    /// The agent's folder, when it has one.
    pub ga_path: Option<PathBuf>,
    /// The interpreter, when one is named; for `genericagent`.
    pub python: Option<PathBuf>,
    /// The file with the models' settings, when one is named; for `genericagent`.
    pub key_file: Option<PathBuf>,
    /// Variables for its environment.
    pub env: BTreeMap<String, String>,
}

impl Default for Config {
    /// Only what is built in.
    fn default() -> Self {
        Self { current: "managed".into(), runtimes: BUILT_IN.map(Runtime::shell).into() }
    }
}

impl Config {
    /// Reads `path`. A file that does not exist is the default configuration.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] when the file cannot be read or is wrong: the message names file,
    /// line and key and says what would be right; `detail` has `path`, `line`, `key`.
    pub fn load(path: &Path) -> Result<Self, Error> {
        file::read(path).and_then(|text| Self::parse(&text, path))
    }

    /// With `runtime` added, or put in the place of the one of its name.
    #[must_use]
    pub fn with_runtime(mut self, runtime: Runtime) -> Self {
        match self.runtimes.iter_mut().find(|known| known.name == runtime.name) {
            Some(known) => *known = runtime,
            None => self.runtimes.push(runtime),
        }
        self
    }

    /// With `name` as the runtime of new sessions.
    #[must_use]
    pub fn with_current(mut self, name: impl Into<String>) -> Self {
        self.current = name.into();
        self
    }

    /// Name of the runtime that new sessions use.
    pub fn current(&self) -> &str {
        &self.current
    }

    /// All runtimes: the built-in ones first, then in the order of the file.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    /// The runtime that `word` means: `current`, or a runtime's name (`managed` and `external` are
    /// names here).
    ///
    /// # Errors
    /// [`Error::NotFound`], naming the runtimes there are.
    pub fn runtime(&self, word: &str) -> Result<&Runtime, Error> {
        let name = if word == "current" { &self.current } else { word };
        self.runtimes.iter().find(|runtime| runtime.name == name).ok_or_else(|| {
            let known: Vec<_> = self.runtimes.iter().map(|runtime| runtime.name.as_str()).collect();
            Error::NotFound(format!("no runtime is called {name:?}; there are: {}", known.join(", ")))
        })
    }

    /// What `runtime.list` answers.
    pub fn briefs(&self) -> Vec<RuntimeBrief> {
        self.runtimes.iter().map(|runtime| self.brief(runtime)).collect()
    }

    /// One runtime as `runtime.list` shows it.
    pub fn brief(&self, runtime: &Runtime) -> RuntimeBrief {
        RuntimeBrief {
            name: runtime.name.clone(),
            backend: runtime.backend.clone(),
            runtime_kind: runtime.kind(),
            label: runtime.label().to_owned(),
            current: runtime.name == self.current,
            command: (!runtime.command.is_empty()).then(|| runtime.command.clone()),
            ga_path: text(runtime.ga_path.as_ref()),
            python: text(runtime.python.as_ref()),
            key_file: text(runtime.key_file.as_ref()),
            problem: runtime.problem(),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let source = Source { text, path };
        let document = Document::parse(text).map_err(|error| source.wrong(error.span(), "", error.message()))?;
        let mut config = Self::default();
        if let Some(item) = document.get("current") {
            let name = item.as_str().ok_or_else(|| source.wrong(item.span(), "current", "must be the name of a runtime, in quotes"))?;
            check_name(name).map_err(|why| source.wrong(item.span(), "current", &why))?;
            config.current = name.to_owned();
        }
        if let Some(item) = document.get("runtimes") {
            let tables = item.as_table_like().ok_or_else(|| source.wrong(item.span(), "runtimes", "must be tables: [runtimes.NAME]"))?;
            for (name, item) in tables.iter() {
                let runtime = source.runtime(name, item)?;
                config = config.with_runtime(runtime);
            }
        }
        Ok(config)
    }
}

impl Runtime {
    /// The built-in shell under `name`.
    pub fn shell(name: impl Into<String>) -> Self {
        Self::new(name, Backend::Shell)
    }

    /// A program that speaks IPC v0.1: `command` is the program and its arguments.
    pub fn process(name: impl Into<String>, command: Vec<String>) -> Self {
        Self { command, ..Self::new(name, Backend::Process) }
    }

    /// A GenericAgent in the folder `ga_path`.
    pub fn generic_agent(name: impl Into<String>, ga_path: impl Into<PathBuf>) -> Self {
        Self { ga_path: Some(ga_path.into()), ..Self::new(name, Backend::GenericAgent) }
    }

    /// Without any setting.
    fn new(name: impl Into<String>, backend: Backend) -> Self {
        Self { name: name.into(), backend, command: Vec::new(), ga_path: None, python: None, key_file: None, env: BTreeMap::new() }
    }

    /// Whose agent it is: Galley's own, or the user's.
    pub fn kind(&self) -> RuntimeKind {
        match self.backend {
            Backend::Shell => RuntimeKind::Managed,
            Backend::GenericAgent if self.name == INSTALLED => RuntimeKind::Managed,
            _ => RuntimeKind::External,
        }
    }

    /// Its name for people.
    pub fn label(&self) -> &str {
        match (&self.backend, self.kind()) {
            (_, RuntimeKind::Managed) => "Galley",
            (Backend::GenericAgent, _) => "Attached GenericAgent",
            _ => &self.name,
        }
    }

    /// Why it cannot be started, as far as can be seen without trying.
    pub fn problem(&self) -> Option<String> {
        if !self.backend.is_known() {
            return Some(format!("this version has no backend {:?}; it has: {}", self.backend.as_str(), Backend::WORDS.join(", ")));
        }
        if self.backend == Backend::Process {
            let Some(program) = self.command.first() else {
                return Some("it has no command; set the program and its arguments".into());
            };
            if let Some(problem) = program_problem(program) {
                return Some(problem);
            }
        }
        let generic_agent = self.backend == Backend::GenericAgent;
        if let Some(python) = self.python.as_ref().filter(|_| generic_agent)
            && let Some(problem) = program_problem(&python.to_string_lossy())
        {
            return Some(problem);
        }
        if let Some(file) = self.key_file.as_ref().filter(|file| generic_agent && !file.is_file()) {
            return Some(format!("key_file {} is no file", file.display()));
        }
        let Some(folder) = &self.ga_path else {
            return generic_agent.then(|| "it has no ga_path; set the folder of the GenericAgent".into());
        };
        if !folder.is_absolute() {
            Some(format!("ga_path {} is not absolute", folder.display()))
        } else if !folder.is_dir() {
            Some(format!("ga_path {} is no folder", folder.display()))
        } else if generic_agent && !folder.join("agentmain.py").is_file() {
            Some(format!("ga_path {} is no GenericAgent: it has no agentmain.py", folder.display()))
        } else {
            None
        }
    }
}

fn text(path: Option<&PathBuf>) -> Option<String> {
    path.map(|path| path.to_string_lossy().into_owned())
}

fn program_problem(program: &str) -> Option<String> {
    let path = Path::new(program);
    if path.components().count() > 1 && !path.is_absolute() {
        // Whoever typed it and Core need not be in the same directory.
        return Some(format!("the program {program} is given relative to a directory; give its absolute path"));
    }
    match which::which(path) {
        Ok(_) => None,
        Err(_) if path.is_absolute() && path.exists() => Some(format!("{program} is not an executable file")),
        Err(_) if path.is_absolute() => Some(format!("the program {program} does not exist")),
        Err(_) => Some(format!("the program {program} is not on PATH")),
    }
}

/// What is wrong with `name` as the name of a runtime, if anything is.
fn check_name(name: &str) -> Result<(), String> {
    if RESERVED.contains(&name) {
        return Err(format!("{name:?} has a meaning of its own and cannot be a runtime's name"));
    }
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if starts_well && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
        return Ok(());
    }
    Err(format!("{name:?} cannot be a runtime's name: it must be 1 to 64 ASCII letters, digits, '.', '_' or '-', a letter or digit first"))
}

/// Splits a command line as a shell splits words.
fn split_command(line: &str) -> Result<Vec<String>, String> {
    match shell_words::split(line) {
        Ok(words) if words.is_empty() => Err("names no program; write the program and its arguments".into()),
        Ok(words) => Ok(words),
        Err(_) => Err("has a quote that is not closed".into()),
    }
}

/// A configuration file being read.
struct Source<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Source<'_> {
    fn runtime(&self, name: &str, item: &Item) -> Result<Runtime, Error> {
        let key = format!("runtimes.{name}");
        check_name(name).map_err(|why| self.wrong(item.span(), &key, &why))?;
        let table = item.as_table_like().ok_or_else(|| self.wrong(item.span(), &key, "must be a table with backend and its settings"))?;
        let backend = self
            .string(table, &key, "backend")?
            .ok_or_else(|| self.wrong(item.span(), &key, &format!("has no backend; set backend to one of: {}", Backend::WORDS.join(", "))))?;
        Ok(Runtime {
            name: name.to_owned(),
            backend: Backend::from(backend),
            command: self.command(table, &key)?,
            ga_path: self.string(table, &key, "ga_path")?.map(PathBuf::from),
            python: self.string(table, &key, "python")?.map(PathBuf::from),
            key_file: self.string(table, &key, "key_file")?.map(PathBuf::from),
            env: self.env(table, &key)?,
        })
    }

    fn env(&self, table: &dyn TableLike, parent: &str) -> Result<BTreeMap<String, String>, Error> {
        let Some(item) = table.get("env") else { return Ok(BTreeMap::new()) };
        let key = format!("{parent}.env");
        let variables = item.as_table_like().ok_or_else(|| self.wrong(item.span(), &key, "must be a table of variables, each a string"))?;
        let read = |(name, item): (&str, &Item)| match item.as_str() {
            Some(value) => Ok((name.to_owned(), value.to_owned())),
            None => Err(self.wrong(item.span(), &format!("{key}.{name}"), "must be a string, in quotes")),
        };
        variables.iter().map(read).collect()
    }

    fn string<'t>(&self, table: &'t dyn TableLike, parent: &str, key: &str) -> Result<Option<&'t str>, Error> {
        table
            .get(key)
            .map(|item| item.as_str().ok_or_else(|| self.wrong(item.span(), &format!("{parent}.{key}"), "must be a string, in quotes")))
            .transpose()
    }

    fn command(&self, table: &dyn TableLike, parent: &str) -> Result<Vec<String>, Error> {
        let Some(item) = table.get("command") else { return Ok(Vec::new()) };
        let wrong = |why: &str| self.wrong(item.span(), &format!("{parent}.command"), why);
        if let Some(line) = item.as_str() {
            return split_command(line).map_err(|why| wrong(&why));
        }
        let words = item.as_array().and_then(|words| words.iter().map(Value::as_str).map(|word| word.map(str::to_owned)).collect());
        words.ok_or_else(|| wrong("must be a list of strings, or one string that is split as a shell splits words"))
    }

    fn wrong(&self, span: Option<Range<usize>>, key: &str, why: &str) -> Error {
        let before = &self.text.as_bytes()[..span.map_or(0, |span| span.start.min(self.text.len()))];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let separator = if key.is_empty() { "" } else { " " };
        Error::InvalidArgs {
            message: format!("{}, line {line}: {key}{separator}{why}", self.path.display()),
            detail: Some(json!({ "path": self.path, "line": line, "key": key })),
        }
    }
}

#[cfg(test)]
mod tests;
