"""`python -m galley` is the `galley` command."""

from ._command import main

main()
