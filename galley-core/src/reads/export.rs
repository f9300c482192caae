//! `session.export`: a whole conversation, to be kept elsewhere.

use super::{ReadContext, session, unknown_word};
use crate::error::Error;
use crate::store::MessageQuery;
use galley_protocol::socket::{ExportFormat, Exported, MessageBrief, MessageRole, MessageState, SCHEMA_VERSION, SessionBrief, SessionExport};
use std::fmt::Write;

pub(super) async fn export(context: &dyn ReadContext, args: SessionExport) -> Result<Exported, Error> {
    let format = args.format.unwrap_or(ExportFormat::Json);
    if let ExportFormat::Unknown(word) = &format {
        return Err(unknown_word("format of an export", word, ExportFormat::WORDS));
    }
    let session = session::find(context.store(), &args.session_id).await?;
    let messages = context.store().messages(&MessageQuery { session_id: args.session_id, ..MessageQuery::default() }).await?;
    Ok(match format {
        ExportFormat::Markdown => Exported::Markdown { content: markdown(&session, &messages) },
        _ => Exported::Json { schema_version: SCHEMA_VERSION, session: Box::new(session), messages },
    })
}

/// The conversation as a document. Rows keep their own Markdown as it is.
fn markdown(session: &SessionBrief, messages: &[MessageBrief]) -> String {
    let mut text = format!("# {}\n", session.title);
    for message in messages {
        let speaker = match &message.role {
            MessageRole::User => "User",
            MessageRole::Agent => "Agent",
            MessageRole::System => "System",
            other => other.as_str(),
        };
        let note = match &message.state {
            Some(MessageState::Answered) | None if message.partial == Some(true) => " (cut off)".to_owned(),
            Some(MessageState::Answered) | None => String::new(),
            Some(state) => format!(" ({state})"),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {speaker}, {}{note}\n\n", message.created_at);
        text.push_str(message.final_answer.as_ref().unwrap_or(&message.content).trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_says_who_spoke_and_when_and_what_became_of_it() {
        let session = serde_json::from_value(json!({
            "id": "s", "title": "Tea", "status": "idle", "lastActivityAt": "t", "createdAt": "t", "updatedAt": "t",
            "runtimeKind": "managed", "runtimeLabel": "Galley", "gaRuntimeKind": "managed"
        }))
        .unwrap();
        let row = |role: &str, content: &str, more: serde_json::Value| {
            let mut row = json!({ "id": "m", "sessionId": "s", "role": role, "content": content, "createdAt": "now" });
            row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value::<MessageBrief>(row).unwrap()
        };
        let messages = [
            row("user", "boil", json!({ "state": "answered" })),
            row("agent", "working…", json!({ "finalAnswer": "*Done.*\n" })),
            row("user", "more", json!({ "state": "failed" })),
            row("agent", "hal", json!({ "partial": true })),
        ];
        assert_eq!(
            markdown(&session, &messages),
            "# Tea\n\n## User, now\n\nboil\n\n## Agent, now\n\n*Done.*\n\n## User, now (failed)\n\nmore\n\n## Agent, now (cut off)\n\nhal\n"
        );
    }
}
