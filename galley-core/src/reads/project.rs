//! `project.list`, `project.brief`, `project.show`.

use super::ReadContext;
use crate::error::Error;
use crate::store::ReadStore;
use galley_protocol::socket::{ProjectBrief, ProjectBriefGet, ProjectList, ProjectOverview, ProjectShow, ProjectTranscripts};

pub(super) async fn list(context: &dyn ReadContext, _: ProjectList) -> Result<Vec<ProjectBrief>, Error> {
    context.store().projects().await
}

pub(super) async fn brief(context: &dyn ReadContext, args: ProjectBriefGet) -> Result<ProjectOverview, Error> {
    context.store().project_overview(&args.project_id).await?.ok_or_else(|| not_found(&args.project_id))
}

pub(super) async fn show(context: &dyn ReadContext, args: ProjectShow) -> Result<ProjectTranscripts, Error> {
    let shown = context.store().project_transcripts(&args.project_id, args.tail, args.all.unwrap_or(false)).await?;
    shown.ok_or_else(|| not_found(&args.project_id))
}

/// The project, or `not_found`.
pub async fn find(store: &dyn ReadStore, id: &str) -> Result<ProjectBrief, Error> {
    store.project(id).await?.ok_or_else(|| not_found(id))
}

/// There is no such project.
pub fn not_found(id: &str) -> Error {
    Error::NotFound(format!("project {id} not found"))
}
