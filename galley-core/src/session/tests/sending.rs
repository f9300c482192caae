//! Where a message goes.

use super::*;
use galley_protocol::socket::IfBusy;

#[test]
fn the_gate_is_reserved_before_the_runner_exists() {
    let mut session = Session::new();
    let first = session.send("a");
    assert!(matches!(session.state.gate, Gate::Reserved));
    assert_eq!(session.status(), SessionStatus::Connecting);
    assert!(session.state.is_busy());
    assert!(!session.replies.contains_key(&first), "the reply comes after the hand-over");
    let second = session.send("b");
    assert_eq!(session.dispatch(second), Dispatch::Queued);
    session.up();
    assert_eq!(session.dispatch(first), Dispatch::Dispatched);
    assert_eq!((session.state_of(first), session.state_of(second)), (MessageState::Dispatched, MessageState::Queued));
    assert_eq!(session.starts, [1], "one start for both");
}
