//! A typed client of Galley Core.

mod error;
mod transport;

pub use error::Error;
pub use transport::{Connection, Transport};
