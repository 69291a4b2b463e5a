"""What a model that judges may look at, and what it may not."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.hooks import HookFailed
from fairlead.models import looking, searching
from fairlead.models.beneath import Beneath, Refused
from fairlead.models.looking import MOST_BYTES, MOST_ENTRIES, Looking

CANARY = "canary-that-nobody-may-see"
"""What stands in the files outside of the project."""

Ask = Callable[..., Any]


def furnished(tmp_path: Path) -> Path:
    """A project with a file outside, and everything that could lead there."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.txt").write_text(CANARY)
    (tmp_path / "project-of-others").mkdir()
    (tmp_path / "project-of-others" / "file.txt").write_text(CANARY)
    here = tmp_path / "project"
    (here / "src").mkdir(parents=True)
    (here / "src" / "a.py").write_text("first line\nsecond line\n")
    (here / "README.md").write_text("hello\n")
    (here / "link-to-file").symlink_to("../outside/file.txt")
    (here / "link-to-directory").symlink_to("../outside")
    (here / "link-to-root").symlink_to("/")
    (here / "src" / "link-inside").symlink_to("a.py")
    return here


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return furnished(tmp_path)


def asks(project: Path, **options: Any) -> Iterator[Ask]:
    with Looking(str(project), time.monotonic() + 60, **options) as tools:
        yield lambda name, **arguments: json.loads(tools.answer(name, arguments))


@pytest.fixture
def ask(project: Path) -> Iterator[Ask]:
    yield from asks(project)


