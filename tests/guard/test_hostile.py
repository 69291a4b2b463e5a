"""Shapes that are made to break a reader: never an exception, never silence, always an end."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.guard import Guard
from fairlead.guard.guard import Guard as RealGuard
from fairlead.guard.shell.parse import parse

GUARD = Guard(packs="all", project="/home/u/project", home="/home/u", auto_allow=["read-only"])
TAIL = "rm -rf /"


def _nested(times: int) -> str:
    command = TAIL
    for _ in range(times):
        command = f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | sh"
    return command


SHAPES = {
    "forty unclosed substitutions": "echo " + "$(" * 40 + TAIL,
    "ten thousand unclosed substitutions": "echo " + "$(" * 10_000 + TAIL,
    "ten thousand levels": "echo " + "$(" * 10_000 + TAIL + ")" * 10_000,
    "ten thousand parentheses": "(" * 10_000 + TAIL + ")" * 10_000,
    "ten thousand groups": "{ " * 10_000 + TAIL + "; }" * 10_000,
    "a megabyte of words": "echo " + "word " * 200_000 + "; " + TAIL,
    "a megabyte in one word": "echo " + "a" * 1_000_000 + "; " + TAIL,
    "a megabyte of here-document": "cat > f <<E\n" + "a line\n" * 150_000 + "E\n" + TAIL,
    "a megabyte of python": "python3 - <<'E'\n" + "x = open('a', 'w')\n" * 50_000 + "E\n" + TAIL,
    "backquotes": "echo " + "`" * 4001 + TAIL,
    "parameters": "echo " + "${" * 4000 + TAIL,
    "quoted substitutions": "echo " + '"$(' * 4000 + TAIL,
    "arithmetic": "echo " + "$((" * 5000 + TAIL,
    "open braces": "echo " + "{" * 10_000 + "; " + TAIL,
    "nested braces": "echo " + "{a," * 3000 + "}" * 3000 + "; " + TAIL,
    "multiplying braces": "echo " + "{a,b}" * 40 + "; " + TAIL,
    "braces around substitutions": "echo " + "{a,$(echo " * 40 + "x" + ")}" * 40 + "; " + TAIL,
    "quotes": "echo " + '"' * 50_001 + TAIL,
    "here-documents": "cat " + "<<A " * 2000 + "\n" + "A\n" * 2000 + TAIL,
    "conditions": "if true; then " * 3000 + TAIL + "; fi" * 3000,
    "loops in loops": "for a in {1..60}; do for b in {1..60}; do for c in {1..60}; do :; done; done; done; " + TAIL,
    "eval of eval": "x='rm -rf /'; " + "eval " * 200 + "$x",
    "base64 of base64": _nested(20),
    "a long pipeline": "echo " + TAIL + " | cat" * 3000 + " | sh",
    "python exec": "python3 -c '" + "exec(" * 5000 + "'; " + TAIL,
    "python quotes": "python3 -c '" + 'open("a' * 5000 + "'; " + TAIL,
    "sql": 'psql -c "' + "DELETE FROM x " * 3000 + '"; ' + TAIL,
    "find": "find . " + "-name x -o " * 3000 + "-delete; " + TAIL,
    "case": "case x in " + "a) b;; " * 3000 + "esac; " + TAIL,
    "a function that calls itself": "f() { f; f; }; f; " + TAIL,
    "functions that multiply": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}; " for n in range(30)) + "f0; " + TAIL,
    "nul characters": "r\0m -rf /",
    "lone surrogates": "echo \ud800; " + TAIL,
    "long range": "echo {1..999999999}; " + TAIL,
    "long numbers": "echo {1.." + "9" * 5000 + "}; " + TAIL,
    "a variable that doubles": "a=xxxxxxxx; " + "a=$a$a; " * 60 + TAIL,
    "a variable that grows by itself": "a=xxxxxxxx; " + "a+=$a; " * 60 + TAIL,
    "an array that doubles": "a=(x x); " + 'a=("${a[@]}" "${a[@]}"); ' * 60 + TAIL,
    "a replacement that multiplies": "a=" + "x" * 300 + "; " + "a=${a//x/xxxxxxxxxx}; " * 20 + TAIL,
    "many uses of a long list": "a='" + "x " * 3000 + "'; " + "echo $a; " * 500 + TAIL,
    "many uses of many arguments": "set -- " + "x " * 3000 + "; " + "echo $@; " * 500 + TAIL,
    "sudo of sudo": "sudo " * 3000 + TAIL,
    "xargs of xargs": "echo / | " + "xargs " * 3000 + "rm -rf",
    "a program that starts itself": "R - <<'E'\nsubprocess.run('R')\nE\n" + TAIL,
    "open brackets": "echo " + "[" * 100_000 + "; " + TAIL,
    "parentheses in arithmetic": "echo $((" + "(" * 50_000 + "; " + TAIL,
    "quotes in arithmetic": "echo " + '"$(( ' * 5000 + TAIL,
    "variables and subshells": "".join(f"a{n}=b; (x); " for n in range(400)) + TAIL,
    "variables and alternatives": "".join(f"a{n}=1 || " for n in range(900)) + TAIL,
    "a deep path": "rm -rf " + "a/" * 20_000,
    "python with open texts": "python3 - <<'E'\nopen(" + "'''x " * 5000 + "\nE\n" + TAIL,
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_hostile_shape_is_asked_about_or_denied(name: str) -> None:
    assert GUARD.command(SHAPES[name]).decision in ("ask", "deny")


@pytest.mark.parametrize("count", [1, 50, 51, 100, 499, 500])
@pytest.mark.parametrize("noop", ["true;", ": &&", "echo x;", "cd . &&", "x=1;", "(true);", "\n"])
def test_no_number_of_harmless_commands_hides_the_last(noop: str, count: int) -> None:
    """claude-code-50-subcommands."""
    assert GUARD.command(f"{noop} " * count + TAIL).decision == "deny"


PIECES = st.sampled_from(
    ["$(", ")", "`", '"', "'", "\\", "{", "}", "((", "))", "[[", "]]", "<<E", "\n", "E\n", ";", "&&", "||", "|", "&",
    ">", "<", "$x", "${x", "$((",
     "if ", "then ", "fi ", "for x in ", "do ", "done ", "case x in ", "esac ", "a) ", ";;", "f() ", "echo ", "rm ",
     "#", "~", "*", "?", "[", "]", "!", "=",
     "a", " ", "\t", "$'", '$"', "<(", ">(", "2>&1", "<<<", "time ", "coproc ", "function ", "select ", "{a,b}",
     "{1..3}", "é", "\ud800"],
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=30))
def test_no_text_before_a_denied_command_on_its_own_line_makes_it_pass(pieces: list[str]) -> None:
    """Where bash would still run the last line, the guard must not be silent about it."""
    prefix = "".join(pieces)
    _, parser = parse(prefix)
    swallowed = "#" in prefix or "<<" in prefix or "'" in prefix or '"' in prefix or "\\" in prefix or "`" in prefix
    finding = GUARD.command(prefix + "\n" + TAIL)
    if prefix.endswith("\\"):
        return
    if not swallowed or parser.broken:
        assert finding.decision in ("ask", "deny")
    assert finding.decision != "allow"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_an_answer_and_never_an_allow_with_a_denied_part(text: str) -> None:
    assert GUARD.command(text).decision in ("none", "allow", "ask", "deny")
    assert GUARD.command(f"{TAIL}; {text}").decision in ("ask", "deny")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["Bash", "Write", "Edit", "apply_patch", "Read", "WebFetch", "mcp__a__write", "PowerShell",
       "Other"]),
       st.dictionaries(st.sampled_from(["command", "file_path", "content", "url", "path", "edits"]),
                       st.one_of(st.text(max_size=40), st.integers(), st.none(), st.lists(st.text(max_size=5),
                       max_size=2))))  # fmt: skip
def test_any_tool_input_gets_an_answer(tool: str, tool_input: dict[str, object]) -> None:
    assert GUARD.tool(tool, tool_input).decision in ("none", "allow", "ask", "deny")


def test_words_in_any_order_are_read_without_error() -> None:
    choice = random.Random(7)
    words = [
        "rm",
        "-rf",
        "git",
        "sudo",
        "env",
        "-S",
        "bash",
        "-c",
        "xargs",
        "find",
        "-exec",
        "{}",
        ";",
        "|",
        "curl",
        "python3",
        "-c",
        "psql",
        "tar",
        "ssh",
        "docker",
        "exec",
        "--",
        "$(",
        ")",
    ]
    for _ in range(500):
        text = " ".join(choice.choice(words) for _ in range(choice.randrange(1, 14)))
        assert "cannot be read to its end" not in GUARD.command(text).reason, text


def test_an_error_inside_the_guard_is_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(RealGuard, "judged", fail)
    finding = GUARD.command("ls")
    assert (finding.decision, finding.rule) == ("ask", "guard.unreadable")
