//! `generate`: files that are written from the code and checked in.

use crate::{python, reference, root, schema, typescript};
use anyhow::{Context, bail};
use std::fs;

/// A generated file.
struct Generated {
    /// Below the repository's root.
    path: String,
    text: String,
}

fn files() -> anyhow::Result<Vec<Generated>> {
    let mut files = vec![
        Generated { path: "schema/galley-v1.json".into(), text: schema::text()? },
        Generated { path: "docs/agent-api.md".into(), text: reference::text()? },
        Generated { path: "bindings/node/src/schema.ts".into(), text: typescript::text()? },
    ];
    files.extend(python::modules()?.into_iter().map(|(path, text)| Generated { path, text }));
    Ok(files)
}

/// Writes every generated file, and what the Python package is built with beside them.
pub fn write() -> anyhow::Result<()> {
    python::bring_runner()?;
    for Generated { path, text } in files()? {
        let file = root().join(&path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text).with_context(|| format!("cannot write {path}"))?;
        println!("{path}");
    }
    Ok(())
}

/// Fails when a generated file is not what [`write()`] would write.
pub fn check() -> anyhow::Result<()> {
    let files = files()?;
    let stale: Vec<_> = files
        .iter()
        .filter(|file| fs::read(root().join(&file.path)).ok().as_deref() != Some(file.text.as_bytes()))
        .map(|file| file.path.as_str())
        .collect();
    if !stale.is_empty() {
        bail!("out of date: {}; run `cargo xtask generate` and commit the result", stale.join(", "));
    }
    Ok(())
}
