"""Stand-in for the tools of a newer GenericAgent tree."""

import os
import re
import subprocess
import sys
import threading
import time

from agent_loop import BaseHandler, StepOutcome


def code_run(code, code_type="python", timeout=60, cwd=None, code_cwd=None, stop_signal=(), say=print):
    yield f"[Action] Running {code_type}\n"
    command = [sys.executable, "-u", "-c", code] if code_type == "python" else ["bash", "-c", code]
    child = subprocess.Popen(
        command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = []

    def read():
        for line in child.stdout:
            lines.append(line.decode())
            say(lines[-1])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while reader.is_alive():
        if stop_signal:
            child.kill()
            break
        time.sleep(0.05)
    reader.join(1)
    yield f"[Status] Exit Code: {child.wait()}\n"
    status = "success" if child.returncode == 0 else "error"
    return {"status": status, "stdout": "".join(lines), "exit_code": child.returncode}


class GenericAgentHandler(BaseHandler):
    def __init__(self, parent, last_history=None, cwd="./temp"):
        self.parent, self.cwd, self.current_turn = parent, cwd, 0
        self.history_info = last_history or []
        self.code_stop_signal = []
        self.print = print
        self.broken = 0

    def do_code_run(self, args, response):
        code = args.get("code") or args.get("script")
        if not code:
            blocks = re.findall(r"```python\n(.*?)\n```", response.content, re.DOTALL)
            code = blocks[-1]
        kind = args.get("type", "python")
        stop = self.code_stop_signal
        result = yield from code_run(code, kind, cwd=self.cwd, stop_signal=stop, say=self.print)
        return StepOutcome(result, next_prompt="\n")

    def do_file_read(self, args, response):
        yield f"[Action] Reading file: {args['path']}\n"
        try:
            with open(os.path.join(self.cwd, args["path"]), encoding="utf-8") as file:
                return StepOutcome(file.read(), next_prompt="\n")
        except OSError as error:
            return StepOutcome(f"Error: {error}", next_prompt="\n")

    def do_file_write(self, args, response):
        yield "[Action] Writing\n"
        content = args.get("content") or re.search(r"<file_content>(.*)</file_content>", response.content, re.S).group(
            1
        )
        with open(os.path.join(self.cwd, args["path"]), "w", encoding="utf-8") as file:
            file.write(content.strip())
        return StepOutcome({"status": "success"}, next_prompt="\n")

    def do_ask_user(self, args, response):
        yield "Waiting for your answer ...\n"
        data = {"question": args["question"], "candidates": args.get("candidates")}
        result = {"status": "INTERRUPT", "intent": "HUMAN_INTERVENTION", "data": data}
        return StepOutcome(result, next_prompt="", should_exit=True)

    def do_explode(self, args, response):
        yield "[Action] Exploding\n"
        raise ZeroDivisionError("the tool broke")

    def do_quit(self, args, response):
        yield "[Action] Quitting\n"
        sys.exit("a tool asked for the end")

    def do_no_tool(self, args, response):
        if response.content.startswith("!!!Error"):
            self.broken += 1
            yield ""
            if self.broken == 3:
                return StepOutcome({}, should_exit=True)
            return StepOutcome({}, next_prompt="[ERROR] Incomplete response. Regenerate and tooluse.")
        yield ""
        return StepOutcome(response, next_prompt=None)

    def turn_end_callback(self, response, tool_calls, tool_results, turn, next_prompt, exit_reason):
        found = re.search(r"<summary>(.*?)</summary>", response.content, re.DOTALL)
        summary = "hook: " + (found.group(1) if found else response.content[:80])
        self.history_info.append(f"[Agent] {summary}")
        for hook in list(self.parent._turn_end_hooks.values()):
            hook(locals())
