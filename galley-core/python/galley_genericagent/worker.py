"""GA's worker thread, supervised: it can end without a word, and must not take a run with it."""

from __future__ import annotations

import queue
import threading
from typing import Any


class WorkerDied(Exception):
    """GA's worker thread ended in a task."""


class Worker:
    """Runs GA's own loop on a thread, and starts another when that has died."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._answers: queue.Queue[Any] | None = None

    @property
    def thread(self) -> int | None:
        """The id of the thread, for whoever knows things by it."""
        return self._thread.ident if self._thread else None

    def perform(self, text: str, source: str) -> dict[str, Any]:
        """Hands GA a task and waits for its last word on it. One task at a time.

        Raises:
            WorkerDied: the thread ended; its cause is the cause.
        """
        with self._lock:
            answers = self._answers = self._agent.put_task(text, source=source)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._live, name="ga-worker", daemon=True)
                self._thread.start()
        while True:
            item = answers.get()
            if isinstance(item, BaseException):
                raise WorkerDied(f"GenericAgent's worker thread died: {type(item).__name__}: {item}") from item
            if "done" in item:
                return dict(item)

    def _live(self) -> None:
        death: BaseException = RuntimeError("its loop returned")
        try:
            self._agent.run()
        except BaseException as error:
            death = error
        with self._lock:
            # A dead loop leaves its marks on the agent; the next one must not see them.
            self._agent.is_running = self._agent.stop_sig = False
            self._thread = None
            if self._answers is not None:
                self._answers.put(death)
