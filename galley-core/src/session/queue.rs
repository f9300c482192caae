//! The line of waiting messages, as its owner changes it.

use super::output::{Output, Reply, ReplyTo};
use super::state::{Gate, Hold, QueueEdit, SessionState};
use crate::error::Error;
use crate::store::Change;
use crate::time::Timestamp;
use galley_protocol::socket::{Dispatch, MessageState, QueueItem, SessionStatus, Warning};

impl SessionState {
    pub(super) fn edit_queue(&mut self, now: Timestamp, message: &str, edit: QueueEdit, to: ReplyTo, out: &mut Output) {
        let Some(place) = self.waiting.iter().position(|waiting| waiting.row.id == message) else {
            return out.reply(Some(to), Err(Error::invalid(format!("message {message} does not wait in session {}", self.row.id))));
        };
        match edit {
            QueueEdit::Remove => self.remove_waiting(now, place, out),
            QueueEdit::Jump => self.put_first(now, place, out),
            QueueEdit::Edit(content) => {
                let row = &mut self.waiting[place].row;
                out.change(Change::SetMessageContent { id: row.id.clone(), content: content.clone() });
                row.content = content;
            }
        }
        out.reply(Some(to), Ok(Reply::Queue(self.queue())));
    }

    fn remove_waiting(&mut self, now: Timestamp, place: usize, out: &mut Output) {
        let Some(mut waiting) = self.waiting.remove(place) else { return };
        waiting.row.state = Some(MessageState::Cancelled);
        out.change(Change::SetMessageState { id: waiting.row.id.clone(), state: MessageState::Cancelled, run: None });
        let warning = Warning { id: "removed".to_owned(), message: "the message was taken out of the queue".to_owned(), detail: None };
        self.reply_message(&mut waiting, Dispatch::PersistedOnly, Some(warning), out);
        if matches!(self.gate, Gate::Reserved) && self.waiting.is_empty() {
            self.gate = Gate::Free;
            self.set_status(now, SessionStatus::Cancelled);
        }
    }

    fn put_first(&mut self, now: Timestamp, place: usize, out: &mut Output) {
        let Some(mut waiting) = self.waiting.remove(place) else { return };
        waiting.row.rank = self.rank(true);
        out.change(Change::SetMessageRank { id: waiting.row.id.clone(), rank: waiting.row.rank });
        self.waiting.push_front(waiting);
        self.tell_overtaken(out);
        if matches!(self.gate, Gate::Open(_)) {
            self.abort(now, Hold::Drain, out);
        }
    }

    fn queue(&self) -> Vec<QueueItem> {
        self.waiting.iter().zip(1..).map(|(waiting, position)| waiting.row.clone().into_queue_item(position)).collect()
    }
}
