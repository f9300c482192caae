"""Stand-in for the loop of a newer GenericAgent tree."""

import json
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class StepOutcome:
    data: Any
    next_prompt: Optional[str] = None
    should_exit: bool = False


class BaseHandler:
    def dispatch(self, tool_name, args, response, index=0, tool_num=1):
        method = getattr(self, f"do_{tool_name}", None)
        if method is None:
            yield f"未知工具: {tool_name}\n"
            return StepOutcome(None, next_prompt=f"未知工具 {tool_name}")
        args["_index"], args["_tool_num"] = index, tool_num
        return (yield from method(args, response))


def agent_runner_loop(
    client, system_prompt, user_input, handler, tools_schema, max_turns=40, verbose=True, yield_info=False
):
    messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": user_input}]
    for turn in range(1, max_turns + 1):
        handler.current_turn = turn
        if yield_info:
            yield {"turn": turn}
        yield f"\n**LLM Running (Turn {turn}) ...**\n\n"
        response = yield from client.chat(messages, tools_schema)
        yield "\n\n"
        calls = [
            {"tool_name": call.function.name, "args": json.loads(call.function.arguments), "id": call.id}
            for call in response.tool_calls
        ] or [{"tool_name": "no_tool", "args": {}}]
        results, prompts, exit_reason = [], [], {}
        for index, call in enumerate(calls):
            if call["tool_name"] != "no_tool":
                yield f"🛠️ Tool: `{call['tool_name']}`  📥 args:\n````text\n{json.dumps(call['args'])}\n````\n"
            yield "`````\n"
            outcome = yield from handler.dispatch(
                call["tool_name"], call["args"], response, index=index, tool_num=len(calls)
            )
            yield "`````\n"
            if outcome.should_exit:
                exit_reason = {"result": "EXITED", "data": outcome.data}
                break
            if not outcome.next_prompt:
                exit_reason = {"result": "CURRENT_TASK_DONE", "data": outcome.data}
                break
            prompts.append(outcome.next_prompt)
            if "id" in call:
                data = outcome.data
                content = data if isinstance(data, str) else json.dumps(data)
                results.append({"tool_use_id": call["id"], "content": content})
        prompt = "\n".join(prompts)
        handler.turn_end_callback(response, calls, results, turn, prompt, exit_reason)
        if exit_reason:
            return exit_reason
        results = [{"type": "tool_result", **result} for result in results]
        messages = [{"role": "user", "content": prompt or "\n", "tool_results": results}]
    return {"result": "MAX_TURNS_EXCEEDED"}
