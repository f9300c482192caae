//! Streams, each over a connection of its own: one that is not drained delays nothing else, and
//! dropping it closes its connection.

mod feed;
mod frames;
mod reconnect;
mod typed;
mod wait;
mod watch;

pub use feed::{Feed, FeedItem, FeedOptions};
pub use frames::Frames;
pub use reconnect::Reconnect;
pub use typed::{Follow, FollowProject, TypedFrame, TypedFrames};
pub use wait::{Wait, WaitOutcome};
pub use watch::{Watch, WatchEvent, WatchItem, WatchOptions};

/// Gives a stream an inherent `next`, so that reading it needs no extension trait.
macro_rules! inherent_next {
    ($stream:ty, $item:ty) => {
        impl $stream {
            /// The next item; `None` after the last one. Nothing is lost when the future is dropped.
            pub async fn next(&mut self) -> Option<$item> {
                std::future::poll_fn(|context| futures::Stream::poll_next(std::pin::Pin::new(&mut *self), context)).await
            }
        }
    };
}

pub(crate) use inherent_next;
