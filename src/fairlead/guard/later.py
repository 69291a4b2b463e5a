"""What is written into files that run later: judged by what it will do, not that it is written."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.later_files import AUTOMATIC, CODE, commands, half_stranger, kind_of, runs_strangers
from fairlead.guard.paths import folded, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.guard.effects import Effect
    from fairlead.guard.finding import Finding
    from fairlead.guard.shell.run import Record, Shell

    Judge = Callable[[Effect, Record], Finding | None]

LENGTH = 200_000
_ALL_SECRETS = lazy(r"toJSON\(\s*secrets\s*\)", re.IGNORECASE)
# Nobody wants these in a file that runs on other machines; all else there is ordinary work.
_HOSTILE = frozenset(
    "network.pipe-to-shell network.reverse-shell network.raw-socket network.metadata network.attack-tool "
    "secrets.send guard.decoded-program guard.encoded-program system.hidden-program filesystem.encrypt "
    "filesystem.delete-root filesystem.delete-home filesystem.erase-device filesystem.write-startup "
    "self.settings self.fairlead system.exhaust"
    "secrets.read".split()
)
# A build machine or a container is thrown away, and tests work on copies; their files are nobody's loss.
_THROWN_AWAY = frozenset({"image", "pipeline", "tests"})
_OWN_FILES = lazy(r"filesystem\.|self\.|secrets\.read")
# Installers that thousands of images and pipelines fetch; elsewhere they are still a program from the network.
_INSTALLERS = lazy(
    r"(?:sh\.rustup\.rs|(?:deb|rpm)\.nodesource\.com|astral\.sh|get\.docker\.com|install\.python-poetry\.org|get\.pnpm\.io|bun\.sh"
    r"|deno\.land|(?:uploader\.)?codecov\.io|get\.helm\.sh|fnm\.vercel\.app|get\.volta\.sh|starship\.rs|get\.sdkman\.io"
    r"|install\.determinate\.systems|nixos\.org|raw\.githubusercontent\.com|golangci-lint\.run|sh\.brew\.sh|dot\.net|dl\.yarnpkg\.com"
    r"|cli\.github\.com|aka\.ms|packages\.microsoft\.com|sentry\.io|get\.trunk\.io|taskfile\.dev|just\.systems|mise\.run"
    r"|bootstrap\.pypa\.io|install\.duckdb\.org|fly\.io|get\.k3s\.io|getcomposer\.org|apt\.llvm\.org|packagecloud\.io)\Z"
)


def read_written(shell: Shell, judge: Judge) -> None:
    """Look into the files that a command wrote with a text that is known."""
    for path, stream in list(shell.record.files.items()):
        if stream.text and path.startswith("/"):
            read_text(shell, judge, "", path, stream.text)


def read_text(shell: Shell, judge: Judge, tool: str, path: str, text: str) -> None:
    """Report what a text would do once the file at ``path`` runs."""
    full = join(shell.cwd, path)
    kind = kind_of(folded(full))
    if not kind or not text:
        return
    words = f"{tool} {path}".strip()
    if kind == "pipeline" and half_stranger(text) and runs_strangers(text + _existing(full)):
        shell.effect(
            "secret", words, path=full, rule="secrets.untrusted-workflow", decision="ask",
            reason=f"`{words}` lets code of strangers run with the secrets of this project (pull_request_target)",
            suggestion="use `pull_request`, or do not check out the head of the pull request",
        )  # fmt: skip
    if kind == "pipeline" and _ALL_SECRETS.search(text):
        shell.effect(
            "secret", words, path=full, rule="secrets.send", decision="ask",
            reason=f"`{words}` hands every secret of the project to a step of the pipeline (toJSON(secrets))",
            suggestion="name the one secret that the step needs",
        )  # fmt: skip
    worst = _worst(shell, judge, kind, text[:LENGTH])
    if worst is not None:
        shell.effect(
            "run", words, path=full, rule=worst.rule, decision=worst.decision, suggestion=worst.suggestion,
            reason=f"`{words}` writes what runs later: {worst.reason}",
        )  # fmt: skip


def _existing(path: str) -> str:
    """Return what the file holds already; an edit brings only a part of the whole."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "\n" + file.read(LENGTH)
    except (OSError, ValueError):
        return ""


def _worst(shell: Shell, judge: Judge, kind: str, text: str) -> Finding | None:
    found: list[Finding] = []
    if kind in CODE:
        found += _hostile(_code_effects(shell, kind, text), judge, kind, automatic=True)
    for command, how in commands(kind, text):
        found += _hostile(_shell_effects(shell, command), judge, kind, automatic=how == AUTOMATIC)
    return max(found, key=lambda finding: finding.decision == "deny", default=None)


def _inner(shell: Shell) -> Shell:
    from fairlead.guard.shell.run import Record, Shell

    return Shell(Record(shell.record.meet), shell.cwd, shell.home)


def _shell_effects(shell: Shell, command: str) -> Record:
    inner = _inner(shell)
    try:
        inner.run_text(command)
    except Exception:  # noqa: BLE001  a part of a file is often no complete command; what was read counts
        inner.record.broken = True
    return inner.record


def _code_effects(shell: Shell, kind: str, text: str) -> Record:
    from fairlead.guard.code import scan
    from fairlead.guard.shell.run import Call

    inner = _inner(shell)
    language = CODE[kind]
    try:
        scan(Call(["node" if language == "javascript" else language], inner), text, language)
    except Exception:  # noqa: BLE001  as above
        inner.record.broken = True
    return inner.record


def _hostile(record: Record, judge: Judge, kind: str, *, automatic: bool) -> list[Finding]:
    found = []
    for effect in record.effects:
        finding = judge(effect, record)
        if (
            finding is not None
            and _is_hostile(finding, effect)
            and not _ordinary(finding, effect, kind, automatic=automatic)
        ):
            found.append(finding)
    return found


def _is_hostile(finding: Finding, effect: Effect) -> bool:
    return finding.rule in _HOSTILE or (finding.rule == "network.upload" and effect.note == "environment")


def _ordinary(finding: Finding, effect: Effect, kind: str, *, automatic: bool) -> bool:
    if kind in _THROWN_AWAY and _OWN_FILES.match(finding.rule):
        return True
    if finding.rule == "network.raw-socket" and effect.kind == "connect":
        return True
    if finding.rule in ("secrets.read", "filesystem.write-startup") and not automatic:
        return True
    if finding.rule == "secrets.send" and kind == "pipeline" and finding.decision == "ask":
        # A pipeline holds its secrets in order to use them.
        return True
    return finding.rule == "network.pipe-to-shell" and not automatic and _INSTALLERS.match(effect.host) is not None
