"""Stand-in for GenericAgent's side questions."""

import copy


def handle_frontend_command(agent, query):
    question = query[len("/btw") :].strip()
    if not question:
        return "> 🟡 /btw\n\nhelp"
    backend = agent.llmclient.backend
    messages = copy.deepcopy(backend.history)
    messages.append({"role": "user", "content": [{"type": "text", "text": f"side: {question}"}]})
    answer = "".join(backend.raw_ask(messages))
    if answer.startswith("!!!Error"):
        return f"❌ /btw {answer}"
    return f"> 🟡 /btw {question}\n\n{answer}\n\n*(0.1s)*"