def open_below(place: Path) -> list[str]:
    """What this process has open there."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not say what is open")
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the one that was open for the list
            pass
    return [target for target in found if target.startswith(str(place))]


class TestReading:
    def test_a_file_is_shown_whole(self, ask: Ask) -> None:
        assert ask("read", path="src/a.py") == {
            "path": "src/a.py",
            "size": 23,
            "offset": 0,
            "text": "first line\nsecond line\n",
        }

    @pytest.mark.parametrize("path", ["./src/a.py", "src//a.py", "src/./a.py"])
    def test_a_path_may_be_written_untidily(self, ask: Ask, path: str) -> None:
        assert ask("read", path=path)["text"].startswith("first line")

    def test_an_absolute_path_inside_of_the_project_is_as_good(self, ask: Ask, project: Path) -> None:
        assert ask("read", path=f"{project}/src/a.py")["path"] == "src/a.py"

    def test_a_project_may_be_reached_through_a_link(self, project: Path) -> None:
        link = project.parent / "link"
        link.symlink_to(project)
        for ask in asks(link):
            assert ask("read", path=f"{project}/README.md")["text"] == "hello\n"
            assert ask("read", path=f"{link}/README.md")["text"] == "hello\n"

    def test_a_long_file_comes_in_parts_that_make_up_the_whole(self, ask: Ask, project: Path) -> None:
        whole = "".join(f"{number} äöü €  \U0001f600\n" for number in range(5000))
        (project / "long.txt").write_text(whole, encoding="utf-8")
        read = ""
        offset: int | None = 0
        while offset is not None:
            part = ask("read", path="long.txt", offset=offset, limit=7777)
            read += part["text"]
            offset = part.get("next_offset")
        assert read == whole

    @pytest.mark.parametrize("hidden", ["a", "\u202e", "\x01", "é", "\U000e0041"])
    def test_no_answer_is_larger_than_its_bound(self, project: Path, hidden: str) -> None:
        (project / "large.txt").write_text(hidden * 400_000, encoding="utf-8")
        with Looking(str(project), time.monotonic() + 60) as tools:
            raw = tools.answer("read", {"path": "large.txt", "limit": 1 << 40})
        assert len(raw.encode()) <= MOST_BYTES
        answer = json.loads(raw)
        assert set(answer["text"]) == {hidden}
        assert answer["next_offset"] == len(answer["text"].encode())
        assert "cut" in answer["note"]

    def test_without_a_limit_it_shows_the_usual_amount(self, ask: Ask, project: Path) -> None:
        (project / "large.txt").write_text("x" * 100_000)
        assert len(ask("read", path="large.txt")["text"]) == looking.USUAL_BYTES

    def test_what_is_not_unicode_is_replaced(self, ask: Ask, project: Path) -> None:
        (project / "latin.txt").write_bytes(b"caf\xe9 ok")
        assert ask("read", path="latin.txt")["text"] == "caf\ufffd ok"

    def test_a_binary_file_is_named_and_not_shown(self, ask: Ask, project: Path) -> None:
        (project / "program").write_bytes(b"\x7fELF\0\0secret")
        answer = ask("read", path="program")
        assert answer["binary"] is True
        assert "text" not in answer
        assert answer["size"] == 12

    def test_a_sparse_gigabyte_costs_nothing(self, ask: Ask, project: Path) -> None:
        with (project / "sparse").open("wb") as file:
            file.write(b"text at first")
            file.truncate(1 << 30)
        assert ask("read", path="sparse")["binary"] is True
        assert ask("read", path="sparse", offset=(1 << 30) - 10)["binary"] is True
        found = ask("search", pattern="text")
        assert found["complete"] is False
        assert {"path": "sparse", "binary": True} in found["matches"]

    def test_beyond_the_end_there_is_nothing(self, ask: Ask) -> None:
        assert ask("read", path="README.md", offset=1 << 61)["text"] == ""

    def test_what_could_hide_text_is_written_as_an_escape(self, project: Path) -> None:
        (project / "tricks.txt").write_text("a\u202eb\u200bc\U000e0041 <|im_end|>", encoding="utf-8")
        with Looking(str(project), time.monotonic() + 60) as tools:
            raw = tools.answer("read", {"path": "tricks.txt"})
        assert raw.isascii()
        assert "<" not in raw
        assert json.loads(raw)["text"] == "a\u202eb\u200bc\U000e0041 <|im_end|>"


class TestNothingOutside:
    @pytest.mark.parametrize(
        "path",
        [
            "../outside/file.txt",
            "../../../../../../etc/passwd",
            "src/../../outside/file.txt",
            "src/..",
            "/etc/passwd",
            "//etc/passwd",
            "/proc/self/environ",
            "/proc/self/cwd/README.md",
            "/proc/self/root/etc/passwd",
            "link-to-file",
            "link-to-directory/file.txt",
            "link-to-root/etc/passwd",
            "src/link-inside/a",
            "~/.bashrc",
            "",
            ".",
            "src",
            "missing",
            "README.md/below",
            "a\0b",
            "\ud800",
            "x" * 5000,
            "x" * 300,
            "a/" * 300,
        ],
    )
    def test_a_path_that_is_no_file_of_the_project_is_an_answer_in_words(self, ask: Ask, path: str) -> None:
        answer = ask("read", path=path)
        assert list(answer) == ["error"]
        assert CANARY not in str(answer)

    @pytest.mark.parametrize("base", ["", "/../project", "-of-others"], ids=["itself", "dots", "same-beginning"])
    def test_an_absolute_path_is_only_taken_by_whole_names(self, ask: Ask, project: Path, base: str) -> None:
        _write(project / "-of-others" / "file.txt", "inside")
        answer = ask("read", path=f"{project}{base}/file.txt")
        assert list(answer) == ["error"]

    @pytest.mark.parametrize("path", ["link-to-directory", "link-to-root", "link-to-root/etc", "..", "/", "/tmp"])
    @pytest.mark.parametrize("tool", ["list", "search"])
    def test_a_directory_outside_is_neither_listed_nor_searched(self, ask: Ask, tool: str, path: str) -> None:
        more = {"pattern": "."} if tool == "search" else {}
        assert list(ask(tool, path=path, **more)) == ["error"]

    def test_a_link_says_where_it_leads_so_that_its_target_can_be_asked_for(self, ask: Ask) -> None:
        assert "symbolic link to a.py" in ask("read", path="src/link-inside")["error"]

    def test_a_search_follows_no_link(self, ask: Ask) -> None:
        found = ask("search", pattern="canary|first")
        assert [match["path"] for match in found["matches"]] == ["src/a.py"]

    def test_pipes_sockets_and_devices_are_not_opened(
        self, ask: Ask, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(project / "pipe")
        monkeypatch.chdir(project)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
            for name in ("pipe", "socket"):
                assert "pipe, a socket or a device" in ask("read", path=name)["error"]
                assert "pipe, a socket or a device" in ask("search", pattern=".", path=name)["error"]
        assert sorted(ask("list")["others"]) == ["pipe", "socket"]
        assert ask("search", pattern="hello")["matches"]

    def test_what_the_kernel_makes_up_is_withheld_even_in_a_project_that_holds_it(self) -> None:
        if not os.path.isdir("/proc/self"):
            pytest.skip("there is no /proc on this system")
        for ask in asks(Path("/")):
            for path in ("proc/self/environ", "proc/self/cmdline", "/proc/1/status"):
                assert "withheld" in ask("read", path=path)["error"]
            assert "withheld" in ask("list", path="proc/self")["error"]

    def test_a_directory_that_is_swapped_for_a_link_while_we_look_leads_nowhere(self, project: Path) -> None:
        """One thread swaps as fast as it can, the other reads: it sees the real file, or an error."""
        (project / "dir").mkdir()
        (project / "dir" / "file.txt").write_text("inside")
        over = threading.Event()
        swapping = threading.Thread(target=_swap, args=(project, over))
        swapping.start()
        seen: set[str] = set()
        try:
            with Looking(str(project), time.monotonic() + 60) as tools:
                for _ in range(500):
                    seen.add(json.loads(tools.answer("read", {"path": "dir/file.txt"})).get("text", ""))
                    assert CANARY not in tools.answer("search", {"pattern": CANARY, "path": "dir"})
        finally:
            over.set()
            swapping.join()
        assert seen <= {"inside", ""}

    def test_no_file_stays_open(self, project: Path) -> None:
        with Looking(str(project), time.monotonic() + 60) as tools:
            for path in ("src/a.py", "missing", "link-to-directory/x", "src", "src/a.py/x", ".env", "a\0b"):
                tools.answer("read", {"path": path})
                tools.answer("list", {"path": path})
                tools.answer("search", {"pattern": "x", "path": path})
            assert open_below(project.parent) == [str(project)]
        assert open_below(project.parent) == []

    def test_a_project_that_is_none_is_a_failure_in_words(self, tmp_path: Path) -> None:
        with pytest.raises(HookFailed, match="cannot be read: No such file or directory"):
            Beneath(str(tmp_path / "missing"))


def _swap(project: Path, over: threading.Event) -> None:
    real, link, place = project / "real", project / "link", project / "dir"
    link.symlink_to("../outside")
    while not over.is_set():
        place.rename(real)
        link.rename(place)
        place.rename(link)
        real.rename(place)


PIECES = st.sampled_from(
    [
        "..", ".", "", "/", "//", "~", "src", "a.py", "README.md", "link-to-file", "link-to-directory", "link-to-root",
        "link-inside", "outside", "file.txt", "project", "project-of-others", "etc", "passwd", "proc", "self", "root",
        "PROJECT", "PARENT", "\0", "\ud800", "\udc80", "%2e%2e", "..\\", "\uff0e\uff0e", "\u2024\u2024",
    ]
)  # fmt: skip
PATHS = st.one_of(st.lists(PIECES, max_size=8).map("/".join), st.lists(PIECES, max_size=8).map("".join), st.text())

_watched: list[tuple[object, int]] | None = None
"""What is opened, and how."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is None or threading.current_thread() is not threading.main_thread():
        return
    if event == "open":
        _watched.append((arguments[0], arguments[2]))
    elif event in ("os.scandir", "os.listdir") and not isinstance(arguments[0], int):
        _watched.append((arguments[0], 0))


