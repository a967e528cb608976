"""The daemon's log: one JSON object a line in the state folder, and short lines on the terminal."""

import datetime as dt
import json
import logging
import logging.handlers
import os
from pathlib import Path
from typing import IO

LOG = logging.getLogger("gitmem")
_SIZE = 1_000_000
_KEPT = 3


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = dt.datetime.fromtimestamp(record.created, tz=dt.UTC).isoformat(timespec="milliseconds")
        values = {"time": when, "level": record.levelname.lower(), "event": record.getMessage()}
        values |= getattr(record, "facts", {})
        if record.exc_info:
            values["trace"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False, default=str)


class _PlainFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = dt.datetime.fromtimestamp(record.created).strftime("%H:%M:%S")  # noqa: DTZ006  local time for a person
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        text = f"{when} {level}{record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _PrivateFile(logging.handlers.RotatingFileHandler):
    def _open(self) -> IO[str]:  # type: ignore[override]  # typeshed names the concrete class
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


def path_in(state: Path) -> Path:
    """The log file of a workspace."""
    return state / "gitmem.log"


def to_file(state: Path) -> logging.Handler:
    """Log to the workspace's file, 0600, at most a few megabytes."""
    handler = _PrivateFile(path_in(state), maxBytes=_SIZE, backupCount=_KEPT)
    handler.setFormatter(_JsonFormatter())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    return handler


def to_terminal() -> None:
    """Log short lines on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainFormatter())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)


def say(event: str, **facts: object) -> None:
    """Log an event with its facts. Facts never hold file contents or credentials."""
    LOG.info(event, extra={"facts": facts})


def warn(event: str, **facts: object) -> None:
    """Log something a person should look at."""
    LOG.warning(event, extra={"facts": facts})
