//! Performing the effects of a batch, once it is committed.

use super::Actor;
use crate::error::Error;
use crate::runner::Delivery;
use crate::session::input::{Delivered, Input};
use crate::session::output::{Effect, Order, Purpose};
use crate::store::SessionStore;
use futures::FutureExt;
use galley_protocol::ipc::{Command, LoadHistory, SetApprovalRules};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

impl Actor {
    pub(super) async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::StartRunner { generation, llm_no, project } => {
                let host = self.host.clone();
                let (id, runtime, cwd) = (self.state.id().to_owned(), self.state.runtime().to_owned(), self.state.cwd().map(ToOwned::to_owned));
                self.starting = Some(
                    async move {
                        let result = match host.upgrade() {
                            Some(host) => host.start_runner(&id, &runtime, llm_no, cwd.as_deref(), project.as_deref()).await,
                            None => Err(Error::DbUnavailable("this Galley Core has ended".to_owned())),
                        };
                        (generation, result)
                    }
                    .boxed(),
                );
            }
            Effect::Tell { generation, order } => self.tell(generation, order).await,
            Effect::KillRunner { generation } => {
                if let Some(live) = self.runner.as_ref().filter(|live| live.generation == generation) {
                    live.runner.control.kill();
                }
            }
            // Performed before the commit, so that a run's end and its outcome are one.
            Effect::CollectPartial { .. } => {}
            Effect::Reply { to, result } => {
                if let Some(reply) = self.replies.remove(&to) {
                    // A caller that has gone away needs no answer.
                    let _ = reply.send(result);
                }
            }
            Effect::SetTimer { timer, after } => {
                self.timers.insert(timer, Instant::now() + after);
            }
            Effect::ClearTimer(timer) => {
                self.timers.remove(&timer);
            }
            Effect::RunnerUp { generation } => self.log.runner_up(generation),
            Effect::RunnerDown { generation, reason } => self.log.runner_down(generation, reason),
            Effect::CloseStreams { reason } => self.log.close(reason),
            Effect::Forget => {
                if let Some(host) = self.host.upgrade() {
                    host.forget(self.state.id()).await;
                }
            }
            Effect::RulesChanged { scope } => {
                if let Some(host) = self.host.upgrade() {
                    host.rules_changed(&scope);
                }
            }
        }
    }

    async fn tell(&mut self, generation: u64, order: Order) {
        let (command, purpose) = match order {
            Order::Command { command, purpose } => (Ok(Some(command)), purpose),
            Order::Rules { scope } => (rules(self.store.clone(), &scope).await.map(Some), Purpose::None),
            Order::History { exclude, replaces } => {
                (history(self.store.clone(), self.state.id(), exclude.as_deref(), replaces).await, Purpose::History)
            }
        };
        let command = match command {
            Ok(Some(command)) => command,
            Ok(None) => return self.report(generation, purpose, Delivered::Nothing),
            Err(error) => {
                tracing::warn!(session = self.state.id(), %error, "could not read what the runner is to be told");
                return self.report(generation, purpose, Delivered::No);
            }
        };
        let (done, delivered) = oneshot::channel();
        let taken = self
            .runner
            .as_ref()
            .filter(|live| live.generation == generation)
            .is_some_and(|live| live.runner.commands.try_send(Delivery { command, done }).is_ok());
        if !taken {
            return self.report(generation, purpose, Delivered::No);
        }
        if purpose != Purpose::None {
            self.deliveries.push(
                async move {
                    let outcome = if matches!(delivered.await, Ok(Ok(()))) { Delivered::Yes } else { Delivered::No };
                    Input::Delivered { generation, purpose, outcome }
                }
                .boxed(),
            );
        }
    }

    fn report(&self, generation: u64, purpose: Purpose, outcome: Delivered) {
        self.deliveries.push(async move { Input::Delivered { generation, purpose, outcome } }.boxed());
    }
}

async fn rules(store: Arc<dyn SessionStore>, scope: &str) -> Result<Command, Error> {
    let tools = |rules: Vec<crate::store::Rule>| rules.into_iter().map(|rule| rule.tool).collect();
    Ok(Command::SetApprovalRules(SetApprovalRules {
        always_allow_global: tools(store.rules("global").await?),
        always_allow_project: tools(store.rules(scope).await?),
    }))
}

async fn history(store: Arc<dyn SessionStore>, session_id: &str, exclude: Option<&str>, replaces: bool) -> Result<Option<Command>, Error> {
    let messages = store.history(session_id, exclude).await?;
    Ok((replaces || !messages.is_empty()).then_some(Command::LoadHistory(LoadHistory { messages })))
}
