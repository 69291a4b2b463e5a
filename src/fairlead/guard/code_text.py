"""Program text of other languages, brought to one plain form before it is looked at.

Names of imports are undone, pieces of strings are joined, and the many spellings of the home
directory become ``'~'``, so that the patterns of ``code`` need to know one spelling only.
"""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy, mentions

_SIMPLE = r"(?:'[^'\\\n]*+'|\"[^\"\\\n$]*+\")"
_IMPORT_CALL = lazy(r"__import__\(\s*['\"]([\w.]+)['\"]\s*\)|importlib\.import_module\(\s*['\"]([\w.]+)['\"]\s*\)")
_IMPORT_AS = lazy(r"\b(?:import\s+|,\s*)(os|subprocess|shutil|socket|pathlib|urllib\.request)\s+as\s+(\w+)")
_IMPORT_FROM = lazy(r"\bfrom\s+(os|subprocess|shutil|urllib\.request)\s+import\s+([\w, ]+)")
_REQUIRED = lazy(
    r"\b(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*['\"](?:node:)?(fs|os|path|child_process|net|https?)['\"]\s*\)"
)
_REQUIRE = lazy(r"require\(\s*['\"](?:node:)?(fs|os|path|child_process|net|https?)(?:/promises)?['\"]\s*\)")
_CHARACTER = lazy(r"\b(?:chr|String\.fromCharCode)\(\s*(\d{1,3})\s*\)")
_CONCATENATED = lazy(_SIMPLE + r"(?:\s*(?:\+|\.\.|\.(?=\s*['\"]))\s*" + _SIMPLE + r")+")
_LIST_JOINED = lazy(r"(?:''|\"\")\.join\(\s*[\[(]((?:\s*" + _SIMPLE + r"\s*(?:,|(?=[\])])))+)\s*[\])]\s*\)")
_REVERSED = lazy(r"(" + _SIMPLE + r")(?:\[::-1\]|\.split\(''\)\.reverse\(\)\.join\(''\)|\.reverse\b)")
_ATTRIBUTE = lazy(r"\bgetattr\(\s*([\w.]+)\s*,\s*['\"](\w+)['\"]\s*\)")
_INDEXED = lazy(r"\[(?<=[\w)]\[)\s*+['\"](\w++)['\"]\s*+\](?=\s*\()")
_HOME = lazy(
    r"(?:pathlib\.)?Path\.home\(\)|os\.path\.expanduser\(\s*['\"]~['\"]\s*\)|os\.environ(?:\.get\(|\[)\s*['\"]HOME"
    r"['\"]\s*[\])]|os\.getenv\(\s*['\"]HOME['\"]\s*\)|process\.env(?:\.HOME\b|\[['\"]HOME['\"]\])|os\.homedir\(\)"
    r"|\bhomedir\(\)|Dir\.home\b|ENV(?:\.fetch\(|\[)['\"]HOME['\"][\])]|Sys\.getenv\(['\"]HOME['\"]\)"
    r"|Deno\.env\.get\(['\"]HOME['\"]\)|NSHomeDirectory\(\)|System\.user_home!?(?:\(\))?|\bgetenv\(['\"]HOME['\"]\)"
)
_PERL_HOME = lazy(r"\$ENV\{['\"]?HOME['\"]?\}(?=[/\"])|\$ENV\{['\"]?HOME['\"]?\}")
_IN_TEMPLATE = lazy(r"[$#]?\{\s*['\"]~['\"]\s*\}")
_SLASHED = lazy(_SIMPLE + r"(?:\s*/\s*" + _SIMPLE + r")+")
_PATH_JOIN = lazy(
    r"\b(?:os\.path\.join|path\.(?:join|resolve)|File\.join)\(\s*(" + _SIMPLE + r"(?:\s*,\s*" + _SIMPLE + r")*)\s*\)"
)
_JOINPATH = lazy(r"(" + _SIMPLE + r")\.joinpath\(\s*(" + _SIMPLE + r"(?:\s*,\s*" + _SIMPLE + r")*)\s*\)")
_PATH_CALL = lazy(
    r"\b(?:pathlib\.)?(?:Path|PurePath|os\.path\.expanduser|File\.expand_path|expanduser)\(\s*(" + _SIMPLE + r")\s*\)"
)
_ANY_SIMPLE = lazy(_SIMPLE)
_TWO_STRINGS = lazy(r"['\"]\s*+(?:\+|\.\.?)\s*+['\"]")
_SLASHED_STRINGS = lazy(r"['\"]\s*+/\s*+['\"]")
_NEEDS = (
    "import", "require", "chr(", "fromCharCode", "+", "..", "join", "::-1", "reverse", "getattr", "[", "home", "HOME",
    "Home", "Path", "expand",
)  # fmt: skip


