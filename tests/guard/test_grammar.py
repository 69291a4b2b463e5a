"""The reader of shell text, held against an independent grammar."""

from __future__ import annotations

import pytest

from fairlead.guard import Guard
from fairlead.guard.effects import OPAQUE
from fairlead.guard.shell.braces import expand
from fairlead.guard.shell.parse import parse
from fairlead.guard.shell.run import Call, Record, Shell

from .cases import written

tree_sitter = pytest.importorskip("tree_sitter")
tree_sitter_bash = pytest.importorskip("tree_sitter_bash")
GRAMMAR = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def met(command: str, **variables: str) -> list[list[str]]:
    """Return the programs that a command starts, with their arguments."""
    calls: list[list[str]] = []

    def meet(call: Call) -> object:
        calls.append([call.program, *call.args])
        return OPAQUE

    shell = Shell(Record(meet), "/p", "/home/u")  # type: ignore[arg-type]
    shell.variables.update(variables)
    shell.run_text(command)
    return calls


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("a b c", [["a", "b", "c"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a $'\\x41\\t\\u00e9\\101'", [["a", "A\té" + "A"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ("a {b,c}{1..2} x{,y}", [["a", "b1", "b2", "c1", "c2", "x", "xy"]]),
        ("a {b} '{c,d}' \"{e,f}\"", [["a", "{b}", "{c,d}", "{e,f}"]]),
        ("a ~ ~/x ~bob '~'", [["a", "/home/u", "/home/u/x", "/home/bob", "~"]]),
        ("X=1 Y=2; a $X \"$Y\" ${X}z", [["a", "1", "2", "1z"]]),
        ("X='b c'; a $X \"$X\"", [["a", "b", "c", "b c"]]),
        ("X=(b c); a \"${X[@]}\"", [["a", "b", "c"]]),
        ("X=/a/b.c; a ${X%.c} ${X##*/} ${X/b/z} ${X:0:2} ${Y:-d}", [["a", "/a/b", "b.c", "/a/z.c", "/a", "d"]]),
        ("a; b && c || d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("(a; b) > f; { c; } 2>&1", [["a"], ["b"], ["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["c"], ["b"], ["d"], ["e"]]),
        ("while a; do b; done < f", [["a"], ["b"]]),
        ("for x in 1 2; do a $x; done", [["a", "1"], ["a", "2"]]),
        ("for ((i=0;i<2;i++)); do a; done", [["a"]]),
        ("case $x in a|b) c;; (*) d;; esac", [["c"], ["d"]]),
        ("f() { a $1; }; f b", [["a", "b"]]),
        ("function g { a; }; g", [["a"]]),
        ("time a; coproc b; ! c", [["a"], ["b"], ["c"]]),
        ("[[ -n $x && $(a) ]] && b", [["a"], ["b"]]),
        ("((x++)); a $((1+2))", [["a", "\0"]]),
        ("a $(b `c`) \"$(d)\"", [["c"], ["b", "\0"], ["d"], ["a", "\0", "\0"]]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", "/dev/fd/63", "/dev/fd/64"]]),
        ("cat <<E | b\n$(c) x\nE\nd", [["c"], ["cat"], ["b"], ["d"]]),
        ("cat <<'E' 2>&1 | b\n$(c)\nE", [["cat"], ["b"]]),
        ("cat <<-E\n\tx\n\tE\na", [["cat"], ["a"]]),
        ("cat <<A <<B\n1\nA\n2\nB\na", [["cat"], ["a"]]),
        ("a 2>&1 <<< x", [["a"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a x#y '#' $#", [["a", "x#y", "#", "\0"]]),
        ("set -- a b; $1 $2", [["set", "--", "a", "b"]]),
        ("a=1 b=2 c", [["c"]]),
        ("a *.py ? [x]", [["a", "\1.py", "\2", "\2"]]),
        ("trap 'a' EXIT", [["trap", "a", "EXIT"]]),
        ("select x in a; do b; done", [["b"]]),
        ("until a; do b; done &", [["a"], ["b"]]),
        ("echo ${x[$(a)]}", [["a"], ["echo", "\0"]]),
        ("x[$(a)]=1; b", [["a"], ["b"]]),
        ("echo $[ $(a) ]", [["a"], ["echo", "\0"]]),
    ],
)  # fmt: skip
def test_what_runs(command: str, calls: list[list[str]]) -> None:
    assert met(command) == calls


@pytest.mark.parametrize(
    "command",
    ["echo 'x", 'echo "x', "echo $(x", "(a", "if a", "a )", "fi", "echo `a", "case x in", "{ a", "a &&& b", "f() a"],
)
def test_what_bash_refuses_is_noticed(command: str) -> None:
    assert parse(command)[1].broken


def test_brace_expansion_leaves_other_braces_alone() -> None:
    assert expand("{}") == ["{}"]
    assert expand("${a,b}") == ["${a,b}"]
    assert expand("{a}") == ["{a}"]
    assert expand("a{b,c{d,e}}f") == ["abf", "acdf", "acef"]
    assert expand("{c..a}") == ["c", "b", "a"]
    assert expand("{1..5..2}") == ["1", "3", "5"]


def _names(node: object) -> list[str]:
    """Return the plain command names that the other grammar sees."""
    found: list[str] = []
    todo = [node]
    while todo:
        here = todo.pop()
        if here.type == "command_name" and here.child_count == 1 and here.children[0].type == "word":  # type: ignore[attr-defined]
            found.append(here.text.decode())  # type: ignore[attr-defined]
        todo += here.children  # type: ignore[attr-defined]
    return found


def test_the_independent_grammar_sees_no_command_that_ours_does_not() -> None:
    """Where both can read a command, every program that it names is met by ours too."""
    missed = []
    for case in written():
        tree = GRAMMAR.parse(case.command.encode()).root_node
        if tree.has_error or "function" in case.command or "()" in case.command:
            continue
        shell = Guard(packs="all", project="/home/u/project", home="/home/u").shell("/home/u/project")
        shell.run_text(case.command)
        seen = {call.program for call in shell.record.calls} | {"time", "coproc", "true", "false"}
        missed += [
            (case.command, name)
            for name in _names(tree)
            if name.replace("\\", "") not in seen and name not in shell.aliases
        ]
    assert missed == []


def test_what_is_substituted_in_an_extended_glob_runs() -> None:
    assert ["rm", "x"] in met("echo *($(rm x)|y)")
    assert ["rm", "x"] in met("echo !(a|`rm x`) @((b|c))")
    assert parse("echo *((")[1].broken
