"""Finding and importing GenericAgent, with a cause of its own for each way that can fail."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from galley.runner import StartError

#: Exit codes of a failed start. 2 is a bad argument, 7 a Python that is too old (`__main__`).
IMPORT_FAILED = 1
PATH_INVALID = 3
DEPENDENCY_MISSING = 4
MODELS_UNUSABLE = 5
NOT_WRITABLE = 6

#: What pip calls packages whose modules have another name.
_DISTRIBUTIONS = {"bs4": "beautifulsoup4", "simple_websocket_server": "simple-websocket-server"}

_GIT_TIMEOUT = 5


@dataclass(frozen=True)
class Tree:
    """An imported GA tree."""

    root: Path
    agentmain: ModuleType
    agent_loop: ModuleType
    tools: ModuleType
    llmcore: ModuleType

    def frontend(self, name: str) -> ModuleType | None:
        """One of GA's front-end modules, if the tree has it and it can be imported."""
        if not (self.root / "frontends" / f"{name}.py").is_file():
            return None
        try:
            return importlib.import_module(f"{_prefix(self.root)}frontends.{name}" if _packaged(self.root) else name)
        except Exception:
            return None


def load(ga_path: str, cwd: str | None) -> Tree:
    """Imports the GA tree at `ga_path`. The process's working directory becomes `cwd`, else the tree.

    Raises:
        StartError: with a cause for each way this can fail.
    """
    root = _checked(ga_path)
    directory = Path(cwd).expanduser() if cwd else root
    try:
        os.chdir(directory)
    except OSError as error:
        raise StartError("cwd_invalid", f"cannot enter {directory}: {error.strerror}", PATH_INVALID) from error
    if _packaged(root):
        sys.path.insert(0, str(root.parent))
    else:
        sys.path[:0] = [str(root), str(root / "frontends")]
    # GA looks at the command line; it must not see ours.
    sys.argv = sys.argv[:1]
    prefix = _prefix(root)
    try:
        modules = [importlib.import_module(prefix + name) for name in ("agentmain", "agent_loop", "ga", "llmcore")]
    except ModuleNotFoundError as error:
        raise _missing_module(error, root) from error
    except BaseException as error:
        raise _import_failure(error) from error
    return Tree(root, *modules)


def construct(tree: Tree) -> Any:
    """GA's agent object.

    Raises:
        StartError: GA has no model it could use, or its constructor failed otherwise.
    """
    # The misspelt name is the one that every version has.
    constructor = getattr(tree.agentmain, "GeneraticAgent", None) or getattr(tree.agentmain, "GenericAgent", None)
    if constructor is None:
        message = f"{tree.root} has no agent class that this bridge knows"
        raise StartError("ga_path_invalid", message, PATH_INVALID)
    try:
        agent = constructor()
    except IndexError as error:
        raise _no_model(tree) from error
    except BaseException as error:
        raise _import_failure(error) from error
    if not getattr(agent, "llmclients", None):
        raise _no_model(tree)
    return agent


def commit(root: Path) -> dict[str, str]:
    """`gaCommit` and `gaCommitDate`; `unknown` for a tree that is not a git checkout of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> list[str]:
        result = subprocess.run(
            ["git", "-C", str(root), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT,
            check=True,
        )
        return result.stdout.decode("utf-8", "replace").splitlines()

    try:
        # A tree inside another project's checkout must not report that project's commit.
        if Path(git("rev-parse", "--show-toplevel")[0]).resolve() != root.resolve():
            raise LookupError
        sha, date = git("log", "-1", "--format=%H%n%cI")
    except (OSError, ValueError, LookupError, subprocess.SubprocessError):
        return {"gaCommit": "unknown", "gaCommitDate": "unknown"}
    return {"gaCommit": sha, "gaCommitDate": date}


def _packaged(root: Path) -> bool:
    return (root / "__init__.py").is_file()


def _prefix(root: Path) -> str:
    return f"{root.name}." if _packaged(root) else ""


def _checked(ga_path: str) -> Path:
    root = Path(ga_path).expanduser().resolve()
    if not root.is_dir():
        raise StartError("ga_path_invalid", f"{root} is not a folder", PATH_INVALID)
    if not (root / "agentmain.py").is_file():
        raise StartError("ga_path_invalid", f"{root} is not a GenericAgent tree: it has no agentmain.py", PATH_INVALID)
    if not os.access(root, os.W_OK):
        raise StartError("not_writable", f"GenericAgent keeps its files in {root}, which is not writable", NOT_WRITABLE)
    return root


def _missing_module(error: ModuleNotFoundError, root: Path) -> StartError:
    module = (error.name or "").split(".")[0]
    if not module or module == root.name or (root / f"{module}.py").exists() or (root / module).is_dir():
        return _import_failure(error)
    if module == "mykey":
        return _no_key_file()
    package = _DISTRIBUTIONS.get(module, module)
    message = f"GenericAgent needs the Python package {package}: {sys.executable} -m pip install {package}"
    return StartError("dependency_missing", message, DEPENDENCY_MISSING)


def _import_failure(error: BaseException) -> StartError:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and Path(error.filename or "").stem.startswith("mykey"):
        return _broken_key_file(text)
    if isinstance(error, json.JSONDecodeError):
        return _broken_key_file(text)
    if isinstance(error, IndexError):
        return StartError("no_usable_model", "GenericAgent has no usable model", MODELS_UNUSABLE, "check_llm_config")
    if "mykey" in text.lower():
        return _no_key_file() if "not found" in text.lower() or "no module" in text.lower() else _broken_key_file(text)
    return StartError("import_failed", f"GenericAgent cannot be imported: {text}", IMPORT_FAILED)


def _no_key_file() -> StartError:
    message = (
        "GenericAgent found no mykey.py or mykey.json: put one into its folder or ~/.genericagent, "
        "or name it in GENERICAGENT_MYKEY"
    )
    return StartError("key_file_missing", message, MODELS_UNUSABLE, "check_llm_config")


def _broken_key_file(text: str) -> StartError:
    return StartError("key_file_broken", f"the key file cannot be read: {text}", MODELS_UNUSABLE, "check_llm_config")


def _no_model(tree: Tree) -> StartError:
    """Why GA has no model: newer trees start without a word, and tell when they are asked again."""
    try:
        tree.llmcore._load_mykeys()
    except BaseException as error:
        found = _import_failure(error)
        return found if found.cause.startswith("key_file") else _broken_key_file(f"{type(error).__name__}: {error}")
    message = "the key file names no model that GenericAgent can use"
    return StartError("no_usable_model", message, MODELS_UNUSABLE, "check_llm_config")