@pytest.fixture(scope="module")
def watched_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sys.addaudithook(_audit)
    return furnished(tmp_path_factory.mktemp("watched"))


class TestAnyPath:
    @given(path=PATHS, tool=st.sampled_from(["read", "list", "search"]))
    def test_each_name_is_opened_by_itself_below_the_project_and_through_no_link(
        self, watched_project: Path, path: str, tool: str
    ) -> None:
        path = path.replace("PROJECT", str(watched_project)).replace("PARENT", str(watched_project.parent))
        more = {"pattern": CANARY} if tool == "search" else {}
        answer, opened = _watch(watched_project, tool, {"path": path, **more})
        assert CANARY not in answer.replace(json.dumps(path), "")
        for name, flags in opened:
            assert isinstance(name, str)
            assert "/" not in name
            assert name != ".."
            assert flags & os.O_NOFOLLOW


def _watch(project: Path, tool: str, arguments: dict[str, Any]) -> tuple[str, list[tuple[object, int]]]:
    global _watched  # noqa: PLW0603  # an audit hook cannot be taken out again, only be told to look away
    with Looking(str(project), time.monotonic() + 60) as tools:
        tools.answer(tool, arguments)  # whatever it has to import
        opened: list[tuple[object, int]] = []
        _watched = opened
        try:
            return tools.answer(tool, arguments), opened
        finally:
            _watched = None


