"""Shell profiles that print: Codex starts its hooks with a login shell, and takes all of stdout for the answer."""

from __future__ import annotations

import os

from fairlead.doctor.finding import Finding
from fairlead.errors import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.scene import Scene

_PATIENCE = 5.0
_LOGIN = "-lc"


def check(scene: Scene) -> Iterator[Finding]:
    if not any(entry.kind == "command" for entry in scene.of("codex")):
        return
    shell = scene.places.environ.get("SHELL", "")
    shell = shell if os.path.isabs(shell) and os.access(shell, os.X_OK) else "/bin/sh"
    printed = printed_by(shell, scene)
    name = os.path.basename(shell)
    if printed is None:
        what = f"the profile of {name} takes longer than {plain(_PATIENCE)} s: so does every hook of Codex at its start"
        yield Finding(level="warning", agent="codex", check="profile", message=what, fix=_FIX)
    elif printed.strip():
        shown = printed.decode("utf-8", "replace").strip().splitlines()[0][:60]
        what = f"the profile of {name} prints {shown!r}: Codex reads that before a hook's JSON, and drops the answer"
        yield Finding(level="error", agent="codex", check="profile", message=what, fix=_FIX)


_FIX = "in ~/.profile, ~/.bash_profile or ~/.zprofile let only interactive shells do that: case $- in *i*) … ;; esac"


def printed_by(shell: str, scene: Scene) -> bytes | None:
    """What an empty command prints in a login shell; None where it does not come to an end."""
    import signal
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(
                [shell, _LOGIN, ":"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=scene.places.home if os.path.isdir(scene.places.home) else "/",
                env={**scene.places.environ, "HOME": scene.places.home},
                start_new_session=True,
            )
        except OSError:
            return b""
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None
        out.seek(0)
        return out.read(4096)
