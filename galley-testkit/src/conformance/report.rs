//! What the suite found.

use std::fmt;

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The runner does what it should.
    Passed,
    /// It does not, and why.
    Failed(String),
    /// It was not looked at, and why.
    Skipped(String),
}

/// One check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The check's name: `abort.approval`.
    pub name: &'static str,
    /// What it looks at, in words.
    pub what: &'static str,
    /// Its outcome.
    pub verdict: Verdict,
}

/// Every check and its outcome, in order. Shown as a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The names of the checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        self.findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Failed(_))).map(|finding| finding.name)
    }

    /// The names of the checks that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = &'static str> {
        self.findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Skipped(_))).map(|finding| finding.name)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.findings.iter().map(|finding| finding.name.len()).max().unwrap_or_default();
        for Finding { name, what, verdict } in &self.findings {
            match verdict {
                Verdict::Passed => writeln!(f, "pass  {name:width$}  {what}")?,
                Verdict::Skipped(why) => writeln!(f, "skip  {name:width$}  {what}\n      {:width$}  {why}", "")?,
                Verdict::Failed(why) => writeln!(f, "FAIL  {name:width$}  {what}\n      {:width$}  {why}", "")?,
            }
        }
        let (failed, skipped) = (self.failed().count(), self.skipped().count());
        writeln!(f, "{} passed, {failed} failed, {skipped} skipped", self.findings.len() - failed - skipped)
    }
}
