//! What lasts from one command of a session to the next: its directory and exported variables.
//!
//! Kept is only what the session's commands changed, so that everything else follows Core's own
//! environment, and Core's secrets are not copied to disk. The session's are: its folder is for the
//! user alone (0700, files 0600), and nothing in it is ever exported.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Variables that a shell sets by itself, or that are kept another way.
const NOT_KEPT: [&str; 5] = ["_", "SHLVL", "PWD", "OLDPWD", EXIT_CODE];

/// Where `keep.sh` leaves the exit code, among the variables.
const EXIT_CODE: &str = "GALLEY_EXIT_CODE";

/// The names `keep.sh` uses; exported only after `set -a`.
const OWN_PREFIX: &str = "__galley_";

/// The environment of a process.
pub(super) type Environment = HashMap<OsString, OsString>;

/// Where a session is, and what it exported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The directory; `None` until a command has run.
    pub(super) directory: Option<PathBuf>,
    /// The directory before (`cd -`).
    previous: Option<PathBuf>,
    /// Variables set, or unset (`None`), against Core's environment.
    variables: BTreeMap<OsString, Option<OsString>>,
}

impl Place {
    /// The place remembered in `folder`, or a new one.
    pub(super) fn load(folder: &Path) -> io::Result<Self> {
        let text = match fs::read(folder.join("place")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut place = Self::default();
        for record in text.split(|byte| *byte == 0) {
            match record.split_first() {
                Some((b'd', path)) => place.directory = Some(os(path).into()),
                Some((b'p', path)) => place.previous = Some(os(path).into()),
                Some((b'-', name)) => {
                    place.variables.insert(os(name), None);
                }
                Some((b'+', pair)) => {
                    place.variables.extend(variable(pair).map(|(name, value)| (name, Some(value))));
                }
                // The end; or a record of a later version.
                _ => {}
            }
        }
        Ok(place)
    }

    /// Remembers it in `folder`, which exists.
    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(folder)?;
        let mut text = Vec::new();
        let mut record = |kind: u8, parts: &[&[u8]]| {
            text.push(kind);
            parts.iter().for_each(|part| text.extend_from_slice(part));
            text.push(0);
        };
        for (kind, path) in [(b'd', &self.directory), (b'p', &self.previous)] {
            if let Some(path) = path {
                record(kind, &[path.as_os_str().as_encoded_bytes()]);
            }
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => record(b'+', &[name.as_encoded_bytes(), b"=", value.as_encoded_bytes()]),
                None => record(b'-', &[name.as_encoded_bytes()]),
            }
        }
        file.write_all(&text)?;
        file.persist(folder.join("place"))?;
        Ok(())
    }

    /// `inherited` with what the session changed.
    pub(super) fn environment(&self, inherited: Environment) -> Environment {
        let mut environment = inherited;
        for (name, value) in &self.variables {
            match value {
                Some(value) => environment.insert(name.clone(), value.clone()),
                None => environment.remove(name),
            };
        }
        for (name, path) in [("PWD", &self.directory), ("OLDPWD", &self.previous)] {
            match path {
                Some(path) => environment.insert(name.into(), path.into()),
                None => environment.remove(OsStr::new(name)),
            };
        }
        environment
    }

    /// Takes over what a command left behind: `report` is what `keep.sh` wrote, `given` what the
    /// command was started with, `ours` the names that are set anew for each command. Returns the
    /// exit code; `None`, and nothing is taken over, when there is no whole report (the shell was
    /// killed, or became another program).
    pub(super) fn absorb(&mut self, report: &[u8], given: &Environment, ours: &[&str]) -> Option<i32> {
        let mut left: Environment = report.split(|byte| *byte == 0).filter_map(variable).collect();
        let code = left.get(OsStr::new(EXIT_CODE))?.to_str()?.parse().ok()?;
        self.directory = left.remove(OsStr::new("PWD")).filter(|path| !path.is_empty()).map(PathBuf::from);
        self.previous = left.remove(OsStr::new("OLDPWD")).filter(|path| !path.is_empty()).map(PathBuf::from);
        let kept = |name: &OsStr| {
            let name = name.to_string_lossy();
            !NOT_KEPT.contains(&&*name) && !ours.contains(&&*name) && !name.starts_with(OWN_PREFIX)
        };
        for name in given.keys().filter(|name| is_identifier(name) && kept(name) && !left.contains_key(*name)) {
            self.variables.insert(name.clone(), None);
        }
        for (name, value) in left {
            if kept(&name) && given.get(&name) != Some(&value) {
                self.variables.insert(name, Some(value));
            }
        }
        Some(code)
    }
}

/// Makes a folder for the user alone.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file for the user alone.
pub(super) fn create_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn variable(pair: &[u8]) -> Option<(OsString, OsString)> {
    // A name is never empty; on Windows one may begin with '='.
    let end = 1 + pair.get(1..)?.iter().position(|byte| *byte == b'=')?;
    Some((os(&pair[..end]), os(&pair[end + 1..])))
}

/// Other names do not survive every shell, which does not mean that the user unset them.
fn is_identifier(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.is_empty() && !bytes[0].is_ascii_digit() && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(unix)]
fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn set(place: &Place, name: &str) -> Option<Option<OsString>> {
        place.variables.get(OsStr::new(name)).cloned()
    }

    #[test]
    fn only_what_a_command_changed_is_kept() {
        let given = environment(&[("HOME", "/h"), ("KEY", "secret"), ("GONE", "1"), ("GALLEY_OWNER", "a"), ("BASH_FUNC_f%%", "() { :; }")]);
        let report = b"HOME=/h\0KEY=secret\0NEW=a=b\nc'\0GALLEY_OWNER=b\0__galley_file=x\0PWD=/w\0OLDPWD=\0GALLEY_EXIT_CODE=3\0_=env\0";
        let mut place = Place::default();
        assert_eq!(place.absorb(report, &given, &["GALLEY_OWNER"]), Some(3));
        assert_eq!(place.directory.as_deref(), Some(Path::new("/w")));
        assert_eq!(set(&place, "NEW"), Some(Some("a=b\nc'".into())));
        assert_eq!(set(&place, "GONE"), Some(None));
        assert_eq!(place.variables.len(), 2);

        let later = place.environment(environment(&[("HOME", "/other"), ("GONE", "2"), ("OLDPWD", "/x")]));
        assert_eq!(later, environment(&[("HOME", "/other"), ("NEW", "a=b\nc'"), ("PWD", "/w")]));
    }

    #[test]
    fn a_report_that_is_not_whole_changes_nothing() {
        let mut place = Place { directory: Some("/d".into()), ..Place::default() };
        let before = place.clone();
        assert_eq!(place.absorb(b"", &environment(&[("A", "1")]), &[]), None);
        assert_eq!(place.absorb(b"PWD=/w\0", &environment(&[("A", "1")]), &[]), None);
        assert_eq!(place, before);
    }

    #[cfg(unix)]
    #[test]
    fn a_place_survives_its_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            directory: Some("/a b\n".into()),
            previous: Some(os(b"/\xff").into()),
            variables: BTreeMap::from([("X".into(), Some("$(echo \"'`\n\\".into())), ("E".into(), Some("".into())), ("U".into(), None)]),
        };
        assert_eq!(Place::load(folder.path()).unwrap(), Place::default());
        place.save(folder.path()).unwrap();
        assert_eq!(Place::load(folder.path()).unwrap(), place);
        assert_eq!(fs::metadata(folder.path().join("place")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
