"""Stand-in for GenericAgent's workspaces."""

import os


def prepare(path):
    if not os.path.isdir(path):
        return {"ok": False, "error": "not a folder"}
    name = os.path.basename(path)
    return {"ok": True, "name": name, "link": None, "target": path, "mem_text": "", "warning": None, "error": None}
