//! The Python package's generated modules, from the schema: result types, events, exceptions, and the
//! methods by noun, once blocking and once for asyncio.

mod package;
mod resources;
mod types;

pub use package::test;

use crate::{root, schema};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

/// The first line of every generated module.
const HEAD: &str = "# Generated from schema/galley-v1.json by `cargo xtask generate`.\n";

/// The modules: path below the repository's root, and text.
pub fn modules() -> anyhow::Result<Vec<(String, String)>> {
    let schema = Schema(serde_json::from_str(&schema::text()?)?);
    let (types, events, errors) = (types::types(&schema), types::events(&schema), errors(&schema));
    let generated = [
        ("__init__", package(&[("types", &types), ("events", &events), ("errors", &errors)])),
        ("types", types),
        ("events", events),
        ("errors", errors),
        ("_arguments", resources::arguments(&schema)),
        ("_resources", resources::resources(&schema, resources::Style::Blocking)),
        ("_aresources", resources::resources(&schema, resources::Style::Asyncio)),
    ];
    Ok(generated.into_iter().map(|(name, text)| (format!("{PACKAGE}/{name}.py"), text)).collect())
}

/// Where the package is.
const PACKAGE: &str = "bindings/python/python/galley";

/// Brings `galley.runner` into the package, from where Core carries it: the package cannot be built
/// from a link to it, and the repository has it once.
pub fn bring_runner() -> anyhow::Result<()> {
    let (from, to) = (root().join("galley-core/python/galley/runner"), root().join(PACKAGE).join("runner"));
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// The schema's document, read by what Python needs of it.
struct Schema(Value);

impl Schema {
    /// A definition.
    fn definition(&self, name: &str) -> &Value {
        &self.0["$defs"][name]
    }

    /// The commands and what each takes and gives, by name.
    fn commands(&self) -> impl Iterator<Item = (&String, &Value)> {
        members(&self.0["x-galley"]["socket"]["commands"])
    }

    /// The runners' events by kind, each with its definition's name.
    fn event_kinds(&self) -> Vec<(&str, &str)> {
        members(&self.0["x-galley"]["ipc"]["events"]).filter_map(|(kind, of)| Some((kind.as_str(), target(of)?))).collect()
    }
}

/// An object's members; none of anything else.
fn members(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flatten()
}

/// The name a reference leads to.
fn target(of: &Value) -> Option<&str> {
    of["$ref"].as_str()?.rsplit('/').next()
}

/// The alternatives of a union.
fn variants(of: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| of[key].as_array()).flatten()
}

/// Whether a field must be there.
fn is_required(of: &Value, field: &str) -> bool {
    of["required"].as_array().is_some_and(|required| required.iter().any(|one| one == field))
}

/// What the documentation says, on one line.
fn describe(of: &Value) -> String {
    of["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "\\\\")
}

/// A name as Python spells it; `from` is a word of the language.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    if snake == "from" { "from_".to_owned() } else { snake }
}

/// A word as a class is named.
fn camel(word: &str) -> String {
    let mut camel = String::with_capacity(word.len());
    let mut upper = true;
    for letter in word.chars() {
        match letter {
            '_' => upper = true,
            _ if upper => {
                camel.extend(letter.to_uppercase());
                upper = false;
            }
            _ => camel.push(letter),
        }
    }
    camel
}

/// A docstring, indented, broken at 110 columns.
fn docstring(text: &str, indent: usize) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace('"', "'");
    let pad = " ".repeat(indent);
    if indent + text.len() + 6 <= 118 {
        return format!("{pad}\"\"\"{text}\"\"\"\n");
    }
    let mut doc = format!("{pad}\"\"\"");
    let mut width = indent + 3;
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 && width + word.len() + 1 > 110 {
            let _ = write!(doc, "\n{pad}{word}");
            width = indent + word.len();
        } else {
            let space = if number > 0 { " " } else { "" };
            let _ = write!(doc, "{space}{word}");
            width += word.len() + 1;
        }
    }
    let _ = write!(doc, "\n{pad}\"\"\"\n");
    doc
}

/// `errors.py`: the base, and a class per stable tag.
fn errors(schema: &Schema) -> String {
    let mut module = HEAD.to_owned();
    module.push_str(include_str!("python/errors.head.py"));
    let mut table = String::new();
    for (tag, error) in members(&schema.0["x-galley"]["socket"]["errors"]) {
        let name = camel(tag);
        let _ = write!(module, "\n\nclass {name}(GalleyError):\n    \"\"\"Tag `{tag}`, exit code {} of the command.\"\"\"\n", error["exitCode"]);
        let _ = writeln!(table, "    \"{tag}\": {name},");
    }
    let _ = write!(module, "\n\n_BY_TAG: dict[str, type[GalleyError]] = {{\n{table}}}\n");
    module
}

/// Names of the package that are written by hand, and their modules.
const BY_HAND: [(&str, &[&str]); 7] = [
    ("_aresources", &["AsyncProject", "AsyncSession"]),
    ("_resources", &["Project", "Session"]),
    ("_answers", &["Page", "WaitOutcome"]),
    ("_client", &["Client", "FrameStream", "Watch"]),
    ("_aclient", &["AsyncClient", "AsyncFrameStream", "AsyncWatch"]),
    ("_core", &["Core"]),
    ("_frames", &["RawEvent"]),
];

/// `__init__.py`: every public name, and the module it is loaded from when it is used.
fn package(modules: &[(&str, &String)]) -> String {
    let by_hand = BY_HAND.iter().map(|(module, names)| (*module, names.iter().map(|name| (*name).to_owned()).collect()));
    let generated = modules.iter().map(|(module, text)| (*module, public_names(text)));
    let mut homes: Vec<(&str, Vec<String>)> = by_hand.chain(generated).collect();
    homes.sort();
    let (mut imports, mut table, mut all) = (String::new(), String::new(), vec!["connect".to_owned(), "read_only".to_owned()]);
    for (module, names) in homes {
        let _ = writeln!(imports, "    from .{module} import (");
        for name in names {
            let _ = writeln!(imports, "        {name},");
            let _ = writeln!(table, "    \"{name}\": \"{module}\",");
            all.push(name);
        }
        imports.push_str("    )\n");
    }
    all.sort_by_key(|name| (name.chars().any(char::is_lowercase), name.chars().next().is_some_and(char::is_lowercase), name.clone()));
    let all: String = all.iter().map(|name| format!("    \"{name}\",\n")).collect();
    format!(
        "{HEAD}{}if TYPE_CHECKING:\n{imports}\n__all__ = [\n{all}]\n\n_HOMES = {{\n{table}}}\n{}",
        include_str!("python/init.head.py"),
        include_str!("python/init.tail.py")
    )
}

/// The classes and types that a module defines for others, in order.
fn public_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("class ").or_else(|| line.contains(": TypeAlias").then_some(line)))
        .filter_map(|line| line.split([':', '(']).next())
        .map(str::to_owned)
        .collect();
    names.extend(["read_line"].into_iter().filter(|name| text.contains(&format!("\ndef {name}("))).map(str::to_owned));
    names.sort();
    names
}
