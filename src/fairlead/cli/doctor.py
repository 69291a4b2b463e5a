"""Everything that keeps a hook from running on this machine, and what to do about it.

All settings of all agents are read; nothing that is configured in them is run. Two harmless programs are:
the interpreter of our own entry, which is asked for its version, and your login shell with an empty command;
where a hook wants a sandbox, an empty one is built once after each boot.
The exit code is 1 if there is an error (a hook does not run, or guards nothing), and 0 otherwise.
"""

from __future__ import annotations

import os

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.doctor import Examined
    from fairlead.doctor.finding import Finding

_WIDTH = 7


def main(words: list[str]) -> int:
    return _show.ending(_main, "doctor", words)


def _main(words: list[str]) -> int:
    from fairlead import doctor
    from fairlead.dialects import Places

    parser = _show.parser("doctor", __doc__ or "")
    _add_options(parser)
    options = parser.parse_args(words)
    places = Places(home=os.path.expanduser("~"), project=options.project or _show.here(), environ=dict(os.environ))
    examined = doctor.examine(places, dict.fromkeys(options.agents))
    if options.json:
        _show.print_json(_as_json(examined))
    else:
        _print(examined)
    return int(any(finding.level == "error" for finding in examined.findings))


def _add_options(parser: _show.Parser) -> None:
    from fairlead.cli._installing import _agent, _directory

    parser.add_argument("--agent", metavar="NAME", dest="agents", action="append", default=[], type=_agent,
                        help="only this one; may be repeated")  # fmt: skip
    parser.add_argument("--project", metavar="DIR", type=_directory, help="default: the working directory")


def _as_json(examined: Examined) -> dict[str, object]:
    return {
        "findings": [{name: getattr(one, name) for name in one._fields} for one in examined.findings],
        "agents": list(examined.agents),
        "files": list(examined.files),
        "hooks": examined.hooks,
    }


# --- for a person ------------------------------------------------------------------------------------


def _print(examined: Examined) -> None:
    from fairlead.doctor import facts

    page = _show.Page()
    for agent in dict.fromkeys(finding.agent for finding in examined.findings):
        page.line((facts.title(agent), "title"))
        for finding in examined.findings:
            if finding.agent == agent:
                _print_one(page, finding)
        page.line()
    _print_end(page, examined)


def _print_one(page: _show.Page, finding: Finding) -> None:
    place = ":".join(str(part) for part in (_show.near(finding.file), finding.line, finding.column) if part)
    style = {"note": "dim"}.get(finding.level, finding.level)
    if finding.file:
        page.rows([((finding.level, style), (place, "dim")), ("", finding.message)], widths=(_WIDTH,), indent=2)
    else:
        page.rows([((finding.level, style), finding.message)], widths=(_WIDTH,), indent=2)
    page.rows([("", [("→ ", "dim"), (finding.fix, "")])], widths=(_WIDTH,), indent=2)


def _print_end(page: _show.Page, examined: Examined) -> None:
    from fairlead.doctor import facts

    looked = f"{_show.counted(examined.hooks, 'hook')} in {_show.counted(len(examined.files), 'file')}"
    who = ", ".join(map(facts.title, examined.agents))
    levels = [finding.level for finding in examined.findings]
    if not examined.agents and levels:
        page.prose("No agent was found on this machine or in this project: nobody calls a hook here.")
    elif not examined.agents:
        page.prose("No agent was found on this machine or in this project, so there is nothing to look at.")
    elif levels:
        kinds = [_show.counted(levels.count(kind), kind) for kind in ("error", "warning", "note") if kind in levels]
        page.prose(f"{', '.join(kinds)}. Looked at {looked} of {who}.")
    else:
        page.line([("Nothing found", "allow"), (" that keeps a hook from running.", "")])
        page.prose(f"Looked at {looked} of {who}.")
    _print_detectors(page)


def _print_detectors(page: _show.Page) -> None:
    from fairlead.masking import library

    if not library.is_installed():
        page.line(("Secrets are found by Fairlead's own detectors alone;", "dim"))
        page.line(("`pip install 'fairlead[secrets]'` adds those of detect-secrets.", "dim"))
