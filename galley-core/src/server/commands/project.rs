//! `project.*`: the writes.

use crate::core::Inner;
use crate::error::Error;
use crate::reads::project;
use crate::session::Input;
use crate::store::{Change, ProjectRow, SessionStore};
use crate::time::Timestamp;
use galley_protocol::socket::{ProjectBrief, ProjectCreate, ProjectDelete, ProjectDeleted, ProjectResult, ProjectUpdate};
use std::path::Path;

impl Inner {
    pub(in crate::server) async fn project_create(&self, args: ProjectCreate) -> Result<ProjectResult, Error> {
        let row = ProjectRow {
            id: format!("proj_{}", &uuid::Uuid::new_v4().simple().to_string()[..16]),
            name: args.name,
            root_path: given(args.root_path),
            workspace_enabled: args.workspace_enabled.unwrap_or(false),
            icon: given(args.icon),
            color: given(args.color),
            pinned: false,
            at: Timestamp::now(),
        };
        self.put_project(row).await
    }

    pub(in crate::server) async fn project_update(&self, args: ProjectUpdate) -> Result<ProjectResult, Error> {
        let ProjectBrief { id, name, root_path, workspace_enabled, icon, color, pinned, .. } =
            project::find(self.store.as_ref(), &args.project_id).await?;
        // An empty text takes the old one away.
        let changed = |new: Option<String>, old: Option<String>| if new.is_some() { given(new) } else { old };
        let row = ProjectRow {
            id,
            name: args.name.unwrap_or(name),
            root_path: changed(args.root_path, root_path),
            workspace_enabled: args.workspace_enabled.unwrap_or(workspace_enabled),
            icon: changed(args.icon, icon),
            color: changed(args.color, color),
            pinned: args.pinned.unwrap_or(pinned),
            at: Timestamp::now(),
        };
        self.put_project(row).await
    }

    async fn put_project(&self, mut row: ProjectRow) -> Result<ProjectResult, Error> {
        row.name = row.name.trim().to_owned();
        if row.name.is_empty() {
            return Err(Error::invalid("name is blank; a project needs one"));
        }
        match &row.root_path {
            Some(root) if !Path::new(root).is_absolute() => return Err(Error::invalid(format!("rootPath {root:?} is not absolute"))),
            None if row.workspace_enabled => return Err(Error::invalid("workspaceEnabled needs a rootPath: the folder that is the workspace")),
            _ => {}
        }
        let id = row.id.clone();
        self.store.commit(vec![Change::PutProject(Box::new(row))]).await?;
        Ok(ProjectResult { project: project::find(self.store.as_ref(), &id).await? })
    }

    pub(in crate::server) async fn project_delete(&self, args: ProjectDelete) -> Result<ProjectDeleted, Error> {
        let id = project::find(self.store.as_ref(), &args.project_id).await?.id;
        let members = self.store.project_members(&id).await?;
        self.store.commit(vec![Change::DeleteProject { id: id.clone() }]).await?;
        // Live members have the project in memory, and their runners its rules.
        for session in self.sessions.live() {
            session.inform(Input::ProjectGone { project: id.clone() }).await;
        }
        Ok(ProjectDeleted { deleted: true, project_id: id, detached_sessions: members.len() as u64, detached_session_ids: members })
    }
}

/// What was given; blank is nothing.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
