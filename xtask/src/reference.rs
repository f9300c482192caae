//! `docs/agent-api.md`: the commands and their types, as tables for people, from the schema.

use crate::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The page: its hand-written beginning, then the generated tables.
pub fn text() -> anyhow::Result<String> {
    let mut page = include_str!("agent-api.head.md").to_owned();
    let document: Value = serde_json::from_str(&schema::text()?)?;
    let socket = &document["x-galley"]["socket"];
    for (tag, error) in object(&socket["errors"]) {
        writeln!(page, "| `{tag}` | {} |", error["exitCode"])?;
    }
    page.push_str("\n## Commands\n\n\"needs Core\" means a running Core; the others are also answered from the database alone.\n");
    let mut named = BTreeSet::new();
    for (name, command) in object(&socket["commands"]) {
        let args = &command["args"];
        let needs = if command["access"] == "core" { " · needs Core" } else { "" };
        let (answer, what) = if command["frame"].is_null() { (&command["output"], "Result") } else { (&command["frame"], "Frames") };
        write!(page, "\n### `{name}`{needs}\n\n{}\n\n", describe(&document, args))?;
        fields(&document, args, &mut page, &mut named)?;
        writeln!(page, "{what}: {}", kind(answer, &mut named))?;
    }
    page.push_str("\n## Types\n");
    let mut written = BTreeSet::new();
    while let Some(name) = named.difference(&written).next().cloned() {
        let definition = &document["$defs"][&name];
        write!(page, "\n### {name}\n\n{}\n\n", describe(&document, definition))?;
        if let Some(words) = definition["examples"].as_array() {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
            writeln!(page, "One of {}; more words may come.", words.join(", "))?;
        }
        for variant in ["oneOf", "anyOf"].into_iter().filter_map(|of| definition[of].as_array()).flatten() {
            if variant["properties"].is_object() {
                write!(page, "{}\n\n", describe(&document, variant))?;
                fields(&document, variant, &mut page, &mut named)?;
            }
        }
        fields(&document, definition, &mut page, &mut named)?;
        written.insert(name);
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// A table of an object's fields.
fn fields(document: &Value, of: &Value, page: &mut String, named: &mut BTreeSet<String>) -> anyhow::Result<()> {
    let of = resolve(document, of);
    let properties = object(&of["properties"]);
    if properties.is_empty() {
        return Ok(());
    }
    page.push_str("| field | type | |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let required = of["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name));
        let optional = if required { "" } else { "?" };
        writeln!(page, "| `{name}`{optional} | {} | {} |", kind(property, named), describe(document, property))?;
    }
    page.push('\n');
    Ok(())
}

/// A type in a word, linked when it has a section of its own.
fn kind(of: &Value, named: &mut BTreeSet<String>) -> String {
    if let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        if name == "AnyJson" {
            return "any JSON".to_owned();
        }
        named.insert(name.to_owned());
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = of["const"].as_str() {
        return format!("`\"{constant}\"`");
    }
    if of["type"] == "array" {
        return format!("list of {}", kind(&of["items"], named));
    }
    if let Some(any) = of["anyOf"].as_array().or_else(|| of["oneOf"].as_array()) {
        return any.iter().filter(|one| one["type"] != "null").map(|one| kind(one, named)).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = of["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
    }
    let kinds = of["type"].as_array().map_or_else(|| vec![&of["type"]], |kinds| kinds.iter().collect());
    let kinds: Vec<_> = kinds.into_iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
    if kinds.is_empty() { "any JSON".to_owned() } else { kinds.join(" or ") }
}

/// What the types' own documentation says, on one line.
fn describe(document: &Value, of: &Value) -> String {
    let text = of["description"].as_str().or_else(|| resolve(document, of)["description"].as_str()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn resolve<'a>(document: &'a Value, of: &'a Value) -> &'a Value {
    of["$ref"].as_str().and_then(|path| document.pointer(path.strip_prefix('#')?)).unwrap_or(of)
}

fn object(value: &Value) -> Vec<(&String, &Value)> {
    value.as_object().map(|map| map.iter().collect()).unwrap_or_default()
}
