# Generated from schema/galley-v1.json by `cargo xtask generate`.
"""What each command takes: the name on the wire, the name in Python, and its types."""

from collections.abc import Mapping

ARGUMENTS: dict[str, dict[str, tuple[str, tuple[type, ...]]]] = {
    "approval.list": {
        "sessionId": ("session_id", (str,)),
        "state": ("state", (str,)),
    },
    "approval.mode": {
        "mode": ("mode", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "approval.respond": {
        "decision": ("decision", (str,)),
        "id": ("id", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "approval.revoke": {
        "reason": ("reason", (str,)),
        "scope": ("scope", (str,)),
        "supervisor": ("supervisor", (str,)),
        "tool": ("tool", (str,)),
    },
    "approval.rules": {
        "scope": ("scope", (str,)),
    },
    "core.info": {
    },
    "core.shutdown": {
    },
    "health": {
    },
    "llm.list": {
        "runtime": ("runtime", (str,)),
    },
    "llm.set": {
        "llm": ("llm", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "ping": {
    },
    "project.brief": {
        "projectId": ("project_id", (str,)),
    },
    "project.create": {
        "color": ("color", (str,)),
        "icon": ("icon", (str,)),
        "name": ("name", (str,)),
        "reason": ("reason", (str,)),
        "rootPath": ("root_path", (str,)),
        "supervisor": ("supervisor", (str,)),
        "workspaceEnabled": ("workspace_enabled", (bool,)),
    },
    "project.delete": {
        "projectId": ("project_id", (str,)),
        "reason": ("reason", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "project.follow": {
        "all": ("all", (bool,)),
        "finalShow": ("final_show", (bool,)),
        "projectId": ("project_id", (str,)),
        "tail": ("tail", (int,)),
        "untilIdle": ("until_idle", (bool,)),
    },
    "project.list": {
    },
    "project.show": {
        "all": ("all", (bool,)),
        "projectId": ("project_id", (str,)),
        "tail": ("tail", (int,)),
    },
    "project.update": {
        "color": ("color", (str,)),
        "icon": ("icon", (str,)),
        "name": ("name", (str,)),
        "pinned": ("pinned", (bool,)),
        "projectId": ("project_id", (str,)),
        "reason": ("reason", (str,)),
        "rootPath": ("root_path", (str,)),
        "supervisor": ("supervisor", (str,)),
        "workspaceEnabled": ("workspace_enabled", (bool,)),
    },
    "runtime.add": {
        "backend": ("backend", (str,)),
        "check": ("check", (bool,)),
        "command": ("command", (str,)),
        "env": ("env", (str,)),
        "gaPath": ("ga_path", (str,)),
        "keyFile": ("key_file", (str,)),
        "name": ("name", (str,)),
        "python": ("python", (str,)),
        "replace": ("replace", (bool,)),
    },
    "runtime.check": {
        "name": ("name", (str,)),
    },
    "runtime.install": {
        "model": ("model", (str,)),
        "name": ("name", (str,)),
        "python": ("python", (str,)),
    },
    "runtime.list": {
    },
    "runtime.remove": {
        "name": ("name", (str,)),
    },
    "runtime.show": {
        "name": ("name", (str,)),
    },
    "runtime.use": {
        "name": ("name", (str,)),
    },
    "session.archive": {
        "ifBusy": ("if_busy", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.brief": {
        "sessionId": ("session_id", (str,)),
    },
    "session.btw": {
        "question": ("question", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.command": {
        "command": ("command", (Mapping,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.delete": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.export": {
        "format": ("format", (str,)),
        "sessionId": ("session_id", (str,)),
    },
    "session.follow": {
        "sessionId": ("session_id", (str,)),
        "tail": ("tail", (int,)),
    },
    "session.kill": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.move": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
        "to": ("to", (str,)),
    },
    "session.new": {
        "approvalMode": ("approval_mode", (str,)),
        "clientRequestId": ("client_request_id", (str,)),
        "cwd": ("cwd", (str,)),
        "llm": ("llm", (str,)),
        "projectId": ("project_id", (str,)),
        "reason": ("reason", (str,)),
        "runtime": ("runtime", (str,)),
        "supervisor": ("supervisor", (str,)),
        "task": ("task", (str,)),
        "title": ("title", (str,)),
    },
    "session.pin": {
        "pinned": ("pinned", (bool,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.queue": {
        "sessionId": ("session_id", (str,)),
    },
    "session.queue_edit": {
        "action": ("action", (str,)),
        "content": ("content", (str,)),
        "messageId": ("message_id", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.read": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.rename": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
        "title": ("title", (str,)),
    },
    "session.restore": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.resume": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.retry": {
        "messageId": ("message_id", (str,)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.send": {
        "clientRequestId": ("client_request_id", (str,)),
        "content": ("content", (str,)),
        "ifBusy": ("if_busy", (str,)),
        "images": ("images", (list, tuple)),
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "spawn": ("spawn", (bool,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.show": {
        "before": ("before", (str,)),
        "internal": ("internal", (bool,)),
        "limit": ("limit", (int,)),
        "sessionId": ("session_id", (str,)),
        "tail": ("tail", (int,)),
    },
    "session.state": {
        "sessionId": ("session_id", (str,)),
    },
    "session.stop": {
        "reason": ("reason", (str,)),
        "sessionId": ("session_id", (str,)),
        "supervisor": ("supervisor", (str,)),
    },
    "session.wait": {
        "afterTurn": ("after_turn", (int,)),
        "finalShow": ("final_show", (bool,)),
        "messageId": ("message_id", (str,)),
        "poll": ("poll", (int, float)),
        "sessionId": ("session_id", (str,)),
        "tail": ("tail", (int,)),
        "timeout": ("timeout", (int, float)),
        "untilIdle": ("until_idle", (bool,)),
    },
    "session.watch": {
        "from": ("from_", (int, str)),
        "sessionId": ("session_id", (str,)),
        "stay": ("stay", (bool,)),
    },
    "sessions.list": {
        "archived": ("archived", (str,)),
        "cursor": ("cursor", (str,)),
        "limit": ("limit", (int,)),
        "projectId": ("project_id", (str,)),
        "runtime": ("runtime", (str,)),
        "status": ("status", (str,)),
    },
    "sessions.search": {
        "all": ("all", (bool,)),
        "limit": ("limit", (int,)),
        "projectId": ("project_id", (str,)),
        "query": ("query", (str,)),
        "runtime": ("runtime", (str,)),
        "sessionId": ("session_id", (str,)),
    },
    "sessions.watch": {
        "sinceRevision": ("since_revision", (int,)),
    },
    "status": {
    },
    "stream.cancel": {
        "requestId": ("request_id", (str,)),
    },
    "version": {
    },
}
