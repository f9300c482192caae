"""Streams, blocking and awaited."""

from __future__ import annotations

import asyncio
import signal
import time

import galley
import pytest
from conftest import Server, run_to_end, until


def indexes(events: list[galley.Event | galley.Gap]) -> list[int]:
    return [event.index for event in events if isinstance(event, galley.Event)]


def to_the_end(watch: galley.Watch) -> list[galley.Event | galley.Gap]:
    events: list[galley.Event | galley.Gap] = []
    for event in watch:
        events.append(event)
        if isinstance(event, galley.RunComplete):
            break
    return events


def test_events_are_matched(client: galley.Client) -> None:
    session = client.session(run_to_end(client, "say one two; unknown_kind; done three"))
    text, unknown, exits = "", 0, []
    with session.watch(from_="start") as watch:
        for event in to_the_end(watch):
            match event:
                case galley.TurnProgress(delta=delta):
                    text += delta
                case galley.RunComplete(exit_reason=galley.ExitReason(result=result)):
                    exits.append(result)
                case galley.UnknownEvent():
                    unknown += 1
                case _:
                    assert isinstance(event, galley.Event)
                    assert event.raw["kind"] == event.kind
        assert watch.next_index == len(indexes(to_the_end(session.watch(from_="start")))) + 1
    assert "one two" in text
    assert exits == ["CURRENT_TASK_DONE"]
    assert unknown == 1


def test_a_closed_watch_is_at_its_end(client: galley.Client) -> None:
    session = client.session(run_to_end(client, "done"))
    watch = session.watch(from_="start")
    next(watch)
    watch.close()
    watch.close()
    assert list(watch) == []


def test_a_watch_tells_why_it_ended(client: galley.Client) -> None:
    session = client.session(run_to_end(client, "done"))
    session.kill()
    with session.watch(from_="start") as watch:
        assert indexes(list(watch)) == list(range(1, (watch.next_index or 0)))
        assert watch.end_reason == "not_live"


def test_a_sleeping_consumer_loses_nothing(client: galley.Client) -> None:
    new = client.sessions.create("!emit 20000 100; done", runtime="scripted")
    session = client.session(new.session.id)
    with session.watch(from_="start") as watch:
        first = next(watch)
        session.wait(until_idle=True, timeout=60)
        events = [first, *to_the_end(watch)]
    assert indexes(events) == list(range(1, len(events) + 1))
    assert sum(isinstance(event, galley.TurnProgress) for event in events) >= 20000
    with session.watch(from_="start") as watch:
        lines = [line for index, _, line in _until_complete(watch) if index > 0]
    assert lines == [event.raw_line for event in events if isinstance(event, galley.Event)]


def _until_complete(watch: galley.Watch) -> list[galley.RawEvent]:
    events: list[galley.RawEvent] = []
    for event in watch.raw():
        events.append(event)
        if b'"run_complete"' in event[2]:
            break
    return events


def test_a_killed_core_is_survived_from_the_index(server: Server) -> None:
    client = galley.connect(server.socket)
    session = client.session(client.sessions.create("!say before; no_complete", runtime="scripted").session.id)
    watch = session.watch(from_="start", stay=True, reconnect=30)
    seen: list[galley.Event | galley.Gap] = []
    for event in watch:
        seen.append(event)
        if isinstance(event, galley.TurnProgress):
            break
    server.end(signal.SIGKILL)
    with pytest.raises(galley.DbUnavailable):
        client.ping()
    server.start()
    session.send("!done after")
    seen += to_the_end(watch)
    assert indexes(seen) == list(range(1, len(indexes(seen)) + 1))
    assert any(isinstance(event, galley.RunComplete) for event in seen)
    client.close()
    assert list(watch) == []


def test_other_streams_are_typed(client: galley.Client) -> None:
    session = run_to_end(client, "done")
    with client.session(session).follow() as follow:
        assert isinstance(next(follow), galley.FollowSnapshot)
        client.session(session).kill()
        frames = list(follow)
        assert isinstance(frames[-1], galley.FollowSnapshot)
        assert follow.end_reason == "subprocess_exited"


def test_events_are_awaited(core: galley.Core) -> None:
    async def main() -> None:
        async with core.aclient() as client:
            new = await client.sessions.create("!wait 100ms; done said", runtime="scripted")
            events: list[galley.Event | galley.Gap] = []
            async with client.session(new.session.id).watch(from_="start") as watch:
                async for event in watch:
                    events.append(event)
                    if isinstance(event, galley.RunComplete):
                        break
            assert indexes(events) == list(range(1, len(events) + 1))
            assert [item async for item in watch] == []

    asyncio.run(main())


def test_a_cancelled_read_loses_nothing(core: galley.Core) -> None:
    async def main() -> None:
        async with core.aclient() as client:
            new = await client.sessions.create("!emit 300 80 1000; done", runtime="scripted")
            watch = client.session(new.session.id).watch(from_="start")
            seen: list[galley.Event | galley.Gap] = []
            while not seen or not isinstance(seen[-1], galley.RunComplete):
                try:
                    seen.append(await asyncio.wait_for(anext(watch), 0.0005))
                except asyncio.TimeoutError:  # noqa: UP041
                    continue
            assert indexes(seen) == list(range(1, len(seen) + 1))
            watch.close()

    asyncio.run(main())


def test_an_exception_in_the_loop_closes_the_stream(core: galley.Core, client: galley.Client) -> None:
    session = client.sessions.create("!say word; no_complete", runtime="scripted").session.id

    async def main() -> None:
        async with core.aclient() as other:
            with pytest.raises(ValueError, match="mine"):
                async for _event in other.session(session).watch(from_="start"):
                    raise ValueError("mine")
            until(lambda: client.core.info().counters.streams == 0)

    asyncio.run(main())


def test_many_streams_need_no_threads(core: galley.Core, client: galley.Client) -> None:
    session = client.sessions.create("!say word; no_complete", runtime="scripted").session.id

    async def main() -> float:
        async with core.aclient() as other:
            watches = [other.session(session).watch(from_="start") for _ in range(200)]
            begun = time.monotonic()
            await asyncio.gather(*(anext(watch) for watch in watches))
            for watch in watches:
                watch.close()
            return time.monotonic() - begun

    assert asyncio.run(main()) < 20
