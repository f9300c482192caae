"""Entry point: `python <tree>/galley_genericagent/__main__.py --ga-path ... --session-id ...`.

Everything that an interpreter before 3.10 cannot read is imported after its version was looked at.
"""

import json
import os
import sys

_OLD_PYTHON = 7


def _refuse_old_python() -> None:
    if sys.version_info >= (3, 10):
        return
    message = "the bridge needs Python 3.10 or later; %s is %s" % (sys.executable, sys.version.split()[0])
    event = {
        "kind": "error",
        "message": message,
        "category": "bridge",
        "severity": "error",
        "retryable": False,
        "context": "startup",
        "cause": "python_too_old",
    }
    print(json.dumps(event), flush=True)
    print("python_too_old: " + message, file=sys.stderr, flush=True)
    sys.exit(_OLD_PYTHON)


if __name__ == "__main__":
    _refuse_old_python()
    here = os.path.dirname(os.path.abspath(__file__))
    # The tree goes last, so that it hides nothing of GA; this folder, with its common names, not at all.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.path.append(os.path.dirname(here))

    from galley_genericagent.bridge import main

    main()
