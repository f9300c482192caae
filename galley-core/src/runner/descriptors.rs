//! What a host that forks without executing another program (Python's `os.fork`) must let go of in
//! the child.
//!
//! The child shares every descriptor with its parent. As long as it holds the writing end of a pipe
//! to a runner or to the guard, nobody sees that the parent is gone, and what it writes there is
//! mixed into the parent's words. So every descriptor of that kind is listed here while it is open,
//! and [`Descriptors::release_in_child`] points all of them to nothing. They stay open: their
//! owners, which exist in the child too, may still close them without closing a stranger's.
//!
//! The list is read without a lock: at the moment of the fork another thread, which does not exist
//! in the child, may have held any.

#[cfg(unix)]
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicI32, Ordering},
};

/// The open descriptors of one Core, and the process they belong to.
#[derive(Debug, Clone)]
pub(crate) struct Descriptors {
    /// The process that made them.
    process: u32,
    #[cfg(unix)]
    first: Arc<Block>,
}

/// Keeps a descriptor listed. Declare it before the descriptor's owner, so that it is dropped first.
#[derive(Debug)]
pub(crate) struct Listed {
    #[cfg(unix)]
    slot: (Arc<Block>, usize, usize),
}

impl Descriptors {
    pub(crate) fn new() -> Self {
        Self {
            process: std::process::id(),
            #[cfg(unix)]
            first: Arc::default(),
        }
    }

    /// Whether this is still the process they belong to, and not a fork of it. Whoever signals,
    /// kills or writes asks first.
    pub(crate) fn are_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Lists a descriptor until the result is dropped.
    #[cfg(unix)]
    pub(crate) fn list(&self, descriptor: &impl std::os::fd::AsRawFd) -> Listed {
        let (block, slot) = self.first.take(descriptor.as_raw_fd(), 0);
        Listed { slot: (Arc::clone(&self.first), block, slot) }
    }

    /// Lets go of all of them, in the child of a fork; does nothing anywhere else.
    pub(crate) fn release_in_child(&self) {
        if self.are_ours() {
            return;
        }
        #[cfg(unix)]
        if let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") {
            self.first.for_each(&|descriptor| point(descriptor, &nothing));
        }
    }
}

#[cfg(unix)]
impl Drop for Listed {
    fn drop(&mut self) {
        let (first, block, slot) = &self.slot;
        first.set(*block, *slot);
    }
}

/// Makes `descriptor` another name of `target`.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a descriptor known by number only cannot be replaced otherwise")]
fn point(descriptor: i32, target: &std::fs::File) {
    use std::mem::ManuallyDrop;
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: a listed descriptor is open and its owner keeps it open; it is replaced in one step
    // and never closed here, because `ManuallyDrop` hands it back to that owner.
    let mut descriptor = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(descriptor) });
    // Failing leaves it as it was; there is nobody to tell in a forked child.
    let _ = rustix::io::dup2(target, &mut descriptor);
}

#[cfg(unix)]
const FREE: i32 = -1;

/// A piece of the list. Blocks are only ever added.
#[cfg(unix)]
#[derive(Debug)]
struct Block {
    slots: [AtomicI32; 64],
    next: OnceLock<Box<Block>>,
}

#[cfg(unix)]
impl Default for Block {
    fn default() -> Self {
        Self { slots: [const { AtomicI32::new(FREE) }; 64], next: OnceLock::new() }
    }
}

#[cfg(unix)]
impl Block {
    /// Puts `descriptor` into the first free slot; returns the block's and the slot's position.
    fn take(&self, descriptor: i32, position: usize) -> (usize, usize) {
        let take = |slot: &AtomicI32| slot.compare_exchange(FREE, descriptor, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        match self.slots.iter().position(take) {
            Some(slot) => (position, slot),
            None => self.next.get_or_init(Box::default).take(descriptor, position + 1),
        }
    }

    fn set(&self, block: usize, slot: usize) {
        if block == 0 {
            self.slots[slot].store(FREE, Ordering::Release);
        } else if let Some(next) = self.next.get() {
            next.set(block - 1, slot);
        }
    }

    fn for_each(&self, act: &dyn Fn(i32)) {
        self.slots.iter().map(|slot| slot.load(Ordering::Acquire)).filter(|slot| *slot != FREE).for_each(act);
        if let Some(next) = self.next.get() {
            next.for_each(act);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn listed(descriptors: &Descriptors) -> Vec<i32> {
        let all = RefCell::new(Vec::new());
        descriptors.first.for_each(&|descriptor| all.borrow_mut().push(descriptor));
        all.into_inner()
    }

    #[test]
    fn slots_are_used_again_and_never_run_out() {
        let descriptors = Descriptors::new();
        let mut kept: Vec<_> = (0..200).map(|number| descriptors.list(&number)).collect();
        assert_eq!(listed(&descriptors), (0..200).collect::<Vec<_>>());
        drop(kept.remove(150));
        drop(kept.remove(3));
        let _again = [descriptors.list(&500), descriptors.list(&501)];
        let now = listed(&descriptors);
        assert_eq!((now.len(), now[3], now[150]), (200, 500, 501));
        drop(kept);
        assert_eq!(listed(&descriptors), [500, 501]);
    }
}
