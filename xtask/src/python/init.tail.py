

def connect(socket: str | os.PathLike[str] | None = None) -> Client:
    """Connects to the Core that listens at `socket`, or where a Core listens by default.

    Raises `DbUnavailable` when there is none.
    """
    from ._client import Client

    client = Client(socket)
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    return client


def read_only(database: str | os.PathLike[str]) -> Client:
    """A client that reads `database` from its file, with or without a Core; what needs one is `DbUnavailable`."""
    from ._client import Client
    from ._native import Client as Native

    return Client.of(Native.read_only(database))


def __getattr__(name: str) -> Any:
    # Nothing is loaded before it is used: `galley.runner` works where the native module does not.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'galley' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
