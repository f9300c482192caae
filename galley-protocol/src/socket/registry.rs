//! Every command of the Agent API, once: its arguments, name, needs and answer.

use super::*;

/// Calls a macro with the whole Agent API, so that whoever needs something for every command
/// (a dispatcher, the schema, a test) gets it from the one list.
///
/// The macro receives `replies { Args = "name", Access -> Output; … }`, the commands with one
/// reply, and `streams { Args = "name", Access -> Frame; … }`, those answered by frames. The types
/// are those of [`socket`](crate::socket); they must be in scope where it is called. A reply may be
/// followed by `, once by field`: the field takes an id that makes the command safe to send again;
/// a stream by `, acknowledged by field`: without it no frame comes before the first event.
///
/// ```
/// use galley_protocol::socket::*;
///
/// macro_rules! names {
///     (replies { $($args:ident = $name:literal, $access:ident -> $output:ty $(, once by $id:ident)?;)+ } streams { $($rest:tt)+ }) => {
///         [$(<$args as Command>::NAME),+]
///     };
/// }
/// assert!(galley_protocol::for_each_command!(names).contains(&"session.send"));
/// ```
#[macro_export]
macro_rules! for_each_command {
    ($callback:ident) => {
        $callback! {
            replies {
                Ping = "ping", Read -> Pong;
                VersionGet = "version", Read -> Version;
                StatusGet = "status", Read -> StatusSummary;
                HealthGet = "health", Read -> HealthReport;
                SessionsList = "sessions.list", Read -> Vec<SessionBrief>;
                SessionsSearch = "sessions.search", Read -> Vec<SearchHit>;
                SessionBriefGet = "session.brief", Read -> SessionBrief;
                SessionShow = "session.show", Read -> Vec<MessageBrief>;
                SessionStateGet = "session.state", Core -> SessionState;
                SessionNew = "session.new", Core -> NewSession, once by client_request_id;
                SessionSend = "session.send", Core -> Submitted, once by client_request_id;
                SessionBtw = "session.btw", Core -> DispatchResult;
                SessionStop = "session.stop", Core -> StopResult;
                SessionArchive = "session.archive", Core -> SessionResult;
                SessionRestore = "session.restore", Core -> SessionResult;
                SessionMove = "session.move", Core -> SessionResult;
                SessionKill = "session.kill", Core -> KillResult;
                SessionResume = "session.resume", Core -> Resumed;
                SessionRename = "session.rename", Core -> SessionResult;
                SessionPin = "session.pin", Core -> SessionResult;
                SessionRead = "session.read", Core -> SessionResult;
                SessionDelete = "session.delete", Core -> SessionDeleted;
                SessionQueue = "session.queue", Read -> Vec<QueueItem>;
                SessionQueueEdit = "session.queue_edit", Core -> Vec<QueueItem>;
                SessionRetry = "session.retry", Core -> Submitted;
                SessionExport = "session.export", Read -> Exported;
                SessionCommand = "session.command", Core -> DispatchResult;
                ApprovalList = "approval.list", Read -> Vec<Approval>;
                ApprovalRespond = "approval.respond", Core -> ApprovalRespondResult;
                ApprovalRules = "approval.rules", Read -> Vec<Rule>;
                ApprovalRevoke = "approval.revoke", Core -> Vec<Rule>;
                ApprovalModeSet = "approval.mode", Core -> ApprovalModeResult;
                LlmList = "llm.list", Read -> Vec<LlmRow>;
                LlmSet = "llm.set", Core -> LlmSetResult;
                ProjectCreate = "project.create", Core -> ProjectResult;
                ProjectUpdate = "project.update", Core -> ProjectResult;
                ProjectList = "project.list", Read -> Vec<ProjectBrief>;
                ProjectBriefGet = "project.brief", Read -> ProjectOverview;
                ProjectShow = "project.show", Read -> ProjectTranscripts;
                ProjectDelete = "project.delete", Core -> ProjectDeleted;
                RuntimeList = "runtime.list", Read -> Vec<RuntimeBrief>;
                RuntimeShow = "runtime.show", Read -> RuntimeBrief;
                RuntimeAdd = "runtime.add", Config -> RuntimeBrief;
                RuntimeRemove = "runtime.remove", Config -> RuntimeRemoved;
                RuntimeUse = "runtime.use", Config -> RuntimeBrief;
                RuntimeCheck = "runtime.check", Config -> RuntimeCheckResult;
                CoreInfoGet = "core.info", Core -> CoreInfo;
                CoreShutdown = "core.shutdown", Core -> CoreShutdownResult;
                StreamCancel = "stream.cancel", Core -> StreamCancelled;
            }
            streams {
                SessionWatch = "session.watch", Core -> StreamFrame, acknowledged by from;
                SessionWait = "session.wait", Read -> WaitFrame;
                SessionFollow = "session.follow", Read -> FollowFrame;
                SessionsWatch = "sessions.watch", Core -> FeedFrame;
                ProjectFollow = "project.follow", Read -> ProjectFrame;
                RuntimeInstall = "runtime.install", Config -> InstallFrame;
            }
        }
    };
}

/// Ties each argument type to its name, needs and answer, and lists them.
macro_rules! implement {
    (
        replies { $($args:ident = $name:literal, $access:ident -> $output:ty $(, once by $id:ident)?;)+ }
        streams { $($stream_args:ident = $stream_name:literal, $stream_access:ident -> $frame:ty $(, acknowledged by $from:ident)?;)+ }
    ) => {
        $(impl Command for $args {
            const NAME: &'static str = $name;
            const ACCESS: Access = Access::$access;
            type Output = $output;

            $(fn client_request_id(&mut self) -> Option<&mut Option<String>> {
                Some(&mut self.$id)
            })?
        })+

        $(impl StreamCommand for $stream_args {
            const NAME: &'static str = $stream_name;
            const ACCESS: Access = Access::$stream_access;
            type Frame = $frame;

            $(fn is_acknowledged(&self) -> bool {
                self.$from.is_some()
            })?
        })+

        /// Every command of this version.
        pub const COMMANDS: &[CommandInfo] = &[
            $(CommandInfo { name: $name, access: Access::$access, streams: false, once: !(&[$(stringify!($id))?] as &[&str]).is_empty() },)+
            $(CommandInfo { name: $stream_name, access: Access::$stream_access, streams: true, once: false },)+
        ];
    };
}

for_each_command!(implement);

/// What there is to know about a command without its types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandInfo {
    /// The name on the wire.
    pub name: &'static str,
    /// What it needs.
    pub access: Access,
    /// Whether it is answered by a stream of frames.
    pub streams: bool,
    /// Whether it takes a `clientRequestId`, by which it is carried out once even if sent twice.
    pub once: bool,
}
