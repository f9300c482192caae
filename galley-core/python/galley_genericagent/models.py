"""GA's models: which there are, which is in use, and choosing another."""

from __future__ import annotations

from typing import Any

from galley.runner import Model, Refused, StartError

from . import history
from .locate import MODELS_UNUSABLE


class Models:
    """The models of one agent, by their index in GA's own list."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def all(self) -> list[Model]:
        """Every model, in GA's order."""
        return [Model(str(name)) for _, name, *_ in self._agent.list_llms()]

    @property
    def current(self) -> int:
        """The index of the model in use."""
        return int(self._agent.llm_no)

    @property
    def backend(self) -> Any:
        """The session of the model in use."""
        return getattr(self._agent.llmclient, "backend", None)

    def begin_with(self, index: int) -> str | None:
        """Makes the first choice: the model asked for, else one that works. Returns what there is to
        say about it.

        Raises:
            StartError: no model works.
        """
        notice = None
        if not 0 <= index < len(self._agent.llmclients):
            notice = f"there is no model {index}; there are {len(self._agent.llmclients)}"
        elif self._switch(index):
            return None
        else:
            notice = f"model {index} is not configured well"
        if not any(self._switch(other) for other in range(len(self._agent.llmclients))):
            message = "none of the models in the key file can be used"
            raise StartError("no_usable_model", message, MODELS_UNUSABLE, "check_llm_config")
        return f"{notice}; using {self.all()[self.current].name}"

    def select(self, index: int) -> Model:
        """Uses another model, with the conversation so far.

        Raises:
            Refused: it cannot be used; the old one still is.
        """
        old, before = self.backend, self.current
        if not self._switch(index):
            self._switch(before)
            raise Refused(f"model {index} is not configured well; the model was not changed")
        history.carry(old, self.backend)
        return self.all()[self.current]

    def take_pictures(self) -> bool:
        """Whether any model can be given pictures."""
        return any(takes_pictures(client) for client in self._agent.llmclients)

    def _switch(self, index: int) -> bool:
        """Switches; whether the model in use is then the one asked for, and works. GA may raise after
        it has switched, and lists unusable entries as plain dictionaries."""
        try:
            self._agent.next_llm(index)
        except Exception:
            return False
        return self.current == index and getattr(self._agent.llmclient, "backend", None) is not None


def takes_pictures(client: Any) -> bool:
    """Whether a model is spoken to in its provider's own format, which knows pictures."""
    return type(getattr(client, "backend", None)).__name__.startswith("Native")
