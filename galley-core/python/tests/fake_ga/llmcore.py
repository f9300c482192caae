"""Stand-in for the model layer of a newer GenericAgent tree: sessions with block history, native formats."""

import json
import os
import threading

import urllib3

_ROOT = os.path.dirname(os.path.abspath(__file__))


def _load_mykeys():
    path = os.path.join(_ROOT, "mykey.json")
    if not os.path.exists(path):
        raise Exception("[ERROR] mykey.py or mykey.json not found")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Function:
    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments


class ToolCall:
    def __init__(self, call_id, name, args):
        self.id, self.function = call_id, Function(name, json.dumps(args))


class Response:
    def __init__(self, content, tool_calls, thinking=""):
        self.content, self.tool_calls, self.thinking = content, tool_calls, thinking


class NativeClaudeSession:
    def __init__(self, cfg):
        self.api_key, self.api_base, self.model = cfg["apikey"], cfg["apibase"], cfg["model"]
        self.name = cfg.get("name", self.model)
        self.read_timeout = cfg.get("read_timeout", 10)
        self.history, self.system, self.context_win = [], "", 28000
        self.lock = threading.Lock()

    def request(self, messages, tools):
        system = [{"type": "text", "text": self.system}]
        return "/messages", {"model": self.model, "messages": messages, "system": system, "tools": tools}

    def deltas(self, event):
        if event.get("type") == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                yield "text", delta["text"]
            else:
                yield "arguments", delta["partial_json"]
        elif event.get("type") == "content_block_start" and event["content_block"]["type"] == "tool_use":
            yield "tool", (event["content_block"]["id"], event["content_block"]["name"])

    def raw_ask(self, messages, tools=()):
        """Yields text, returns content blocks; a failure is text too."""
        path, body = self.request(messages, list(tools))
        http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=3, read=self.read_timeout))
        blocks, text = [], ""
        try:
            answer = http.request("POST", self.api_base + path, json=body, preload_content=False)
            if answer.status != 200:
                raise RuntimeError(f"HTTP {answer.status}: {answer.data.decode()}")
            for line in answer:
                line = line.decode().strip()
                if not line.startswith("data: {"):
                    continue
                for kind, value in self.deltas(json.loads(line[6:])):
                    if kind == "text":
                        text += value
                        yield value
                    elif kind == "tool":
                        blocks.append({"type": "tool_use", "id": value[0], "name": value[1], "input": ""})
                    else:
                        blocks[-1]["input"] += value
        except Exception as error:
            name = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
            text = f"!!!Error: {name}{error}"
            yield text
            return [{"type": "text", "text": text}]
        for block in blocks:
            block["input"] = json.loads(block["input"] or "{}")
        return ([{"type": "text", "text": text}] if text else []) + blocks

    def ask(self, message):
        with self.lock:
            self.history.append(message)
            messages = list(self.history)
        blocks = yield from self.raw_ask(messages, self.tools)
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        if not text.startswith("!!!Error"):
            self.history.append({"role": "assistant", "content": blocks})
        calls = [ToolCall(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        return Response(text.strip(), calls)


class NativeOAISession(NativeClaudeSession):
    """Keeps the Claude shape and translates when it sends."""

    def request(self, messages, tools):
        sent = [{"role": "system", "content": self.system}]
        for message in messages:
            content = []
            for block in message["content"]:
                if block["type"] == "image":
                    source = block["source"]
                    url = f"data:{source['media_type']};base64,{source['data']}"
                    content.append({"type": "image_url", "image_url": {"url": url}})
                elif block["type"] == "text":
                    content.append(block)
                else:
                    content.append({"type": "text", "text": json.dumps(block)})
            sent.append({"role": message["role"], "content": content})
        return "/chat/completions", {"model": self.model, "messages": sent, "tools": tools}

    def deltas(self, event):
        for choice in event.get("choices", []):
            delta = choice.get("delta", {})
            if delta.get("content"):
                yield "text", delta["content"]
            for call in delta.get("tool_calls", []):
                if call.get("id"):
                    yield "tool", (call["id"], call["function"]["name"])
                elif call["function"].get("arguments"):
                    yield "arguments", call["function"]["arguments"]


class NativeToolClient:
    def __init__(self, backend):
        self.backend, self.last_tools, self._open = backend, "", []

    def chat(self, messages, tools):
        self.backend.tools = tools
        content = [{"type": "tool_result", "tool_use_id": call, "content": ""} for call in self._open]
        for message in messages:
            if message["role"] == "system":
                self.backend.system = message["content"]
            else:
                content += message.get("tool_results", [])
                content.append({"type": "text", "text": message["content"]})
        response = yield from self.backend.ask({"role": "user", "content": content})
        return response
