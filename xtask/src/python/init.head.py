"""Galley runs AI agents as supervised local processes and keeps everything they say.

`connect` and `Client` drive a Core that runs, `AsyncClient` does so under asyncio, and `Core` is one
within this process. `galley.runner` is what agents are written with; it needs nothing of the rest.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

