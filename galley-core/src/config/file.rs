//! The configuration file: noticed when it changes, edited without losing what is the user's.

use super::{Config, Runtime, check_name, split_command};
use crate::error::Error;
use galley_protocol::socket::{Backend, RuntimeAdd, RuntimeBrief, RuntimeRemove, RuntimeRemoved};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// A configuration in a file that others edit too.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<Config>)>>,
}

/// What changes when a file does.
type Stamp = Option<(SystemTime, u64)>;

impl ConfigFile {
    /// The configuration at `path`; nothing is read yet, and the file need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), read: Mutex::new(None) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration as the file is now; read again only if the file changed.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn get(&self) -> Result<Arc<Config>, Error> {
        let now = stamp(&self.path);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, config)) = read.as_ref()
            && *then == now
        {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(Config::load(&self.path)?);
        *read = Some((now, Arc::clone(&config)));
        Ok(config)
    }

    /// Writes the runtime a request describes into the file, without starting it.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] for a bad name, backend or command, and as [`write`](Self::write).
    pub fn add(&self, new: &RuntimeAdd) -> Result<RuntimeBrief, Error> {
        self.write(&requested(new)?, new.replace == Some(true))
    }

    /// Refuses to add a runtime under a name that the file has already, unless it is to be replaced.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`]; also for a file that cannot be read.
    pub(crate) fn check_free(&self, name: &str, replace: bool) -> Result<(), Error> {
        let text = read(&self.path)?;
        Config::parse(&text, &self.path)?;
        let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| Error::invalid(error.message()))?;
        let taken = document.get("runtimes").and_then(Item::as_table_like).is_some_and(|runtimes| runtimes.contains_key(name));
        if taken && !replace { Err(self.taken(name)) } else { Ok(()) }
    }

    fn taken(&self, name: &str) -> Error {
        Error::invalid(format!(
            "a runtime called {name:?} is configured in {} already; choose another name, or replace it (--replace)",
            self.path.display()
        ))
    }

    /// Writes a runtime into the file. One that cannot be started now is written all the same; the
    /// answer's `problem` says why it cannot.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] for a runtime that is configured already when `replace` is not set, and
    /// for a file that cannot be read or written.
    pub fn write(&self, runtime: &Runtime, replace: bool) -> Result<RuntimeBrief, Error> {
        let config = self.edit(|document| {
            let runtimes = document.entry("runtimes").or_insert_with(|| {
                let mut runtimes = Table::new();
                runtimes.set_implicit(true);
                Item::Table(runtimes)
            });
            // `parse` has seen that it is a table, and so are its entries.
            let Some(runtimes) = runtimes.as_table_like_mut() else { return Ok(()) };
            if runtimes.contains_key(&runtime.name) && !replace {
                return Err(self.taken(&runtime.name));
            }
            if let Some(table) = runtimes.entry(&runtime.name).or_insert(Item::Table(Table::new())).as_table_like_mut() {
                write_runtime(table, runtime);
            }
            Ok(())
        })?;
        Ok(config.brief(runtime))
    }

    /// Takes a runtime out of the file. Its sessions stay. If it was the current one, the built-in
    /// `managed` is from then on.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the file has no such runtime; [`Error::InvalidArgs`] for a file that
    /// cannot be read or written.
    pub fn remove(&self, args: &RuntimeRemove) -> Result<RuntimeRemoved, Error> {
        let name = &args.name;
        self.edit(|document| {
            let runtimes = document.get_mut("runtimes").and_then(Item::as_table_like_mut);
            if runtimes.and_then(|runtimes| runtimes.remove(name)).is_none() {
                return Err(Error::NotFound(format!("{} configures no runtime called {name:?}", self.path.display())));
            }
            if document.get("current").and_then(Item::as_str) == Some(name) {
                document.remove("current");
            }
            Ok(())
        })?;
        Ok(RuntimeRemoved { removed: true, name: name.clone() })
    }

    /// Makes `name` the runtime of new sessions.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such runtime; [`Error::InvalidArgs`] for a file that
    /// cannot be read or written.
    pub fn set_current(&self, name: &str) -> Result<RuntimeBrief, Error> {
        let config = self.edit(|document| {
            Config::load(&self.path)?.runtime(name)?;
            set(document.as_table_mut(), "current", name.into());
            Ok(())
        })?;
        config.runtime(name).map(|runtime| config.brief(runtime))
    }

    /// Reads, changes, checks and replaces the file, as one step for everybody who does it so.
    fn edit(&self, change: impl FnOnce(&mut DocumentMut) -> Result<(), Error>) -> Result<Config, Error> {
        let unwritable = |error: io::Error| Error::invalid(format!("{} cannot be written: {error}", self.path.display()));
        // A link stays a link; what it points to is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let directory = crate::paths::data_dir_of(&path);
        fs::create_dir_all(directory).map_err(unwritable)?;
        // Where a directory can be opened, it is the lock; elsewhere the last writer wins.
        let lock = File::open(directory);
        if let Ok(lock) = &lock {
            lock.lock().map_err(unwritable)?;
        }
        let text = read(&path)?;
        Config::parse(&text, &self.path)?;
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| Error::invalid(error.message()))?;
        change(&mut document)?;
        let text = document.to_string();
        let config = Config::parse(&text, &self.path)?;
        replace(&path, &text).map_err(unwritable)?;
        Ok(config)
    }
}

