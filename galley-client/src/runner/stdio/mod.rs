//! Standard input and output, claimed for the protocol so that nothing else can touch them.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::claim;
#[cfg(windows)]
pub(super) use windows::claim;

use std::fs::File;

/// The private ends of the protocol's pipes; child processes do not inherit them.
pub(super) struct Pipes {
    pub(super) input: File,
    pub(super) output: File,
}
