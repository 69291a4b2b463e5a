"""Calls one function for one event; see `fairlead.apart`. Started as a script, with the library's folder."""

import os
import sys


def main() -> None:
    sys.path[0:1] = []  # this folder
    sys.path.append(sys.argv[1])
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints is not its answer
    import pickle

    with open(0, "rb", closefd=False) as job:
        (named, own, event, given), project = pickle.load(job)  # noqa: S301  # written by `fairlead.apart`
    from fairlead import wire

    answer.write(wire.encode(_said(named, own, event, given, project)))
    answer.flush()


def _said(named: object, own: bool, event: object, given: object, project: str) -> dict[str, object]:
    from fairlead.hooks import HookFailed
    from fairlead.verdicts import Verdict

    try:
        value = _called(named, own, event, given, project)
    except HookFailed as error:
        return {"failed": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a stranger's code
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"verdict": value.as_dict()} if isinstance(value, Verdict) else {"value": value}


def _called(named: object, own: bool, event: object, given: object, project: str) -> object:
    from fairlead.handlers.function import Function, is_async
    from fairlead.hooks import Cancellation, HookContext

    function = named.load()  # type: ignore[attr-defined]
    made = Function.of(function) if own else Function(function=function, is_async=is_async(function))
    arguments: tuple[object, ...] = (event,) if own else (given,)
    if own and made.takes_context:
        session, cwd = event.session_id, event.cwd or project  # type: ignore[attr-defined]
        context = HookContext(session_id=session, cwd=cwd, env=dict(os.environ), cancellation=Cancellation())
        arguments = (*arguments, context)
    value = function(*arguments)
    if made.is_async:
        import asyncio

        value = asyncio.run(value)
    return value


if __name__ == "__main__":
    main()
