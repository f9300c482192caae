//! JSON whose objects keep the order of their fields.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
    }

    /// The value at a path of names and numbers with dots between.
    pub fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |value, step| match value {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == step).map(|(_, value)| value),
            Self::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let list = |items: Vec<String>| items.join(",");
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(items) => write!(f, "[{}]", list(items.iter().map(ToString::to_string).collect())),
            Self::Object(fields) => write!(f, "{{{}}}", list(fields.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect())),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(serde_json::Number::from_f64(value).map_or(Json::Null, Json::Number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = entries.next_entry()? {
                    fields.push(field);
                }
                Ok(Json::Object(fields))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
