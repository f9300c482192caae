//! The JSON Schema of everything Galley says, from the types that say it.
//!
//! All types are under `$defs`. What is not a type (which kinds, commands and errors there are, and
//! which type each of them uses) is in the tables under `x-galley`.

use galley_protocol::ipc::{self, PROTOCOL_VERSION};
use galley_protocol::socket::*;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The document, pretty-printed, its keys in order.
pub fn text() -> anyhow::Result<String> {
    let mut document = document();
    document.sort_all_objects();
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn document() -> Value {
    let mut types = SchemaSettings::draft2020_12().into_generator();
    let tables = json!({
        "schemaVersion": SCHEMA_VERSION,
        "protocolVersion": PROTOCOL_VERSION,
        "ipc": {
            "event": types.subschema_for::<ipc::Event>(),
            "events": kinds::<ipc::Event>(&mut types),
            "command": types.subschema_for::<ipc::Command>(),
            "commands": kinds::<ipc::Command>(&mut types),
            "toolCall": types.subschema_for::<ipc::ToolCall>(),
            "toolResult": types.subschema_for::<ipc::ToolResult>(),
        },
        "socket": {
            "request": types.subschema_for::<Request>(),
            "response": types.subschema_for::<Response>(),
            "commands": socket_commands(&mut types),
            "errors": errors(),
            "cliError": types.subschema_for::<ErrorBody>(),
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Galley: IPC protocol 0.1 and Agent API schema version 1",
        "description": "Every type is under `$defs`; the tables under `x-galley` say where each is used. Unknown fields are allowed everywhere.",
        "x-galley": tables,
        "$defs": types.take_definitions(true),
    })
}

/// Each kind of a union that is tagged by `kind`, with the type of its other fields.
fn kinds<T: JsonSchema>(types: &mut SchemaGenerator) -> Value {
    let union = T::json_schema(types);
    let variants = ["oneOf", "anyOf"].into_iter().filter_map(|of| union.get(of)?.as_array()).flatten();
    variants.filter_map(|variant| Some((variant["properties"]["kind"]["const"].as_str()?, json!({ "$ref": variant["$ref"] })))).collect()
}

/// Per command: what it needs, its arguments, and the type of its one answer or of its frames.
fn socket_commands(types: &mut SchemaGenerator) -> Value {
    fn reply<C: Command<Output: JsonSchema> + JsonSchema>(types: &mut SchemaGenerator) -> (String, Value) {
        let entry = json!({ "access": access(C::ACCESS), "args": types.subschema_for::<C>(), "output": types.subschema_for::<C::Output>() });
        (C::NAME.to_owned(), entry)
    }

    fn stream<C: StreamCommand<Frame: JsonSchema> + JsonSchema>(types: &mut SchemaGenerator) -> (String, Value) {
        let entry = json!({ "access": access(C::ACCESS), "args": types.subschema_for::<C>(), "frame": types.subschema_for::<C::Frame>() });
        (C::NAME.to_owned(), entry)
    }

    macro_rules! table {
        (replies { $($args:ident = $_name:literal, $_access:ident -> $_output:ty $(, once by $_id:ident)?;)+ }
         streams { $($stream_args:ident = $_stream_name:literal, $_stream_access:ident -> $_frame:ty $(, acknowledged by $_from:ident)?;)+ }) => {
            Map::from_iter([$(reply::<$args>(types),)+ $(stream::<$stream_args>(types),)+])
        };
    }
    Value::Object(galley_protocol::for_each_command!(table))
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Config => "config",
        Access::Core => "core",
    }
}

fn errors() -> Value {
    ErrorTag::WORDS.iter().map(|tag| (*tag, json!({ "exitCode": ErrorTag::from(*tag).exit_code() }))).collect()
}
