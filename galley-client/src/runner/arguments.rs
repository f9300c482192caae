//! What a runner is started with (IPC protocol §3).

use std::path::PathBuf;

/// The command line, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arguments {
    /// The session in Galley; empty when nobody said.
    pub session_id: String,
    /// The agent's folder.
    pub ga_path: Option<PathBuf>,
    /// The user's project folder.
    pub workspace_root: Option<PathBuf>,
    /// Position of the model to begin with.
    pub llm_no: usize,
    /// The session's working directory. The process itself stays where it was started.
    pub cwd: Option<PathBuf>,
    /// Arguments the protocol does not know: the agent's own.
    pub rest: Vec<String>,
}

impl Arguments {
    /// Reads `words`; `--name value` and `--name=value` are the same. `session_id` is used when no
    /// argument names one.
    pub(super) fn read(words: impl Iterator<Item = String>, session_id: Option<String>) -> Result<Self, String> {
        let mut read = Self { session_id: session_id.unwrap_or_default(), ..Self::default() };
        let mut words = words;
        while let Some(word) = words.next() {
            let (name, inline) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
            let mut value = || inline.clone().or_else(|| words.next()).ok_or_else(|| format!("{name} needs a value"));
            match name {
                "--session-id" => read.session_id = value()?,
                "--ga-path" => read.ga_path = Some(value()?.into()),
                "--workspace-root" => read.workspace_root = Some(value()?.into()),
                "--cwd" => read.cwd = Some(value()?.into()),
                "--llm-no" => {
                    let number = value()?;
                    read.llm_no = number.parse().map_err(|_| format!("--llm-no must be a whole number, not `{number}`"))?;
                }
                _ => read.rest.push(word),
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, String> {
        Arguments::read(words.iter().map(ToString::to_string), Some("from the environment".to_owned()))
    }

    #[test]
    fn known_arguments_are_read_and_the_rest_is_kept() {
        let read = read(&["--llm-no=2", "--new-flag", "x", "--ga-path", "/agent", "--session-id", "sess_1"]).unwrap();
        let expected = Arguments {
            session_id: "sess_1".into(),
            ga_path: Some("/agent".into()),
            llm_no: 2,
            rest: vec!["--new-flag".into(), "x".into()],
            ..Arguments::default()
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        assert_eq!(read(&[]).unwrap().session_id, "from the environment");
        assert_eq!(read(&["--cwd"]).unwrap_err(), "--cwd needs a value");
        assert_eq!(read(&["--llm-no", "two"]).unwrap_err(), "--llm-no must be a whole number, not `two`");
    }
}
