"""Which agents are on this machine and in this project."""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.installing.specs import SPECS, in_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.installing.plans import Machine
    from fairlead.installing.specs import Install


class Found(Record):
    agent: str
    because: tuple[str, ...]
    """The programs and folders that show it."""


def agents(machine: Machine) -> list[Found]:
    found = [Found(agent=spec.name, because=tuple(_signs(spec, machine))) for spec in SPECS.values()]
    return [one for one in found if one.because]


def _signs(spec: Install, machine: Machine) -> list[str]:
    import shutil

    path = machine.environ.get("PATH", os.defpath)
    signs = [program for program in spec.programs if shutil.which(program, path=path)]
    signs += [sign for sign in spec.signs if os.path.exists(_place(sign, machine))]
    variable, folder = spec.moved_by
    moved = machine.environ.get(variable, "")
    if variable != "XDG_CONFIG_HOME" and os.path.isdir(moved) and folder in spec.signs:
        signs.append(moved)
    return list(dict.fromkeys(signs))


def _place(sign: str, machine: Machine) -> str:
    return in_home(sign, machine.home) if sign.startswith("~/") else os.path.join(machine.project, sign)
