"""Compiles the relay while the package is built. Where that does not work, the package goes without it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = os.path.join("src", "fairlead", "relay", "relay.c")
PLACE = os.path.join("fairlead", "relay", "fairlead-relay")
FLAGS = ("-O2", "-Wall", "-Wextra")
PATIENCE = 120


class CompiledRelay(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]  # hatchling may not be there
    """A wheel with the program in it is for this kind of machine; one without it is for all."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("FAIRLEAD_PURE"):
            return
        source = os.path.join(self.root, SOURCE)
        if version == "editable":
            compile_relay(source, os.path.join(self.root, "src", PLACE))
            return
        self._folder = tempfile.TemporaryDirectory()
        program = os.path.join(self._folder.name, "fairlead-relay")
        if compile_relay(source, program):
            build_data["force_include"][program] = PLACE
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform()}"

    def finalize(self, *_: object) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def compile_relay(source: str, program: str) -> bool:
    """Statically where that works: it starts faster, and needs nothing of the machine that it runs on."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    made = f"{program}.new"
    for linking in (["-static"], []):
        call = [*compiler, *FLAGS, *linking, "-o", made, source]
        try:
            subprocess.run(call, check=True, capture_output=True, timeout=PATIENCE)
            subprocess.run([made, "--version"], check=True, capture_output=True, timeout=PATIENCE)
        except (OSError, subprocess.SubprocessError):
            continue
        os.replace(made, program)  # the one before may be running
        return True
    if os.path.exists(made):
        os.unlink(made)
    return False


def platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
