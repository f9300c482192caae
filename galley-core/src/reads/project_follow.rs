//! `project.follow`: a snapshot of a project, then the events of all its sessions, merged.

use super::changes::Changes;
use super::follow::EventFrames;
use super::project;
use crate::cursor::{Cursor, Ready};
use crate::error::Error;
use crate::frame;
use crate::store::{ProjectMember, ReadStore};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::select_all;
use galley_protocol::socket::{EndReason, ProjectFollow, ProjectFrame, ProjectTranscripts, SCHEMA_VERSION, WaitPhase};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Between two looks at which sessions a project has.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The longest time between them: a runner that comes up without a commit is seen then.
const LOOK_AT_LEAST: Duration = Duration::from_secs(1);

/// How a project's follow comes to its sessions' logs.
#[async_trait]
pub trait SessionLogs: Send + Sync {
    /// A cursor over a session's log: when it is `wanted`, or when the session has a live runner.
    async fn cursor(&self, session_id: &str, wanted: bool) -> Option<Cursor>;
    /// Why nobody goes on with the sessions, when that is so.
    fn over(&self) -> Option<EndReason>;
}

/// A session of the project.
struct Member {
    /// The next event that was not told of it.
    next: u64,
    /// While it has a runner, or is about to have one.
    live: Option<Follower>,
    busy: bool,
    /// It left the project at this index of its log, for this reason.
    leaves: Option<(u64, EndReason)>,
}

struct Follower {
    cursor: Cursor,
    events: EventFrames,
}

/// Where the stream stands.
enum Phase {
    /// Goes on.
    Open,
    /// What there is up to now is told, then it ends.
    Draining(EndReason),
    /// The last frame is due.
    Ending(EndReason),
}

/// One follow of a project.
pub struct ProjectStream {
    store: Arc<dyn ReadStore>,
    logs: Box<dyn SessionLogs>,
    changes: Box<dyn Changes>,
    args: ProjectFollow,
    request_id: Option<String>,
    initial: Option<ProjectFrame>,
    members: BTreeMap<String, Member>,
    /// The newest session before the first snapshot, or seen since: later ones are told from their beginning.
    newest: i64,
    /// The session whose turn it was last.
    turn: String,
    /// When the members were looked at last.
    looked: Option<Instant>,
    /// Something was committed since.
    stale: bool,
    /// Some session had, or was about to have, a runner.
    any_live: bool,
    /// The sessions' Core is on its way out.
    core_ends: bool,
    phase: Phase,
}

