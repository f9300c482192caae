//! The standard handles.

use super::Pipes;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, IntoRawHandle, OwnedHandle};
use windows::Win32::Foundation::HANDLE;
use windows::Win32::System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};

/// Takes standard input and output away from everybody else. What the agent or its children read
/// is empty from here on, and what they print goes to standard error. A C library that has looked
/// at its standard handles before keeps them.
pub(in crate::runner) fn claim() -> io::Result<Pipes> {
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    replace(STD_INPUT_HANDLE, File::open("NUL")?.into())?;
    replace(STD_OUTPUT_HANDLE, io::stderr().as_handle().try_clone_to_owned()?)?;
    Ok(Pipes { input: input.into(), output: output.into() })
}

#[allow(unsafe_code)]
fn replace(which: STD_HANDLE, handle: OwnedHandle) -> io::Result<()> {
    // SAFETY: the handle is open, and given away: it stays open for the life of the process.
    unsafe { SetStdHandle(which, HANDLE(handle.into_raw_handle())) }.map_err(io::Error::from)
}
