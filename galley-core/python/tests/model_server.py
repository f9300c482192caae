"""A scripted model behind the two native wire formats: OpenAI chat completions and Anthropic messages.

Each request takes the next reply of the script; what was asked is kept in `requests`.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PIECE = 12


@dataclass(frozen=True)
class Reply:
    """One answer of the model."""

    text: str = ""
    tools: Sequence[tuple[str, dict[str, Any]]] = ()
    status: int = 200
    body: str = ""
    held: bool = False
    """Nothing is answered, not even headers, before `ModelServer.release`."""


class ModelServer:
    """Serves one script on a loopback port of its own."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.asked = threading.Condition()
        self._script: deque[Reply] = deque()
        self._aside: tuple[str, Reply] | None = None
        self._released = threading.Event()
        server = self

        class Handler(_Handler):
            model = server

        self._http = _Http(("127.0.0.1", 0), Handler)
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def script(self, *replies: Reply) -> None:
        """Adds replies, each taken by one request."""
        self._script.extend(replies)

    def aside(self, marker: str, reply: Reply) -> None:
        """Answers every request whose last message holds `marker`, beside the script."""
        self._aside = (marker, reply)

    def release(self) -> None:
        """Lets held replies go."""
        self._released.set()

    def wait_asked(self, count: int, seconds: float = 10) -> None:
        """Waits until there were `count` requests."""
        with self.asked:
            assert self.asked.wait_for(lambda: len(self.requests) >= count, seconds), (
                f"{len(self.requests)} of {count} requests came"
            )

    def close(self) -> None:
        self.release()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take(self, request: dict[str, Any]) -> Reply:
        with self.asked:
            self.requests.append(request)
            self.asked.notify_all()
            last = json.dumps(request["messages"][-1:], ensure_ascii=False)
            if self._aside is not None and self._aside[0] in last:
                return self._aside[1]
            return self._script.popleft() if self._script else Reply(status=500, body="the script is over")

    def wait_released(self) -> None:
        self._released.wait(60)


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of many tests."""


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.model.take(request)
        if reply.held:
            self.model.wait_released()
        if reply.status != 200:
            self._plain(reply)
            return
        stream: Callable[[Reply], Iterator[str]] = _anthropic if "/messages" in self.path else _openai
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for line in stream(reply):
            self.wfile.write(line.encode())
            self.wfile.flush()

    def _plain(self, reply: Reply) -> None:
        body = reply.body.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + _PIECE] for i in range(0, len(text), _PIECE))


def _openai(reply: Reply) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"

    for piece in _pieces(reply.text):
        yield chunk({"content": piece})
    for index, (name, args) in enumerate(reply.tools):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": json.dumps(args)}}]})
    yield chunk({}, "tool_calls" if reply.tools else "stop")
    yield "data: [DONE]\n\n"


def _anthropic(reply: Reply) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={"role": "assistant", "usage": {"input_tokens": 1, "output_tokens": 1}})
    index = 0
    if reply.text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(reply.text):
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=0)
        index = 1
    for position, (name, args) in enumerate(reply.tools):
        block = {"type": "tool_use", "id": f"toolu_{position}", "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": json.dumps(args)}
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
        index += 1
    yield event("message_delta", delta={"stop_reason": "tool_use" if reply.tools else "end_turn"}, usage={})
    yield event("message_stop")
