//! Where Galley keeps its things, and where it listens.

use crate::error::Error;
use etcetera::BaseStrategy;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The longest socket path the system takes, in bytes (`sun_path` less its final zero).
#[cfg(unix)]
const SOCKET_PATH_LIMIT: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

/// The database: `GALLEY_DB_PATH`, else `workbench.db` in the data directory (Linux
/// `$XDG_DATA_HOME/galley` or `~/.local/share/galley`, macOS `~/Library/Application
/// Support/galley`, Windows `%APPDATA%\galley`).
///
/// # Errors
/// [`Error::DbUnavailable`] when the variable is not set and the home directory is unknown.
pub fn default_database() -> Result<PathBuf, Error> {
    if let Some(path) = variable("GALLEY_DB_PATH") {
        return Ok(path.into());
    }
    let base = etcetera::base_strategy::choose_native_strategy()
        .map_err(|_| Error::DbUnavailable("the home directory is not known; set GALLEY_DB_PATH to where the database should be".into()))?;
    Ok(base.data_dir().join("galley").join("workbench.db"))
}

/// The configuration that belongs to `database`: `config.toml` beside it.
pub fn config_beside(database: &Path) -> PathBuf {
    database.with_file_name("config.toml")
}

/// The data directory of `database`: the one it is in.
pub fn data_dir_of(database: &Path) -> &Path {
    match database.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses a socket path that is longer than the system takes.
///
/// # Errors
/// [`Error::InvalidArgs`] with the path, the limit and the variable to set.
#[cfg(unix)]
pub fn check_socket(path: &Path) -> Result<(), Error> {
    let length = path.as_os_str().len();
    if length <= SOCKET_PATH_LIMIT {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the socket path {} has {length} bytes, and this system takes at most {SOCKET_PATH_LIMIT}; set GALLEY_SOCKET_PATH to a shorter one",
        path.display()
    )))
}

/// Named pipes have no limit worth checking.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn check_socket(_path: &Path) -> Result<(), Error> {
    Ok(())
}

/// A variable of the environment; set but empty counts as not set.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_and_the_data_are_beside_the_database() {
        assert_eq!(config_beside(Path::new("/d/galley/workbench.db")), Path::new("/d/galley/config.toml"));
        assert_eq!(data_dir_of(Path::new("/d/galley/workbench.db")), Path::new("/d/galley"));
        assert_eq!(data_dir_of(Path::new("workbench.db")), Path::new("."));
    }

    #[cfg(unix)]
    #[test]
    fn an_over_long_socket_path_is_refused_by_name() {
        let fits = PathBuf::from(format!("/{}", "s".repeat(SOCKET_PATH_LIMIT - 1)));
        assert!(check_socket(&fits).is_ok());
        let long = PathBuf::from(format!("/{}", "s".repeat(SOCKET_PATH_LIMIT)));
        let message = check_socket(&long).unwrap_err().to_string();
        for part in [long.to_str().unwrap(), &SOCKET_PATH_LIMIT.to_string(), "GALLEY_SOCKET_PATH"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
