"""Migration tools and application shells: what they do to the database behind them."""

from __future__ import annotations

import re

from fairlead.guard import sql
from fairlead.guard._lazy import lazy
from fairlead.guard.code_risks import MODELS
from fairlead.guard.packs import act, reads, searchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_BACKUP = "take a backup first, or work on a copy"
# Words that stand in this order, with any options between them.
_RESETS: dict[str, str] = {
    "rails": (
        r"db:(?:drop|reset|purge|schema:load|migrate:reset|seed:replant|structure:load|truncate_all"
        r"|setup:reset)\S*"
    ),
    "artisan": r"migrate:(?:fresh|reset|refresh)|db:wipe|schema:drop",
    "prisma": r"migrate reset|db push .*--(?:force-reset|accept-data-loss)",
    "manage.py": r"(?:flush|reset_db|sqlflush|reset_schema|drop_test_database|clear_\w+)\b|migrate \S+ zero",
    "alembic": r"downgrade (?:.*\b)?(?:base|0)\b|stamp base",
    "sequelize": r"db:drop|db:migrate:undo:all|db:seed:undo:all",
    "typeorm": r"schema:drop|schema:sync",
    "knex": r"migrate:rollback .*--all|migrate:down --all|migrate:unlock",
    "mix": r"ecto\.(?:drop|reset)|ash\.(?:drop|reset)|ecto\.rollback .*--all|ash_postgres\.drop",
    "console": r"doctrine:(?:database:drop|schema:drop|fixtures:load|mongodb:schema:drop)|d:d:d|d:s:d",
    "flyway": r"clean",
    "liquibase": r"drop-?all|rollback-?to-?date",
    "drizzle-kit": r"drop|push --force",
    "supabase": r"db reset|db push .*--linked|projects delete|branches delete",
    "goose": r"reset|down-to 0",
    "dbmate": r"drop|rollback .*--all",
    "migrate": r"drop|down(?: -all)?\Z|down --all",
    "sqlx": r"database (?:drop|reset)",
    "diesel": r"database reset|migration revert .*(?:-a|--all)|database drop",
    "dotnet": r"ef database drop|ef database update 0",
    "edgedb": r"database (?:drop|wipe)|instance destroy",
    "gel": r"(?:database|branch) (?:drop|wipe)|instance destroy",
    "sea-orm-cli": r"migrate (?:fresh|reset|refresh)",
    "atlas": r"schema clean|schema apply .*--auto-approve",
    "hasura": r"metadata clear|migrate (?:apply .*--down|delete)",
    "flask": r"db downgrade base|(?:drop|reset)[-_]db|db drop|init-db --drop",
    "wp": r"db (?:reset|drop|clean)|site empty|post delete .*\$\(",
    "drush": r"sql[-:]drop|site[-:]install|sql[-:]sanitize|entity:delete",
    "drupal": r"database:drop|site:install",
    "gradlew": r"flywayClean|dropAll|liquibaseDropAll",
    "mvn": r"flyway:clean|liquibase:dropAll|sql:drop",
    "lein": r"migratus rollback-all|migratus reset",
    "aerich": r"init-db --drop|downgrade .*--delete",
    "yoyo": r"rollback .*--all|rollback --batch",
    "phinx": r"rollback .*-t 0",
    "adonis": r"migration:(?:reset|fresh|refresh)|db:wipe",
    "strapi": r"database:reset|import .*--force",
    "directus": r"database reset|bootstrap --force",
    "medusa": r"db:(?:drop|reset)",
    "craft": r"db/(?:drop|restore)|install/craft",
    "typo3": r"database:drop",
    "magento": r"setup:uninstall|setup:rollback",
    "meteor": r"reset",
    "payload": r"migrate:(?:fresh|reset|refresh)",
    "wrangler": r"d1 delete|kv:?\s?namespace delete|r2 bucket delete",
    "bytebase": r"\Z.",
    "pscale": r"(?:database|branch) delete",
    "turso": r"db destroy|group destroy",
    "neonctl": r"(?:projects|branches|databases) delete",
    "neo4j-admin": r"(?:database )?(?:load|delete|wipe)",
    "cockroach": r"\Z.",
    "mikro-orm": r"(?:schema|database|migration):(?:drop|fresh)",
    "orator": r"migrate:reset|migrate:rollback .*--all",
    "rake": r"db:(?:drop|reset|purge|schema:load|migrate:reset|truncate_all|nuke)\S*",
    "gradle": r"flywayClean|dropAll|liquibaseDropAll",
    "sail": r"migrate:(?:fresh|reset|refresh)|db:wipe",
    "spark": r"migrate:(?:refresh|rollback -b 0)|db:wipe",
}
_ALIASES = {
    "bin/rails": "rails",
    "sequelize-cli": "sequelize",
    "django-admin": "manage.py",
    "doctrine": "console",
    "symfony": "console",
    "neon": "neonctl",
    "ef": "dotnet",
    "wp-cli": "wp",
    "typeorm-ts-node-commonjs": "typeorm",
    "typeorm-ts-node-esm": "typeorm",
    "mvnw": "mvn",
    "sql-migrate": "goose",
    "rails-db": "rails",
    "ace": "adonis",
    "migrate-mongo": "migrate",
    "phx": "mix",
}
_ROLLBACK = lazy(
    r"\b(?:rollback|revert|downgrade|migrate:undo|migrate:down|undo|down|db:migrate|migrate|migration:run|migrate:latest"
    r"|migrate deploy|upgrade|db push|ef database update|update)\b"
)
_MANY_STEPS = lazy(r"STEPS?=\d{2,}|--steps?[= ]\d{3,}|-n \d{3,}")
_PRODUCTION = lazy(r"(?:\A|[^A-Za-z])(?:prod|production|live|prd)(?:[^A-Za-z]|\Z)", re.IGNORECASE)
_TEST = lazy(r"(?:-e|--env|--environment|_ENV|APP_ENV)[= ]?\s*(?:test|testing)\b|\btest_?db\b|_test\b", re.IGNORECASE)
_SCRIPTS = lazy(
    r"(?:\S*/)?(manage\.py|artisan|console|rails|rake|wp|drush|craft|ace|spark|magento|typo3|sail|gradlew)\Z"
)


