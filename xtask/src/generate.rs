//! `generate`: files that are written from the code and checked in.

use crate::{reference, root, schema, typescript};
use anyhow::{Context, bail};
use std::fs;

/// A generated file.
struct Generated {
    /// Below the repository's root.
    path: &'static str,
    text: String,
}

fn files() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![
        Generated { path: "schema/galley-v1.json", text: schema::text()? },
        Generated { path: "docs/agent-api.md", text: reference::text()? },
        Generated { path: "bindings/node/src/schema.ts", text: typescript::text()? },
    ])
}

/// Writes every generated file.
pub fn write() -> anyhow::Result<()> {
    for Generated { path, text } in files()? {
        fs::write(root().join(path), text).with_context(|| format!("cannot write {path}"))?;
        println!("{path}");
    }
    Ok(())
}

/// Fails when a generated file is not what [`write()`] would write.
pub fn check() -> anyhow::Result<()> {
    let stale: Vec<_> =
        files()?.iter().filter(|file| fs::read(root().join(file.path)).ok().as_deref() != Some(file.text.as_bytes())).map(|file| file.path).collect();
    if !stale.is_empty() {
        bail!("out of date: {}; run `cargo xtask generate` and commit the result", stale.join(", "));
    }
    Ok(())
}
