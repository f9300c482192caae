//! The mark every process of an agent carries in its environment, by which it is found again.
//!
//! `GALLEY_OWNER=<data directory>.<Core>.<session>.<generation>[.<command>]`: each further part
//! narrows the circle, so that a prefix of whole parts names a set of processes. Children inherit
//! it, also those that leave the process group and the session. A process that cleans or overwrites
//! its environment (`env -i`) is not found this way.

use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The name of the environment variable.
pub(crate) const VARIABLE: &str = "GALLEY_OWNER";

/// Who this Core is, among all that ever ran on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    owner: String,
    instance: String,
}

impl Identity {
    /// A new instance, on the data directory that `lock_file` is in.
    pub(crate) fn new(lock_file: &Path) -> Self {
        let owner = format!("{:016x}", fnv1a(canonical(lock_file).as_os_str().as_encoded_bytes()));
        let instance = Uuid::new_v4().simple().to_string();
        Self { instance: format!("{owner}.{}", &instance[..16]), owner }
    }

    /// Marks everything of this data directory, whichever Core started it.
    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// Marks everything of this Core.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// Marks one runner and all it started.
    pub(crate) fn runner(&self, session: &str, generation: u64) -> String {
        format!("{}.{}.{generation}", self.instance, part(session))
    }
}

/// Marks one command of a runner and all it started.
pub(crate) fn command(runner: &str, command: &str) -> String {
    format!("{runner}.{}", part(command))
}

/// Whether `value` is marked as belonging to `mark`: equal, or narrower by whole parts.
pub(crate) fn covers(mark: &str, value: &str) -> bool {
    value.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Text as one part of a mark. Also keeps the guard's line protocol and patterns free of surprises.
fn part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' }).collect()
}

/// The path without links, as far as it exists: the lock file itself may be about to be made.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// FNV-1a: the same in every version of every program, which `std`'s hashers do not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn one_file_has_one_owner_and_each_core_its_instance() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("galley.lock");
        let before = Identity::new(&lock);
        std::fs::write(&lock, "").unwrap();
        let after = Identity::new(&folder.path().join(".").join("galley.lock"));
        assert_eq!(before.owner(), after.owner());
        assert_ne!(before.instance(), after.instance());
        assert_ne!(before.owner(), Identity::new(&folder.path().join("other.lock")).owner());
    }

    #[test]
    fn a_mark_covers_whole_parts_only() {
        let identity = Identity::new(Path::new("galley.lock"));
        let runner = identity.runner("a.b/c", 1);
        assert!(runner.ends_with(".a_b_c.1"));
        let command = command(&runner, "c7");
        for mark in [identity.owner(), identity.instance(), &runner, &command] {
            assert!(covers(mark, &command), "{mark}");
        }
        assert!(!covers(&command, &runner));
        assert!(!covers(&runner, &identity.runner("a.b/c", 10)));
    }
}
