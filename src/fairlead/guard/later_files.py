"""Files that run later: which they are, and the commands inside them."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Written for one machine and run on others: by whoever installs, builds, checks out or opens the project.
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("package", lazy(r"/(?:package|composer)\.json\Z")),
    ("pipeline", lazy(
        r"/\.github/(?:workflows/[^/]+|actions/.+/action)\.ya?ml\Z|/action\.ya?ml\Z|/\.gitlab-ci[\w.-]*\.ya?ml\Z|/\.circleci/.+\.ya?ml\Z"
        r"|/azure-pipelines[\w.-]*\.ya?ml\Z|/bitbucket-pipelines\.ya?ml\Z|/\.travis\.ya?ml\Z|/\.drone\.ya?ml\Z|/\.buildkite/.+\.ya?ml\Z"
        r"|/\.woodpecker(?:/.+)?\.ya?ml\Z|/cloudbuild\.ya?ml\Z|/appveyor\.ya?ml\Z|/taskfile\.ya?ml\Z|/lefthook\.ya?ml\Z"
        r"|/\.pre-commit-config\.yaml\Z|/\.gitpod\.ya?ml\Z"
    )),
    ("image", lazy(r"/(?:dockerfile|containerfile)[\w.-]*\Z|/[\w.-]+\.dockerfile\Z")),
    ("makefile", lazy(r"/(?:gnu)?makefile[\w.-]*\Z|/[\w.-]+\.mk\Z|/justfile\Z|/\.justfile\Z")),
    ("tasks", lazy(
        r"/\.vscode/(?:tasks|launch|settings)\.json\Z|/\.devcontainer(?:/.+)?\.json\Z|/\.zed/tasks\.json\Z"
    )),
    ("shell", lazy(
        r"/\.envrc\Z|/\.husky/[\w-]+\Z|/\.git/hooks/[\w-]+\Z|/\.githooks/[\w.-]+\Z|/\.lefthook/.+\Z|/jenkinsfile\Z"
        r"|/procfile\Z"
    )),
    ("python", lazy(
        r"/(?:setup|sitecustomize|usercustomize|noxfile|tasks|fabfile|manage|build|hatch_build|sconstruct)\.py\Z|/[\w-]+\.pth\Z"
    )),
    ("tests", lazy(r"/conftest\.py\Z")),
    ("javascript", lazy(
        r"/(?:[\w.-]+\.config|gulpfile|gruntfile|\.eslintrc|\.pnpmfile|\.prettierrc|\.babelrc)\.[cm]?[jt]s\Z|/\.yarn/plugins/.+\Z"
    )),
    ("ruby", lazy(r"/(?:rakefile|gemfile|podfile|vagrantfile|fastfile|dangerfile)\Z|/[\w-]+\.gemspec\Z")),
    ("rust", lazy(r"/build\.rs\Z")),
)  # fmt: skip
_HINT = lazy(
    r"\.(?:json|ya?ml|py|pth|mk|rs|rb|gemspec|dockerfile|envrc|[cm]?[jt]s)\Z|(?:file|hooks|husky|lefthook)(?:/|[\w.-]*\Z)"
)


def kind_of(plain: str) -> str:
    """Return what kind of file a folded path is, or "" if it does not run by itself."""
    if _HINT.search(plain) is None:
        return ""
    return next((kind for kind, pattern in _NAMES if pattern.search(plain)), "")


_PAIR = lazy(r"\"([^\"\\\n]{1,100})\"\s*:\s*\"((?:[^\"\\\n]|\\.)*)\"")
_LIFECYCLE = lazy(
    r"(?:pre|post)?(?:install|uninstall|prepare|pack|publish|dependencies|prepublish(?:Only)?|(?:install|update|autoload)-(?:cmd|dump))\Z"
)
_ESCAPES = lazy(r"\\(.)", re.DOTALL)
_AUTOMATIC = "automatic"
_ON_DEMAND = "on demand"


def commands(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a file, and whether it runs on its own or because somebody asks for it."""
    reader = _READERS.get(kind)
    if reader is not None:
        yield from reader(text)


def _package(text: str) -> Iterator[tuple[str, str]]:
    """Scripts of a package, also when only a part of the file is written."""
    for name, value in _PAIR.findall(text):
        yield _ESCAPES.sub(r"\1", value), _AUTOMATIC if _LIFECYCLE.match(name) else _ON_DEMAND


_COMMAND_KEYS = r"(?:command(?:Line)?|(?:post(?:Create|Start|Attach)|onCreate|initialize|updateContent)Command)"
_TASK = lazy(rf"\"{_COMMAND_KEYS}\"\s*:\s*\"((?:[^\"\\\n]|\\.)*)\"(?:\s*,\s*\"args\"\s*:\s*\[([^\]]*)\])?")


