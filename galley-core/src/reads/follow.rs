//! `session.follow`: a snapshot, every event after it, and a snapshot once the runner is gone
//! (Agent API §5.5c).

use crate::cursor::{Cursor, Ready};
use crate::error::Error;
use crate::frame;
use crate::session::not_found;
use crate::store::{LogChunk, ReadStore};
use galley_protocol::socket::{EndReason, FollowFrame, SCHEMA_VERSION, SessionFollow, SessionStatus, Transcript, WaitPhase};
use serde_json::json;
use std::sync::Arc;

/// One follow.
pub struct FollowStream {
    cursor: Cursor,
    store: Arc<dyn ReadStore>,
    request_id: Option<String>,
    tail: Option<u32>,
    events: EventFrames,
    /// The first snapshot, until it is handed out.
    initial: Option<FollowFrame>,
    /// The session was archived before, and so has no runner to follow.
    archived: bool,
    /// Something happened after the first snapshot, or a runner could have made it happen.
    followed: bool,
}

impl FollowStream {
    /// Takes the first snapshot. `cursor` was created before, so that nothing falls between; it is
    /// moved behind the snapshot.
    ///
    /// # Errors
    /// [`Error::NotFound`], or what the store says.
    pub async fn start(store: Arc<dyn ReadStore>, args: SessionFollow, request_id: Option<String>, mut cursor: Cursor) -> Result<Self, Error> {
        let transcript = store.transcript(&args.session_id, args.tail).await?;
        let transcript = transcript.ok_or_else(|| not_found(&args.session_id))?;
        cursor.move_to(transcript.session.last_index.unwrap_or(0) + 1);
        let archived = transcript.session.status == SessionStatus::Archived;
        let initial = Some(snapshot(request_id.clone(), WaitPhase::Initial, transcript));
        let events = EventFrames::of(request_id.as_deref(), &args.session_id);
        Ok(Self { cursor, store, request_id, tail: args.tail, events, initial, archived, followed: false })
    }

    /// The id of its request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The next frames, whole lines; `true` with the last ones.
    pub async fn next(&mut self) -> (Vec<u8>, bool) {
        if let Some(initial) = self.initial.take() {
            return (frame::line(&initial), false);
        }
        loop {
            match self.cursor.ready().await {
                Ready::Events(chunks) => {
                    self.followed = true;
                    let mut out = Vec::new();
                    self.events.write(&chunks, &mut out);
                    // A span that was compacted away has none.
                    if !out.is_empty() {
                        return (out, false);
                    }
                }
                Ready::Nothing => {
                    self.followed = true;
                    self.cursor.changed().await;
                }
                Ready::Over(EndReason::Archived) if self.archived => return (self.conclude(EndReason::NotLive).await, true),
                Ready::Over(reason) => return (self.conclude(reason).await, true),
            }
        }
    }

    /// The last frame of a follow that its client cancels.
    pub fn cancel(&self) -> Vec<u8> {
        frame::line(&self.end(EndReason::Cancelled))
    }

    /// The last frames. Where there was nothing to follow, the first snapshot was the last one.
    async fn conclude(&self, reason: EndReason) -> Vec<u8> {
        let mut out = Vec::new();
        let nothing_new = !self.followed && matches!(reason, EndReason::NotLive | EndReason::CoreUnavailable);
        if !nothing_new {
            match self.store.transcript(self.cursor.session_id(), self.tail).await {
                Ok(Some(transcript)) => frame::push(&mut out, &snapshot(self.request_id.clone(), WaitPhase::Final, transcript)),
                // A deleted session has nothing to show.
                Ok(None) => {}
                Err(error) => tracing::warn!(session = self.cursor.session_id(), %error, "a follow ends without its last snapshot"),
            }
        }
        frame::push(&mut out, &self.end(reason));
        out
    }

    fn end(&self, reason: EndReason) -> FollowFrame {
        FollowFrame::End { schema_version: SCHEMA_VERSION, request_id: self.request_id.clone(), reason }
    }
}

fn snapshot(request_id: Option<String>, phase: WaitPhase, transcript: Transcript) -> FollowFrame {
    let Transcript { session, messages } = transcript;
    FollowFrame::Snapshot { schema_version: SCHEMA_VERSION, request_id, phase, session: Box::new(session), messages }
}

/// Writes one session's events as frames of a follow.
pub(super) struct EventFrames {
    /// The part of every frame before the line.
    prefix: Vec<u8>,
}

impl EventFrames {
    pub(super) fn of(request_id: Option<&str>, session_id: &str) -> Self {
        let request_id = request_id.map_or_else(String::new, |id| format!("\"requestId\":{},", json!(id)));
        let prefix = format!("{{\"schemaVersion\":{SCHEMA_VERSION},\"stream\":\"event\",{request_id}\"sessionId\":{},\"data\":", json!(session_id));
        Self { prefix: prefix.into_bytes() }
    }

    pub(super) fn write(&self, chunks: &[LogChunk], out: &mut Vec<u8>) {
        for lines in chunks.iter().filter_map(|chunk| chunk.lines.as_ref()) {
            for line in lines.split(|byte| *byte == b'\n') {
                out.extend_from_slice(&self.prefix);
                out.extend_from_slice(line);
                out.extend_from_slice(b"}\n");
            }
        }
    }
}
