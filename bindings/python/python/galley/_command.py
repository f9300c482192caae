"""The `galley` command."""

import signal
import sys


def main() -> None:
    """Runs the command line, as the program of that name does."""
    from ._native import main as run

    # The command handles signals itself; Python would only note them, and wait.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(run(["galley", *sys.argv[1:]]))
