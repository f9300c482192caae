//! What the client knows about particular commands beyond their types.

use galley_protocol::socket::{Access, Command, RuntimeAdd, SessionNew, SessionSend, SessionWatch};
use std::any::Any;

/// The field by which Core carries a command out only once, if it has one.
pub(crate) fn client_request_id(command: &mut dyn Any) -> Option<&mut Option<String>> {
    if command.is::<SessionNew>() {
        return command.downcast_mut::<SessionNew>().map(|command| &mut command.client_request_id);
    }
    command.downcast_mut::<SessionSend>().map(|command| &mut command.client_request_id)
}

/// Whether carrying a command out twice is as good as once.
pub(crate) fn is_read<C: Command>() -> bool {
    C::ACCESS == Access::Read && C::NAME != RuntimeAdd::NAME
}

/// Whether the first frame of a stream comes at once, however quiet the session is.
pub(crate) fn is_acknowledged(command: &dyn Any) -> bool {
    command.downcast_ref::<SessionWatch>().is_none_or(|watch| watch.from.is_some())
}
