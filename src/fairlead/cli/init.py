"""Put Fairlead into the agents on this machine: find them, show the change to each file, ask, write.

Nothing else in those files changes, and `fairlead uninstall` puts them back byte for byte. What you asked
for once (--guard, --enforce, --all-events, --adopt, --trust-project) stays until you take it back with --no-….
Agents reach Fairlead in the fastest way that weakens nothing; --via says another.
"""

from __future__ import annotations

import argparse

from fairlead.cli import _installing, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fairlead.installing.finding import Found
    from fairlead.installing.plans import Machine, Plan

_WISHES = {
    "guard": "judge every tool call with all packs of the guard",
    "trust_project": "run the hooks in this project's files too: you vouch for them (with --scope project)",
    "enforce": "tell agents that can to refuse when Fairlead itself fails",
    "all_events": "be called for frequent events too, such as each model request",
    "adopt": "run the agent's existing hooks under Fairlead: they move to a file beside Fairlead's own",
}
VIAS = ("auto", "http", "relay", "process")
_VIA = (
    "how agents reach Fairlead: straight to the server (http), through a small program that asks the server and needs "
    "none (relay), or by starting Fairlead each time (process); auto: the fastest that weakens nothing"
)


def main(words: list[str]) -> int:
    return _show.ending(_main, "init", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    _check(options)
    machine = _installing.machine(options)
    found = _found(options, machine)
    if not found:
        return _nobody(options)
    plans = [_plan(one.agent, options, machine) for one in found]
    if options.json:
        return _as_json(found, plans, options, machine)
    page = _show.Page()
    _show_found(page, found)
    _warn_if_fleeting(page, machine)
    _installing.show_plans(page, plans, _title)
    return _finish(page, plans, options, machine)


def _parser() -> _show.Parser:
    parser = _show.parser("init", __doc__ or "")
    _installing.add_options(parser)
    for name, text in _WISHES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action=argparse.BooleanOptionalAction, help=text)
    parser.add_argument("--via", choices=VIAS, help=_VIA)
    return parser


def _check(options: argparse.Namespace) -> None:
    if options.trust_project and options.scope != "project":
        from fairlead.errors import UsageError

        hint = "add --scope project, and say it in each project that you trust"
        raise UsageError("--trust-project would trust every project that you ever open", hint=hint)


def _found(options: argparse.Namespace, machine: Machine) -> list[Found]:
    from fairlead.installing.finding import Found, agents

    found = {one.agent: one for one in agents(machine)}
    if not options.agents:
        return list(found.values())
    return [found.get(name) or Found(agent=name, because=()) for name in dict.fromkeys(options.agents)]


def _plan(agent: str, options: argparse.Namespace, machine: Machine) -> Plan:
    from fairlead.installing.planning import to_install
    from fairlead.installing.specs import SPECS

    asked = {name: getattr(options, name) for name in (*_WISHES, "via")}
    return to_install(SPECS[agent], options.scope, asked, machine)


def _title(agent: str) -> str:
    from fairlead.installing.specs import SPECS

    return SPECS[agent].title


def _nobody(options: argparse.Namespace) -> int:
    from fairlead.installing.specs import SPECS

    if options.json:
        _show.print_json({"found": [], "agents": [], "looked_for": list(SPECS)})
        return 1
    page = _show.Page()
    page.line("No agent was found: neither its program on PATH, nor its folder in your home or in this project.")
    page.prose(f"Looked for: {', '.join(spec.title for spec in SPECS.values())}.")
    page.prose("`fairlead init --agent NAME` writes the settings of one that is not there yet.")
    return 1


# --- for a person ------------------------------------------------------------------------------------


def _show_found(page: _show.Page, found: Sequence[Found]) -> None:
    page.line([(f"Found {_show.counted(len(found), 'agent')}", "title")])
    page.rows([(_title(one.agent), (_because(one), "dim")) for one in found], indent=2)
    page.line()


def _warn_if_fleeting(page: _show.Page, machine: Machine) -> None:
    from fairlead.installing import commands

    if commands.is_fleeting(machine.environ, machine.home):
        text = (
            f"{commands.program()[0]} is in a temporary place: when it goes, no hook can run. Install Fairlead first."
        )
        page.rows([(("note", "warning"), text)], widths=(8,))
        page.line()


def _because(found: Found) -> str:
    return ", ".join(found.because) or "not found; named by you"


def _finish(page: _show.Page, plans: Sequence[Plan], options: argparse.Namespace, machine: Machine) -> int:
    _installing.show_problems(page, plans, _title)
    failed = any(plan.problem for plan in plans)
    to_do = [plan for plan in plans if plan.needed and not plan.problem]
    _show_not_adopting(page, plans, options)
    _show_settled(page, plans)
    if not to_do or options.dry_run:
        _show_dry_run(page, to_do)
        _show_next(page, [plan for plan in plans if not plan.problem and plan not in to_do], machine)
        return int(failed)
    if not _may_write(page, to_do, options):
        return 1
    done = _installing.carry_out(to_do, lambda plan: _install(plan, machine))
    _show_done(page, done)
    settled = [plan for plan in plans if not plan.needed]
    _show_next(page, [plan for plan in (*done, *settled) if not plan.problem], machine)
    return int(failed or any(plan.problem for plan in done))


def _show_settled(page: _show.Page, plans: Sequence[Plan]) -> None:
    settled = [_title(plan.agent) for plan in plans if not plan.needed and not plan.problem]
    if settled:
        page.rows([(("in place", "allow"), f"{', '.join(settled)}: nothing to change")], widths=(8,))


def _show_not_adopting(page: _show.Page, plans: Sequence[Plan], options: argparse.Namespace) -> None:
    from fairlead.installing.specs import SPECS

    names = [_title(plan.agent) for plan in plans if not SPECS[plan.agent].adopts]
    if options.adopt and names:
        text = (
            f"--adopt: Fairlead does not run hooks that were written for {', '.join(names)}; they stay where they are"
        )
        page.rows([(("note", "warning"), text)], widths=(8,))


def _show_dry_run(page: _show.Page, to_do: Sequence[Plan]) -> None:
    if to_do:
        page.line("Nothing was written: this was a dry run.")


def _may_write(page: _show.Page, to_do: Sequence[Plan], options: argparse.Namespace) -> bool:
    if options.yes:
        return True
    files = _show.counted(sum(len(plan.shown) for plan in to_do), "file")
    if not _installing.can_ask():
        page.line(f"Nothing was written: there is nobody to ask. --yes writes {files}.")
        return False
    page.line()
    page.prose(
        "… is the command that is written out above it. Everything else in these files stays as it is; "
        "`fairlead uninstall` takes our part out again."
    )
    page.line()
    if _installing.ask(f"Write {files}?"):
        return True
    page.line("Nothing was written.")
    return False


def _install(plan: Plan, machine: Machine) -> None:
    from fairlead.installing import applying

    applying.install(plan, machine)


def _show_done(page: _show.Page, done: Sequence[Plan]) -> None:
    for plan in done:
        if not plan.problem:
            files = ", ".join(_show.near(change.shown) for change in plan.shown[:3])
            more = f" and {len(plan.shown) - 3} more" if len(plan.shown) > 3 else ""
            page.rows([(("done", "allow"), f"{_title(plan.agent)}: {files}{more}")], widths=(8,))
    _installing.show_problems(page, done, _title)


def _show_next(page: _show.Page, plans: Sequence[Plan], machine: Machine) -> None:
    steps = [(plan, next_steps(plan, machine)) for plan in plans]
    steps = [(plan, texts) for plan, texts in steps if texts]
    if steps:
        page.line()
        page.line([("What is left for you", "title")])
        page.rows([(_title(plan.agent), "\n".join(texts)) for plan, texts in steps], indent=2)


def next_steps(plan: Plan, machine: Machine) -> list[str]:
    """What the agent still wants from its user."""
    from fairlead.installing.specs import SPECS

    spec = SPECS[plan.agent]
    steps = list(spec.next_steps)
    if plan.agent == "codex":
        steps = _codex_steps(plan, machine, steps)
    if plan.scope == "project":
        steps += spec.project_steps
        steps.append("the file names this machine's Python: others run `fairlead init --scope project` themselves")
    if plan.wishes.enforce and not spec.enforce and not spec.enforced_anyway:
        steps.append("--enforce: it has no such option; where Fairlead cannot start, it goes on")
    return steps


def _codex_steps(plan: Plan, machine: Machine, steps: list[str]) -> list[str]:
    """Only while there is something to trust."""
    import os

    from fairlead.errors import ConfigError
    from fairlead.installing import codextrust
    from fairlead.installing.specs import SPECS, settings_file

    config = settings_file(
        SPECS["codex"].but(user="~/.codex/config.toml"), "user",
        home=machine.home, project=machine.project, environ=machine.environ,
    )  # fmt: skip
    hooks = next((change.shown for change in plan.changes if change.kind == "settings"), "")
    try:
        missing = codextrust.untrusted(hooks, config) if os.path.exists(hooks) else []
    except ConfigError as error:
        return [f"whether its hooks are trusted cannot be seen: {config} {error}"]
    return [f"{_show.counted(len(missing), 'hook')} not trusted yet: {steps[0]}", *steps[1:]] if missing else []


# --- for a program -----------------------------------------------------------------------------------


def _as_json(found: Sequence[Found], plans: Sequence[Plan], options: argparse.Namespace, machine: Machine) -> int:
    writes = options.yes and not options.dry_run
    done = _installing.carry_out(plans, lambda plan: _install(plan, machine)) if writes else list(plans)
    waiting = any(plan.needed for plan in plans) and not writes
    listed: list[dict[str, Any]] = []
    for plan in done:
        status = "in place" if not plan.needed else "written" if writes else "to do"
        steps = next_steps(plan, machine) if status != "to do" and not plan.problem else []
        listed.append({**_installing.as_json(plan, status), "via": plan.way.name, "next": steps})
    _show.print_json({"found": [one.as_dict() for one in found], "agents": listed})
    return int(any(plan.problem for plan in done) or (waiting and not options.dry_run))