class TestWithheld:
    SECRETS = (".env", "deploy/id_rsa", "server.pem", ".aws/credentials", "credentials.json", ".git/config", ".ENV")

    @pytest.mark.parametrize("path", SECRETS)
    def test_files_that_hold_credentials_are_withheld_and_that_is_said(
        self, ask: Ask, project: Path, path: str
    ) -> None:
        _write(project / path, f"{CANARY}\n")
        assert ask("read", path=path) == {"error": "withheld: it may hold credentials"}
        found = ask("search", pattern=CANARY)
        assert found["matches"] == []
        if not path.startswith(".git/"):
            assert "withheld" in found["not_searched"][0]["why"]

    @pytest.mark.parametrize("path", SECRETS)
    def test_unless_the_owner_of_the_hook_lets_them_be_seen(self, project: Path, path: str) -> None:
        _write(project / path, f"{CANARY}\n")
        for ask in asks(project, secrets=True):
            assert ask("read", path=path)["text"] == f"{CANARY}\n"

    @pytest.mark.parametrize("path", [".env.example", "tests/fixtures/server.pem", "id_rsa.pub", "src/environ.py"])
    def test_what_only_looks_like_it_is_shown(self, ask: Ask, project: Path, path: str) -> None:
        _write(project / path, "fine")
        assert ask("read", path=path)["text"] == "fine"

    @pytest.mark.parametrize("path", [".git/objects/ab/cdef", "sub/.git/objects/x", ".git/modules/x/objects/y"])
    def test_the_storage_of_git_is_withheld(self, ask: Ask, project: Path, path: str) -> None:
        _write(project / path, "x")
        assert "withheld" in ask("read", path=path)["error"]
        assert "withheld" in ask("list", path=str(Path(path).parent))["error"]

    def test_what_git_does_can_be_read(self, ask: Ask, project: Path) -> None:
        _write(project / ".git" / "hooks" / "pre-commit", "#!/bin/sh")
        assert ask("read", path=".git/hooks/pre-commit")["text"] == "#!/bin/sh"
        assert ask("search", pattern="bin", path=".git")["matches"][0]["path"] == ".git/hooks/pre-commit"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


class TestListing:
    def test_says_what_is_there_and_of_what_kind(self, ask: Ask) -> None:
        assert ask("list") == {
            "path": ".",
            "directories": ["src"],
            "files": ["README.md"],
            "links": ["link-to-directory", "link-to-file", "link-to-root"],
            "entries": 5,
        }

    def test_thousands_of_names_come_page_by_page(self, ask: Ask, project: Path) -> None:
        names = [f"{number:05}" for number in range(MOST_ENTRIES + 7)]
        (project / "many").mkdir()
        for name in names:
            (project / "many" / name).touch()
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = ask("list", path="many", offset=offset)
            assert len(page["files"]) <= MOST_ENTRIES
            seen += page["files"]
            offset = page.get("next_offset")
        assert seen == names

    def test_more_names_than_it_reads_are_said_to_be_more(
        self, ask: Ask, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looking, "_MOST_NAMES", 3)
        answer = ask("list")
        assert answer["entries"] == "more than 3"
        assert "search" in answer["note"]
        assert ask("search", pattern="hello")["complete"] is False

    def test_long_names_fit_too(self, project: Path) -> None:
        (project / "many").mkdir()
        for number in range(700):
            (project / "many" / (f"{number:04}" + "\u202e" * 80)).touch()
        with Looking(str(project), time.monotonic() + 60) as tools:
            raw = tools.answer("list", {"path": "many"})
        assert len(raw.encode()) <= MOST_BYTES
        assert json.loads(raw)["next_offset"] == len(json.loads(raw)["files"])

    def test_a_name_that_is_not_unicode_can_be_asked_for_as_it_was_given(self, ask: Ask, project: Path) -> None:
        try:
            (project / "src" / os.fsdecode(b"caf\xe9")).write_text("inside")
        except OSError:
            pytest.skip("this file system has no such names")
        name = next(name for name in ask("list", path="src")["files"] if name.startswith("caf"))
        assert ask("read", path=f"src/{name}")["text"] == "inside"
        assert ask("search", pattern="inside", glob="caf*")["files_searched"] == 1


