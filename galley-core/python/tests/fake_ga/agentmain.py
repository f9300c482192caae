"""Stand-in for the agent of a newer GenericAgent tree, as far as the bridge can see it."""

import json
import os
import queue
import threading

import llmcore
from agent_loop import agent_runner_loop
from ga import GenericAgentHandler

_ROOT = os.path.dirname(os.path.abspath(__file__))
TOOLS_SCHEMA = [{"type": "function", "function": {"name": name}} for name in ("code_run", "file_read", "ask_user")]


class GenericAgent:
    def __init__(self):
        os.makedirs(os.path.join(_ROOT, "temp"), exist_ok=True)
        self.llmclients = []
        try:
            keys = llmcore._load_mykeys()
        except Exception:
            keys = {}
        for name, config in keys.items():
            if "mixin" in name:
                self.llmclients.append({"mixin_cfg": config})
            elif "native" in name:
                kind = llmcore.NativeClaudeSession if "claude" in name else llmcore.NativeOAISession
                self.llmclients.append(llmcore.NativeToolClient(kind(config)))
        self.llm_no = 0
        self.llmclient = self.llmclients[0] if self.llmclients else None
        self.history, self.task_queue = [], queue.Queue()
        self.lock = threading.Lock()
        self.is_running = self.stop_sig = self.inc_out = False
        self.verbose, self.handler = True, None
        self.peer_hint = True

    def list_llms(self):
        named = []
        for index, client in enumerate(self.llmclients):
            name = "BADCONFIG_MIXIN"
            if not isinstance(client, dict):
                name = f"{type(client.backend).__name__.replace('Session', '')}/{client.backend.name}"
            named.append((index, name, index == self.llm_no))
        return named

    def next_llm(self, n=-1):
        old = self.llmclient
        self.llm_no = (self.llm_no + 1 if n < 0 else n) % len(self.llmclients)
        self.llmclient = self.llmclients[self.llm_no]
        if isinstance(old, dict) or isinstance(self.llmclient, dict):
            raise Exception("[ERROR] BAD Mixin config")
        self.llmclient.backend.history = old.backend.history

    def abort(self):
        if not self.is_running:
            return
        self.stop_sig = True
        if self.handler is not None:
            self.handler.code_stop_signal.append(1)

    def put_task(self, query, source="user", images=None):
        display_queue = queue.Queue()
        self.task_queue.put({"query": query, "source": source, "output": display_queue})
        return display_queue

    def _handle_slash_cmd(self, raw_query, display_queue):
        if not raw_query.startswith("/session."):
            return raw_query
        name, value = raw_query[len("/session.") :].split("=", 1)
        setattr(self.llmclient.backend, name, json.loads(value))
        display_queue.put({"done": f"session.{name} = {value}", "source": "system"})
        return None

    def run(self):
        while True:
            task = self.task_queue.get()
            self.is_running = True
            output, source = task["output"], task["source"]
            query = self._handle_slash_cmd(task["query"], output)
            if query is None:
                self.is_running = False
                continue
            self.history.append(f"[USER]: {query}")
            self.handler = GenericAgentHandler(self, self.history, os.path.join(_ROOT, "temp"))
            name = getattr(self, "_ga_project_mode_name", None)
            prompt = f"[PROJECT MODE: {name}]\n{query}" if name else query
            text, sent = "", 0
            try:
                gen = agent_runner_loop(
                    self.llmclient, "You work.", prompt, self.handler, TOOLS_SCHEMA, 12, self.verbose, yield_info=True
                )
                for chunk in gen:
                    if self.stop_sig:
                        break
                    if isinstance(chunk, dict):
                        continue
                    text += chunk
                    if len(text) - sent > 30:
                        output.put({"next": text[sent:], "source": source, "outputs": [text]})
                        sent = len(text)
                output.put({"next": text[sent:], "source": source})
                output.put({"done": text, "source": source, "outputs": [text]})
            except Exception as error:
                output.put({"done": f"{text}\n```\n{type(error).__name__}: {error}\n```", "source": source})
            finally:
                self.is_running = self.stop_sig = False


GeneraticAgent = GenericAgent
