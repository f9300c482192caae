//! The health probes that concern the database.

use crate::error::Error;
use galley_protocol::socket::{CheckStatus, HealthCheck};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::{Duration, Instant};

/// Counting a huge index stops here.
const DEADLINE: Duration = Duration::from_millis(200);

fn check(id: &str, status: CheckStatus, detail: String) -> HealthCheck {
    HealthCheck { id: id.to_owned(), status, detail: Some(detail) }
}

/// `db_readable` and `fts_integrity`.
pub(in super::super) fn checks(db: &Connection, path: &Path) -> Vec<HealthCheck> {
    let readable = match db.query_row("SELECT 1", [], |_| Ok(())) {
        Ok(()) => check("db_readable", CheckStatus::Ok, path.display().to_string()),
        Err(error) => check("db_readable", CheckStatus::Fail, format!("{}: {error}", path.display())),
    };
    vec![readable, fts_integrity(db)]
}

/// The same probes when there is no connection to ask.
pub(in super::super) fn unreadable(error: &Error) -> Vec<HealthCheck> {
    vec![
        check("db_readable", CheckStatus::Fail, error.to_string()),
        check("fts_integrity", CheckStatus::Fail, "the database cannot be read".to_owned()),
    ]
}

/// Compares the number of indexed messages with the number that should be.
fn fts_integrity(db: &Connection) -> HealthCheck {
    const ID: &str = "fts_integrity";
    let counts = || {
        let deadline = Instant::now() + DEADLINE;
        db.progress_handler(10_000, Some(move || Instant::now() >= deadline))?;
        let counts = db.query_row(
            "SELECT (SELECT count(*) FROM message_text_docsize), (SELECT count(*) FROM message WHERE visibility = 'visible' AND role <> 'system')",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
        );
        db.progress_handler(0, None::<fn() -> bool>)?;
        counts
    };
    match counts() {
        Ok((indexed, messages)) if indexed == messages => check(ID, CheckStatus::Ok, format!("{indexed} messages indexed")),
        Ok((indexed, messages)) => check(ID, CheckStatus::Fail, format!("{indexed} messages indexed, but there are {messages}")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            check(ID, CheckStatus::Warn, "too many messages to count in the time of a health check".to_owned())
        }
        Err(error) => check(ID, CheckStatus::Fail, error.to_string()),
    }
}
