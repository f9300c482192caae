//! Texts within the protocol's limits.

use serde_json::Value;

/// Characters of `argsPreview` (IPC protocol §4.3).
const ARGS_PREVIEW: usize = 200;
/// Characters of `resultPreview` (§4.5).
pub(super) const RESULT_PREVIEW: usize = 500;
/// Characters of an error's `message` (§4.10).
pub(super) const ERROR_MESSAGE: usize = 200;

/// `text` in at most `limit` characters.
pub(super) fn clip(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit - 1).chain(['…']).collect()
}

/// A tool's arguments for people: `path=a.txt, count=3`.
pub(super) fn args_preview(args: &Value) -> String {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let preview = match args {
        Value::Object(fields) => fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(", "),
        other => shown(other),
    };
    clip(&preview, ARGS_PREVIEW)
}

/// `value` with every string cut to `limit` characters.
pub(super) fn with_short_strings(value: Value, limit: usize) -> Value {
    match value {
        Value::String(text) => clip(&text, limit).into(),
        Value::Array(items) => items.into_iter().map(|item| with_short_strings(item, limit)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, with_short_strings(value, limit))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(clip("grüße", 5), "grüße");
        assert_eq!(clip("grüße!", 5), "grüß…");
    }

    #[test]
    fn arguments_are_shown_as_words() {
        assert_eq!(args_preview(&json!({ "count": 3, "path": "a.txt" })), "count=3, path=a.txt");
        assert_eq!(args_preview(&json!({ "code": "x".repeat(300) })).chars().count(), ARGS_PREVIEW);
    }
}
