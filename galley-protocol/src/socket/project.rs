//! `project.*`: sessions that belong together.

use super::stream::{VersionedFrame, required};
use super::{EndReason, MessageBrief, SessionBrief, WaitPhase, wire, write_command};
use crate::RawJson;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

wire! {
    /// One project.
    pub struct ProjectBrief {
        /// Opaque id.
        pub id: String,
        /// Its name.
        pub name: String,
        /// Its folder, absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub root_path: Option<String>,
        /// Whether runners get the folder as their workspace. It is never their working directory.
        pub workspace_enabled: bool,
        /// A picture, in whatever form the caller likes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub icon: Option<String>,
        /// A colour, in whatever form the caller likes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub color: Option<String>,
        /// Sorts first.
        pub pinned: bool,
        /// The latest of everything that happened in its sessions; its creation, without any.
        pub last_activity_at: String,
        /// When it was created.
        pub created_at: String,
        /// When its row was last written.
        pub updated_at: String,
    }

    /// Lists projects: pinned first, then by last activity, newest first, then by id.
    #[derive(Default)]
    pub struct ProjectList {}

    /// Asks how a project stands.
    #[derive(Default)]
    pub struct ProjectBriefGet {
        /// Which project.
        pub project_id: String,
    }

    /// How a project stands. Archived sessions are not counted.
    pub struct ProjectOverview {
        /// The schema version.
        pub schema_version: u32,
        /// The project.
        pub project: ProjectBrief,
        /// How many sessions it has.
        pub session_count: u64,
        /// How many of them are in each status; statuses without a session are left out.
        pub status_counts: BTreeMap<String, u64>,
        /// Those with a run in hand: `connecting`, `running` or `waiting_approval`.
        pub running_sessions: Vec<SessionBrief>,
        /// The latest of everything that happened in it.
        pub last_activity_at: String,
    }

    /// Asks for the conversations of a project.
    #[derive(Default)]
    pub struct ProjectShow {
        /// Which project.
        pub project_id: String,
        /// Only the last N messages of each session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<u32>,
        /// Archived sessions too, also in the counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub all: Option<bool>,
    }

    /// A session and its messages.
    pub struct Transcript {
        /// The session.
        pub session: SessionBrief,
        /// Its messages, oldest first.
        pub messages: Vec<MessageBrief>,
    }

    /// How a project stands, and the conversations in it.
    pub struct ProjectTranscripts {
        /// The schema version.
        pub schema_version: u32,
        /// The project.
        pub project: ProjectBrief,
        /// As in [`ProjectOverview`].
        pub session_count: u64,
        /// As in [`ProjectOverview`].
        pub status_counts: BTreeMap<String, u64>,
        /// As in [`ProjectOverview`].
        pub running_sessions: Vec<SessionBrief>,
        /// The latest of everything that happened in it.
        pub last_activity_at: String,
        /// Its sessions, in the order of `sessions.list`.
        pub sessions: Vec<Transcript>,
    }

    /// Streams what happens in all sessions of a project, from a snapshot on.
    #[derive(Default)]
    pub struct ProjectFollow {
        /// Which project.
        pub project_id: String,
        /// Only the last N messages of each session in a snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<u32>,
        /// Archived sessions too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub all: Option<bool>,
        /// End with `project_idle` once no session is busy; otherwise the stream lasts as long as
        /// a runner does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until_idle: Option<bool>,
        /// A second snapshot before the end; false by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub final_show: Option<bool>,
    }

    /// A project that was created or changed.
    pub struct ProjectResult {
        /// Its row as it stands now.
        pub project: ProjectBrief,
    }

    /// A project that is gone. Its sessions are ungrouped now.
    pub struct ProjectDeleted {
        /// Always true.
        pub deleted: bool,
        /// Which project it was.
        pub project_id: String,
        /// How many sessions it had, archived ones included.
        pub detached_sessions: u64,
        /// Which ones.
        pub detached_session_ids: Vec<String>,
    }
}

