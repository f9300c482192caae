//! `galley project`: sessions that belong together.

use super::stream;
use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand};
use galley_client::protocol::socket::{ProjectBriefGet, ProjectCreate, ProjectDelete, ProjectFollow, ProjectList, ProjectShow, ProjectUpdate};
use std::path::Path;

#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Create a project
    #[command(after_help = "Example:\n  galley project create \"Billing\" --root-path=/home/mira/billing --enable-workspace")]
    Create(CreateArgs),
    /// List projects: pinned first, then the latest first
    #[command(after_help = "Example:\n  galley project list")]
    List,
    /// Print how a project stands
    #[command(after_help = "Example:\n  galley project brief proj_1")]
    Brief(One),
    /// Print how a project stands, and the conversations in it
    #[command(after_help = "Example:\n  galley project show proj_1 --tail=5")]
    Show(ShowArgs),
    /// Stream what happens in a project
    #[command(after_help = "Example:\n  galley project follow proj_1 --until-idle --final-show")]
    Follow(FollowArgs),
    /// Change a project; an empty text takes the old one away
    #[command(after_help = "Example:\n  galley project update proj_1 --name=\"Invoices\" --pinned=true")]
    Update(UpdateArgs),
    /// Delete a project; its sessions stay, ungrouped
    #[command(after_help = "Example:\n  galley project delete proj_1")]
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Its name
    name: String,
    /// Its folder
    #[arg(long, value_name = "DIRECTORY")]
    root_path: Option<String>,
    /// Give the folder to runners as their workspace
    #[arg(long)]
    enable_workspace: bool,
    /// A picture
    #[arg(long, value_name = "ICON")]
    icon: Option<String>,
    /// A colour
    #[arg(long, value_name = "COLOR")]
    color: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct One {
    /// The project's id
    id: String,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The project's id
    id: String,
    /// Only the last N messages of each session
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Archived sessions too
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub struct FollowArgs {
    #[command(flatten)]
    show: ShowArgs,
    /// End once no session is busy
    #[arg(long)]
    until_idle: bool,
    /// Print a second snapshot before the end
    #[arg(long)]
    final_show: bool,
}

#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The project's id
    id: String,
    /// Its name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Its folder
    #[arg(long, value_name = "DIRECTORY")]
    root_path: Option<String>,
    /// Whether runners get the folder as their workspace
    #[arg(long, value_name = "BOOL")]
    workspace_enabled: Option<bool>,
    /// A picture
    #[arg(long, value_name = "ICON")]
    icon: Option<String>,
    /// A colour
    #[arg(long, value_name = "COLOR")]
    color: Option<String>,
    /// Whether it sorts first
    #[arg(long, value_name = "BOOL")]
    pinned: Option<bool>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The project's id
    id: String,
    #[command(flatten)]
    audit: Audit,
}

impl ProjectCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let answer = match self {
            Self::Create(args) => engine.answer(args.command()).await?,
            Self::List => return output.rows(&engine.answer(ProjectList {}).await?.result),
            Self::Brief(One { id }) => engine.answer(ProjectBriefGet { project_id: id }).await?,
            Self::Show(ShowArgs { id, tail, all }) => engine.answer(ProjectShow { project_id: id, tail, all: all.then_some(true) }).await?,
            Self::Follow(args) => return stream::follow(args.command(), engine, output).await,
            Self::Update(args) => engine.answer(args.command()).await?,
            Self::Delete(DeleteArgs { id, audit: Audit { supervisor, reason } }) => {
                engine.answer(ProjectDelete { project_id: id, supervisor, reason }).await?
            }
        };
        output.line(&answer.result)
    }
}

impl CreateArgs {
    fn command(self) -> ProjectCreate {
        let Audit { supervisor, reason } = self.audit;
        ProjectCreate {
            name: self.name,
            root_path: self.root_path.map(from_here),
            workspace_enabled: self.enable_workspace.then_some(true),
            icon: self.icon,
            color: self.color,
            supervisor,
            reason,
        }
    }
}

impl FollowArgs {
    fn command(self) -> ProjectFollow {
        ProjectFollow {
            project_id: self.show.id,
            tail: self.show.tail,
            all: self.show.all.then_some(true),
            until_idle: self.until_idle.then_some(true),
            final_show: self.final_show.then_some(true),
        }
    }
}

impl UpdateArgs {
    fn command(self) -> ProjectUpdate {
        let Audit { supervisor, reason } = self.audit;
        ProjectUpdate {
            project_id: self.id,
            name: self.name,
            root_path: self.root_path.map(from_here),
            workspace_enabled: self.workspace_enabled,
            icon: self.icon,
            color: self.color,
            pinned: self.pinned,
            supervisor,
            reason,
        }
    }
}

/// A folder seen from where the person types; an empty text stays one.
fn from_here(path: String) -> String {
    match std::path::absolute(Path::new(&path)) {
        Ok(absolute) if !path.is_empty() => absolute.to_string_lossy().into_owned(),
        _ => path,
    }
}
