

@dataclass(frozen=True, slots=True)
class Event:
    """One event of a session's log."""

    kind: ClassVar[str]
    """The word on the wire; an `UnknownEvent` has its own."""
    index: int
    """Its place in the log, from 1; 0 when the stream has no indexes."""
    run: int
    """The run it belongs to, from 1; 0 before the first."""
    approval: str | None
    """Core's id of the approval that it asks for."""
    raw_line: bytes = field(repr=False)
    """The line as the runner wrote it, without its newline."""

    @property
    def raw(self) -> dict[str, Any]:
        """All its fields, those of newer versions included."""
        fields: dict[str, Any] = json.loads(self.raw_line)
        return fields


@dataclass(frozen=True, slots=True)
class UnknownEvent(Event):
    """An event of a kind, or of a shape, that this version does not know."""

    kind: str  # type: ignore[misc]
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that were compacted away."""

    first: int
    """Index of the first of them."""
    last: int
    """Index of the last of them."""


def read_line(line: bytes, index: int = 0, run: int = 0, approval: str | None = None) -> Event:
    """The event of a runner's line."""
    raw = json.loads(line)
    return _read(raw, index, run, approval, line)


def _read(raw: dict[str, Any], index: int, run: int, approval: str | None, line: bytes) -> Event:
    kind: Any = raw.get("kind")
    try:
        return _KINDS[kind](raw, index, run, approval, line)
    except (KeyError, TypeError):
        return UnknownEvent(index=index, run=run, approval=approval, raw_line=line, kind=str(kind), fields=raw)


def read_batch(first: int, run: int, approvals: list[tuple[int, str]], lines: bytes) -> Iterator[Event]:
    """The events of consecutive lines, each ended by a newline."""
    asked = dict(approvals)
    lines = lines[:-1]
    # One list is parsed much faster than its items one by one.
    events = json.loads(b"[%b]" % lines.replace(b"\n", b","))
    for index, (raw, line) in enumerate(zip(events, lines.split(b"\n"), strict=True), first):
        yield _read(raw, index, run, asked.get(index), line)
