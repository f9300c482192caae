//! `galley approval`: what waits for a yes or a no.

use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand, ValueEnum};
use galley_client::protocol::ipc::Decision;
use galley_client::protocol::socket::{
    ApprovalList, ApprovalMode, ApprovalModeSet, ApprovalRespond, ApprovalRevoke, ApprovalRules, ApprovalStateFilter,
};

#[derive(Debug, Subcommand)]
pub enum ApprovalCommand {
    /// List approvals, oldest first
    #[command(after_help = "Example:\n  galley approval list")]
    List(ListArgs),
    /// Answer an approval; the first answer wins
    #[command(after_help = "Example:\n  galley approval respond appr_1 allow_once")]
    Respond(RespondArgs),
    /// List the rules that make approvals needless
    #[command(after_help = "Example:\n  galley approval rules --scope=global")]
    Rules {
        /// Only those of this scope: global, ungrouped, or a project's id
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
    },
    /// Take a rule back, in live runners too; print those that remain in its scope
    #[command(after_help = "Example:\n  galley approval revoke code_run --scope=global")]
    Revoke(RevokeArgs),
    /// Set how approvals are handled
    #[command(after_help = "Example:\n  galley approval mode auto --session=sess_1")]
    Mode(ModeArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Which ones [default: pending]
    #[arg(long, value_name = "STATE")]
    state: Option<State>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Pending,
    All,
}

#[derive(Debug, Args)]
pub struct RespondArgs {
    /// The approval's id, or the runner's id of it together with --session
    approval: String,
    /// The answer
    decision: Answer,
    /// The session, for a runner's id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Answer {
    /// Allow this call
    AllowOnce,
    /// Refuse this call
    Deny,
    /// Allow it, and the tool from now on in this project
    AlwaysAllowProject,
    /// Allow it, and the tool from now on everywhere
    AlwaysAllowGlobal,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The tool
    tool: String,
    /// The rule's scope: global, ungrouped, or a project's id
    #[arg(long, value_name = "SCOPE")]
    scope: String,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct ModeArgs {
    /// The mode
    mode: Mode,
    /// One session [default: the app default]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// Risky calls wait for an answer
    Ask,
    /// Calls run without asking
    Auto,
    /// As the app default says
    Default,
}

impl ApprovalCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List(args) => {
                let state = args.state.map(|state| match state {
                    State::Pending => ApprovalStateFilter::Pending,
                    State::All => ApprovalStateFilter::All,
                });
                output.rows(&engine.answer(ApprovalList { session_id: args.session, state }).await?.result)
            }
            Self::Respond(args) => {
                let decision = match args.decision {
                    Answer::AllowOnce => Decision::AllowOnce,
                    Answer::Deny => Decision::Deny,
                    Answer::AlwaysAllowProject => Decision::AlwaysAllowProject,
                    Answer::AlwaysAllowGlobal => Decision::AlwaysAllowGlobal,
                };
                let Audit { supervisor, reason } = args.audit;
                let respond = ApprovalRespond { id: args.approval, session_id: args.session, decision, supervisor, reason };
                output.line(&engine.answer(respond).await?.result)
            }
            Self::Rules { scope } => output.rows(&engine.answer(ApprovalRules { scope }).await?.result),
            Self::Revoke(RevokeArgs { tool, scope, audit: Audit { supervisor, reason } }) => {
                output.rows(&engine.answer(ApprovalRevoke { tool, scope, supervisor, reason }).await?.result)
            }
            Self::Mode(args) => {
                let mode = match args.mode {
                    Mode::Ask => ApprovalMode::Ask,
                    Mode::Auto => ApprovalMode::Auto,
                    Mode::Default => ApprovalMode::Default,
                };
                output.line(&engine.answer(ApprovalModeSet { session_id: args.session, mode }).await?.result)
            }
        }
    }
}
