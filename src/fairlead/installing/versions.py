"""What the version of an agent on this machine understands: an unknown event may cost its user the whole file."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.installing.plans import Machine
    from fairlead.installing.specs import Install

_PATIENCE = 10


def fitted(spec: Install, machine: Machine) -> tuple[Install, str]:
    """The same for the version that is here, and what there is to say about it."""
    if not spec.exec_since:
        return spec, ""
    version = installed_version(spec, machine)
    if version is None or version < spec.exec_since:
        spec = spec.but(form="shell")  # which every version understands
    if spec.http_since and version is not None and version >= spec.http_since:
        spec = spec.but(http_fails_closed=True)
    if version is None or version >= spec.all_since:
        return spec, ""
    shown = ".".join(map(str, version))
    note = f"version {shown} is old: it gets fewer events; run `fairlead init` again after an update"
    return spec.but(events=spec.first_events, more_events=()), note


def installed_version(spec: Install, machine: Machine) -> tuple[int, ...] | None:
    """None where it cannot be found out."""
    import re
    import shutil
    import subprocess

    usual = os.path.join(machine.home, ".local", "bin")
    program = shutil.which(spec.programs[0], path=f"{machine.environ.get('PATH', os.defpath)}{os.pathsep}{usual}")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"\b(\d+)\.(\d+)\.(\d+)\b", done.stdout)
    return tuple(map(int, found.groups())) if found else None
