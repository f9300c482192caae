//! What is said to a session: messages, what waits of them, side questions, direct commands.

use super::{ask, origin, unexpected};
use crate::core::Inner;
use crate::error::Error;
use crate::reads::session;
use crate::session::{Earlier, Input, NewMessage, QueueEdit, Reply, new_message_id, submitted_again};
use crate::store::{MessageQuery, ReadStore, SessionStore};
use galley_protocol::ipc::{self, UserMessage, is_side_question};
use galley_protocol::socket::{
    Dispatch, DispatchResult, IfBusy, MessageBrief, MessageRole, MessageState, QueueAction, QueueItem, SessionBtw, SessionCommand, SessionQueueEdit,
    SessionRetry, SessionSend, Submitted,
};

/// Messages looked at in one go when searching backwards for one to send again.
const LOOK_BACK: u32 = 50;

impl Inner {
    pub(in crate::server) async fn session_send(&self, args: SessionSend) -> Result<Submitted, Error> {
        if args.content.trim().is_empty() {
            return Err(Error::invalid("content is blank; say something"));
        }
        let if_busy = args.if_busy.unwrap_or(IfBusy::Queue);
        if !if_busy.is_known() {
            return Err(Error::invalid(format!("ifBusy {if_busy:?} is not one of {:?}", IfBusy::WORDS)));
        }
        if let Some(id) = &args.client_request_id
            && let Some((session_id, message_id)) = self.store.request(id).await?
        {
            if session_id != args.session_id {
                return Err(Error::invalid(format!("clientRequestId {id} was used for session {session_id}")));
            }
            let message = self.store.message(&message_id).await?;
            let dispatch = submitted_again(message.as_ref().and_then(|message| message.state.as_ref()));
            return Ok(Submitted { message, dispatch, queue: None, warning: None });
        }
        if args.images.as_ref().is_some_and(|images| !images.is_empty()) {
            return Err(Error::invalid("the session's runner takes no images"));
        }
        let message = NewMessage {
            id: new_message_id(),
            content: args.content,
            origin: origin(args.supervisor, args.reason),
            if_busy,
            spawn: args.spawn.unwrap_or(true),
            client_request_id: args.client_request_id,
            retries: None,
        };
        self.submit(&args.session_id, message).await
    }

    /// `session.retry`: an earlier message again, as a new one.
    pub(in crate::server) async fn session_retry(&self, args: SessionRetry) -> Result<Submitted, Error> {
        session::find(self.store.as_ref(), &args.session_id).await?;
        let earlier = match &args.message_id {
            Some(id) => session::message(self.store.as_ref(), &args.session_id, id).await?,
            None => self.last_settled(&args.session_id).await?,
        };
        if !is_settled(&earlier) {
            let state = earlier.state.as_ref().map_or("no message of a user", MessageState::as_str);
            return Err(Error::invalid(format!("message {} cannot be sent again: it is {state}", earlier.id)));
        }
        let Some(turn) = earlier.turn_index else {
            return Err(Error::Internal(format!("message {} has no turn", earlier.id)));
        };
        let message = NewMessage {
            id: new_message_id(),
            content: earlier.content,
            origin: origin(args.supervisor, args.reason),
            if_busy: IfBusy::Queue,
            spawn: true,
            client_request_id: None,
            retries: Some(Earlier { id: earlier.id, turn }),
        };
        self.submit(&args.session_id, message).await
    }

    async fn submit(&self, session_id: &str, message: NewMessage) -> Result<Submitted, Error> {
        let session = self.sessions.get(session_id).await?;
        match ask(&session, move |to| Input::Send { message, to }).await? {
            Reply::Submitted(submitted) => {
                let warning = submitted.warning.or_else(|| self.runtime_warning(&session.runtime));
                Ok(Submitted { warning, ..*submitted })
            }
            Reply::Told => Ok(Submitted { message: None, dispatch: Dispatch::Dispatched, queue: None, warning: None }),
            other => Err(unexpected(&other)),
        }
    }

    /// The last message of a session that can be sent again.
    async fn last_settled(&self, session_id: &str) -> Result<MessageBrief, Error> {
        let mut before = None;
        loop {
            let query = MessageQuery { session_id: session_id.to_owned(), before, limit: Some(LOOK_BACK), internal: false };
            let page = self.store.messages(&query).await?;
            before = page.first().map(|oldest| oldest.id.clone());
            let count = page.len();
            if let Some(found) = page.into_iter().rev().find(is_settled) {
                return Ok(found);
            }
            if count < LOOK_BACK as usize {
                return Err(Error::invalid(format!("session {session_id} has no message that could be sent again")));
            }
        }
    }

    /// `session.btw`.
    pub(in crate::server) async fn session_btw(&self, args: SessionBtw) -> Result<DispatchResult, Error> {
        let question = args.question.trim();
        if question.is_empty() {
            return Err(Error::invalid("question is blank; ask something"));
        }
        let text = if is_side_question(question) { question.to_owned() } else { format!("/btw {question}") };
        self.direct(&args.session_id, UserMessage { text, ..UserMessage::default() }.into()).await
    }

    /// `session.command`.
    pub(in crate::server) async fn session_command(&self, args: SessionCommand) -> Result<DispatchResult, Error> {
        self.direct(&args.session_id, args.command.into()).await
    }

    async fn direct(&self, session_id: &str, command: ipc::Command) -> Result<DispatchResult, Error> {
        match self.ask_session(session_id, move |to| Input::Direct { command, to }).await? {
            Reply::Told => Ok(DispatchResult { dispatch: Dispatch::Dispatched }),
            other => Err(unexpected(&other)),
        }
    }

    /// `session.queue_edit`.
    pub(in crate::server) async fn session_queue_edit(&self, args: SessionQueueEdit) -> Result<Vec<QueueItem>, Error> {
        let edit = match (args.action, args.content) {
            (QueueAction::Remove, _) => QueueEdit::Remove,
            (QueueAction::Jump, _) => QueueEdit::Jump,
            (QueueAction::Edit, Some(content)) if is_side_question(&content) => {
                return Err(Error::invalid("a message that waits cannot become a side question; use session.btw"));
            }
            (QueueAction::Edit, Some(content)) if !content.trim().is_empty() => QueueEdit::Edit(content),
            (QueueAction::Edit, _) => return Err(Error::invalid("content is blank; give the message its new text")),
            (other, _) => return Err(Error::invalid(format!("action {:?} is not one of {:?}", other.as_str(), QueueAction::WORDS))),
        };
        session::find(self.store.as_ref(), &args.session_id).await?;
        session::message(self.store.as_ref(), &args.session_id, &args.message_id).await?;
        let message = args.message_id;
        match self.ask_session(&args.session_id, move |to| Input::EditQueue { message, edit, to }).await? {
            Reply::Queue(queue) => Ok(queue),
            other => Err(unexpected(&other)),
        }
    }
}

/// Whether the row is a user's message that has had its run, or will have none.
fn is_settled(message: &MessageBrief) -> bool {
    matches!(message.state, Some(MessageState::Answered | MessageState::Failed | MessageState::Cancelled)) && message.role == MessageRole::User
}
