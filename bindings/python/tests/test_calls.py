"""Calls, blocking and awaited."""

from __future__ import annotations

import asyncio
import pickle
import threading
from pathlib import Path
from typing import Any

import anyio
import galley
import pytest
from conftest import Server, descriptors, run_to_end, threads
from galley.errors import of


def test_a_shell_task_is_run_and_answered(client: galley.Client) -> None:
    new = client.sessions.create("echo hello", approval_mode="auto", supervisor="tests")
    outcome = client.session(new.session.id).wait(until_idle=True)
    assert outcome.status == "completed"
    assert outcome.answer == "hello\n"
    assert new.session.origin is not None
    assert new.session.origin.supervisor == "tests"


def test_an_approval_is_asked_for_and_given(client: galley.Client) -> None:
    new = client.sessions.create("echo allowed", approval_mode="ask")
    session = client.session(new.session.id)
    with session.watch(from_="start") as watch:
        asked = next(event for event in watch if isinstance(event, galley.ToolCallPending))
    assert asked.approval is not None
    assert [approval.id for approval in client.approvals.list()] == [asked.approval]
    client.approvals.respond("allow_once", asked.approval)
    assert session.wait(until_idle=True).answer == "allowed\n"


def test_every_noun_answers(client: galley.Client) -> None:
    assert client.ping().pong
    assert 1 in client.version().accepted_schema_versions
    assert client.health().checks
    assert client.status().total == 0
    assert client.core.info().paths.db.endswith("g.db")
    assert "scripted" in {runtime.name for runtime in client.runtimes.list()}
    assert client.runtimes.check("scripted").ok
    session = client.session(run_to_end(client, "done said"))
    assert session.rename("another").session.title == "another"
    assert session.pin().session.pinned
    assert session.state().runner_alive
    assert [message.content for message in session.show()] == ["!done said", "said"]
    assert client.sessions.search("said", runtime="all")[0].session_id == session.id
    assert session.kill().dispatch == "shutdown_sent"
    assert session.archive().session.status == "archived"
    assert session.restore().session.status == "idle"
    assert session.delete().deleted


def test_a_list_goes_on_over_its_pages(client: galley.Client) -> None:
    ids = {run_to_end(client, "done") for _ in range(3)}
    first = client.sessions.list(limit=2, runtime="all")
    assert len(first) == 2
    assert first.next_cursor is not None
    assert {row.id for row in client.sessions.every(limit=1, runtime="all")} == ids


def test_fields_of_a_newer_core_are_kept() -> None:
    pong = galley.Pong.read({"pong": True, "mood": "good"})
    assert pong.raw["mood"] == "good"
    event = galley.read_line(b'{"kind":"dance","step":3}')
    assert isinstance(event, galley.UnknownEvent)
    assert (event.kind, event.fields["step"]) == ("dance", 3)
    assert isinstance(galley.read_line(b'{"kind":"turn_progress"}'), galley.UnknownEvent)


TAGS = {
    "busy": galley.Busy,
    "db_unavailable": galley.DbUnavailable,
    "idle_timeout": galley.IdleTimeout,
    "internal": galley.Internal,
    "invalid_args": galley.InvalidArgs,
    "not_found": galley.NotFound,
    "queue_full": galley.QueueFull,
    "runner_error": galley.RunnerError,
    "schema_mismatch": galley.SchemaMismatch,
    "unknown_command": galley.UnknownCommand,
}


@pytest.mark.parametrize(("tag", "kind"), [*TAGS.items(), ("of_the_future", galley.GalleyError)])
def test_every_tag_has_its_class(tag: str, kind: type[galley.GalleyError]) -> None:
    error = of(tag, "what it says", '{"retryable": true}', 7, True)
    assert type(error) is kind
    assert (error.tag, error.exit_code, error.retryable, error.detail) == (tag, 7, True, {"retryable": True})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.tag, again.message) == (kind, tag, "what it says")


