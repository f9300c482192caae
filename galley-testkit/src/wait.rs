//! Waiting for conditions instead of sleeping.

use crate::Error;
use std::thread;
use std::time::{Duration, Instant};

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(2);

/// Waits until `condition` holds, at most `limit`. `what` says in words what should happen.
///
/// ```
/// # use std::time::Duration;
/// let error = galley_testkit::wait_until(Duration::from_millis(5), "pigs fly", || false).unwrap_err();
/// assert_eq!(error.to_string(), "waited 5ms, but this did not happen: pigs fly");
/// ```
///
/// # Errors
/// [`Error::TimedOut`] when the condition did not hold in time.
pub fn wait_until(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) -> Result<(), Error> {
    wait_some(limit, what, || condition().then_some(()))
}

/// Waits until `value` gives something, at most `limit`, and returns it.
///
/// # Errors
/// [`Error::TimedOut`] when it gave nothing in time.
pub fn wait_some<T>(limit: Duration, what: &str, mut value: impl FnMut() -> Option<T>) -> Result<T, Error> {
    let start = Instant::now();
    loop {
        // The clock is read first, so that the condition is looked at once more after the limit.
        let late = start.elapsed() >= limit;
        if let Some(value) = value() {
            return Ok(value);
        }
        if late {
            return Err(Error::TimedOut { waited: limit, what: what.to_owned() });
        }
        thread::sleep(POLL);
    }
}