impl ProjectStream {
    /// Takes the first snapshot. `changes` was created before, so that nothing falls between.
    ///
    /// # Errors
    /// [`Error::NotFound`], or what the store says.
    pub async fn start(
        store: Arc<dyn ReadStore>,
        args: ProjectFollow,
        request_id: Option<String>,
        logs: Box<dyn SessionLogs>,
        changes: Box<dyn Changes>,
    ) -> Result<Self, Error> {
        let newest = store.newest_session().await?;
        let found = store.project_transcripts(&args.project_id, args.tail, args.all.unwrap_or(false)).await?;
        let transcripts = found.ok_or_else(|| project::not_found(&args.project_id))?;
        let members = transcripts.sessions.iter().map(|one| {
            let member = Member { next: one.session.last_index.unwrap_or(0) + 1, live: None, busy: false, leaves: None };
            (one.session.id.clone(), member)
        });
        let members = members.collect();
        let initial = Some(snapshot(request_id.clone(), WaitPhase::Initial, transcripts));
        Ok(Self {
            store,
            logs,
            changes,
            args,
            request_id,
            initial,
            members,
            newest,
            turn: String::new(),
            looked: None,
            stale: true,
            any_live: false,
            core_ends: false,
            phase: Phase::Open,
        })
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
            if self.is_look_due()
                && let Err(reason) = self.look().await
            {
                self.phase = Phase::Ending(reason);
            }
            if let Phase::Ending(reason) = &self.phase {
                return (self.conclude(reason.clone()).await, true);
            }
            if let Some(out) = self.turn().await {
                return (out, false);
            }
            self.settle();
            if !matches!(self.phase, Phase::Ending(_)) {
                self.wait().await;
            }
        }
    }

    /// The last frame of a follow that its client cancels.
    pub fn cancel(&self) -> Vec<u8> {
        frame::line(&self.end(EndReason::Cancelled))
    }

    fn is_look_due(&self) -> bool {
        self.looked.is_none_or(|looked| looked.elapsed() >= if self.stale { LOOK_EVERY } else { LOOK_AT_LEAST })
    }

    /// Looks at which sessions the project has and which of them are at work.
    ///
    /// # Errors
    /// Why the stream ends at once.
    async fn look(&mut self) -> Result<(), EndReason> {
        self.looked = Some(Instant::now());
        self.stale = false;
        // Before the rows: what a Core commits last is seen before it is gone.
        let over = self.logs.over();
        let found = match self.store.project_sessions(&self.args.project_id).await {
            Ok(found) => found,
            // Busy passes.
            Err(Error::DbBusy(_)) => return Ok(()),
            Err(error) => return Err(unreadable(&error)),
        };
        let gone = found.is_none();
        let all = self.args.all.unwrap_or(false);
        let rows: BTreeMap<String, ProjectMember> = found.into_iter().flatten().map(|member| (member.id.clone(), member)).collect();
        for (id, member) in &mut self.members {
            member.leaves = match rows.get(id) {
                Some(row) if all || !row.archived => None,
                Some(row) => Some((row.last_index, EndReason::Archived)),
                None => match self.store.session(id).await.map_err(|error| unreadable(&error))? {
                    None => Some((0, EndReason::Deleted)),
                    Some(session) => Some((session.last_index.unwrap_or(0), EndReason::Moved)),
                },
            };
        }
        let newest = self.newest;
        for (id, row) in rows.into_iter().filter(|(_, row)| all || !row.archived) {
            // One that is new is told from its beginning, one that was moved here from now on.
            let joins_at = if row.key > newest { 1 } else { row.last_index + 1 };
            self.newest = self.newest.max(row.key);
            let member = self.members.entry(id.clone()).or_insert(Member { next: joins_at, live: None, busy: false, leaves: None });
            member.busy = row.busy;
            if member.live.is_none()
                && let Some(mut cursor) = self.logs.cursor(&id, row.busy || member.next <= row.last_index).await
            {
                cursor.move_to(member.next);
                self.any_live = true;
                member.live = Some(Follower { events: EventFrames::of(self.request_id.as_deref(), &id), cursor });
            }
        }
        // A Core that ends stops its sessions, which is not the end of their work.
        self.core_ends |= over == Some(EndReason::CoreShutdown);
        if let Phase::Open = self.phase {
            let at_work = self.members.values().any(|member| member.busy && member.leaves.is_none());
            let reason = match over {
                _ if gone => Some(EndReason::Deleted),
                _ if self.core_ends || !self.args.until_idle.unwrap_or(false) => None,
                _ if !at_work => Some(EndReason::ProjectIdle),
                over => over,
            };
            self.phase = reason.map_or(Phase::Open, Phase::Draining);
        }
        Ok(())
    }

    /// The frames of the next session that has some, each getting its turn.
    async fn turn(&mut self) -> Option<Vec<u8>> {
        let some = |(_, member): &(&String, &Member)| member.live.is_some() || member.leaves.is_some();
        let mut order: Vec<String> = self.members.iter().filter(some).map(|(id, _)| id.clone()).collect();
        let after = order.partition_point(|id| *id <= self.turn);
        order.rotate_left(after);
        for id in order {
            let Some(member) = self.members.get_mut(&id) else { continue };
            let mut out = Vec::new();
            let told = |last: u64| member.next > last || member.live.is_none();
            let mut end = member.leaves.as_ref().filter(|(last, _)| told(*last)).map(|(_, reason)| reason.clone());
            if end.is_none()
                && let Some(live) = &mut member.live
            {
                match live.cursor.ready().await {
                    Ready::Events(chunks) => {
                        live.events.write(&chunks, &mut out);
                        member.next = live.cursor.next_index();
                    }
                    Ready::Nothing => {}
                    Ready::Over(reason) => end = Some(member.leaves.as_ref().map_or(reason, |(_, reason)| reason.clone())),
                }
            }
            if let Some(reason) = end {
                member.live = None;
                if matches!(reason, EndReason::Archived | EndReason::Deleted | EndReason::Moved) {
                    self.members.remove(&id);
                }
                if reason == EndReason::CoreShutdown {
                    // It is the end of the stream, once all have told what there is.
                    self.core_ends = true;
                    continue;
                }
                frame::push(&mut out, &self.session_end(&id, reason));
            }
            if !out.is_empty() {
                self.turn = id;
                return Some(out);
            }
        }
        None
    }

    /// Everything there is has been told: whether that was all.
    fn settle(&mut self) {
        if let Phase::Draining(reason) = &self.phase {
            self.phase = Phase::Ending(reason.clone());
        } else if self.members.values().all(|member| member.live.is_none()) {
            let reason = match self.args.until_idle.unwrap_or(false) {
                _ if self.core_ends => EndReason::CoreShutdown,
                true => return,
                false if self.any_live => EndReason::AllLiveSessionsEnded,
                false => EndReason::NoLiveSessions,
            };
            self.phase = Phase::Ending(reason);
        }
    }

    /// Returns when there may be something to tell.
    async fn wait(&mut self) {
        let Self { changes, members, stale, looked, .. } = self;
        let news = members.values_mut().filter_map(|member| member.live.as_mut()).map(|live| live.cursor.changed().boxed());
        // One that never comes keeps the list from being empty.
        let news = select_all(news.chain([std::future::pending().boxed()]));
        let looked = looked.unwrap_or_else(Instant::now);
        tokio::select! {
            _ = news => {}
            () = changes.changed(), if !*stale => *stale = true,
            () = tokio::time::sleep_until(looked + if *stale { LOOK_EVERY } else { LOOK_AT_LEAST }) => {}
        }
    }

    async fn conclude(&self, reason: EndReason) -> Vec<u8> {
        let mut out = Vec::new();
        if self.args.final_show.unwrap_or(false) {
            match self.store.project_transcripts(&self.args.project_id, self.args.tail, self.args.all.unwrap_or(false)).await {
                Ok(Some(transcripts)) => frame::push(&mut out, &snapshot(self.request_id.clone(), WaitPhase::Final, transcripts)),
                // A deleted project has nothing to show.
                Ok(None) => {}
                Err(error) => tracing::warn!(project = self.args.project_id, %error, "a follow ends without its last snapshot"),
            }
        }
        frame::push(&mut out, &self.end(reason));
        out
    }

    fn session_end(&self, session_id: &str, reason: EndReason) -> ProjectFrame {
        ProjectFrame::SessionEnd { schema_version: SCHEMA_VERSION, request_id: self.request_id.clone(), session_id: session_id.to_owned(), reason }
    }

    fn end(&self, reason: EndReason) -> ProjectFrame {
        ProjectFrame::End { schema_version: SCHEMA_VERSION, request_id: self.request_id.clone(), reason }
    }
}

fn unreadable(error: &Error) -> EndReason {
    tracing::warn!(%error, "a follow ends because the database cannot be read");
    EndReason::CoreUnavailable
}

fn snapshot(request_id: Option<String>, phase: WaitPhase, project: ProjectTranscripts) -> ProjectFrame {
    ProjectFrame::Snapshot { request_id, phase, project: Box::new(project) }
}
