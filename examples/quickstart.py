"""Galley, cell by cell: open it as a notebook, or run it as it stands."""

# %% An engine within this process, and a client of it
import tempfile

import galley

folder = tempfile.TemporaryDirectory()
core = galley.Core(f"{folder.name}/galley.db").start()
client = core.client()

# %% Run a task; the built-in agent is the shell
new = client.sessions.create("echo hello from galley", approval_mode="auto")
session = client.session(new.session.id)
print(session.wait(until_idle=True).answer)

# %% Everything it did, event by event
with session.watch(from_="start") as events:
    for event in events:
        match event:
            case galley.TurnProgress(delta=text):
                print(f"{event.index}: it says {text!r}")
            case galley.RunComplete():
                break
            case _:
                print(f"{event}"[:100])

# %% Find it again
for hit in client.sessions.search("hello"):
    print(hit.session_id, hit.snippet)

# %% The end
client.close()
core.shutdown()
folder.cleanup()
