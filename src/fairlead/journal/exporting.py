"""The journal for other programs."""

from __future__ import annotations

import os

from fairlead import wire
from fairlead.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fairlead.journal.reading import Entry, Log, Wanted

COLUMNS = ("n", "t", "agent", "session", "event", "tool", "decision", "hooks", "failed", "ms", "project", "cwd",
           "reason", "input")  # fmt: skip
_AT_ONCE = 10_000
_LONGEST_CELL = 32_000
"""Characters: a spreadsheet takes 32,767 in one cell, and cuts the rest without a word."""


def _as_it_is(entry: Entry) -> Entry:
    return entry


def export(log: Log, wanted: Wanted, path: str, shown: Callable[[Entry], Entry] = _as_it_is) -> int:
    """How many were written, each as `shown`. The file is there when all of it is."""
    kinds: dict[str, Callable[[Iterator[Entry], str], int]] = {".jsonl": _lines, ".csv": _csv, ".parquet": _parquet}
    kind = os.path.splitext(path)[1].lower()
    if kind not in kinds:
        raise UsageError(f"{path!r} ends in {kind or 'nothing'}", hint=f"one of: {', '.join(kinds)}")
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        count = kinds[kind]((shown(log.whole(entry)) for entry in log.all(wanted)), unfinished)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
    return count


def _private(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _lines(entries: Iterator[Entry], path: str) -> int:
    import json

    count = 0
    with os.fdopen(_private(path), "w", encoding="utf-8") as file:
        for entry in entries:
            file.write(json.dumps(entry) + "\n")
            count += 1
    return count


def _csv(entries: Iterator[Entry], path: str) -> int:
    import csv

    count = 0
    with os.fdopen(_private(path), "w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, ("n", "time", *COLUMNS[1:]))
        rows.writeheader()
        for entry in entries:
            rows.writerow({key: _harmless(value) for key, value in _with_time(_flat(entry)).items()})
            count += 1
    return count


def _with_time(row: dict[str, Any]) -> dict[str, Any]:
    """As a spreadsheet and a person read it, beside the seconds."""
    import datetime as dt

    moment = dt.datetime.fromtimestamp(row["t"], dt.UTC)
    return {**row, "time": moment.isoformat(timespec="milliseconds")}


def _harmless(value: Any) -> Any:
    """A spreadsheet would calculate what begins like a formula, a terminal obey what is not to be seen."""
    if not isinstance(value, str):
        return value
    text = _cut("".join(map(_visible, value[: _LONGEST_CELL + 1])), len(value))
    return f"'{text}" if text.lstrip()[:1] in _FORMULAS else text


def _cut(text: str, whole: int) -> str:
    """Of a text of which `whole` characters were there."""
    if len(text) <= _LONGEST_CELL:
        return text
    return f"{text[:_LONGEST_CELL]}… (cut: {whole:,} characters)"


_FORMULAS = (*"=+-@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""In the wide form, too: some programs take it for the same."""


def _visible(letter: str) -> str:
    import unicodedata

    hides = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in "\n\t"
    return letter.encode("unicode_escape").decode() if hides else letter


def _flat(entry: Entry) -> dict[str, Any]:
    import json

    details = entry.get("details", {})
    payload = details.get("payload", {})
    given = payload.get("tool_input", payload.get("prompt", ""))
    return {
        **{key: entry[key] for key in COLUMNS if key in entry},
        "hooks": ", ".join(entry["hooks"]),
        **{key: details.get(key, "") for key in ("project", "cwd", "reason")},
        "input": wire.mended(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)),
    }


def _parquet(entries: Iterator[Entry], path: str) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow", hint='pip install "fairlead[parquet]"') from None
    kinds = {"n": pa.int64(), "t": pa.timestamp("us", "UTC"), "failed": pa.int64(), "ms": pa.float64()}
    shape = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    count = 0
    os.close(_private(path))
    with parquet.ParquetWriter(path, shape) as file:
        for rows in _batches(entries):
            file.write_table(pa.Table.from_pylist(rows, shape))
            count += len(rows)
    return count


def _batches(entries: Iterator[Entry]) -> Iterator[list[dict[str, Any]]]:
    """Memory stays flat however long the journal is."""
    rows: list[dict[str, Any]] = []
    for entry in entries:
        rows.append({**_flat(entry), "t": int(entry["t"] * 1_000_000)})
        if len(rows) == _AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows
