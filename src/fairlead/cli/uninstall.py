"""Take Fairlead out of the agents on this machine: what was there before comes back byte for byte.

Where somebody has changed a file since, those changes stay and only our entries go. Adopted hooks return to
the agent's settings.
"""

from __future__ import annotations

from fairlead.cli import _installing, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from fairlead.installing.plans import Machine, Plan


def main(words: list[str]) -> int:
    return _show.ending(_main, "uninstall", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("uninstall", __doc__ or "")
    _installing.add_options(parser)
    options = parser.parse_args(words)
    machine = _installing.machine(options)
    plans = [plan for plan in _plans(options, machine) if plan.needed or plan.problem or plan.record]
    if options.json:
        return _as_json(plans, options, machine)
    page = _show.Page()
    if not plans:
        where = "in this project" if options.scope == "project" else "for your user"
        page.line(f"Fairlead is not installed in any agent {where}.")
        return 0
    _installing.show_plans(page, plans, _title)
    return _finish(page, plans, options, machine)


def _plans(options: argparse.Namespace, machine: Machine) -> list[Plan]:
    from fairlead.installing.restoring import to_uninstall
    from fairlead.installing.specs import SPECS

    names = dict.fromkeys(options.agents) or SPECS
    return [to_uninstall(SPECS[name], options.scope, machine) for name in names]


def _title(agent: str) -> str:
    from fairlead.installing.specs import SPECS

    return SPECS[agent].title


def _finish(page: _show.Page, plans: Sequence[Plan], options: argparse.Namespace, machine: Machine) -> int:
    _installing.show_problems(page, plans, _title)
    failed = any(plan.problem for plan in plans)
    to_do = [plan for plan in plans if not plan.problem]
    if options.dry_run:
        page.line("Nothing was written: this was a dry run.")
        return int(failed)
    if not to_do:
        return 1
    if any(plan.needed for plan in to_do) and not _may_write(page, to_do, options):
        return 1
    done = _carry_out(to_do, machine)
    for plan in done:
        if not plan.problem:
            page.rows([(("done", "allow"), f"{_title(plan.agent)}: Fairlead is out")], widths=(8,))
    _installing.show_problems(page, done, _title)
    return int(failed or any(plan.problem for plan in done))


def _carry_out(plans: Sequence[Plan], machine: Machine) -> list[Plan]:
    """Also where the files are as they should be: then only the record goes."""
    from fairlead.installing import applying

    settled = [plan for plan in plans if not plan.needed and not plan.problem and plan.record]
    for plan in settled:
        applying.uninstall(plan, machine)
    return _installing.carry_out(plans, lambda plan: applying.uninstall(plan, machine))


def _may_write(page: _show.Page, to_do: Sequence[Plan], options: argparse.Namespace) -> bool:
    if options.yes:
        return True
    files = _show.counted(sum(len(plan.needed) for plan in to_do), "file")
    if not _installing.can_ask():
        page.line(f"Nothing was written: there is nobody to ask. --yes writes {files}.")
        return False
    if _installing.ask(f"Take Fairlead out of {files}?"):
        return True
    page.line("Nothing was written.")
    return False


def _as_json(plans: Sequence[Plan], options: argparse.Namespace, machine: Machine) -> int:
    writes = options.yes and not options.dry_run
    done = _carry_out(plans, machine) if writes else list(plans)
    waiting = any(plan.needed for plan in plans) and not writes
    _show.print_json({"agents": [_installing.as_json(plan, "removed" if writes else "to do") for plan in done]})
    return int(any(plan.problem for plan in done) or (waiting and not options.dry_run))