def test_core_gives_the_right_exception(client: galley.Client, core: galley.Core) -> None:
    with pytest.raises(galley.NotFound) as missing:
        client.session("sess_none").brief()
    assert missing.value.exit_code == 3
    with pytest.raises(galley.InvalidArgs):
        client.session(run_to_end(client, "done")).send(" ")
    with pytest.raises(galley.UnknownCommand):
        client.call("session.dance")
    with pytest.raises(galley.RunnerError) as failed:
        client.sessions.create("x", runtime="scripted", cwd="/no/such/folder")
    assert failed.value.detail["cause"] == "cwd_invalid"
    busy = client.sessions.create("!no_complete", runtime="scripted").session.id
    with pytest.raises(galley.Busy):
        client.session(busy).send("more", if_busy="reject")
    with pytest.raises(galley.DbUnavailable) as owned:
        galley.Core(core.database).start()
    assert owned.value.detail["pid"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda client: client.sessions.create(3), "task"),
        (lambda client: client.sessions.list(limit="many"), "limit"),
        (lambda client: client.sessions.list(limit=True), "limit"),
        (lambda client: client.session("x").send("y", spawn="no"), "spawn"),
        (lambda client: client.session("x").watch(from_=1.5), "from_"),
        (lambda client: client.call("session.brief", sessionId=b"x"), "session_id"),
    ],
)
def test_a_wrong_type_is_named(client: galley.Client, call: Any, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        call(client)


def test_without_a_core_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(galley.DbUnavailable, match="galley serve") as none:
        galley.connect(tmp_path / "none.sock")
    assert none.value.retryable


def test_a_file_is_read_without_a_core(core: galley.Core, client: galley.Client) -> None:
    session = run_to_end(client, "done kept")
    with galley.read_only(core.database) as reader:
        assert reader.session(session).show()[-1].content == "kept"
        with pytest.raises(galley.DbUnavailable):
            reader.session(session).send("more")


def test_what_is_closed_says_so(core: galley.Core) -> None:
    client = core.client()
    assert not client.closed
    client.close()
    client.close()
    assert client.closed
    with pytest.raises(galley.Closed):
        client.ping()
    with pytest.raises(galley.Closed):
        client.session("x").watch()


def test_closing_ends_a_call_of_another_thread(client: galley.Client, core: galley.Core) -> None:
    waiting = core.client()
    session = client.sessions.create("!no_complete", runtime="scripted").session.id
    ended: list[BaseException | None] = []

    def wait() -> None:
        try:
            waiting.session(session).wait()
        except galley.GalleyError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while client.core.info().counters.streams == 0:
        continue
    waiting.close()
    thread.join(10)
    assert isinstance(ended[0], galley.DbUnavailable)


def test_a_core_of_another_process_is_reached(server: Server) -> None:
    with galley.connect(server.socket) as client:
        assert client.session(run_to_end(client, "done there")).show()[-1].content == "there"


def test_calls_are_awaited(core: galley.Core) -> None:
    async def main() -> None:
        async with core.aclient() as client:
            new = await client.sessions.create("echo awaited", approval_mode="auto")
            outcome = await client.session(new.session.id).wait(until_idle=True)
            assert outcome.answer == "awaited\n"
            assert [row.id async for row in client.sessions.every()] == [new.session.id]
            with pytest.raises(galley.NotFound):
                await client.session("sess_none").brief()
            with pytest.raises(TypeError, match="content"):
                await client.session("x").send(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            pongs = await asyncio.gather(*(client.ping() for _ in range(100)))
            assert all(pong.pong for pong in pongs)
        with pytest.raises(galley.Closed):
            await client.ping()

    asyncio.run(main())


def test_it_runs_under_anyio(core: galley.Core) -> None:
    async def main() -> None:
        async with core.aclient() as client, anyio.create_task_group() as group:
            new = await client.sessions.create("!no_complete", runtime="scripted")
            group.start_soon(client.session(new.session.id).wait)
            with anyio.move_on_after(0.05) as scope:
                await client.session(new.session.id).wait()
            assert scope.cancelled_caught
            assert (await client.ping()).pong
            group.cancel_scope.cancel()

    anyio.run(main)


def test_an_engine_is_awaited(tmp_path: Path) -> None:
    async def main() -> None:
        async with galley.Core(tmp_path / "a.db") as core, core.aclient() as client:
            assert (await client.ping()).pong
            ended = asyncio.ensure_future(core.await_end())
            await client.core.shutdown()
            await asyncio.wait_for(ended, 10)

    asyncio.run(main())


def test_bad_calls_leak_nothing(core: galley.Core, client: galley.Client) -> None:
    session = client.sessions.create("!no_complete", runtime="scripted").session.id

    async def cancelled() -> None:
        async with core.aclient() as other:
            for _ in range(10):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(other.session(session).wait(), 0.01)
                with pytest.raises(ValueError, match="mine"):
                    async for _event in other.session(session).watch(from_="start"):
                        raise ValueError("mine")

    def bad() -> None:
        with core.client() as other:
            for _ in range(10):
                with pytest.raises(galley.NotFound):
                    other.session("sess_none").brief()
                with pytest.raises(TypeError):
                    other.sessions.list(limit="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(galley.Closed):
            other.ping()
        with galley.connect(core.socket) as connected, connected.session(session).watch(from_="start") as watch:
            next(watch)
        asyncio.run(cancelled())

    bad()
    before = descriptors(), threads()
    for _ in range(5):
        bad()
    while client.core.info().counters.streams > 0:
        continue
    # One descriptor may still be on its way out.
    assert descriptors() <= before[0] + 2
    assert threads() <= before[1] + 2
