//! A figure beside its floor and its target.

use std::fmt;

/// The columns of a printed [`Figure`].
pub fn header() -> String {
    let columns = row("figure", "ours", "floor", "ratio", "target", "met");
    let rule = "─".repeat(columns.chars().count() + "missed".len() - "met".len());
    format!("{columns}\n{rule}")
}

fn row(name: &str, ours: &str, floor: &str, ratio: &str, target: &str, met: &str) -> String {
    format!("{name:<52} {ours:>12} {floor:>9} {ratio:>6}  {target:<13} {met}")
}

/// One measured figure.
#[derive(Debug, Clone)]
pub struct Figure {
    name: String,
    unit: &'static str,
    ours: f64,
    floor: Option<f64>,
    target: Option<Target>,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// The figure itself is at most this.
    AtMost(f64),
    /// The figure is at most this many times the floor.
    RatioAtMost(f64),
    /// The figure is at least this many times the floor.
    RatioAtLeast(f64),
}

impl Figure {
    /// A figure to know, without floor or target.
    pub fn new(name: impl Into<String>, unit: &'static str, ours: f64) -> Self {
        Self { name: name.into(), unit, ours, floor: None, target: None }
    }

    /// The same at the floor, in the same unit.
    pub fn floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    /// What it should be.
    pub fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.ours / floor)
    }

    /// Whether the target is met; `None` without one.
    fn met(&self) -> Option<bool> {
        match (self.target?, self.ratio()) {
            (Target::AtMost(most), _) => Some(self.ours <= most),
            (Target::RatioAtMost(most), Some(ratio)) => Some(ratio <= most),
            (Target::RatioAtLeast(least), Some(ratio)) => Some(ratio >= least),
            (_, None) => None,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let floor = self.floor.map(number).unwrap_or_default();
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let target = match self.target {
            None => String::new(),
            Some(Target::AtMost(most)) => format!("≤ {} {}", number(most), self.unit),
            Some(Target::RatioAtMost(most)) => format!("≤ {most} × floor"),
            Some(Target::RatioAtLeast(least)) => format!("≥ {least} × floor"),
        };
        let met = match self.met() {
            None => "",
            Some(true) => "met",
            Some(false) => "missed",
        };
        let ours = format!("{} {}", number(self.ours), self.unit);
        f.write_str(row(&self.name, &ours, &floor, &ratio, &target, met).trim_end())
    }
}

/// Three digits that matter; large numbers in full.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
