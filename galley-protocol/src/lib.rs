//! The words Galley speaks, and nothing else: no I/O, no runtime.
//!
//! * [`ipc`]: what a runner and Core say to each other over the runner's standard input and
//!   output (Galley IPC protocol, version 0.1).
//! * [`socket`]: what a client and Core say to each other (Agent API, schema version 1).
//! * [`framing`]: the newline-delimited JSON codec both share, as a sans-I/O state machine.
//!
//! Lines are public contract: unknown kinds and unknown fields are never an error and never lost.
//! Typed values are *views* of a line; whoever forwards an event forwards the line's own bytes.
//!
//! ```
//! use galley_protocol::ipc::Event;
//!
//! let line = br#"{"kind":"turn_start","sessionId":"sess_1","turnIndex":1,"mood":"good"}"#;
//! match Event::from_line(line)? {
//!     Event::TurnStart(start) => assert_eq!(start.turn_index, 1),
//!     other => panic!("unexpected {}", other.kind()),
//! }
//! # Ok::<(), galley_protocol::ipc::DecodeError>(())
//! ```

pub mod framing;
pub mod ipc;
mod open_enum;
mod raw_json;
pub mod socket;

pub use raw_json::RawJson;
