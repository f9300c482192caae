"""The bridge as a process, on GenericAgent itself and on a tree with the newer surface."""

from __future__ import annotations

from conftest import Lab
from model_server import Reply
from runner_process import kinds, streamed

ANSWER = Reply("<summary>greeted</summary>\n\nHello, and nothing else to do.")


def test_a_plain_answer(lab: Lab) -> None:
    runner = lab.start()
    ready = runner.expect("ready")
    assert [model["name"].split("/")[1] for model in ready["availableLLMs"]] == ["model-a", "model-b"]
    assert ready["availableLLMs"][0]["isCurrent"] and not ready["availableLLMs"][1]["isCurrent"]
    assert ready["gaPath"] == str(lab.tree) and ready["protocolVersion"] == "0.1"
    lab.server.script(ANSWER)
    events = runner.run("hello")
    assert kinds(events) == ["turn_start", "turn_progress", "turn_end", "run_complete"]
    assert streamed(events).strip() == ANSWER.text
    end, complete = events[-2:]
    assert end["summary"].endswith("greeted") and end["exitReason"]["result"] == "CURRENT_TASK_DONE"
    assert end["responseContent"] == ANSWER.text and end["telemetry"]["elapsedMs"] >= 0
    assert complete["finalContent"] == "Hello, and nothing else to do." and complete["totalTurns"] == 1
