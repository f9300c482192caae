//! `session.new`.

use super::{ask, origin, own_mode, unexpected};
use crate::core::Inner;
use crate::error::Error;
use crate::session::{Input, NewMessage, Reply, new_message_id, not_found, submitted_again};
use crate::store::{ReadStore, SessionRow, SessionStore};
use crate::time::Timestamp;
use galley_protocol::socket::{IfBusy, LlmChoice, NewSession, SessionNew, SessionStatus};

/// A title taken from the first message, in characters.
const TITLE_CHARS: usize = 80;

impl Inner {
    pub(in crate::server) async fn session_new(&self, args: SessionNew) -> Result<NewSession, Error> {
        if args.task.trim().is_empty() {
            return Err(Error::invalid("task is blank; say what the session is to do"));
        }
        if let Some(id) = &args.client_request_id
            && let Some((session_id, message_id)) = self.store.request(id).await?
        {
            return self.created_before(&session_id, &message_id).await;
        }
        if let Some(cwd) = &args.cwd
            && !std::path::Path::new(cwd).is_absolute()
        {
            return Err(Error::invalid(format!("cwd {cwd:?} is not absolute")));
        }
        if let Some(project) = &args.project_id {
            self.check_project(project).await?;
        }
        let config = self.config()?;
        let runtime = config.runtime(args.runtime.as_deref().unwrap_or("current")).map_err(|error| Error::invalid(error.to_string()))?;
        let llm = match &args.llm {
            Some(llm) => Some(self.find_llm(&runtime.name, llm).await?),
            None => None,
        };
        let now = Timestamp::now();
        let origin = origin(args.supervisor, args.reason);
        let row = SessionRow {
            id: format!("sess_{}", &uuid::Uuid::new_v4().simple().to_string()[..20]),
            project_id: args.project_id,
            title: args.title.as_deref().map(title_of).filter(|title| !title.is_empty()).unwrap_or_else(|| title_of(&args.task)),
            status: SessionStatus::Idle,
            summary: None,
            turn_count: 0,
            last_activity_at: now,
            created_at: now,
            updated_at: now,
            pinned: None,
            has_unread: None,
            origin: Some(origin.clone()),
            llm_index: llm.as_ref().map(|llm| llm.index),
            llm: llm.map(|llm| LlmChoice { key: llm.key().to_owned(), display_name: Some(llm.display_name) }),
            runtime_kind: runtime.kind(),
            runtime_label: runtime.label().to_owned(),
            runtime_id: runtime.name.clone(),
            prompt_profile: None,
            approval_mode: own_mode(args.approval_mode)?,
            last_exit: None,
            ask: None,
            cwd: args.cwd,
            run: 0,
            run_first_index: 0,
        };
        let session = self.sessions.create(row)?;
        let message = NewMessage {
            id: new_message_id(),
            content: args.task,
            origin,
            if_busy: IfBusy::Queue,
            spawn: true,
            client_request_id: args.client_request_id,
            retries: None,
        };
        match ask(&session, |to| Input::Create { message, to }).await? {
            Reply::Created(created) => {
                let warning = created.warning.or_else(|| self.runtime_warning(&session.runtime));
                Ok(NewSession { warning, ..*created })
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn created_before(&self, session_id: &str, message_id: &str) -> Result<NewSession, Error> {
        let session = self.store.session(session_id).await?.ok_or_else(|| not_found(session_id))?;
        let message = self.store.message(message_id).await?.ok_or_else(|| not_found(session_id))?;
        let dispatch = submitted_again(message.state.as_ref());
        Ok(NewSession { session, message, dispatch, warning: None })
    }
}

/// The first characters of a text, on one line, without control characters.
fn title_of(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|character| !character.is_control());
    if let Some((end, _)) = line.char_indices().nth(TITLE_CHARS) {
        line.truncate(end);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_cut_at_a_character() {
        assert_eq!(title_of("  list\n\tall   files "), "list all files");
        let long = "🦀".repeat(100);
        assert_eq!(title_of(&long), "🦀".repeat(80));
        assert_eq!(title_of("a\nb\u{1b}[31m\0c"), "a b[31mc");
    }
}
