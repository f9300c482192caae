//! The arguments of one step.

use crate::Error;
use galley_protocol::ipc::Command;
use std::str::FromStr;
use std::time::Duration;

/// Reads a step's arguments one by one; every error names the argument and the step's usage.
pub(super) struct Arguments<'a> {
    step: &'a str,
    rest: &'a str,
    usage: &'static str,
}

impl<'a> Arguments<'a> {
    /// The arguments of `step`, which begins with its name.
    pub(super) fn new(step: &'a str, usage: &'static str) -> Self {
        let rest = step.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
        Self { step, rest, usage }
    }

    pub(super) fn problem(&self, problem: impl Into<String>) -> Error {
        Error::BadStep { step: self.step.to_owned(), problem: problem.into(), usage: self.usage }
    }

    /// Fails when arguments are left over.
    pub(super) fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.problem(format!("`{}` is too much", self.rest))) }
    }

    pub(super) fn optional_word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.rest.split_once(char::is_whitespace).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        (!word.is_empty()).then_some(word)
    }

    pub(super) fn word(&mut self, name: &str) -> Result<&'a str, Error> {
        self.optional_word().ok_or_else(|| self.problem(format!("{name} is missing")))
    }

    /// All that is left, with its escapes resolved.
    pub(super) fn optional_text(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let mut text = String::with_capacity(rest.len());
        let mut characters = rest.chars();
        while let Some(character) = characters.next() {
            match (character, character == '\\') {
                (_, false) => text.push(character),
                (_, true) => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some(escaped @ (';' | '\\' | '{' | '}')) => text.push(escaped),
                    // Not one of ours: JSON in a `raw` line keeps its own escapes.
                    Some(other) => text.extend(['\\', other]),
                    None => text.push('\\'),
                },
            }
        }
        Some(text)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Error> {
        self.optional_text().ok_or_else(|| self.problem(format!("{name} is missing")))
    }

    /// All that is left, split at `separator`; empty parts are dropped.
    pub(super) fn list(&mut self, separator: char) -> Vec<String> {
        let text = self.optional_text().unwrap_or_default();
        text.split(separator).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// All that is left, which must stand in braces, without them.
    pub(super) fn block(&mut self) -> Result<&'a str, Error> {
        let rest = std::mem::take(&mut self.rest);
        let inner = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        inner.ok_or_else(|| self.problem("STEPS must stand in braces"))
    }

    pub(super) fn number<T: FromStr>(&mut self, name: &str) -> Result<T, Error> {
        let word = self.word(name)?;
        word.replace('_', "").parse().map_err(|_| self.problem(format!("{name} must be a whole number, not `{word}`")))
    }

    pub(super) fn optional_number<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Error> {
        if self.rest.is_empty() { Ok(None) } else { self.number(name).map(Some) }
    }

    /// A number of bytes: `1000`, `64KiB`, `100MB`.
    pub(super) fn size<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, Error> {
        let word = self.word(name)?;
        let unit = |unit: &str| match unit {
            "" | "B" => Some(1),
            "kB" => Some(1000),
            "KiB" => Some(1 << 10),
            "MB" => Some(1_000_000),
            "MiB" => Some(1 << 20),
            _ => None,
        };
        let size = with_unit(word, unit).and_then(|bytes| T::try_from(bytes).ok());
        size.ok_or_else(|| self.problem(format!("{name} must be a number, perhaps with kB, KiB, MB or MiB, not `{word}`")))
    }

    pub(super) fn optional_size<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, Error> {
        if self.rest.is_empty() { Ok(None) } else { self.size(name).map(Some) }
    }

    /// A time: `300us`, `50ms`, `2s`, `1m`.
    pub(super) fn duration(&mut self, name: &str) -> Result<Duration, Error> {
        let word = self.word(name)?;
        let unit = |unit: &str| match unit {
            "us" => Some(1),
            "ms" => Some(1000),
            "s" => Some(1_000_000),
            "m" => Some(60_000_000),
            _ => None,
        };
        let micros = with_unit(word, unit);
        micros.map(Duration::from_micros).ok_or_else(|| self.problem(format!("{name} must be a number with us, ms, s or m, not `{word}`")))
    }

    /// The kind of an IPC command.
    pub(super) fn command_kind(&mut self, name: &str) -> Result<&'static str, Error> {
        let word = self.word(name)?;
        let kind = Command::KINDS.iter().find(|kind| **kind == word);
        kind.copied().ok_or_else(|| self.problem(format!("{name} must be one of {}, not `{word}`", Command::KINDS.join(", "))))
    }

    /// A signal, by name or number. The numbers of these names are the same on every Unix we run on.
    pub(super) fn signal(&mut self, name: &str) -> Result<i32, Error> {
        const NAMES: &[(&str, i32)] = &[
            ("HUP", 1),
            ("INT", 2),
            ("QUIT", 3),
            ("ILL", 4),
            ("TRAP", 5),
            ("ABRT", 6),
            ("FPE", 8),
            ("KILL", 9),
            ("SEGV", 11),
            ("ALRM", 14),
            ("TERM", 15),
        ];
        let word = self.word(name)?;
        let upper = word.to_uppercase();
        let short = upper.strip_prefix("SIG").unwrap_or(&upper);
        let named = NAMES.iter().find(|(known, _)| *known == short).map(|(_, number)| *number);
        named.or_else(|| word.parse().ok().filter(|number| (1..64).contains(number))).ok_or_else(|| {
            let names = NAMES.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            self.problem(format!("{name} must be a number below 64 or one of {names}, not `{word}`"))
        })
    }
}

/// A whole number times the factor of the unit written after it.
fn with_unit(word: &str, factor: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let digits = word.find(|character: char| !character.is_ascii_digit() && character != '_').unwrap_or(word.len());
    let number: u64 = word[..digits].replace('_', "").parse().ok()?;
    number.checked_mul(factor(&word[digits..])?)
}
