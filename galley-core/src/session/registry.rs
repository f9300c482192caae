//! The sessions that have an actor. A session is taken up when somebody speaks to it and put away
//! when nothing has been in hand for a while.

use super::actor::{Actor, Host, SessionHandle};
use super::input::Limits;
use super::state::SessionState;
use crate::error::Error;
use crate::store::{SessionRow, SessionStore};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The live sessions of a Core.
pub struct Sessions {
    store: Arc<dyn SessionStore>,
    host: Weak<dyn Host>,
    limits: Limits,
    handle: Handle,
    live: Mutex<Live>,
    actors: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Live {
    sessions: HashMap<String, Arc<SessionHandle>>,
    /// Counts sessions put away: a row that was read before is not used after.
    put_away: u64,
    /// Core is on its way out: nothing is taken up any more.
    closed: bool,
}

impl Sessions {
    /// No live sessions yet.
    pub fn new(store: Arc<dyn SessionStore>, host: Weak<dyn Host>, limits: Limits, handle: Handle) -> Self {
        Self { store, host, limits, handle, live: Mutex::default(), actors: Mutex::default() }
    }

    /// The bounds every session has.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The session, taken up if need be.
    ///
    /// # Errors
    /// [`Error::NotFound`], or what the store says.
    pub async fn get(&self, id: &str) -> Result<Arc<SessionHandle>, Error> {
        loop {
            let seen = {
                let live = self.lock();
                if let Some(session) = live.sessions.get(id) {
                    return Ok(session.clone());
                }
                live.put_away
            };
            let snapshot = self.store.snapshot(id).await?.ok_or_else(|| not_found(id))?;
            let host = self.host()?;
            let mut live = self.lock();
            if let Some(session) = live.sessions.get(id) {
                return Ok(session.clone());
            }
            if live.put_away == seen {
                // Under the lock: whoever changes the default tells every session that is here.
                let state = SessionState::restore(snapshot, self.limits.clone(), host.default_mode());
                let (actor, session) = self.take_up(&mut live, state)?;
                self.spawn(actor);
                return Ok(session);
            }
        }
    }

    /// A session that does not exist yet.
    ///
    /// # Errors
    /// When Core is on its way out.
    pub fn create(&self, row: SessionRow) -> Result<Arc<SessionHandle>, Error> {
        let host = self.host()?;
        let mut live = self.lock();
        let state = SessionState::new(row, self.limits.clone(), host.default_mode());
        let (actor, session) = self.take_up(&mut live, state)?;
        drop(live);
        self.spawn(actor);
        Ok(session)
    }

    /// Brings what an earlier Core left in the middle of something to a truthful end.
    ///
    /// # Errors
    /// What the store says.
    pub async fn recover(&self) -> Result<(), Error> {
        for id in self.store.interrupted().await? {
            let Some(snapshot) = self.store.snapshot(&id).await? else { continue };
            let host = self.host()?;
            let state = SessionState::restore(snapshot, self.limits.clone(), host.default_mode());
            let (mut actor, _) = self.take_up(&mut self.lock(), state)?;
            actor.recover().await;
            self.spawn(actor);
        }
        Ok(())
    }

    /// The session if it is live; it is not taken up.
    pub fn peek(&self, id: &str) -> Option<Arc<SessionHandle>> {
        self.lock().sessions.get(id).cloned()
    }

    /// All live sessions.
    pub fn live(&self) -> Vec<Arc<SessionHandle>> {
        self.lock().sessions.values().cloned().collect()
    }

    /// All live sessions, and none after them.
    pub fn close(&self) -> Vec<Arc<SessionHandle>> {
        self.lock().closed = true;
        self.live()
    }

    /// Lets go of all sessions and waits until their actors have ended. One that still cannot write
    /// after `patience` is given up; the next Core finds its session interrupted.
    pub async fn finish(&self, patience: Duration) {
        self.lock().sessions.clear();
        let mut actors = std::mem::take(&mut *self.actors.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while actors.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, all).await.is_err() {
            tracing::warn!(sessions = actors.len(), "the database cannot be written; the last of these sessions is not stored");
            actors.shutdown().await;
        }
    }

    /// Takes a session out unless somebody holds a door to it.
    pub fn put_away(&self, id: &str) -> bool {
        let mut live = self.lock();
        // The registry's own door is one.
        let unused =
            live.sessions.get(id).is_none_or(|session| Arc::strong_count(session) == 1 && !session.has_calls() && session.log.readers() == 0);
        if unused {
            live.sessions.remove(id);
            live.put_away += 1;
        }
        unused
    }

    /// Takes a session out that was deleted.
    pub fn remove(&self, id: &str) {
        let mut live = self.lock();
        live.sessions.remove(id);
        live.put_away += 1;
    }

    fn spawn(&self, actor: Actor) {
        let mut actors = self.actors.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that ended by themselves are forgotten.
        while actors.try_join_next().is_some() {}
        actors.spawn_on(actor.run(), &self.handle);
    }

    fn take_up(&self, live: &mut Live, state: SessionState) -> Result<(Actor, Arc<SessionHandle>), Error> {
        if live.closed {
            return Err(Error::DbUnavailable("this Galley Core is shutting down".to_owned()));
        }
        let (actor, session) = Actor::new(state, self.store.clone(), self.host.clone());
        let session = Arc::new(session);
        live.sessions.insert(session.id.clone(), session.clone());
        Ok((actor, session))
    }

    fn host(&self) -> Result<Arc<dyn Host>, Error> {
        self.host.upgrade().ok_or_else(|| Error::DbUnavailable("this Galley Core has ended".to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There is no such session.
pub fn not_found(id: &str) -> Error {
    Error::NotFound(format!("session {id} not found"))
}
