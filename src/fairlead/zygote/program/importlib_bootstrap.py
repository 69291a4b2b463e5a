"""What a zygote runs, and the one frame below every script that is started from it.

`warnings` passes over frames of files with `importlib` and `_bootstrap` in their names: hence this name. With it, a
warning that points beyond the script points to the same place as without a zygote.
"""

import os
import sys

KNOWN = frozenset(sys.modules)
"""What every script finds imported; the rest is the zygote's."""
FRESH = {name: value for name, value in globals().items() if name.startswith("__")}


def _load(name: str) -> dict[str, object]:
    """Not by importing it: scripts must not find it among the modules."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "rb") as file:
        source = file.read()
    namespace: dict[str, object] = {"__name__": "fairlead_zygote", "__file__": path}
    exec(compile(source, path, "exec", dont_inherit=True), namespace)  # noqa: S102  # our own file
    return namespace


if __name__ == "__main__":
    Zygote = _load("forking.py")["Zygote"]
    zygote = Zygote(KNOWN, FRESH)  # type: ignore[operator]
    with zygote:
        exec(*zygote.next_script())  # noqa: S102  # the hook; only a child comes here
