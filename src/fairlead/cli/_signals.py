"""Signals, without the module `signal`: it only dresses `_signal` in enums, which cost 3 ms."""

from __future__ import annotations


def end_hooks_with_us() -> None:
    """Leave through every `finally` on a signal that ends us: no hook is left running."""
    import _signal

    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _end)
    # Who ignores it passes that on to us, and the kernel would throw our hooks' exit codes away.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
