"""`python -I -S start.py SOCKET COLD… hook ARG…`: the relay from the folder of this file, already compiled."""

import sys

try:
    sys.path.insert(0, __file__.rpartition("/")[0])
    from fairlead_relay import main

    main(sys.argv[1:])
except Exception as error:  # noqa: BLE001  # a traceback would exit with 1, which agents take for "go on"
    if sys.stderr is not None:
        sys.stderr.write(
            f"fairlead: the relay has failed: {type(error).__name__}: {error}; run `fairlead init` again\n"
        )
    sys.exit(2)
