//! Where a GenericAgent finds the settings of its models.

use super::KEY_FILE;
use crate::config::Runtime;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The names the file may have.
const NAMES: [&str; 2] = ["mykey.py", "mykey.json"];

/// The file that the agent of `runtime` would take, if there is one: looked for where it looks, in its
/// order. A packaged agent has places that a plain checkout has not, and the other way round.
pub(crate) fn key_file(runtime: &Runtime, folder: &Path) -> Option<PathBuf> {
    let variable = |name: &str| runtime.env.get(name).map(OsString::from).or_else(|| std::env::var_os(name)).filter(|value| !value.is_empty());
    let named = runtime.key_file.clone().or_else(|| variable(KEY_FILE).map(PathBuf::from));
    if let Some(file) = named.filter(|file| file.is_file()) {
        return Some(file);
    }
    let mut places = Vec::new();
    if folder.join("__init__.py").is_file() {
        places.extend(NAMES.map(|name| folder.join(name)));
        if let Ok(home) = etcetera::home_dir() {
            places.extend(NAMES.map(|name| home.join(".genericagent").join(name)));
        }
    } else {
        let path = variable("PYTHONPATH").unwrap_or_default();
        places.extend(std::env::split_paths(&path).filter(|place| !place.as_os_str().is_empty()).map(|place| place.join(NAMES[0])));
        places.extend(NAMES.map(|name| folder.join(name)));
    }
    places.into_iter().find(|place| place.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_file_is_found_where_the_agent_looks() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (dir.path().join("ga"), dir.path().join("keys"));
        for path in [&folder, &elsewhere] {
            std::fs::create_dir(path).unwrap();
        }
        let mut runtime = Runtime::generic_agent("external", &folder);
        // Nothing of the machine's own is to be found.
        runtime.env.insert("PYTHONPATH".into(), dir.path().join("empty").to_string_lossy().into_owned());
        runtime.env.insert(KEY_FILE.into(), dir.path().join("none").to_string_lossy().into_owned());
        assert_eq!(key_file(&runtime, &folder), None);
        std::fs::write(folder.join("mykey.json"), "{}").unwrap();
        assert_eq!(key_file(&runtime, &folder), Some(folder.join("mykey.json")));
        std::fs::write(elsewhere.join("mykey.py"), "").unwrap();
        runtime.env.insert("PYTHONPATH".into(), elsewhere.to_string_lossy().into_owned());
        assert_eq!(key_file(&runtime, &folder), Some(elsewhere.join("mykey.py")));
        std::fs::write(folder.join("__init__.py"), "").unwrap();
        assert_eq!(key_file(&runtime, &folder), Some(folder.join("mykey.json")), "a package does not look along PYTHONPATH");
        runtime.env.insert(KEY_FILE.into(), elsewhere.join("mykey.py").to_string_lossy().into_owned());
        assert_eq!(key_file(&runtime, &folder), Some(elsewhere.join("mykey.py")));
    }
}