/// The text of the file at `path`; empty if there is none.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::invalid(format!("{} cannot be read: {error}", path.display()))),
    }
}

/// Puts `text` in the place of the file at once: a reader sees the old file or the new one. Only
/// its owner may read it, for settings may hold keys.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(crate::paths::data_dir_of(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// The runtime a request asks for.
///
/// # Errors
/// [`Error::InvalidArgs`] for what no runtime can be.
pub(crate) fn requested(new: &RuntimeAdd) -> Result<Runtime, Error> {
    check_name(&new.name).map_err(Error::invalid)?;
    let backend = new.backend.clone().unwrap_or(Backend::Process);
    let command = match (&backend, &new.command) {
        (Backend::Shell | Backend::GenericAgent, None) => Vec::new(),
        (Backend::Shell, Some(_)) => return Err(Error::invalid("the shell backend takes no command: every message is one")),
        (Backend::GenericAgent, Some(_)) => {
            return Err(Error::invalid("the genericagent backend takes no command; name the agent's folder (gaPath), and its interpreter (python)"));
        }
        (Backend::Process, Some(line)) => split_command(line).map_err(|why| Error::invalid(format!("the command {why}")))?,
        (Backend::Process, None) => return Err(Error::invalid("the process backend needs a command: the program and its arguments")),
        (other, _) => {
            return Err(Error::invalid(format!("there is no backend {:?}; there are: {}", other.as_str(), Backend::WORDS.join(", "))));
        }
    };
    if backend == Backend::GenericAgent && new.ga_path.is_none() {
        return Err(Error::invalid("the genericagent backend needs the agent's folder (gaPath)"));
    }
    if backend != Backend::GenericAgent && (new.python.is_some() || new.key_file.is_some()) {
        return Err(Error::invalid("python and keyFile are settings of the genericagent backend"));
    }
    if let Some(name) = new.env.iter().flatten().map(|(name, _)| name).find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return Err(Error::invalid(format!("{name:?} cannot be the name of a variable")));
    }
    Ok(Runtime {
        name: new.name.clone(),
        backend,
        command,
        ga_path: new.ga_path.as_ref().map(PathBuf::from),
        python: new.python.as_ref().map(PathBuf::from),
        key_file: new.key_file.as_ref().map(PathBuf::from),
        env: new.env.clone().unwrap_or_default(),
    })
}

fn write_runtime(table: &mut dyn TableLike, runtime: &Runtime) {
    set(table, "backend", runtime.backend.as_str().into());
    if runtime.command.is_empty() {
        table.remove("command");
    } else {
        set(table, "command", Value::Array(runtime.command.iter().collect()));
    }
    for (key, path) in [("ga_path", &runtime.ga_path), ("python", &runtime.python), ("key_file", &runtime.key_file)] {
        match path {
            // It came as text.
            Some(path) => set(table, key, path.to_string_lossy().as_ref().into()),
            None => {
                table.remove(key);
            }
        }
    }
    if runtime.env.is_empty() {
        table.remove("env");
    } else {
        set(table, "env", Value::InlineTable(runtime.env.iter().collect()));
    }
}

/// Sets a key; what is written around it, spaces and comments, stays.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}
