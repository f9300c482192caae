//! A row's values, taken in the order of its `SELECT` list.

use crate::time::Timestamp;
use galley_protocol::RawJson;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Result, Row};
use serde::de::DeserializeOwned;

/// Takes one value after the other.
pub(super) struct Cells<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Cells<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    fn advance(&mut self) -> usize {
        let here = self.next;
        self.next += 1;
        here
    }

    /// A value.
    pub(super) fn get<T: FromSql>(&mut self) -> Result<T> {
        let here = self.advance();
        self.row.get(here)
    }

    /// A number that is never negative.
    pub(super) fn count(&mut self) -> Result<u64> {
        Ok(self.get::<i64>()?.max(0) as u64)
    }

    /// A number that is never negative, if there is one.
    pub(super) fn optional_count(&mut self) -> Result<Option<u64>> {
        Ok(self.get::<Option<i64>>()?.map(|number| number.max(0) as u64))
    }

    /// A point in time.
    pub(super) fn time(&mut self) -> Result<Timestamp> {
        self.get().map(Timestamp::from_millis)
    }

    /// A point in time, if there is one.
    pub(super) fn optional_time(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.get::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    /// A word of an open set, kept if it is not known.
    pub(super) fn word<T: for<'a> From<&'a str>>(&mut self) -> Result<T> {
        let here = self.advance();
        Ok(self.row.get_ref(here)?.as_str()?.into())
    }

    /// A word of an open set, if there is one.
    pub(super) fn optional_word<T: for<'a> From<&'a str>>(&mut self) -> Result<Option<T>> {
        Ok(self.optional_text()?.map(T::from))
    }

    /// A structure stored as JSON. One that cannot be read (a newer Galley's, say) counts as absent:
    /// it must not take the whole list with it.
    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        Ok(self.optional_text()?.and_then(|text| {
            serde_json::from_str(text).inspect_err(|error| tracing::warn!(%error, "a stored value is not of the shape it should have")).ok()
        }))
    }

    /// JSON kept as its text.
    pub(super) fn raw_json(&mut self) -> Result<Option<RawJson>> {
        Ok(self
            .get::<Option<String>>()?
            .and_then(|text| RawJson::from_text(text).inspect_err(|error| tracing::warn!(%error, "a stored value is not JSON")).ok()))
    }

    fn optional_text(&mut self) -> Result<Option<&'r str>> {
        let here = self.advance();
        match self.row.get_ref(here)? {
            ValueRef::Null => Ok(None),
            value => Ok(Some(value.as_str()?)),
        }
    }
}