write_command! {
    /// Creates a project.
    #[derive(Default)]
    pub struct ProjectCreate {
        /// Its name; not blank.
        pub name: String,
        /// Its folder, absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub root_path: Option<String>,
        /// Whether runners get the folder as their workspace; false by default. Needs a folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub workspace_enabled: Option<bool>,
        /// A picture, in whatever form the caller likes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub icon: Option<String>,
        /// A colour, in whatever form the caller likes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub color: Option<String>,
    }

    /// Changes a project. What is absent stays as it is; an empty `rootPath`, `icon` or `color`
    /// takes the old one away.
    #[derive(Default)]
    pub struct ProjectUpdate {
        /// Which project.
        pub project_id: String,
        /// Its name; not blank.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// Its folder, absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub root_path: Option<String>,
        /// Whether runners get the folder as their workspace. Needs a folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub workspace_enabled: Option<bool>,
        /// A picture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub icon: Option<String>,
        /// A colour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub color: Option<String>,
        /// Whether it sorts first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pinned: Option<bool>,
    }

    /// Deletes a project. Its sessions stay, ungrouped; its approval rules go.
    #[derive(Default)]
    pub struct ProjectDelete {
        /// Which project.
        pub project_id: String,
    }
}

/// One frame of a project's follow.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "stream", rename_all = "camelCase", rename_all_fields = "camelCase"))]
#[non_exhaustive]
pub enum ProjectFrame {
    /// The project and its sessions, at the start and, if asked for, at the end.
    Snapshot {
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// Which of the two.
        phase: WaitPhase,
        /// The same fields as the result of `project.show`.
        #[cfg_attr(feature = "schema", schemars(flatten))]
        project: Box<ProjectTranscripts>,
    },
    /// One event of one session.
    Event {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// The session.
        session_id: String,
        /// The line, as the runner wrote it.
        data: RawJson,
    },
    /// The runner of one session is gone; the stream goes on with the others.
    SessionEnd {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// The session.
        session_id: String,
        /// Why, as a watch of that session would end.
        reason: EndReason,
    },
    /// Last frame.
    End {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// `project_idle`, `all_live_sessions_ended`, `no_live_sessions`, or why the stream as
        /// such could not go on.
        reason: EndReason,
    },
}

impl Serialize for ProjectFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Snapshot { request_id, phase, project } => SnapshotLine::new(request_id, phase, project).serialize(serializer),
            Self::Event { schema_version, request_id, session_id, data } => {
                VersionedFrame::event(*schema_version, request_id, session_id, data).serialize(serializer)
            }
            Self::SessionEnd { schema_version, request_id, session_id, reason } => VersionedFrame {
                session_id: Some(session_id),
                reason: Some(reason),
                ..VersionedFrame::new(*schema_version, "sessionEnd", request_id)
            }
            .serialize(serializer),
            Self::End { schema_version, request_id, reason } => VersionedFrame::end(*schema_version, request_id, reason).serialize(serializer),
        }
    }
}

/// A snapshot in the order of its fields on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotLine<'a> {
    schema_version: u32,
    stream: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    phase: &'a WaitPhase,
    project: &'a ProjectBrief,
    session_count: u64,
    status_counts: &'a BTreeMap<String, u64>,
    running_sessions: &'a [SessionBrief],
    last_activity_at: &'a str,
    sessions: &'a [Transcript],
}

impl<'a> SnapshotLine<'a> {
    fn new(request_id: &'a Option<String>, phase: &'a WaitPhase, shown: &'a ProjectTranscripts) -> Self {
        let ProjectTranscripts { schema_version, project, session_count, status_counts, running_sessions, last_activity_at, sessions } = shown;
        Self {
            schema_version: *schema_version,
            stream: "snapshot",
            request_id: request_id.as_deref(),
            phase,
            project,
            session_count: *session_count,
            status_counts,
            running_sessions,
            last_activity_at,
            sessions,
        }
    }
}

impl<'de> Deserialize<'de> for ProjectFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            stream: String,
            schema_version: u32,
            request_id: Option<String>,
            phase: Option<WaitPhase>,
            session_id: Option<String>,
            data: Option<RawJson>,
            reason: Option<EndReason>,
        }
        let line = RawJson::deserialize(deserializer)?;
        let Fields { stream, schema_version, request_id, phase, session_id, data, reason } = line.read().map_err(D::Error::custom)?;
        let session_id = || required(session_id, "sessionId");
        Ok(match stream.as_str() {
            "snapshot" => Self::Snapshot { request_id, phase: required(phase, "phase")?, project: line.read().map_err(D::Error::custom)? },
            "event" => Self::Event { schema_version, request_id, session_id: session_id()?, data: required(data, "data")? },
            "sessionEnd" => Self::SessionEnd { schema_version, request_id, session_id: session_id()?, reason: required(reason, "reason")? },
            "end" => Self::End { schema_version, request_id, reason: required(reason, "reason")? },
            other => return Err(D::Error::unknown_variant(other, &["snapshot", "event", "sessionEnd", "end"])),
        })
    }
}
