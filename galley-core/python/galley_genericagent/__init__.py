"""The bridge between Galley and GenericAgent (GA): a runner that drives a GA tree as it is.

Nothing of GA is copied or changed on disk. The bridge imports the tree it is given with GA's own
interpreter, replaces two names in GA's `agentmain` module (the loop function and the handler class) with
wrappers of its own, and supervises GA's worker thread. What a GA version can do is found by looking,
never by its version number.

| module | holds |
| --- | --- |
| `bridge` | the agent that `galley.runner` serves; everything else is used from there |
| `locate` | finding and importing GA, and why that fails; the tree's commit |
| `hooks` | the wrappers of GA's loop and tools |
| `ga_run` | one task in GA: what its hooks saw |
| `worker` | GA's worker thread, supervised |
| `gating` | which tools ask, and what a tool call would really run |
| `models` | GA's models: listing, choosing, usable or not |
| `history` | conversations in and out of GA's shapes |
| `images` | pictures for models that take them |
| `aside` | `/btw` questions |
| `failures` | what went wrong, from GA's reply text |
| `connections` | waking a request that waits for its model |
| `workspace`, `pet`, `tool_history` | the features of some GA trees |
"""
