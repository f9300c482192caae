//! What a line must look like.
//!
//! A pattern is JSON. Objects must have exactly the pattern's fields in its order; a name that ends
//! in `?` may be missing, `"…": null` lets any others follow. `"@": "name"` begins with the fields of
//! a shape, which the fields after it replace where they stand, or take away with `"<absent>"`. In a
//! list, `"…"` stands for any number of items. A text in angle brackets is a class of values, `$name`
//! a value that was saved.

use super::json::Json;
use std::collections::BTreeMap;

/// The rest of an object's fields, or any number of items.
pub const ANY: &str = "…";

/// Shapes by name, and values saved by earlier steps.
pub struct Context<'a> {
    pub shapes: &'a BTreeMap<String, Json>,
    pub saved: &'a BTreeMap<String, String>,
}

impl Context<'_> {
    /// Lines against patterns; a pattern that is `"…"` stands for any number of lines.
    ///
    /// # Errors
    /// Which line differs, and how.
    pub fn lines(&self, patterns: &[Json], actual: &[Json]) -> Result<(), String> {
        self.list(patterns, actual, "line ")
    }

    /// Puts the saved values into a text.
    pub fn fill(&self, text: &str) -> String {
        // The longer name first, as it may begin with a shorter one.
        self.saved.iter().rev().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    fn value(&self, pattern: &Json, actual: &Json, place: &str) -> Result<(), String> {
        let differs = |what: &str| Err(format!("{place}: {actual} is not {what}"));
        match (pattern, actual) {
            (Json::Text(class), _) if is_class(class) => match is_of_class(class, actual) {
                true => Ok(()),
                false => differs(class),
            },
            (Json::Text(expected), Json::Text(text)) if self.fill(expected) == *text => Ok(()),
            (Json::Object(fields), Json::Object(actual)) => self.object(&self.expand(fields)?, actual, place),
            (Json::List(patterns), Json::List(items)) => self.list(patterns, items, place),
            _ if pattern == actual => Ok(()),
            _ => differs(&pattern.to_string()),
        }
    }

    fn object(&self, fields: &[(String, Json)], actual: &[(String, Json)], place: &str) -> Result<(), String> {
        let mut rest = actual.iter().peekable();
        for (name, pattern) in fields {
            if name == ANY {
                return Ok(());
            }
            let (name, optional) = name.strip_suffix('?').map_or((name.as_str(), false), |name| (name, true));
            match rest.next_if(|(next, _)| next == name) {
                Some((_, value)) => self.value(pattern, value, &format!("{place}.{name}"))?,
                None if optional => {}
                None => {
                    let found = rest.peek().map_or("the end", |(next, _)| next);
                    return Err(format!("{place}.{name}: expected here, found {found}"));
                }
            }
        }
        rest.next().map_or(Ok(()), |(name, value)| Err(format!("{place}.{name}: not expected, found {value}")))
    }

    fn list(&self, patterns: &[Json], items: &[Json], place: &str) -> Result<(), String> {
        match patterns.split_first() {
            None if items.is_empty() => Ok(()),
            None => Err(format!("{place}: not expected: {}", items[0])),
            Some((Json::Text(any), after)) if any == ANY => {
                // As it is with most searches, the last reason is the telling one only for the end.
                let found = (0..=items.len()).map(|skipped| self.list(after, &items[skipped..], place));
                found.reduce(|first, next| first.or(next)).unwrap_or(Ok(()))
            }
            Some((pattern, after)) => match items.split_first() {
                None => Err(format!("{place}: {pattern} is missing")),
                Some((item, items)) => {
                    self.value(pattern, item, place)?;
                    self.list(after, items, place)
                }
            },
        }
    }

    /// The fields with their shape's before them.
    fn expand(&self, fields: &[(String, Json)]) -> Result<Vec<(String, Json)>, String> {
        let Some(((_, Json::Text(shape)), own)) = fields.split_first().filter(|((name, _), _)| name == "@") else {
            return Ok(fields.to_vec());
        };
        let Some(Json::Object(shape)) = self.shapes.get(shape) else { return Err(format!("no shape is called {shape}")) };
        let mut all = self.expand(shape)?;
        for (name, value) in own {
            let bare = |name: &str| name.trim_end_matches('?').to_owned();
            match all.iter_mut().find(|(known, _)| bare(known) == bare(name)) {
                Some(known) => *known = (name.clone(), value.clone()),
                None => all.push((name.clone(), value.clone())),
            }
        }
        all.retain(|(_, value)| *value != Json::Text("<absent>".to_owned()));
        Ok(all)
    }
}

/// One word in angle brackets.
fn is_class(text: &str) -> bool {
    let word = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    word.is_some_and(|word| word.chars().all(|c| c.is_ascii_lowercase()))
}

fn is_of_class(class: &str, value: &Json) -> bool {
    match (class, value) {
        ("<any>", _) | ("<bool>", Json::Bool(_)) | ("<list>", Json::List(_)) | ("<object>", Json::Object(_)) | ("<number>", Json::Number(_)) => true,
        ("<text>", Json::Text(text)) => !text.is_empty(),
        ("<id>", Json::Text(text)) => text.len() > 4 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
        ("<path>", Json::Text(text)) => text.starts_with('/'),
        // Milliseconds, UTC, one form.
        ("<time>", Json::Text(text)) => {
            let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            form == "0000-00-00T00:00:00.000Z"
        }
        ("<count>", Json::Number(number)) => number.as_u64().is_some(),
        ("<some>", Json::Number(number)) => number.as_u64().is_some_and(|number| number > 0),
        _ => false,
    }
}
