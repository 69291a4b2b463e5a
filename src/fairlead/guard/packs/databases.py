"""Databases: dropping, emptying, mass changes."""

from __future__ import annotations

import re

from fairlead.guard import sql
from fairlead.guard._lazy import lazy
from fairlead.guard.options import Options, options
from fairlead.guard.packs import act, reads
from fairlead.guard.paths import join
from fairlead.guard.programs.files import touch
from fairlead.guard.programs.network import is_local
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.guard.shell.run import Call

    Scan = Callable[[str], tuple[str, str] | None]

# Names that say that nobody will miss the database.
_DISPOSABLE = lazy(
    r"(?:\w*[_-])?(?:tests?|testing|dev|devel|development|tmp|temp|scratch|sandbox|ci|demo|dummy)(?:[_-]?(?:db|\d+))?\Z",
    re.IGNORECASE,
)
_DROPS_ONE = lazy(
    r"\s*DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?[\"`\[]?([\w-]+)[\"`\]]?(?:\s+(?:WITH\s*\(\s*FORCE\s*\)|CASCADE))?\s*\Z",
    re.IGNORECASE,
)
_BACKUP = "take a backup first, or work on a copy"
_CLIENTS = {
    "psql": ("c", ("command",), "f", ("file",)),
    "mysql": ("e", ("execute",), "", ()),
    "mariadb": ("e", ("execute",), "", ()),
    "sqlcmd": ("Qq", (), "i", ()),
    "usql": ("c", ("command",), "f", ("file",)),
    "pgcli": ("c", ("command",), "", ()),
    "mycli": ("e", ("execute",), "", ()),
    "cockroach": ("e", ("execute",), "f", ("file",)),
    "clickhouse-client": ("q", ("query",), "", ("queries-file",)),
    "clickhouse": ("q", ("query",), "", ()),
    "duckdb": ("c", ("command",), "", ()),
    "cqlsh": ("e", ("execute",), "f", ("file",)),
    "snowsql": ("q", ("query",), "f", ("filename",)),
    "snow": ("q", ("query",), "f", ("filename",)),
    "bq": ("", (), "", ()),
    "sqlite3": ("", ("cmd",), "", ()),
    "sqlite": ("", ("cmd",), "", ()),
    "litecli": ("e", (), "", ()),
    "turso": ("", (), "", ()),
    "wrangler": ("", ("command",), "", ("file",)),
    "supabase": ("", (), "", ()),
    "isql": ("", (), "i", ()),
    "sqlplus": ("", (), "", ()),
    "db2": ("", (), "", ()),
    "trino": ("", ("execute",), "f", ("file",)),
    "presto": ("", ("execute",), "f", ("file",)),
    "hive": ("e", (), "f", ()),
    "beeline": ("e", (), "f", ()),
    "spark-sql": ("e", (), "f", ()),
    "vsql": ("c", (), "f", ()),
    "influx": ("", ("execute",), "", ()),
    "neo4j": ("", (), "", ()),
    "heroku": ("c", ("command",), "", ()),
    "dolt": ("q", ("query",), "", ()),
}  # fmt: skip


@reads(*_CLIENTS)
def _client(call: Call) -> None:
    short, long, file_short, file_long = _CLIENTS[call.name]
    connection = "huPDS" if call.name in ("mysql", "mariadb", "mycli") else "hpUdS"
    opts = options(
        call.args,
        short=short + file_short + connection,
        long=(*long, *file_long, "host", "port", "user", "dbname", "database"),
    )
    texts = opts.values(*short, *long)
    if call.name in (
        "sqlite3",
        "sqlite",
        "duckdb",
        "bq",
        "turso",
        "db2",
        "sqlplus",
        "influx",
        "wrangler",
        "cockroach",
        "dolt",
        "hive",
    ):
        texts += opts.operands
    if call.stdin.text:
        texts.append(call.stdin.text)
    here = _on_this_machine(call, opts)
    for text in texts:
        _report(call, _without_disposable(text) if here else text, sql.sql)
        for match in re.finditer(r"^\s*[.\\]?(?:shell|system|!|\\!)\s+(.+)", text, re.MULTILINE):
            call.shell.child().run_text(match[1])
    for path in opts.values(*file_short, *file_long):
        known = call.shell.record.files.get(join(call.shell.cwd, path))
        if known is not None and known.text:
            _report(call, known.text, sql.sql)


