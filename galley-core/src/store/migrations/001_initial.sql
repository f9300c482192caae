-- Times are milliseconds since the epoch, UTC. Words (status, state, role, ...) and JSON are stored
-- as they are on the wire, so that a word of a newer Galley survives an older one.
-- Wide columns come last: reading the narrow ones then skips their overflow pages.

CREATE TABLE project (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    name              TEXT NOT NULL,
    root_path         TEXT,
    workspace_enabled INTEGER NOT NULL DEFAULT 0,
    icon              TEXT,
    color             TEXT,
    pinned            INTEGER,
    last_activity_at  INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;

-- AUTOINCREMENT: the key of a deleted session is never given out again while its log is purged.
CREATE TABLE session (
    key              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    project_id       TEXT REFERENCES project (id) ON DELETE SET NULL,
    status           TEXT NOT NULL,
    pinned           INTEGER,
    has_unread       INTEGER,
    turn_count       INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    deleted_at       INTEGER,
    run              INTEGER NOT NULL,
    run_first_index  INTEGER NOT NULL,
    runtime_kind     TEXT NOT NULL,
    runtime_label    TEXT NOT NULL,
    runtime_id       TEXT NOT NULL,
    llm_key          TEXT,
    llm_name         TEXT,
    llm_index        INTEGER,
    prompt_profile   TEXT,
    approval_mode    TEXT,
    cwd              TEXT,
    origin           TEXT,
    last_exit        TEXT,
    ask              TEXT,
    title            TEXT NOT NULL,
    summary          TEXT
) STRICT;

-- The order of lists. The columns after `id` let filters decide without visiting the row.
CREATE INDEX session_order ON session (
    ifnull(pinned, 0) DESC, last_activity_at DESC, id, deleted_at, status, runtime_kind, runtime_id, project_id
);
CREATE INDEX session_status ON session (status, deleted_at);
-- The same order within a project.
CREATE INDEX session_project ON session (
    project_id, ifnull(pinned, 0) DESC, last_activity_at DESC, id, deleted_at, status, runtime_kind, runtime_id
) WHERE project_id IS NOT NULL;
CREATE INDEX session_deleted ON session (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE message (
    key               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    session           INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    role              TEXT NOT NULL,
    visibility        TEXT NOT NULL,
    state             TEXT,
    rank              INTEGER NOT NULL,
    run               INTEGER,
    turn_index        INTEGER,
    step_index        INTEGER,
    partial           INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    client_request_id TEXT,
    origin            TEXT,
    summary           TEXT,
    ask_user          TEXT,
    telemetry         TEXT,
    final_answer      TEXT,
    content           TEXT NOT NULL,
    thinking          TEXT,
    tool_calls        TEXT,
    tool_results      TEXT
) STRICT;

CREATE INDEX message_transcript ON message (session, key, visibility, role);
CREATE INDEX message_open ON message (session, state, rank) WHERE state IN ('queued', 'pending', 'dispatched');
CREATE UNIQUE INDEX message_request ON message (client_request_id) WHERE client_request_id IS NOT NULL;

-- What search finds: one row for each visible message that is not of the system, by message.key.
-- Contentless: the text is in `message` already.
CREATE VIRTUAL TABLE message_text USING fts5 (body, content = '', contentless_delete = 1, tokenize = 'trigram');

CREATE TABLE attachment (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    message    INTEGER NOT NULL REFERENCES message (key) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    path       TEXT NOT NULL,
    mime_type  TEXT NOT NULL,
    byte_size  INTEGER NOT NULL,
    width      INTEGER,
    height     INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX attachment_message ON attachment (message);

-- The event log, one row for each chunk of consecutive events. key = session.key * 2^40 + the index
-- of the first event: one b-tree in log order and no second index to write. `lines` are joined by
-- newlines; NULL for a span that was compacted away.
CREATE TABLE event_log (
    key   INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    lines BLOB
) STRICT;

CREATE TABLE approval (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    approval_id  TEXT NOT NULL,
    session      INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    run          INTEGER NOT NULL,
    state        TEXT NOT NULL,
    tool_name    TEXT NOT NULL,
    risk_level   TEXT,
    decision     TEXT,
    decided_by   TEXT,
    created_at   INTEGER NOT NULL,
    decided_at   INTEGER,
    reason       TEXT,
    args_preview TEXT,
    args         TEXT
) STRICT;

CREATE INDEX approval_session ON approval (session);
CREATE INDEX approval_open ON approval (session) WHERE state IN ('pending', 'answered');

CREATE TABLE approval_rule (
    scope      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    added_by   TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