def _tool(call: Call) -> tuple[str, str]:
    """Return the migration tool that runs and its arguments as one text."""
    args = call.args
    name = call.name
    script = _SCRIPTS.match(args[0]) if args else None
    if name in ("python", "python3", "php", "ruby", "node", "sail", "symfony") and script:
        name, args = script[1], args[1:]
    elif name in ("npm", "yarn", "pnpm") and args:
        position = next((i for i, arg in enumerate(args[:4]) if arg in _RESETS or arg in _ALIASES), -1)
        name, args = (args[position], args[position + 1 :]) if position >= 0 else ("", [])
    elif name == "flask" and args[:1] != ["db"]:
        args = args[-1:]
    return _ALIASES.get(name, name), searchable(args)


@reads(*_RESETS, *_ALIASES, "python", "python3", "php", "npm", "yarn", "pnpm", "ruby")
def _migrations(call: Call) -> None:
    name, text = _tool(call)
    pattern = _RESETS.get(name)
    if pattern is None or re.search(r"--help\b|--dry-run|--pretend|(?:\A|\s)-h\Z", text):
        return
    surroundings = f"{text} {' '.join(f'{key}={value}' for key, value in call.env.items())}"
    if _TEST.search(surroundings) or "commit" in call.args[:1]:
        return
    ordered = pattern.replace(" ", r"(?:\s+\S+){0,12}?\s+")
    if re.search(rf"(?:\A|\s|:)(?:{ordered})(?:\s|\Z)", text + " ", re.IGNORECASE):
        act(call, "drop", "databases.reset", "drops or empties the database of the application", _BACKUP)
    elif _ROLLBACK.search(text) and (_PRODUCTION.search(surroundings) or _MANY_STEPS.search(surroundings)):
        act(call, "drop", "databases.reset", "changes the database that users work with", _BACKUP)


_TEXT_OPTIONS = frozenset({"-c", "--command", "-e", "--execute", "--eval", "-r", "--code"})
_SHELLS = lazy(
    r"(?:\A|\s)(?:shell|shell_plus|console|runner|r|c|tinker|dbshell|dbconsole|db|run|eval|rpc|sql:query|sqlq|db:seed|execute|-S)(?:\s|\Z)"
)


@reads(
    *(
        "rails bin/rails rake bundle python python3 php flask django-admin manage.py mix iex prisma wp drush "
        "artisan console elixir meteor sail dotnet symfony"
    ).split()
)
def _application_shells(call: Call) -> None:
    """Text that an application's own shell runs: model calls and statements."""
    if not _SHELLS.search(" ".join(call.args)) and call.name not in ("iex", "elixir"):
        return
    texts = [call.stdin.text or ""]
    for index, arg in enumerate(call.args):
        name, equals, value = arg.partition("=")
        if name in _TEXT_OPTIONS:
            texts.append(value if equals else "".join(call.args[index + 1 : index + 2]))
    if call.name in ("rails", "bin/rails", "bundle", "wp", "drush"):
        texts += [arg for arg in call.args if " " in arg or "." in arg]
    text = "\n".join(texts)
    if MODELS.search(text) or re.search(r"\.delete_all\b|\.destroy_all\b|Repo\.delete_all", text):
        act(call, "drop", "databases.change", "deletes every record of a model", _BACKUP)
    elif (found := sql.sql(text)) is not None:
        act(call, "drop", "databases.change", found[1], _BACKUP, decision=found[0])