def _on_this_machine(call: Call, opts: Options) -> bool:
    """Say whether the server is this machine's own, as far as the command tells."""
    if call.shell.place not in ("", "container") or any(
        name in call.env for name in ("PGHOST", "PGSERVICE", "MYSQL_HOST")
    ):
        return False
    if any("://" in arg or "host=" in arg or UNKNOWN in arg for arg in (*opts.operands, *opts.values("d", "dbname"))):
        return False
    hosts = opts.values("h", "host")
    return all(host.startswith("/") or is_local(host) for host in hosts)


def _without_disposable(text: str) -> str:
    """Leave out ``DROP DATABASE app_test``; what else the text does is still read."""
    return ";".join(
        part for part in text.split(";") if not ((one := _DROPS_ONE.match(part)) and _DISPOSABLE.match(one[1]))
    )


def _report(call: Call, text: str, scan: Scan) -> None:
    found = scan(text)
    if found:
        act(
            call,
            "drop",
            "databases.drop" if found[0] == "deny" else "databases.change",
            found[1],
            _BACKUP,
            decision=found[0],
        )


@reads("mongo", "mongosh")
def _mongo(call: Call) -> None:
    opts = options(call.args, long=("eval", "host", "port"))
    if opts.operands and all(_DISPOSABLE.match(name) for name in opts.operands) and _on_this_machine(call, opts):
        return
    for text in [*options(call.args, long=("eval",)).values("eval"), call.stdin.text or ""]:
        _report(call, text, sql.mongo)


@reads("redis-cli", "valkey-cli", "keydb-cli")
def _redis(call: Call) -> None:
    _report(call, " ".join(call.args) + "\n" + (call.stdin.text or ""), sql.redis)


_DROPPING = {
    "dropdb": ("deny", "drops a whole database"), "dropuser": ("ask", "drops a database user"), "mysqladmin": ("", ""),
    "pg_resetwal": ("deny", "resets the write-ahead log of PostgreSQL"), "mongorestore": ("", ""), "pg_restore": ("",
    ""),
    "pg_ctl": ("", ""), "pg_dropcluster": ("deny", "drops a database cluster"), "initdb": ("", ""),
}  # fmt: skip


@reads(*_DROPPING)
def _tools(call: Call) -> None:
    decision, text = _DROPPING[call.name]
    opts = options(call.args, short="hpUdnjFPuS", long=("host", "port", "username", "user", "maintenance-db"))
    if call.name == "mysqladmin" and {"drop", "shutdown", "flush-hosts", "password"} & set(call.args):
        decision, text = "deny", "drops a database or stops the server"
    elif (
        call.name == "pg_ctl"
        and not re.search(r"-D\s*/tmp/|-D\s*\.?/?tmp", " ".join(call.args))
        and {"stop", "restart", "kill", "promote"} & set(call.args)
    ):
        decision, text = "ask", "stops or changes the database server"
    elif call.name in ("mongorestore", "pg_restore") and opts.has("drop", "c", "clean"):
        decision, text = "ask", "drops existing data before it restores"
    names = [word for word in opts.operands if word != "drop"]
    if call.name in ("dropdb", "mysqladmin") and names and all(_DISPOSABLE.match(name) for name in names):
        decision = "" if _on_this_machine(call, opts) and "shutdown" not in call.args else decision
    if decision and not opts.has("help", "version"):
        act(call, "drop", "databases.drop", text, _BACKUP, decision=decision)


@reads(
    "kafka-topics",
    "kafka-topics.sh",
    "rabbitmqctl",
    "rabbitmqadmin",
    "etcdctl",
    "consul",
    "curator",
    "nats",
    "kcat",
    "influx",
    "cypher-shell",
    "neo4j-admin",
    "zkcli.sh",
)
def _brokers(call: Call) -> None:
    words = " ".join(call.args).lower()
    if re.search(
        r"(?:--delete|\breset\b|\bforce_reset\b|\bpurge(?:_queue)?\b|\bdelete(?:_\w+)?\b|\bdel\b|kv delete|\bdetach "
        r"delete\b|\bdeleteall\b|\brmr\b|stop_app|\bstream rm\b)",
        words,
    ):
        act(call, "drop", "databases.change", "deletes queues, topics or keys", _BACKUP)


@reads("curl")
def _elastic(call: Call) -> None:
    text = " ".join(call.args)
    deletes = re.search(r"-X\s*DELETE|--request[= ]DELETE", text) and re.search(
        r":(?:9200|5984|8529|6333)/|/_all\b", text
    )
    if deletes or "/_delete_by_query" in text:
        act(call, "drop", "databases.drop", "deletes an index or a database", _BACKUP, decision="deny")


@reads("sqlite3")
def _sqlite_output(call: Call) -> None:
    for match in re.finditer(r"\.(?:output|once|backup|save)\s+(\S+)", " ".join(call.args)):
        touch(call, "write", match[1])
