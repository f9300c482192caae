//! The bridge's files, carried inside this library.

use rust_embed::Embed;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The program among them.
const ENTRY: &str = "galley_genericagent/__main__.py";

#[derive(Embed)]
#[folder = "python"]
#[include = "galley/**/*.py"]
#[include = "galley_genericagent/**/*.py"]
struct Files;

/// Puts the bridge into `data_dir`, unless this very one is there, and returns its program.
///
/// Each version has a folder of its own, which appears whole: runners that are alive keep theirs.
///
/// # Errors
/// When it cannot be written.
pub fn unpack(data_dir: &Path) -> io::Result<PathBuf> {
    let folder = data_dir.join("bridge").join(version());
    if !folder.is_dir() {
        let parent = folder.parent().unwrap_or(data_dir);
        std::fs::create_dir_all(parent)?;
        let fresh = tempfile::tempdir_in(parent)?;
        for name in Files::iter() {
            let (path, Some(file)) = (fresh.path().join(name.as_ref()), Files::get(&name)) else { continue };
            std::fs::create_dir_all(path.parent().unwrap_or(parent))?;
            std::fs::write(path, file.data)?;
        }
        // Somebody else may have been first. What was made is gone when `fresh` is dropped.
        match std::fs::rename(fresh.path(), &folder) {
            Err(error) if !folder.is_dir() => return Err(error),
            _ => {}
        }
    }
    Ok(folder.join(ENTRY))
}

/// Tells one set of files from another.
fn version() -> String {
    let mut names: Vec<_> = Files::iter().collect();
    names.sort();
    let mut hasher = DefaultHasher::new();
    for name in names {
        (&name, Files::get(&name).map(|file| file.metadata.sha256_hash())).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_is_unpacked_whole_and_once() {
        let data = tempfile::tempdir().unwrap();
        let entry = unpack(data.path()).unwrap();
        assert!(entry.is_file());
        assert!(entry.with_file_name("../galley/runner/__init__.py").is_file());
        std::fs::write(&entry, "touched").unwrap();
        assert_eq!(unpack(data.path()).unwrap(), entry);
        assert_eq!(std::fs::read_to_string(&entry).unwrap(), "touched");
        assert_eq!(std::fs::read_dir(data.path().join("bridge")).unwrap().count(), 1, "nothing half made is left");
    }
}
