"""What a command names of its project, to the letter: which part of its text, and whether it is run there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.errors import ConfigError
from fairlead.trust import naming, needing, words

FILES = [
    "hooks/x.sh", "hooks/plain", "tools/y.py", "tools/main.rb", "data.txt", "run me.sh", "lib/m.py", "lib/__init__.py",
    "lib/sub/__main__.py", "bin/tool", "bin/readme.txt", "node_modules/.bin/e", "venv/bin/x", "parts/a.sh",
    "parts/b.txt", "a+b@c%d,e.sh", "plugin/hooks/p.sh", "deep/er/z.js", "x=y.sh", "one:two.sh",
    "sh data.txt", "__main__.py", "index.js",
]  # fmt: skip
RUNNABLE = ("hooks/x.sh", "hooks/plain", "bin/tool", "node_modules/.bin/e", "venv/bin/x")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("named")
    for name in FILES:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        file.chmod(0o755 if name in RUNNABLE else 0o644)
    (folder / "link.sh").symlink_to("hooks/x.sh")
    (folder / "folder.sh").mkdir()
    return str(folder)


RUN, ONLY_NAMED = True, False
IN_TEXT: dict[str, list[tuple[str, str, bool]]] = {
    "sh hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "sh hooks/plain": [("hooks/plain", "hooks/plain", RUN)],
    "cat hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", ONLY_NAMED)],
    "cat data.txt": [],
    "cat data.txt | sh": [("data.txt", "data.txt", RUN)],
    "eval $(cat data.txt)": [("data.txt", "data.txt", RUN)],
    "sh < data.txt": [("data.txt", "data.txt", RUN)],
    "cat data.txt > out": [],
    "'run me.sh' a": [("run me.sh", "run me.sh", RUN)],
    '"run me.sh"': [("run me.sh", "run me.sh", RUN)],
    "echo 'run me.sh'": [("run me.sh", "run me.sh", ONLY_NAMED)],
    "'hooks'/x.sh": [("'hooks'/x.sh", "hooks/x.sh", RUN)],
    "lint 'hooks'/x.sh 'tools/y.py'": [
        ("'hooks'/x.sh", "hooks/x.sh", ONLY_NAMED),
        ("tools/y.py", "tools/y.py", ONLY_NAMED),
    ],
    "sh hooks/x.sh hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN), ("hooks/x.sh", "hooks/x.sh", ONLY_NAMED)],
    "hooks/x.sh; tools/y.py": [("hooks/x.sh", "hooks/x.sh", RUN), ("tools/y.py", "tools/y.py", RUN)],
    "tools/y.py && 'hooks/x.sh'": [("tools/y.py", "tools/y.py", RUN), ("hooks/x.sh", "hooks/x.sh", RUN)],
    "eslint --config=tools/y.py": [("tools/y.py", "tools/y.py", ONLY_NAMED)],
    "x -m:tools/y.py": [("tools/y.py", "tools/y.py", ONLY_NAMED)],
    "sh x=y.sh": [("x=y.sh", "x=y.sh", RUN)],
    "sh one:two.sh": [("one:two.sh", "one:two.sh", RUN)],
    "sh a+b@c%d,e.sh": [("a+b@c%d,e.sh", "a+b@c%d,e.sh", RUN)],
    "sh -x hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "env A=1 sh hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "cd deep && cd er && node z.js": [],
    "cd deep/er && node z.js": [("z.js", "deep/er/z.js", RUN)],
    "! hooks/plain": [("hooks/plain", "hooks/plain", RUN)],
    "{ hooks/plain; }": [("hooks/plain", "hooks/plain", RUN)],
    "(hooks/plain)": [("hooks/plain", "hooks/plain", RUN)],
    "true\nhooks/plain": [("hooks/plain", "hooks/plain", RUN)],
    "true &hooks/plain": [("hooks/plain", "hooks/plain", RUN)],
    "a `hooks/plain`": [("hooks/plain", "hooks/plain", RUN)],
    "$PWD/hooks/x.sh": [("$PWD/hooks/x.sh", "hooks/x.sh", RUN)],
    "${PWD}/hooks/x.sh": [("${PWD}/hooks/x.sh", "hooks/x.sh", RUN)],
    "$PWD//hooks/x.sh": [("$PWD//hooks/x.sh", "hooks/x.sh", RUN)],
    "$(pwd)/hooks/x.sh": [("$(pwd)/hooks/x.sh", "hooks/x.sh", RUN)],
    "`pwd`/hooks/x.sh": [("`pwd`/hooks/x.sh", "hooks/x.sh", RUN)],
    "$(git rev-parse --show-toplevel 2>/dev/null)/hooks/x.sh": [
        ("$(git rev-parse --show-toplevel 2>/dev/null)/hooks/x.sh", "hooks/x.sh", RUN)
    ],
    "sh ./hooks/x.sh": [("./hooks/x.sh", "hooks/x.sh", RUN)],
    "sh hooks/../hooks/x.sh": [("hooks/../hooks/x.sh", "hooks/x.sh", RUN)],
    "sh link.sh": [("link.sh", "link.sh", RUN)],
    "sh folder.sh": [],
    "sh node_modules/.bin/e": [],
    "sh . ..": [],
    "python3.11 tools/y.py": [("tools/y.py", "tools/y.py", RUN)],
    "/usr/bin/python3 tools/y.py": [("tools/y.py", "tools/y.py", RUN)],
    "h\"ook\"s/x.sh": [('h"ook"s/x.sh', "hooks/x.sh", RUN)],
    "hooks/\\x.sh": [("hooks/\\x.sh", "hooks/x.sh", RUN)],
    'hooks/""x.sh': [('hooks/""x.sh', "hooks/x.sh", RUN)],
    "sh hooks/'x'.sh": [("hooks/'x'.sh", "hooks/x.sh", RUN)],
    "bash -c 'true; hooks/x.sh'": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "python3 -c \"exec(open('tools/y.py'))\"": [("tools/y.py", "tools/y.py", RUN)],
    "hooks/x.sh$PWD/tools/y.py": [("hooks/x.sh", "hooks/x.sh", RUN), ("$PWD/tools/y.py", "tools/y.py", ONLY_NAMED)],
    "hooks/x.sh'tools'/y.py": [("hooks/x.sh", "hooks/x.sh", RUN), ("'tools'/y.py", "tools/y.py", ONLY_NAMED)],
    "bash -euo pipefail hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "bash +O extglob data.txt": [("data.txt", "data.txt", RUN)],
    "python3 -W ignore -X dev data.txt": [("data.txt", "data.txt", RUN)],
    "python3 -O tools/y.py data.txt": [("tools/y.py", "tools/y.py", RUN)],
    "cat -o x data.txt": [],
    "bash -e errexit data.txt": [],
    "timeout 5 sh data.txt": [("data.txt", "data.txt", RUN)],
    "timeout -k 5 1.5m data.txt": [("data.txt", "data.txt", RUN)],
    "nice -n 5 data.txt": [("data.txt", "data.txt", RUN)],
    "sed 5d data.txt": [],
    "sh 5 data.txt": [],
    "5 data.txt": [],
    "jq -r .a data.txt": [],
    "sed -i s/a/b/ tools/y.py": [("tools/y.py", "tools/y.py", ONLY_NAMED)],
    "'hooks/x.sh": [("hooks/x.sh", "hooks/x.sh", RUN)],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize("text", IN_TEXT, ids=ascii)
def test_what_a_command_names_and_which_of_it_runs(project: str, text: str) -> None:
    found = naming.in_text(text, project)
    assert [(text[one.start : one.end], one.path, one.runs) for one in found] == IN_TEXT[text]


def test_the_folders_in_which_a_command_looks_have_an_order(project: str) -> None:
    """Where it starts, then what it names, then the project, then the plugin."""
    assert [one.path for one in naming.in_text("sh p.sh", project, root="plugin/hooks")] == ["plugin/hooks/p.sh"]
    assert [one.path for one in naming.in_text("sh x.sh", project, cwd="hooks")] == ["hooks/x.sh"]
    assert [one.path for one in naming.in_text("sh x.sh", project)] == []
    Path(project, "plugin/x.sh").write_text("")
    try:
        both = naming.in_text("sh x.sh", project, root="plugin", cwd="hooks")
        assert [one.path for one in both] == ["hooks/x.sh"]
    finally:
        Path(project, "plugin/x.sh").unlink()


IN_WORDS: dict[str, tuple[list[str], list[tuple[int, str, bool]]]] = {
    "the first": (["hooks/plain", "a"], [(0, "hooks/plain", RUN)]),
    "after a runner": (["sh", "hooks/plain"], [(1, "hooks/plain", RUN)]),
    "after a runner and its options": (["bash", "-e", "-u", "data.txt"], [(3, "data.txt", RUN)]),
    "after nothing but options": (["-x", "data.txt"], []),
    "after another program": (["cat", "data.txt"], []),
    "a program for another": (["cat", "hooks/x.sh"], [(1, "hooks/x.sh", ONLY_NAMED)]),
    "with a variable": (["sh", "$PWD/data.txt"], [(1, "data.txt", RUN)]),
    "a blank in the name": (["sh", "run me.sh"], [(1, "run me.sh", RUN)]),
    "after the value of an option": (["bash", "-euo", "pipefail", "data.txt"], [(3, "data.txt", RUN)]),
    "a script for a shell": (["sh", "-c", "hooks/plain; cat tools/y.py"],
                             [(2, "hooks/plain", RUN), (2, "tools/y.py", ONLY_NAMED)]),
    "a script with one word": (["sh", "-c", "a=hooks/x.sh"], [(2, "hooks/x.sh", RUN)]),
    "a file whose name reads like a command": (["cat", "sh data.txt"], []),
    "behind a colon": (["lint", "-c:tools/y.py"], [(1, "tools/y.py", RUN)]),
    "nothing": (["true", "x"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_WORDS)
def test_what_the_words_of_a_program_name(project: str, case: str) -> None:
    given, expected = IN_WORDS[case]
    found = naming.in_words(given, project)
    assert [(index, one.path, one.runs) for index, one in found] == expected
    for index, one in found:
        if given[index].endswith(one.path) and " " not in given[index].replace(one.path, ""):
            assert one.end == len(given[index])


IN_FOLDERS = {
    "sh parts/*.sh": ["parts/a.sh"],
    "sh parts/?.sh": ["parts/a.sh"],
    "sh parts/[ab].sh": ["parts/a.sh"],
    "lint parts/*.sh": [],
    "sh hooks/x.sh": [],
    "run-parts parts": ["parts/a.sh"],
    "run-parts 'parts'": ["parts/a.sh"],
    "python3 lib": ["lib/__init__.py", "lib/m.py"],
    "python3 lib/": ["lib/__init__.py", "lib/m.py"],
    "ls lib": [],
    "python3 .": ["__main__.py", "index.js"],
    "python3 ./": ["__main__.py", "index.js"],
    'python3 "$PWD"': ["__main__.py", "index.js"],
    "python3.12 -u .": ["__main__.py", "index.js"],
    "/usr/bin/node .": ["__main__.py", "index.js"],
    "jq .": [],
    "sed ''": [],
    "-x .": [],
    "A=1 .": [],
    "ls .": [],
    "sh node_modules": [],
    "parts": [],
    "PATH=bin tool": ["bin/tool"],
    "PATH=/usr/bin:$PWD/bin:$PATH tool": ["bin/tool"],
    "PATH=. tool": [],
    "PATH= tool": [],
    "git -c core.hooksPath=hooks commit": ["hooks/plain", "hooks/x.sh"],
    "PYTHONPATH=lib x": [],
    "OTHER=bin x": [],
    "{ parts": [],
    "! parts": [],
}


@pytest.mark.parametrize("text", IN_FOLDERS)
def test_what_a_command_finds_by_looking(project: str, text: str) -> None:
    assert naming.in_folders(text, project) == IN_FOLDERS[text]


def test_it_looks_where_it_starts(project: str) -> None:
    assert naming.in_folders("sh *.sh", project, "parts") == ["parts/a.sh"]
    assert naming.in_folders("python3 .", project, "lib/sub") == ["lib/sub/__main__.py"]
    assert "hooks/x.sh" not in naming.in_folders("run-parts .", project)
    assert naming.in_folders("run-parts .", project, "parts") == ["parts/a.sh"]
    assert "run me.sh" in naming.in_folders("run-parts .", project)
    assert naming.in_folders("python3 sub", project, "lib") == ["lib/sub/__main__.py"]
    assert naming.in_folders("PATH=bin x", project, "lib") == []
    assert naming.in_folders("PATH=../bin x", project, "lib") == ["bin/tool"]


UNCOVERED = {
    "PYTHONPATH=lib python3 -c 1": ["PYTHONPATH=lib"],
    "NODE_PATH=lib:tools node x": ["NODE_PATH=lib", "NODE_PATH=tools"],
    "PYTHONPATH=/elsewhere python3": [],
    "PATH=bin x": [],
    "venv/bin/x": ["venv/bin/x"],
    "$PWD/venv/bin/x": ["$PWD/venv/bin/x"],
    "venv/bin/gone": [],
    "find . -exec sh {} +": ["-exec sh"],
    "find . -exec {} +": ["-exec {}"],
    "find . -execdir bash {} +": ["-execdir bash"],
    "find . -exec ruff {} +": [],
    "ls | xargs sh": ["xargs sh"],
    "ls | /usr/bin/xargs sh": ["/usr/bin/xargs sh"],
    "ls | xargs ruff": [],
    "perl -Ilib x": ["-Ilib"],
    "perl -I lib x": ["-I lib"],
    "perl -Igone x": [],
    "perl -I gone x": [],
    "sh $X": ["$X"],
    "$X": ["$X"],
    "sh '$X'": ["'$X'"],
    "sh $(cat x)": ["$(…)"],
    "sh `cat x`": ["`cat"],
    "echo $X": [],
    "$HOME/bin/tool": [],
    "$HOME/bin/other": [],
    "PYTHONPATH=venv/bin python3": [],
    "sh hooks/x.sh; sh $X": ["$X"],
    "sh $X; sh hooks/x.sh": ["$X"],
    '"$HOME"/bin/tool': [],
    '"$HOME"/bin/other': ['"$HOME"/bin/other'],
    "sh $PWD/hooks/x.sh": [],
    "sh $X $X; sh $X": ["$X"],
}


@pytest.mark.parametrize("text", UNCOVERED)
def test_what_nobody_can_cover(project: str, text: str) -> None:
    assert naming.uncovered(text, project) == UNCOVERED[text]


UNSEEN = {
    "./gone.sh": ["./gone.sh"],
    "sh gone.py && x": ["gone.py"],
    "../gone": ["../gone"],
    "./": [],
    "vet ./...": [],
    "case $x in *.py) ;; esac": [],
    "ls [ab].sh x?.sh": [],
    "hooks/x.sh": [],
    "cat data.txt": [],
    "/gone/x.sh": ["/gone/x.sh"],
    "venv/bin/x": [],
    "a=gone.sh": ["a=gone.sh", "gone.sh"],
    ".py": [".py"],
    "echo hello": [],
    "gone.sh; sh hooks/x.sh": ["gone.sh"],
    "sh hooks/x.sh; gone.sh": ["gone.sh"],
    "hooks/x.sh$PWD/gone.sh": ["$PWD/gone.sh"],
    "$PWD/gone.sh'hooks'/x.sh": ["$PWD/gone.sh"],
    "cd hooks && ./x.sh": [],
}


@pytest.mark.parametrize("text", UNSEEN)
def test_what_a_command_would_run_and_is_not_there(project: str, text: str) -> None:
    assert naming.unseen(text, project) == UNSEEN[text]


def test_what_is_there_elsewhere_is_not_missed(project: str, tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("")
    assert naming.unseen(f"sh {tmp_path}/x.sh", project) == []
    assert naming.unseen(f"sh {project}/gone.sh", project) == [f"{project}/gone.sh"]


MODULES = {
    "python3 -m lib.m": ["lib.m"],
    "python3 -u -m lib": [],
    "x -m lib": [],
    "python3 -c 'import a, b; from c import d'": ["a", "b", "c", "d"],
    "python3 -c 'import'": [],
    "node -c 'import a'": [],
    "python3 import a": [],
    "uv -m a": ["a"],
}


@pytest.mark.parametrize("text", MODULES)
def test_which_modules_a_command_names(text: str) -> None:
    assert naming.modules(text) == MODULES[text]


def test_where_modules_are_looked_for(project: str) -> None:
    assert naming.module_folders("python3 -m x", project) == [""]
    assert naming.module_folders("PYTHONPATH=lib python3 -m x", project, "tools") == ["tools", ""]
    assert naming.module_folders("PYTHONPATH=lib python3 -m x", project) == ["", "lib"]
    assert naming.module_folders("python3 -c 'import sys; sys.path.append(\"lib\"); import m'", project) == ["", "lib"]
    assert naming.module_folders("python3 lib", project) == [""]


def test_only_a_regular_file_of_the_project_is_inside(project: str, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(project)
    assert naming.inside(project, "hooks/x.sh") == "hooks/x.sh"
    assert naming.inside(project, f"{project}/hooks/x.sh") == "hooks/x.sh"
    assert naming.inside(project, f"{tmp_path}/other/hooks/x.sh") == "hooks/x.sh"
    for path in ("", ".", "hooks", "gone", "../x", "/etc/passwd", "venv/bin/x", f"{project}x/y", "a\0b"):
        assert naming.inside(project, path) == ""


def test_a_folder_that_only_begins_alike_is_another(tmp_path: Path) -> None:
    for name in ("p/x.sh", "p2/y.sh"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    assert naming.inside(str(tmp_path / "p"), "../p2/y.sh") == ""
    assert naming.inside(str(tmp_path / "p"), f"{tmp_path}/p2/y.sh") == ""


# --- the words of a command --------------------------------------------------------------------------

VARIABLES = {
    "$PWD": 4, "$PWD/x": 4, "${PWD}": 6, "${PWD}x": 6, "$A/x": 2, "${A}/x": 4, "$A": 0, "$A.sh": 0, "$1/x": 0, "$": 0,
    "x$PWD": 0, "$(pwd)": 6, "`pwd`/x": 5, "$(date)": 0, "$(pwd": 0, "`pwd": 0, "$( pwd )": 8, "${A": 0, "$A_B1/x": 5,
    "$(pwd 2>/dev/null)/x": 18, "$PROJECT_DIR": 12, "$PROJECT_DIRX": 0,
}  # fmt: skip


@pytest.mark.parametrize("text", VARIABLES)
def test_where_a_variable_for_a_folder_ends(text: str) -> None:
    assert words.variable_end(text, 0) == VARIABLES[text]
    assert words.variable_end(f"ab{text}", 2) == VARIABLES[text] + 2


PARTED = {
    "a b": [(0, "a"), (2, "b")],
    " a;b|c&d(e)f<g>h\ti\nj": [
        (1, "a"), (3, "b"), (5, "c"), (7, "d"), (9, "e"), (11, "f"), (13, "g"), (15, "h"), (17, "i"), (19, "j"),
    ],
    "x $(pwd)/y z": [(0, "x"), (2, "$(pwd)/y"), (11, "z")],
    "$(date) x": [(0, "$"), (2, "date"), (8, "x")],
    "'a b'": [(0, "'a"), (3, "b'")],
    "": [],
}  # fmt: skip


@pytest.mark.parametrize("text", PARTED, ids=ascii)
def test_words_as_a_shell_parts_them(text: str) -> None:
    assert list(words.words(text)) == PARTED[text]


QUOTED = {
    "'a b'": [(1, 4, "a b")],
    "x 'a'/b y": [(2, 7, "a/b")],
    "\"a\" 'b'": [(1, 2, "a"), (5, 6, "b")],
    "'a' 'b'": [(1, 2, "a"), (5, 6, "b")],
    "'a": [],
    "''": [(1, 1, "")],
    '"$PWD/a b"': [(1, 9, "a b")],
    '"$PWD"/a': [(0, 8, "a")],
}


@pytest.mark.parametrize("text", QUOTED)
def test_what_stands_in_marks(text: str) -> None:
    assert list(words.quoted(text)) == QUOTED[text]


BARE = {
    "a": [(0, 1, "a")],
    "a b": [(0, 1, "a"), (2, 3, "b")],
    "(a)": [(1, 2, "a")],
    "$PWD/a": [(0, 6, "a")],
    "a=b": [(0, 3, "a=b"), (2, 3, "b")],
    "a:b": [(0, 3, "a:b"), (2, 3, "b")],
    "=b": [(0, 2, "=b"), (1, 2, "b")],
    "a=": [(0, 2, "a=")],
    "a=$PWD/b": [(0, 2, "a="), (2, 8, "b")],
    "$X": [(1, 2, "X")],
    "$(pwd)": [(0, 6, "")],
}


@pytest.mark.parametrize("text", BARE)
def test_what_stands_without_marks(text: str) -> None:
    assert list(words.bare(text)) == BARE[text]


JOINED = {
    "hooks/\\x.sh": [(0, 11, "hooks/x.sh")],
    'a hooks/""x.sh': [(2, 14, "hooks/x.sh")],
    "$PWD/h'o'oks/x.sh": [(0, 17, "hooks/x.sh")],
    "hooks/x.sh'": [],
    'hooks/x.sh"': [],
    "'hooks/x.sh'": [],
    '"hooks"/x.sh': [],
    "hooks/x.sh": [],
}


@pytest.mark.parametrize("text", JOINED)
def test_words_of_which_no_part_is_one(text: str) -> None:
    assert list(words.joined(text)) == JOINED[text]


GLUED = {
    'h"/x.sh"': [(0, 8, "h/x.sh")],
    "a b\\c": [(2, 5, "bc")],
    "plain": [],
    '"x': [],
    '"ab': [(0, 3, "ab")],
    '"a{': [],
    '"a,': [],
    '"$PWD/x"': [(0, 8, "x")],
}


@pytest.mark.parametrize("text", GLUED)
def test_words_with_marks_in_their_middle(text: str) -> None:
    assert list(words.glued(text)) == GLUED[text]


@pytest.mark.parametrize(
    ("word", "rest"),
    [("$PWD/a", "a"), ("$PWD//a", "a"), ("a/$PWD", "a/$PWD"), ("$X", "$X"), ("`pwd`/a", "a"), ("/a", "/a"), ("", "")],
)
def test_a_word_without_the_variable_at_its_beginning(word: str, rest: str) -> None:
    assert words.without_variable(word) == rest


# --- what a program pulls in -------------------------------------------------------------------------

PULLED = {
    "an import": ("h/a.py", "import b.c", ["h/b/__init__.py", "h/b/c.py"]),
    "an import from here": ("h/a.py", "from . import d", ["h/d.py"]),
    "an import from above": ("h/k/a.py", "from ..d import x", ["h/d.py"]),
    "a name of a package": ("h/a.py", "from b import c", ["h/b/__init__.py", "h/b/c.py"]),
    "a path in a text": ("h/a.py", "open('d.py')", ["h/d.py"]),
    "a text that is no Python": ("h/a.py", "import d (", []),
    "Python by its first line": ("h/a", "#!/usr/bin/python3\nimport d", ["h/d.py"]),
    "a shell by its first line": ("h/a", "#!/bin/sh\n. ./h/l.sh", ["h/l.sh"]),
    "a shell with an option": ("h/a.x", "#!/bin/sh -e\n. h/l.sh", ["h/l.sh"]),
    "a shell without any": ("h/a", ". h/l.sh", ["h/l.sh"]),
    "something else without a line": ("h/a.x", ". h/l.sh", []),
    "a comment": ("h/a.sh", "# h/l.sh\n  # h/l.sh", []),
    "a variable": ("h/a.sh", 'sh "$D/l.sh"', ["h/l.sh"]),
    "braces": ("h/a.sh", "sh ${D}/l.sh", ["h/l.sh"]),
    "a command": ("h/a.sh", 'sh "$(dirname "$0")/l.sh"', ["h/l.sh"]),
    "from the project": ("h/k/a.sh", "sh h/l.sh", ["h/l.sh"]),
    "data beside it": ("h/a.sh", "cat h/t.txt", ["h/t.txt"]),
    "data elsewhere": ("h/a.sh", "cat o/u.txt", []),
    "data of a script at the top": ("a.sh", "cat t.txt", []),
    "required": ("h/a.js", "require('./j')", ["h/j.js"]),
    "required with its ending": ("h/a.js", 'import "./j.js"', ["h/j.js"]),
    "required from above": ("h/k/a.js", "require(`../j`)", ["h/j.js"]),
    "required by a folder": ("h/a.ts", "require('./i')", ["h/i/index.js"]),
    "a text that is no path": ("h/a.js", f"x = '{'x' * 1025}'; require('./j')", ["h/j.js"]),
    "named in a script": ("h/a.mjs", "spawn('sh', ['h/l.sh'])", ["h/l.sh"]),
    "node by its first line": ("h/a", "#!/usr/bin/env node\nrequire('./j')", ["h/j.js"]),
    "an ending left out": ("h/a.rb", 'require_relative "r"', ["h/r.rb"]),
    "an interpreter of its own": ("h/a.x", "#!./h/l.sh\n", ["h/l.sh"]),
    "an interpreter from elsewhere": ("h/a.x", "#!/bin/cat\n", []),
    "another language by its first line": ("h/a.x", "#!/usr/bin/perl\nsystem 'h/l.sh'", ["h/l.sh"]),
    "another language without an ending": ("h/a", "#!/usr/bin/perl\nsystem 'h/l.sh'", ["h/l.sh"]),
    "a command in the middle": ("h/a.sh", "sh $(pwd)/l.sh `pwd`/d.py", ["h/l.sh", "h/d.py"]),
    "a log beside it": ("h/a.sh", "echo x >> h/t.log", []),
    "nothing": ("h/a.sh", "", []),
    "a binary": ("h/a.sh", "\0. h/l.sh", []),
}


OTHERS = "h/b/__init__.py h/b/c.py h/d.py h/l.sh h/j.js h/i/index.js h/r.rb h/t.txt h/t.log o/u.txt".split()


@pytest.mark.parametrize("case", PULLED)
def test_what_a_program_names_counts(tmp_path: Path, case: str) -> None:
    path, text, expected = PULLED[case]
    others = [
        "h/b/__init__.py",
        "h/b/c.py",
        "h/d.py",
        "h/l.sh",
        "h/j.js",
        "h/i/index.js",
        "h/r.rb",
        "h/t.txt",
        "o/u.txt",
    ]
    for name in (*others, path, "t.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text if name == path else "")
    assert needing.all_of([path], str(tmp_path)) == sorted([path, *expected])


def test_an_interpreter_of_the_project_counts_by_its_whole_path_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"#!{tmp_path}/b\n")
    (tmp_path / "b").write_text("")
    (tmp_path / "c").write_text("#!\n")
    assert needing.all_of(["a", "c"], str(tmp_path)) == ["a", "b", "c"]


@pytest.mark.parametrize("count", [500, 501])
def test_five_hundred_files_of_one_hook_are_what_anybody_looks_at(tmp_path: Path, count: int) -> None:
    """Beside the one that pulls them in."""
    names = [f"m{number}" for number in range(count)]
    (tmp_path / "a.py").write_text(f"import {', '.join(names)}\n")
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    if count == 500:
        assert len(needing.all_of(["a.py"], str(tmp_path))) == 501
    else:
        with pytest.raises(ConfigError, match=r"a\.py pulls in more than 500 files"):
            needing.all_of(["a.py"], str(tmp_path))


def test_what_a_compiler_says_about_a_program_is_for_its_author(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Under `-W error` too, where it would hide what the program needs."""
    (tmp_path / "a.py").write_text('import b\nb.found("\\d")\n')
    (tmp_path / "b.py").write_text("x = " + "-" * 100_000 + "1\n")
    assert needing.all_of(["a.py"], str(tmp_path)) == ["a.py", "b.py"]
    assert capfd.readouterr().err == ""