class TestSearching:
    def test_says_where_and_shows_the_line(self, ask: Ask) -> None:
        assert ask("search", pattern="sec.nd") == {
            "matches": [{"path": "src/a.py", "line": 2, "offset": 11, "text": "second line"}],
            "files_searched": 2,
            "complete": True,
        }

    def test_each_line_is_found_once(self, ask: Ask, project: Path) -> None:
        (project / "many.txt").write_text("x x x\n\nno\nx")
        found = ask("search", pattern="x", path="many.txt")["matches"]
        assert [match["line"] for match in found] == [1, 4]

    @pytest.mark.parametrize(
        ("pattern", "lines"),
        [("^", [1, 2, 3]), ("a$", [1]), ("x*", [1, 2, 3]), ("\\n", [1, 2, 3]), ("b\\s+c", [2]), ("(?i)A", [1])],
    )
    def test_a_pattern_is_about_lines(self, ask: Ask, project: Path, pattern: str, lines: list[int]) -> None:
        (project / "abc.txt").write_text("a\nb\nc\n")
        assert [match["line"] for match in ask("search", pattern=pattern, path="abc.txt")["matches"]] == lines

    @pytest.mark.parametrize(
        ("glob", "files"),
        [
            ("*.py", ["a.py", "lib/b.py", "lib/deep/c.py"]),
            ("**/*.py", ["a.py", "lib/b.py", "lib/deep/c.py"]),
            ("lib/*.py", ["lib/b.py"]),
            ("./lib/**", ["lib/b.py", "lib/deep/c.py", "lib/deep/e f.ts"]),
            ("deep/*.{py,ts}", []),
            ("**/deep/*.{py,ts}", ["lib/deep/c.py", "lib/deep/e f.ts"]),
            ("[ab].py", ["a.py", "lib/b.py"]),
            ("[!ab].py", ["lib/deep/c.py"]),
            ("? ?.ts", ["lib/deep/e f.ts"]),
            ("d.md", ["d.md"]),
            ("a,b.txt", ["a,b.txt"]),
        ],
    )
    def test_a_glob_says_which_files(self, ask: Ask, project: Path, glob: str, files: list[str]) -> None:
        for name in ("a.py", "lib/b.py", "lib/deep/c.py", "d.md", "lib/deep/e f.ts", "a,b.txt"):
            _write(project / name, "needle")
        found = ask("search", pattern="needle", glob=glob)
        assert sorted(match["path"] for match in found["matches"]) == files

    def test_a_glob_may_be_meant_from_the_directory_that_is_searched(self, ask: Ask, project: Path) -> None:
        _write(project / "lib" / "deep" / "c.py", "needle")
        assert ask("search", pattern="needle", path="lib", glob="deep/*")["matches"]

    @pytest.mark.parametrize("pattern", ["(", "(?=x)", "x{5000}", "[", "\ud800", "x" * 5000])
    def test_a_bad_pattern_is_an_answer(self, ask: Ask, pattern: str) -> None:
        assert "the pattern" in ask("search", pattern=pattern)["error"]

    @pytest.mark.parametrize("glob", ["{a", "\ud800", "x" * 5000])
    def test_so_is_a_bad_glob(self, ask: Ask, glob: str) -> None:
        assert "the glob" in ask("search", pattern="x", glob=glob)["error"]

    def test_a_pattern_that_hangs_other_engines_does_not(self, ask: Ask, project: Path) -> None:
        (project / "aaa.txt").write_text("a" * 100_000)
        assert ask("search", pattern="(a+)+$|(a|aa)+b", path="aaa.txt")["matches"]

    def test_people_s_own_files_come_before_what_tools_have_made(self, ask: Ask, project: Path) -> None:
        for name in (".venv/x.py", "node_modules/x.js", "zz/deep/own.py"):
            _write(project / name, "needle")
        paths = [match["path"] for match in ask("search", pattern="needle")["matches"]]
        assert paths == ["zz/deep/own.py", ".venv/x.py", "node_modules/x.js"]

    def test_a_long_line_is_shown_around_its_match(self, ask: Ask, project: Path) -> None:
        (project / "min.js").write_text("x" * 100_000 + "needle" + "y" * 100_000)
        text = ask("search", pattern="needle")["matches"][0]["text"]
        assert "needle" in text
        assert len(text) <= 300

    def test_a_binary_file_is_named_and_not_shown(self, ask: Ask, project: Path) -> None:
        (project / "hidden.py").write_bytes(b"needle\0needle\nneedle")
        assert ask("search", pattern="needle")["matches"] == [{"path": "hidden.py", "binary": True}]

    def test_a_dot_matches_what_is_not_unicode_too(self, ask: Ask, project: Path) -> None:
        (project / "latin.txt").write_bytes(b"one\ncaf\xe9 end")
        found = ask("search", pattern="caf. end")["matches"]
        assert found == [{"path": "latin.txt", "line": 2, "text": "caf\ufffd end"}]

    def test_a_directory_that_cannot_be_read_is_named(self, ask: Ask, project: Path) -> None:
        (project / "closed").mkdir(mode=0)
        if os.access(project / "closed", os.R_OK):
            pytest.skip("this user may read everything")
        found = ask("search", pattern="hello")
        assert found["not_searched"] == [{"path": "closed", "why": "Permission denied"}]

    @pytest.mark.parametrize(
        ("bound", "value", "says"),
        [
            ("MOST_FILES", 1, "only 1 files were searched"),
            ("MOST_BYTES", 1, "only 1 files were searched"),
            ("MOST_NAMES", 1, "too many files"),
            ("MOST_MATCHES", 1, "more than 1 matches"),
            ("MOST_SECONDS", -1.0, "took too long"),
            ("MOST_OF_A_FILE", 3, "only the first"),
        ],
    )
    def test_a_search_that_has_not_seen_everything_says_so(
        self, ask: Ask, monkeypatch: pytest.MonkeyPatch, bound: str, value: float, says: str
    ) -> None:
        monkeypatch.setattr(searching, bound, value)
        found = ask("search", pattern=".")
        assert found["complete"] is False
        assert says in found["note"]

    def test_it_ends_with_the_time_of_its_hook(self, project: Path) -> None:
        with Looking(str(project), time.monotonic() - 1) as tools:
            assert json.loads(tools.answer("search", {"pattern": "."}))["complete"] is False


