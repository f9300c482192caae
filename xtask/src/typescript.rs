//! `bindings/node/src/schema.ts`: the types of everything Galley says, for TypeScript.

use crate::schema;
use serde_json::{Map, Value};
use std::fmt::Write as _;

const HEAD: &str = "\
// Generated from schema/galley-v1.json by `cargo xtask generate`.

/** Any JSON. */
export type AnyJson = unknown;

/** A word that this version does not know. */
export type UnknownWord = string & {};

/** A kind that this version does not know. It is a string; nothing is compared to it by mistake. */
export declare enum UnknownKind {
  _ = \"\",
}
";

/// The module.
pub fn text() -> anyhow::Result<String> {
    let document: Value = serde_json::from_str(&schema::text()?)?;
    let mut module = HEAD.to_owned();
    for (name, definition) in object(&document["$defs"]) {
        if name != "AnyJson" {
            declare(&mut module, name, definition)?;
        }
    }
    let tables = &document["x-galley"];
    module.push_str("\n/** Each kind of event a runner sends, with its fields. */\nexport interface Events {\n");
    for (kind, event) in object(&tables["ipc"]["events"]) {
        writeln!(module, "  {kind}: {};", type_of(event, 1))?;
    }
    module.push_str("}\n\n/** Each command that is answered once. */\nexport interface Commands {\n");
    for (name, command) in object(&tables["socket"]["commands"]).filter(|(_, command)| command["frame"].is_null()) {
        writeln!(module, "  \"{name}\": {{ args: {}; output: {} }};", type_of(&command["args"], 1), type_of(&command["output"], 1))?;
    }
    module.push_str("}\n\n/** Each command that opens a stream. */\nexport interface Streams {\n");
    for (name, command) in object(&tables["socket"]["commands"]).filter(|(_, command)| !command["frame"].is_null()) {
        writeln!(module, "  \"{name}\": {{ args: {}; frame: {} }};", type_of(&command["args"], 1), type_of(&command["frame"], 1))?;
    }
    module.push_str("}\n\n/** The stable names of errors, with the exit code each of them means. */\nexport const exitCodes = {\n");
    for (tag, error) in object(&tables["socket"]["errors"]) {
        writeln!(module, "  {tag}: {},", error["exitCode"])?;
    }
    module.push_str("} as const;\n");
    Ok(module)
}

fn declare(module: &mut String, name: &str, definition: &Value) -> anyhow::Result<()> {
    module.push('\n');
    comment(module, definition, 0)?;
    let plain = definition["properties"].is_object() && definition["$ref"].is_null();
    if plain {
        writeln!(module, "export interface {name} {}", fields(definition, 0))?;
    } else {
        writeln!(module, "export type {name} = {};", type_of(definition, 0))?;
    }
    Ok(())
}

/// A type, as it is written `depth` levels deep.
fn type_of(of: &Value, depth: usize) -> String {
    if let Some(path) = of["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or(path);
        return if of["properties"].is_object() { format!("{name} & {}", fields(of, depth)) } else { name.to_owned() };
    }
    if !of["const"].is_null() {
        return of["const"].to_string();
    }
    if let Some(variants) = ["oneOf", "anyOf"].iter().find_map(|any| of[*any].as_array()) {
        let mut types: Vec<_> = variants.iter().map(|variant| type_of(variant, depth)).collect();
        types.dedup();
        return types.join(" | ");
    }
    if let Some(words) = of["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if of["not"].is_object() {
        return "UnknownKind".to_owned();
    }
    if of["properties"].is_object() {
        return fields(of, depth);
    }
    if let Some(words) = of["examples"].as_array().filter(|_| of["type"] == "string") {
        let words = words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
        return format!("{words} | UnknownWord");
    }
    match &of["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).map(|kind| simple(kind, of, depth)).collect::<Vec<_>>().join(" | "),
        Value::String(kind) => simple(kind, of, depth),
        _ => "AnyJson".to_owned(),
    }
}

fn simple(kind: &str, of: &Value, depth: usize) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "array" => match type_of(&of["items"], depth) {
            item if item.contains(' ') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        "object" if of["additionalProperties"].is_object() => format!("{{ [name: string]: {} }}", type_of(&of["additionalProperties"], depth)),
        "object" => "{ [name: string]: AnyJson }".to_owned(),
        other => other.to_owned(),
    }
}

/// The body of an object's type.
fn fields(of: &Value, depth: usize) -> String {
    let mut body = "{\n".to_owned();
    let indent = "  ".repeat(depth + 1);
    for (name, property) in object(&of["properties"]) {
        // Writing to a string cannot fail.
        let _ = comment(&mut body, property, depth + 1);
        let required = of["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name));
        let optional = if required { "" } else { "?" };
        let _ = writeln!(body, "{indent}{name}{optional}: {};", type_of(property, depth + 1));
    }
    body + &"  ".repeat(depth) + "}"
}

fn comment(text: &mut String, of: &Value, depth: usize) -> std::fmt::Result {
    let Some(description) = of["description"].as_str() else {
        return Ok(());
    };
    let words = description.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    writeln!(text, "{}/** {words} */", "  ".repeat(depth))
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
