//! Many measurements of one thing.

use std::time::Duration;

/// Durations, sorted.
#[derive(Debug, Clone)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// The value that `percent` of a hundred do not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let at = self.0.len().saturating_sub(1) * percent / 100;
        self.0.get(at).copied().unwrap_or_default()
    }

    /// A percentile in microseconds.
    pub fn micros(&self, percent: usize) -> f64 {
        self.percentile(percent).as_secs_f64() * 1e6
    }

    /// A percentile in milliseconds.
    pub fn millis(&self, percent: usize) -> f64 {
        self.percentile(percent).as_secs_f64() * 1e3
    }
}

impl IntoIterator for Samples {
    type Item = Duration;
    type IntoIter = std::vec::IntoIter<Duration>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<T: IntoIterator<Item = Duration>>(iter: T) -> Self {
        let mut all: Vec<Duration> = iter.into_iter().collect();
        all.sort_unstable();
        Self(all)
    }
}

/// The middle of a few figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
