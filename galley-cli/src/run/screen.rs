//! What a person sees: the agent's text on standard output, everything else on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::time::{Duration, Instant};

/// How often the spinner moves.
pub const TICK: Duration = Duration::from_millis(120);
/// Streamed text kept to tell whether the answer repeats it, in bytes.
const KEPT: usize = 64 * 1024;

/// The two standard streams.
pub struct Screen {
    text: BufWriter<Stdout>,
    /// Standard error is a terminal, so something may move there.
    spins: bool,
    /// While it is on the screen.
    spinner: Option<ProgressBar>,
    began: Instant,
    at_line_start: bool,
    streamed: String,
}

impl Screen {
    pub fn new() -> Self {
        Self {
            text: BufWriter::new(io::stdout()),
            spins: io::stderr().is_terminal(),
            spinner: None,
            began: Instant::now(),
            at_line_start: true,
            streamed: String::new(),
        }
    }

    /// Whether somebody can be asked: standard input and standard error are a terminal.
    pub fn is_attended() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    pub fn has_spinner(&self) -> bool {
        self.spins
    }

    /// Turns the spinner, unless a line of text is unfinished.
    pub fn tick(&mut self) {
        if self.spins && self.at_line_start {
            let spinner = self.spinner.get_or_insert_with(spinner);
            spinner.set_message(format!("{}s", self.began.elapsed().as_secs()));
            spinner.tick();
        }
    }

    /// Shows streamed text.
    pub fn stream(&mut self, text: &str) -> io::Result<()> {
        let Some(last) = text.chars().next_back() else { return Ok(()) };
        self.clear();
        self.at_line_start = last == '\n';
        self.streamed.push_str(text);
        if self.streamed.len() > 2 * KEPT {
            let cut = self.streamed.ceil_char_boundary(self.streamed.len() - KEPT);
            self.streamed.drain(..cut);
        }
        self.text.write_all(text.as_bytes())
    }

    /// Shows the answer, unless it was streamed already.
    pub fn answer(&mut self, answer: &str) -> io::Result<()> {
        let answer = answer.trim_end();
        if answer.is_empty() || self.streamed.contains(answer) {
            return Ok(());
        }
        self.clear();
        self.end_line()?;
        writeln!(self.text, "{answer}")
    }

    /// Lets the reader have what was shown.
    pub fn flush(&mut self) -> io::Result<()> {
        self.text.flush()
    }

    /// Says something on standard error, on lines of its own.
    pub fn say(&mut self, text: &str) {
        self.interject(&format!("{text}\n"));
    }

    /// Asks for a line on standard error.
    pub fn ask(&mut self, text: &str) {
        self.interject(text);
        // The answer is typed here.
        self.at_line_start = false;
    }

    /// A line was typed: its newline is on the screen.
    pub fn typed(&mut self) {
        self.at_line_start = true;
    }

    /// Since the task began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interject(&mut self, text: &str) {
        self.clear();
        // A stream that is closed must not keep the run from being seen to its end.
        let _ = self.end_line().and_then(|()| self.text.flush());
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Where both streams share a terminal, an unfinished line would run into what follows.
    fn end_line(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.at_line_start, true) && io::stdout().is_terminal() {
            return self.text.write_all(b"\n");
        }
        Ok(())
    }

    /// Takes the spinner off the screen until it turns again.
    fn clear(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