class TestArguments:
    @pytest.mark.parametrize(
        ("tool", "arguments", "says"),
        [
            ("write", {"path": "x"}, "no such tool; there are read, list, search"),
            ("_read", {"path": "x"}, "no such tool"),
            ("", {}, "no such tool"),
            ("read", {}, "needs the argument 'path'"),
            ("read", {"path": None}, "needs the argument 'path'"),
            ("read", {"path": 7}, "must be a string"),
            ("read", {"path": ["a"]}, "must be a string"),
            ("read", {"path": "a", "offset": "1"}, "must be a whole number"),
            ("read", {"path": "a", "offset": True}, "must be a whole number"),
            ("read", {"path": "a", "offset": -1}, "must be a whole number"),
            ("read", {"path": "a", "limit": 10**40}, "must be a whole number"),
            ("list", {"path": "a", "recursive": True}, "no argument 'recursive'; it has path, offset"),
            ("search", {"path": "a"}, "needs the argument 'pattern'"),
        ],
    )
    def test_what_is_wrong_with_a_call_is_an_answer(
        self, ask: Ask, tool: str, arguments: dict[str, Any], says: str
    ) -> None:
        assert says in ask(tool, **arguments)["error"]

    def test_null_is_as_good_as_left_out(self, ask: Ask) -> None:
        assert ask("read", path="README.md", offset=None, limit=None)["text"] == "hello\n"
        assert ask("list", path=None)["path"] == "."

    def test_an_argument_named_self_is_unknown(self, project: Path) -> None:
        with Looking(str(project), time.monotonic() + 60) as tools:
            assert "no argument 'self'" in tools.answer("read", {"path": "a", "self": "x"})

    @given(
        tool=st.sampled_from(["read", "list", "search", "other"]),
        arguments=st.dictionaries(
            st.sampled_from(["path", "offset", "limit", "pattern", "glob", "more"]),
            st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30), st.floats(), st.just([])),
        ),
    )
    def test_no_call_is_more_than_an_answer(self, watched_project: Path, tool: str, arguments: dict[str, Any]) -> None:
        with Looking(str(watched_project), time.monotonic() + 60) as tools:
            assert isinstance(json.loads(tools.answer(tool, arguments)), dict)


def test_refusals_are_not_failures_of_the_hook() -> None:
    assert not issubclass(Refused, HookFailed)