def _tasks(text: str) -> Iterator[tuple[str, str]]:
    automatic = _AUTOMATIC if "folderOpen" in text or "CreateCommand" in text or "initialize" in text else _ON_DEMAND
    for command, args in _TASK.findall(text):
        words = " ".join(value for value in re.findall(r"\"((?:[^\"\\]|\\.)*)\"", args))
        yield _ESCAPES.sub(r"\1", f"{command} {words}".strip()), automatic


_KEY = lazy(
    r"^([ \t]*)(?:- +)?(?:run|(?:before_|after_)?script|entry|commands?|cmds?|args|install|init)\s*:[ \t]*(.*)$",
    re.MULTILINE,
)
_ITEM = lazy(r"^[ \t]*-[ \t]+(.*)$")
_EXPRESSION = lazy(r"\$\{\{(.*?)\}\}", re.DOTALL)


def _pipeline(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a pipeline; of a part without any key, every line."""
    text = _EXPRESSION.sub(_expression, text)
    found = False
    for match in _KEY.finditer(text):
        found = True
        yield _yaml_value(text, match), _ON_DEMAND
    if not found:
        yield "\n".join(_ITEM.sub(r"\1", line) for line in text.splitlines()), _ON_DEMAND


def _expression(match: re.Match[str]) -> str:
    """``${{ secrets.KEY }}`` is put in by the service; for the shell it is a variable."""
    secret = re.search(r"secrets\.(\w+)", match[1])
    if secret:
        return f"$SECRET_{secret[1]}"
    return "$SECRET_ALL" if re.search(r"toJSON\(\s*secrets", match[1], re.IGNORECASE) else "value"


def _yaml_value(text: str, match: re.Match[str]) -> str:
    value = match[2].strip()
    if value and not re.match(r"[|>][+-]?\d*\Z", value):
        return value.strip("'\"") if value[0] in "'\"" else value
    indent = len(match[1])
    lines: list[str] = []
    for line in text[match.end() + 1 :].splitlines():
        if line.strip() and len(line) - len(line.lstrip()) <= indent and not (_ITEM.match(line) and not value):
            break
        lines.append(_ITEM.sub(r"\1", line) if not value else line.strip())
    return "\n".join(lines)


_INSTRUCTION = lazy(
    r"^[ \t]*(?:ONBUILD[ \t]+)?(?:RUN|CMD|ENTRYPOINT|HEALTHCHECK[^\n]*?CMD)[ \t]+((?:[^\\\n]|\\.|\\\n)*)",
    re.MULTILINE | re.IGNORECASE,
)
_MOUNT = lazy(r"\A(?:--(?:mount|network|security)=\S+\s+)+")


def _image(text: str) -> Iterator[tuple[str, str]]:
    for match in _INSTRUCTION.finditer(text):
        command = _MOUNT.sub("", match[1])
        if command.startswith("["):
            command = " ".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", command))
        yield command, _ON_DEMAND


_MAKE_SHELL = lazy(r"\$\(shell\s+((?:[^()]|\([^()]*\))*)\)")
_MAKE_VARIABLE = lazy(r"\$(?:\((?!shell )[^()\s]*\)|\{[^{}\s]*\}|[@<^?*%])")
_RECIPE = lazy(r"^(?:\t| {2,})[@+-]*(.+)$", re.MULTILINE)


def _makefile(text: str) -> Iterator[tuple[str, str]]:
    for match in _MAKE_SHELL.finditer(text):
        yield match[1], _AUTOMATIC
    lines = [
        _MAKE_VARIABLE.sub("value", line).replace("$$", "$") for line in _RECIPE.findall(text.replace("\\\n", " "))
    ]
    yield "\n".join(lines), _ON_DEMAND


def _shell(text: str) -> Iterator[tuple[str, str]]:
    yield text, _AUTOMATIC


_READERS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "package": _package,
    "tasks": _tasks,
    "pipeline": _pipeline,
    "image": _image,
    "makefile": _makefile,
    "shell": _shell,
}
AUTOMATIC = _AUTOMATIC
CODE = {"python": "python", "tests": "python", "javascript": "javascript", "ruby": "ruby", "rust": "rust"}

_UNTRUSTED = lazy(r"\bpull_request_target\b|\bworkflow_run\b")
_HEAD = lazy(
    r"github\.event\.pull_request\.head\.(?:sha|ref)|github\.head_ref|refs/pull/|github\.event\.workflow_run\.head_"
)


def runs_strangers(text: str) -> bool:
    """Say whether a workflow checks out what a stranger wrote while it holds the project's secrets."""
    return _UNTRUSTED.search(text) is not None and _HEAD.search(text) is not None and "checkout" in text


def half_stranger(text: str) -> bool:
    """Say whether a text brings one half of that; the other may be in the file already."""
    return _UNTRUSTED.search(text) is not None or _HEAD.search(text) is not None
