//! What is set for a session and outlives its runners: names, marks, project, mode, rules, model.

use super::output::{Order, Output, Purpose, Reply, ReplyTo};
use super::state::{Delivered, Gate, RunnerPhase, SessionState, Stage};
use crate::error::Error;
use crate::time::Timestamp;
use galley_protocol::ipc::{Command, Llm, SetLlm, SetYoloMode};
use galley_protocol::socket::{ApprovalMode, LlmChoice, LlmDispatch, LlmSetResult, Origin};

impl SessionState {
    pub(super) fn rename(&mut self, now: Timestamp, title: String, to: ReplyTo, out: &mut Output) {
        if self.row.title != title {
            self.row.title = title;
            self.dirty = true;
        }
        self.reply_session(now, to, out);
    }

    pub(super) fn pin(&mut self, now: Timestamp, pinned: bool, to: ReplyTo, out: &mut Output) {
        if self.row.pinned.unwrap_or(false) != pinned {
            self.row.pinned = Some(pinned);
            self.dirty = true;
        }
        self.reply_session(now, to, out);
    }

    pub(super) fn mark_read(&mut self, now: Timestamp, to: ReplyTo, out: &mut Output) {
        if self.row.has_unread != Some(false) {
            self.row.has_unread = Some(false);
            self.dirty = true;
        }
        self.reply_session(now, to, out);
    }

    /// Into another project, or out of all. Its rules are others from now on.
    pub(super) fn move_to(&mut self, now: Timestamp, project: Option<String>, origin: &Origin, to: ReplyTo, out: &mut Output) {
        if self.row.project_id != project {
            self.change_project(project, out);
            self.audit(now, "move", origin, out);
        }
        self.reply_session(now, to, out);
    }

    pub(super) fn project_gone(&mut self, project: &str, out: &mut Output) {
        if self.row.project_id.as_deref() == Some(project) {
            self.change_project(None, out);
        }
    }

    fn change_project(&mut self, project: Option<String>, out: &mut Output) {
        self.row.project_id = project;
        self.dirty = true;
        if self.takes_settings() {
            self.order(Order::Rules { scope: self.scope().to_owned() }, out);
        }
    }

    /// Answers with the session's row as this batch leaves it.
    pub(super) fn reply_session(&mut self, now: Timestamp, to: ReplyTo, out: &mut Output) {
        if self.dirty {
            self.row.updated_at = self.row.updated_at.max(now);
        }
        out.reply(Some(to), Ok(Reply::Session(Box::new(self.brief()))));
    }

    pub(super) fn set_mode(&mut self, mode: Option<ApprovalMode>, to: ReplyTo, out: &mut Output) {
        self.row.approval_mode = mode.clone();
        self.dirty = true;
        self.push_mode(out);
        out.reply(Some(to), Ok(Reply::Mode(mode.unwrap_or(ApprovalMode::Default))));
    }

    pub(super) fn set_default_mode(&mut self, mode: ApprovalMode, out: &mut Output) {
        self.default_mode = mode;
        if self.row.approval_mode.is_none() {
            self.push_mode(out);
        }
    }

    /// Tells a runner that is up which mode is in force.
    fn push_mode(&self, out: &mut Output) {
        if self.takes_settings() {
            self.tell(Command::SetYoloMode(SetYoloMode { enabled: self.is_automatic() }), Purpose::None, out);
        }
    }

    /// Whether calls run without asking. When in doubt, ask.
    pub(super) fn is_automatic(&self) -> bool {
        *self.row.approval_mode.as_ref().unwrap_or(&self.default_mode) == ApprovalMode::Auto
    }

    pub(super) fn rules_changed(&self, scope: &str, out: &mut Output) {
        if (scope == "global" || scope == self.scope()) && self.takes_settings() {
            self.order(Order::Rules { scope: self.scope().to_owned() }, out);
        }
    }

    /// The runner has had its first settings and hears of every change to them.
    fn takes_settings(&self) -> bool {
        matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::Llm | Stage::History))
    }

    /// A runner that is idle uses the model at once, one that is not after its run; the next one
    /// starts with it.
    pub(super) fn set_llm(&mut self, now: Timestamp, llm: Llm, to: ReplyTo, out: &mut Output) {
        let here = self.llms.iter().find(|one| one.key() == llm.key()).map(|one| one.index);
        if here.is_none() && !self.llms.is_empty() {
            let error = Error::invalid(format!("the session's runner has no model {:?}", llm.display_name));
            return out.reply(Some(to), Err(error));
        }
        let index = here.unwrap_or(llm.index);
        self.row.llm = Some(LlmChoice { key: llm.key().to_owned(), display_name: Some(llm.display_name) });
        self.row.llm_index = Some(index);
        self.row.updated_at = self.row.updated_at.max(now);
        self.dirty = true;
        match (&self.runner, &self.gate) {
            (RunnerPhase::Up, Gate::Free) => {
                self.tell(Command::SetLlm(SetLlm { llm_index: index }), Purpose::Model { to }, out);
            }
            (RunnerPhase::Up | RunnerPhase::Starting(_), _) => {
                self.llm_due = true;
                self.reply_model(LlmDispatch::Deferred, to, out);
            }
            (RunnerPhase::Down | RunnerPhase::Ending(_), _) => self.reply_model(LlmDispatch::PersistedOnly, to, out),
        }
    }

    pub(super) fn model_delivered(&self, outcome: Delivered, to: ReplyTo, out: &mut Output) {
        let dispatch = if outcome == Delivered::No { LlmDispatch::PersistedOnly } else { LlmDispatch::Dispatched };
        self.reply_model(dispatch, to, out);
    }

    fn reply_model(&self, dispatch: LlmDispatch, to: ReplyTo, out: &mut Output) {
        out.reply(Some(to), Ok(Reply::Model(Box::new(LlmSetResult { session: self.brief(), dispatch }))));
    }

    /// Between runs: a model that was chosen meanwhile goes to the runner, ahead of the next message.
    pub(super) fn tell_due_model(&mut self, out: &mut Output) {
        if !matches!(self.runner, RunnerPhase::Up) || !std::mem::take(&mut self.llm_due) {
            return;
        }
        if let Some(llm_index) = self.row.llm_index {
            self.tell(Command::SetLlm(SetLlm { llm_index }), Purpose::None, out);
        }
    }
}
