//! Questions to the person at the terminal, one at a time.

use super::screen::Screen;
use galley_client::protocol::ipc::{AskUser, Decision, ToolCallPending};
use std::collections::VecDeque;
use tokio::sync::mpsc;

/// What waits for the person.
pub enum Question {
    /// A tool wants to run.
    Approval {
        /// Core's id of it.
        id: String,
        call: ToolCallPending,
    },
    /// The agent asks.
    Ask(AskUser),
}

/// What the person said.
pub enum Reply {
    Decision { id: String, decision: Decision },
    Answer(String),
}

/// The questions that wait; the first one is on the screen.
pub struct Prompt {
    waiting: VecDeque<Question>,
    /// Lines typed; the terminal is not read before the first question.
    lines: Option<mpsc::Receiver<String>>,
}

impl Prompt {
    pub fn new() -> Self {
        Self { waiting: VecDeque::new(), lines: None }
    }

    pub fn is_open(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a question of the agent's own waits.
    pub fn has_ask(&self) -> bool {
        self.waiting.iter().any(|question| matches!(question, Question::Ask(_)))
    }

    pub fn add(&mut self, question: Question, screen: &mut Screen) {
        self.waiting.push_back(question);
        if self.waiting.len() == 1 {
            self.show(screen);
        }
    }

    /// An approval ended; if it still waits here, somebody else answered.
    pub fn resolved(&mut self, approval: &str, screen: &mut Screen) {
        let at = self.waiting.iter().position(|question| matches!(question, Question::Approval { id, .. } if id == approval));
        if let Some(at) = at {
            self.waiting.remove(at);
            if at == 0 {
                screen.say("(settled elsewhere)");
                self.show(screen);
            }
        }
    }

    /// The next reply. A line that is no answer is asked for again; the end of the input means no.
    /// Nothing typed is lost when the future is dropped.
    pub async fn reply(&mut self, screen: &mut Screen) -> Reply {
        loop {
            let line = self.lines.get_or_insert_with(read_lines).recv().await.unwrap_or_default();
            screen.typed();
            let reply = match self.waiting.front() {
                Some(Question::Approval { id, .. }) => decision(line.trim()).map(|decision| Reply::Decision { id: id.clone(), decision }),
                Some(Question::Ask(ask)) => Some(Reply::Answer(chosen(line.trim(), &ask.candidates))),
                None => return std::future::pending().await,
            };
            if reply.is_some() {
                self.waiting.pop_front();
            }
            self.show(screen);
            if let Some(reply) = reply {
                return reply;
            }
        }
    }

    fn show(&self, screen: &mut Screen) {
        match self.waiting.front() {
            Some(Question::Approval { call, .. }) => {
                let risk = call.risk_level.as_ref().map(|risk| format!(" (risk: {risk})")).unwrap_or_default();
                let what = call.args_preview.as_deref().unwrap_or_default();
                screen.say(&format!("{} wants to run{risk}:\n  {}", call.tool_name, what.replace('\n', "\n  ")));
                screen.say(&format!("p and g allow EVERY later call of {}, here or everywhere, without asking", call.tool_name));
                screen.ask("Allow? [y]es, [N]o, [p]roject always, [g]lobal always: ");
            }
            Some(Question::Ask(ask)) => {
                screen.say(&ask.question);
                for (number, candidate) in ask.candidates.iter().enumerate() {
                    screen.say(&format!("  {}. {candidate}", number + 1));
                }
                screen.ask("> ");
            }
            None => {}
        }
    }
}

/// Nothing but a clear yes allows.
fn decision(word: &str) -> Option<Decision> {
    match word.to_lowercase().as_str() {
        "y" | "yes" => Some(Decision::AllowOnce),
        "" | "n" | "no" => Some(Decision::Deny),
        "p" | "project" => Some(Decision::AlwaysAllowProject),
        "g" | "global" => Some(Decision::AlwaysAllowGlobal),
        _ => None,
    }
}

/// A candidate by its number, or the words themselves.
fn chosen(line: &str, candidates: &[String]) -> String {
    let candidate = line.parse::<usize>().ok().and_then(|number| candidates.get(number.checked_sub(1)?));
    candidate.map_or_else(|| line.to_owned(), Clone::clone)
}

/// Reads the terminal on a thread of its own, which ends with the program.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_allows() {
        assert_eq!(decision("y"), Some(Decision::AllowOnce));
        assert_eq!(decision(""), Some(Decision::Deny));
        assert_eq!(decision("No"), Some(Decision::Deny));
        assert_eq!(decision("yse"), None);
    }

    #[test]
    fn a_candidate_is_chosen_by_number_or_said_in_words() {
        let candidates = ["red".to_owned(), "blue".to_owned()];
        assert_eq!(chosen("2", &candidates), "blue");
        assert_eq!(chosen("3", &candidates), "3");
        assert_eq!(chosen("0", &candidates), "0");
        assert_eq!(chosen("green", &candidates), "green");
    }
}
