//! Callbacks that are called once, from any thread.

use galley_client::Error;
use galley_protocol::socket::ErrorTag;
use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::{Value, json};
use std::future::Future;
use tokio::task::AbortHandle;

/// What a callback is called with: an error as JSON, or a result.
pub type Arguments<T> = FnArgs<(Option<String>, Option<T>)>;

/// A callback. It is weak: one that waits does not keep the event loop alive.
type Weak<T> = ThreadsafeFunction<Arguments<T>, (), Arguments<T>, napi::Status, false, true>;

/// Something that waits.
#[napi]
pub struct Waiting(AbortHandle);

#[napi]
impl Waiting {
    /// Stops waiting; the callback is not called any more, unless it is on its way.
    #[napi]
    pub fn cancel(&self) {
        self.0.abort();
    }
}

/// Lets `future` run and calls `done` with what becomes of it.
pub fn answer<T, F>(done: &Function<'_, Arguments<T>, ()>, future: F) -> napi::Result<Waiting>
where
    T: napi::bindgen_prelude::ToNapiValue + Send + 'static,
    F: Future<Output = Result<Option<T>, Error>> + Send + 'static,
{
    let done: Weak<T> = done.build_threadsafe_function::<Arguments<T>>().weak::<true>().build()?;
    let task = crate::runtime()?.spawn(async move {
        let arguments = match future.await {
            Ok(result) => (None, result),
            Err(error) => (Some(to_json(&error)), None),
        };
        // A status other than ok means that nobody is there any more to be told.
        let _ = done.call(arguments.into(), ThreadsafeFunctionCallMode::NonBlocking);
    });
    Ok(Waiting(task.abort_handle()))
}

/// An error as it crosses.
fn to_json(error: &Error) -> String {
    let detail = match error {
        Error::Api { detail, .. } => detail.clone().unwrap_or(Value::Null),
        _ => Value::Null,
    };
    describe(&error.tag(), &error.to_string(), error.is_retryable(), detail)
}

fn describe(tag: &ErrorTag, message: &str, retryable: bool, detail: Value) -> String {
    json!({ "code": tag, "exitCode": tag.exit_code(), "message": message, "retryable": retryable, "detail": detail }).to_string()
}

/// An error that is thrown at once; its message is JSON, as in callbacks.
pub fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(to_json(error))
}