def plain(text: str, language: str) -> str:
    """Return the text with names, strings and paths in their simplest form."""
    if not mentions(text, *_NEEDS):
        return text
    if language == "python":
        text = _python_names(text)
    elif language == "javascript":
        text = _node_names(text)
    text = _strings(_homes(text))
    if "getattr(" in text:
        text = _ATTRIBUTE.sub(r"\1.\2", text)
    return _INDEXED.sub(r".\1", text)


def _python_names(text: str) -> str:
    """Undo renamed imports, so that calls stand under their usual names."""
    if "import" not in text:
        return text
    if mentions(text, "__import__(", "import_module("):
        text = _IMPORT_CALL.sub(lambda match: match[1] or match[2], text)
    for module, name in _IMPORT_AS.findall(text)[:8]:
        text = re.sub(rf"(?<![\w.]){name}\.", f"{module}.", text)
    for module, names in _IMPORT_FROM.findall(text)[:8]:
        for name in names.split(",")[:8]:
            if name.strip().isidentifier():
                text = re.sub(rf"(?<![\w.]){name.strip()}\(", f"{module}.{name.strip()}(", text)
    return text


def _node_names(text: str) -> str:
    if "require(" not in text:
        return text
    for name, module in _REQUIRED.findall(text)[:8]:
        if name != module:
            text = re.sub(rf"(?<![\w.]){name}\.", f"{module}.", text)
    return _REQUIRE.sub(r"\1", text)


def _homes(text: str) -> str:
    if "HOME" in text:
        text = _PERL_HOME.sub(
            lambda match: "~" if match.string[match.end() : match.end() + 1] in ("/", '"') else "'~'", text
        )
    if mentions(text, "HOME", "home", "Home", "expanduser"):
        text = _HOME.sub("'~'", text)
    return _IN_TEMPLATE.sub("~", text) if "~" in text else text


def _strings(text: str) -> str:
    if mentions(text, "chr(", "fromCharCode("):
        text = _CHARACTER.sub(lambda match: _quoted(chr(int(match[1]))), text)
    if ".join(" in text:
        text = _LIST_JOINED.sub(lambda match: _quoted("".join(_contents(match[1]))), text)
    if mentions(text, "[::-1]", ".reverse"):
        text = _REVERSED.sub(lambda match: _quoted(match[1][1:-1][::-1]), text)
    if mentions(text, "Path(", "expanduser(", "expand_path("):
        text = _PATH_CALL.sub(r"\1", text)
    if "/" in text and _SLASHED_STRINGS.search(text):
        text = _SLASHED.sub(_joined_path, text)
    if mentions(text, "join(", "path.resolve("):
        text = _PATH_JOIN.sub(_joined_path, text)
    if ".joinpath(" in text:
        text = _JOINPATH.sub(_joined_path, text)
    return _CONCATENATED.sub(_one_string, text) if _TWO_STRINGS.search(text) else text


def _one_string(match: re.Match[str]) -> str:
    return _quoted("".join(_contents(match[0])))


def _joined_path(match: re.Match[str]) -> str:
    return _quoted("/".join(_contents(match[0])))


def _contents(text: str) -> list[str]:
    return [literal[1:-1] for literal in _ANY_SIMPLE.findall(text)]


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "").replace("'", "").replace("\n", " ") + "'"
