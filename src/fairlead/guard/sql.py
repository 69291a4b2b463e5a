"""Reading database statements for what they destroy."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

_COMMENT = lazy(r"--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
# A string that is compared or stored is no statement.
_COMPARED = lazy(r"(?:\bSELECT|\bI?LIKE|=|~\*?|\bIN\s*\(|\bVALUES\s*\(|,)\s*'(?:[^']|'')*'", re.IGNORECASE)
_WHOLE = r"(?:1\s*=\s*1|true|'1'\s*=\s*'1')"
_DELETE = lazy(r"\bDELETE\s+FROM\b", re.IGNORECASE)
_UPDATE = lazy(r"\bUPDATE\s+[\w.\"`\[\]]+\s+SET\b", re.IGNORECASE)
_WHERE = lazy(r"\bWHERE\b", re.IGNORECASE)
_ALWAYS = lazy(r"\bWHERE\s+" + _WHOLE + r"\s*(?:['\"]|\Z)", re.IGNORECASE)
_KEYWORDS = (
    (r"DROP\s+(?:DATABASE|SCHEMA|KEYSPACE)", "deny", "drops a whole database"),
    (r"TRUNCATE", "deny", "empties a table"),
    (
        r"(?:FROM|TO)\s+PROGRAM|xp_cmdshell|INTO\s+(?:OUTFILE|DUMPFILE)|load_extension|pg_read_file|lo_import|sys_exec|LOAD_FILE",
        "deny",
        "runs programs or touches files on the database server",
    ),
    (
        r"DROP\s+(?:TABLE|VIEW|MATERIALIZED|INDEX|COLUMN|USER|ROLE|FUNCTION|TRIGGER|TYPE|SEQUENCE|COLLECTION|OWNED|EXTENSION|CONSTRAINT)",
        "ask",
        "drops database objects",
    ),
    (
        r"GRANT\s+ALL|ALTER\s+USER|ALTER\s+ROLE|CREATE\s+USER|REVOKE|SUPERUSER",
        "ask",
        "changes who may use the database",
    ),
    (
        r"SHUTDOWN|pg_terminate_backend|ALTER\s+SYSTEM|RESET\s+MASTER|PURGE\s+(?:BINARY|MASTER)\s+LOGS",
        "ask",
        "changes the database server itself",
    ),
)
_STATEMENTS = [
    (lazy(rf"\b(?:{pattern})\b", re.IGNORECASE), decision, effect) for pattern, decision, effect in _KEYWORDS
]
_MONGO = lazy(
    r"\b(?:dropDatabase|dropUser|dropAllUsersFromDatabase|dropIndexes|shutdownServer)\b|\.drop\(|\b(?:deleteMany|remove)\((\s*\{\s*\})?"
)
_REDIS = lazy(
    r"(?:\A|[\s;\"'(])(?:FLUSHALL|FLUSHDB|SHUTDOWN|CONFIG\s+SET|DEBUG\s+(?:SEGFAULT|SLEEP)|SCRIPT\s+FLUSH|SLAVEOF|REPLICAOF|MODULE\s+LOAD"
    r"|CLUSTER\s+RESET|ACL\s+DELUSER|UNLINK|DEL)\b",
    re.IGNORECASE,
)


_REDIS_STORES = lazy(r"(?:-\S+\s+(?:[\w.-]+\s+)?)*(?:SET|HSET|LPUSH|RPUSH|APPEND|PUBLISH|SADD|ECHO)\s", re.IGNORECASE)
_ONE_KEY = lazy(r"(?:\A|\s)(?:DEL|UNLINK)\s+[\w:.{}-]+\s*\Z", re.IGNORECASE)


def sql(text: str) -> tuple[str, str] | None:
    """Return decision and effect of the worst statement in SQL text, or None."""
    plain = _COMMENT.sub(" ", text)
    bare = _COMPARED.sub(" ", plain)
    found = [(decision, effect) for pattern, decision, effect in _STATEMENTS if pattern.search(bare)]
    found += [hit for statement in plain.split(";") if (hit := _rows(statement)) is not None]
    return next((hit for hit in found if hit[0] == "deny"), found[0] if found else None)


def _rows(statement: str) -> tuple[str, str] | None:
    """Judge one statement that deletes or changes rows by whether it says which."""
    delete = _DELETE.search(statement)
    change = delete or _UPDATE.search(statement)
    if change is None:
        return None
    every = not _WHERE.search(statement, change.end()) or _ALWAYS.search(statement, change.end())
    if delete:
        return ("deny", "deletes every row of a table") if every else ("ask", "deletes rows")
    return ("ask", "changes every row of a table") if every else None


def mongo(text: str) -> tuple[str, str] | None:
    """Return decision and effect of the worst call in a mongo script, or None."""
    match = _MONGO.search(text)
    if match is None:
        return None
    whole = match[0] == "dropDatabase" or match[1] is not None
    return ("deny" if whole else "ask"), "drops or deletes documents"


def redis(text: str) -> tuple[str, str] | None:
    """Return decision and effect of a redis command, or None."""
    for line in text.splitlines():
        # A command word comes first; what follows a storing command is data.
        if _REDIS_STORES.match(line):
            continue
        match = _REDIS.search(line)
        if match is None or _ONE_KEY.search(line):
            continue
        return (
            "deny" if match[0].strip(" ;\"'(\n").upper().startswith("FLUSH") else "ask"
        ), "deletes keys or changes the server"
    return None
