"""Programs that try to get out of their sandbox. Each attempt is made outside of it, too: there it must succeed."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fairlead.confining import ways
from tests.confining.conftest import Confined, missing, output

ATTACKS = Path(__file__).with_name("attacks.py")
PROGRAM = [sys.executable, "-I", "-S", str(ATTACKS)]
NAMES = sorted(
    line.removeprefix("def ").partition("(")[0].replace("_", " ")
    for before, line in zip(ATTACKS.read_text().splitlines(), ATTACKS.read_text().splitlines()[1:], strict=False)
    if before == "@attack"
)
FREE = "outside"
NEEDS_LUCK = frozenset(
    [
        "open a raw socket", "open a packet socket", "mount something over the project", "mount again with writing",
        "mount in namespaces of its own", "have capabilities", "write through the root of process 1",
        "write through the root of the parent", "attach to the parent", "set io uring up",
        "open a socket of the newer internet", "set an attribute in the project", "ask for a kernel key",
        "find an inherited descriptor", "use another architecture", "get past the filter with 32 bits",
        "read the environment of the parent", "get new privileges", "limit the parent",
        "write through a hard link", "move a file out of the project",
    ]
)  # fmt: skip
"""What also needs root, certain kernels, or one file system; no machine must be able to do them."""


DANGEROUS = [name for name in NAMES if name.startswith("mount")]
"""What root must not try outside of a sandbox."""


class Field(Confined):
    """With something to lose."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write("~/.ssh/id_ed25519", "secret")
        self.write("~/.netrc", "secret")
        self.write("~/.config/gcloud/credentials.db", "secret")
        self.write("~/.local/state/fairlead/token", "secret")
        self.write("~/.bashrc", "mine")
        self.write("~/dotfiles/aws/credentials", "secret")
        (self.home / ".aws").symlink_to(self.home / "dotfiles" / "aws")
        (root / "tmp").mkdir()
        self.environ["TMPDIR"] = str(root / "tmp")
        for name in _victims():
            self.write(f"victims/{name}", "mine")
        (self.project / "link-to-key").symlink_to(self.home / ".ssh" / "id_ed25519")

    def state(self, *others: Path) -> dict[str, tuple[object, ...]]:
        """Everything that an attacker must not have changed."""
        files = [path for folder in (self.project, self.home) for path in sorted(folder.rglob("*"))]
        return {str(path): _facts(path) for path in (*files, *others)}


def elsewhere_of(request: pytest.FixtureRequest) -> Path:
    """A file that is in no temporary folder, where it would be hidden anyway."""
    folder = tempfile.TemporaryDirectory(prefix=".confining-", dir=Path(__file__).resolve().parents[2])
    request.addfinalizer(folder.cleanup)
    file = Path(folder.name) / "file"
    file.write_text("mine")
    return file


def _victims() -> list[str]:
    import re

    return re.findall(r'victim\("([\w-]+)"\)', ATTACKS.read_text())


def _facts(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    return found.st_mode, found.st_mtime_ns if content else 0, found.st_ino, content


def _is_worth_comparing(path: str) -> bool:
    """What Fairlead itself writes is another matter."""
    return "/.local/state" not in path and "/.cache" not in path and "fairlead.toml" not in path


@pytest.fixture(scope="module", params=[*ways.WAYS, FREE])
def fallen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All attempts of one hook, and what the field looked like before and after."""
    name = str(request.param)
    if name != FREE and missing(name):
        pytest.skip(missing(name))
    field = Field(tmp_path_factory.mktemp("field"))
    stranger = tmp_path_factory.mktemp("stranger") / "file"
    stranger.write_text("secret")
    elsewhere = elsewhere_of(request)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as path, _abstract() as abstract:
        path.bind(str(field.root / "s"))
        path.listen()
        facts = {
            "not here": DANGEROUS if name == FREE else [],
            "project": str(field.project),
            "home": str(field.home),
            "pid": os.getpid(),
            "elsewhere": str(elsewhere),
            "state": str(field.home / ".local/state/fairlead/token"),
            "linked secret": str(field.home / "dotfiles/aws/credentials"),
            "in tmp": str(stranger),
            "port": tcp.getsockname()[1],
            "socket": str(field.root / "s"),
            "abstract": abstract.getsockname()[1:].decode(),
        }
        field.write("facts.json", facts)
        wish = {} if name == FREE else {"sandbox": {"by": name}}
        field.hook([*PROGRAM, str(field.project / "facts.json")], timeout="100s", **wish)
        before = field.state(elsewhere)
        report = field.fire()
        after = field.state(elsewhere)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {"name": name, "changed": set(filter(_is_worth_comparing, changed)), **json.loads(output(report))}


def _abstract() -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(f"\0fairlead-test-{os.getpid()}-{os.urandom(4).hex()}")
    made.listen()
    return made


@pytest.mark.parametrize("name", NAMES)
def test_what_an_attacker_tries_fails_in_a_sandbox_and_works_without(fallen: dict[str, Any], name: str) -> None:
    if fallen["name"] != FREE:
        assert fallen["attacks"][name] != "done"
    elif name not in NEEDS_LUCK:
        assert fallen["attacks"][name] == "done"


def test_nothing_is_changed_from_inside_a_sandbox(fallen: dict[str, Any]) -> None:
    if fallen["name"] == FREE:
        assert len(fallen["changed"]) > 10
    else:
        assert fallen["changed"] == set()


def test_ordinary_work_goes_on_in_a_sandbox(fallen: dict[str, Any]) -> None:
    assert {what: works for what, works in fallen["works"].items() if not works} == {}
