"""The limits of a reading: realistic scripts stay below them, what is beyond is asked about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.guard import Guard
from fairlead.guard.code_text import plain
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.shell.nodes import ANY, STAR
from fairlead.guard.shell.parse import parse

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u")
SCRIPT = "".join(f'echo "step {n}: $(date +%s)"\nif [ -f a{n} ]; then cp a{n} b{n}; fi\n' for n in range(100))


def test_a_long_script_is_read_to_its_end() -> None:
    assert GUARD.command(SCRIPT).decision == "none"
    assert GUARD.command(SCRIPT + "rm -rf ~\n").decision == "deny"


def test_a_long_list_of_files_is_read_to_its_end() -> None:
    files = " ".join(f"src/module_{n}/file.py" for n in range(300))
    assert GUARD.command(f"prettier --check {files}").decision == "none"
    assert GUARD.command(f"cat {files}").decision == "none"
    assert GUARD.command(f"cat {files} ~/.ssh/id_rsa").rule == "secrets.read"


def test_a_long_here_document_is_text() -> None:
    body = "rm -rf / is never right; $5 is cheap\n" * 2000
    assert GUARD.command(f"cat > notes.md <<'E'\n{body}E\n").decision == "none"


def test_a_long_text_in_a_variable_is_read_to_its_end() -> None:
    body = "a line of a message\n" * 500
    uses = "".join(f'echo "$BODY" > out/{n}.txt\n' for n in range(10))
    assert GUARD.command(f"BODY=$(cat <<'E'\n{body}E\n)\n{uses}").decision == "none"
    assert GUARD.command(f"BODY=$(cat <<'E'\n{body}E\n)\n{uses}rm -rf ~\n").decision == "deny"


def test_a_here_document_with_many_variables_is_read_to_its_end() -> None:
    body = "export NAME_$n=${VALUE:-none} # of $USER\n" * 500
    assert GUARD.command(f"cat > env.sh <<E\n{body}E\n").decision == "none"
    assert GUARD.command(f"cat > env.sh <<E\n{body}$(rm -rf ~)\nE\n").decision == "deny"


def test_a_long_program_of_another_language_is_read_to_its_end() -> None:
    body = "".join(f"def f{n}(a):\n    'Say what {n} is.'\n    return [a + {n}, \"text\"]\n" for n in range(300))
    assert GUARD.command(f"python3 - <<'E'\n{body}\nE\n").decision == "none"
    last = "import shutil\nshutil.rmtree('/')\n"
    assert GUARD.command(f"python3 - <<'E'\n{body}{last}\nE\n").decision == "deny"


WORDS = st.lists(st.sampled_from(["ls", "a=b", "-x", "1", "if", "do", "x.py", "^", "then"]), min_size=1, max_size=5)
OPERATORS = st.sampled_from(
    [";", " ; ", "&&", " || ", "|", " | ", "\n", " \n\n ", "&", "; # x\n", " # y\n", "|&", ";;", ")", "(", ">x", "&>x "]
)


def _tree(node: object) -> object:
    if isinstance(node, (list, tuple)):
        return [_tree(item) for item in node]
    names = getattr(type(node), "__slots__", ())
    return (type(node).__name__, [_tree(getattr(node, name)) for name in names]) if names else node


@given(st.lists(st.tuples(WORDS, OPERATORS), min_size=1, max_size=6))
def test_a_row_of_plain_words_is_read_like_any_other_words(commands: list[tuple[list[str], str]]) -> None:
    """The shortcut for plain words and the reader of all words must agree."""
    short = "".join(" ".join(words) + operator for words, operator in commands)
    # Empty quotes in the name of a program change nothing but the way of reading.
    long = "".join(" ".join([_quoted(words[0]), *words[1:]]) + operator for words, operator in commands)
    (short_tree, short_parser), (long_tree, long_parser) = parse(short), parse(long)
    assert _tree(short_tree) == _tree(long_tree)
    assert short_parser.broken == long_parser.broken


def _quoted(word: str) -> str:
    return word if word in ("if", "do", "then", "1") else word + "''"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("echo a b c # rm -rf /", "none"),
        ("echo 'a' b c d # rm -rf /", "none"),
        ("ls # x\nrm -rf /", "deny"),
        ("ls;# x\nrm -rf /", "deny"),
        ("ls \\\n-la\nrm -rf /", "deny"),
        ("ls -la | sort | rm -rf /", "deny"),
        ("ls -la |\n sort |\n rm -rf /", "deny"),
        ("ls -la | # x\n sort | rm -rf $HOME", "deny"),
        ("ls && sort || rm -rf /", "deny"),
        ("ls&>x&&rm -rf /", "deny"),
        ("echo x#y; rm -rf /", "deny"),
    ],
)
def test_a_row_of_plain_commands_ends_where_it_ends(command: str, decision: str) -> None:
    assert GUARD.command(command).decision == decision


@pytest.mark.parametrize(
    "command",
    ["echo " + "$(pwd) " * 301, "echo " + "`pwd` " * 301, "a b;" * 1001, "cat " + "a/b.py " * 1001, "x " * 10_001,
     "echo " + "$x " * 2501, "x='" + "y " * 9000 + "'; " + "echo $x; " * 20,
     "set -- " + "x " * 900 + "; " + "f $@; " * 20, "sudo " * 50 + "ls", "cat " + "a/" * 600],
    ids=["substitutions", "backquotes", "commands", "effects", "words", "pieces", "expansion", "arguments", "wrappers",
         "path"],
)  # fmt: skip
def test_what_is_beyond_a_limit_is_asked_about(command: str) -> None:
    assert GUARD.command(command).rule == "guard.unreadable"


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("python", "getattr(__import__('os'),'sys'+'tem')('r'+'m x')", "os.system('rm x')"),
        ("python", "from pathlib import Path; (Path.home()/'.aws'/'c').read_text()", "'~/.aws/c'"),
        ("python", "import os; os.path.join(os.environ['HOME'], '.ssh', 'k')", "'~/.ssh/k'"),
        ("python", "print(''.join(['r', 'm']))", "'rm'"),
        ("python", "print('mr'[::-1])", "'rm'"),
        (
            "javascript",
            "require('fs').readFileSync(require('os').homedir() + '/.npmrc')",
            "fs.readFileSync('~/.npmrc')",
        ),
        ("perl", 'open F, "$ENV{HOME}/.netrc"', '"~/.netrc"'),
    ],
)
def test_pieces_of_program_text_are_put_together(language: str, text: str, wanted: str) -> None:
    assert wanted in plain(text, language)


@pytest.mark.parametrize("path", [f"/p/.e{STAR}v", f"/h/.s{ANY}h/id_{STAR}", f"/etc/sh{STAR}w", f"/p/.env{STAR}"])
def test_a_glob_that_can_be_a_credential_file_is_one(path: str) -> None:
    assert is_secret(path)


@pytest.mark.parametrize("path", [f"/p/{STAR}", f"/p/{STAR}.py", f"/etc/{STAR}", "/p/tests/fixtures/secret.json"])
def test_a_glob_that_names_anything_is_none(path: str) -> None:
    assert not is_secret(path)
