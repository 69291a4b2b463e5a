"""Look at the hooks of this project, and say whether they may run.

Each is shown exactly: what it runs, the project's programs that it names, and what has changed since you last
trusted it. Trust holds for these bytes: a change is shown, and asked about, again. The answer is No unless you say
otherwise, on a terminal or with the digest that was shown.
"""

from __future__ import annotations

import os

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fairlead.trust.reviewing import Review, Seen

_WITHOUT = "You work here without the project's hooks. `fairlead trust` asks again."


def main(words: list[str]) -> int:
    return _show.ending(_main, "trust", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    from fairlead.dialects import Places
    from fairlead.trust import reviewing

    places = Places(
        home=os.path.expanduser("~"),
        project=os.path.abspath(options.project or _show.here()),
        environ=os.environ,
    )
    review = reviewing.review(places)
    if options.forget:
        return _forget(review, options)
    if options.lock:
        return _lock(review, options)
    if options.refuse:
        reviewing.refuse(review)
        return _done(options, {"refused": True}, _WITHOUT)
    if options.accept:
        return _accept_digests(review, options)
    if options.json:
        _show.print_json(_as_data(review))
        return 1 if review.waiting or review.lost else 0
    return _ask(review)


def _parser() -> _show.Parser:
    parser = _show.parser("trust", __doc__ or "")
    parser.add_argument("--project", metavar="DIR", type=_show.directory, help="default: the working directory")
    digest = "trust what has this digest (sha256:…), of one hook or of all; may be repeated"
    parser.add_argument("--accept", metavar="DIGEST", action="append", default=[], help=digest)
    parser.add_argument("--lock", action="store_true", help="write fairlead.lock, for machines where nobody is asked")
    parser.add_argument("--refuse", action="store_true", help="work in this project without its hooks")
    parser.add_argument("--forget", action="store_true", help="take all trust in this project back")
    return parser


# --- showing -----------------------------------------------------------------------------------------


def _ask(review: Review) -> int:
    page = _show.Page()
    _show_all(page, review)
    if not review.hooks and not review.gone:
        page.line("This project has no hooks of its own that need trust.")
        return 0
    if not review.waiting and not review.gone and not review.lost:
        page.line(f"{_show.counted(len(review.hooks), 'hook')} of this project, all trusted.")
        return 0
    return _decide(page, review)


def _show_all(page: _show.Page, review: Review) -> None:
    if review.lost:
        page.line([("What you have trusted here is lost: ", "warning"), (review.lost, "")])
        page.line()
    for seen in review.hooks:
        _show_hook(page, seen, review)
    for one in review.gone:
        page.line([("gone     ", "warning"), (one.name, "title"), (f"  {one.file}", "dim")])
        page.line("you have trusted it, and it is not in that file any more", indent=9)
        page.line()


def _show_hook(page: _show.Page, seen: Seen, review: Review) -> None:
    hook = seen.hook
    style = "dim" if seen.state == "trusted" else "warning"
    where = f"  {_show.near(hook.origin.file)}:{hook.origin.line}"
    page.line([(f"{seen.state:<9}", style), (hook.name, "title"), (where, "dim")])
    rows: list[tuple[str, Any]] = [("when", _when(seen)), ("runs", _runs(seen)), *_facts(seen)]
    page.rows([((label, "dim"), cell) for label, cell in rows], widths=(9,), indent=9)
    if seen.state != "trusted":
        _show_difference(page, seen, review)
    page.line()


def _when(seen: Seen) -> str:
    hook = seen.hook
    tools = f" · {hook.matcher.text}" if hook.matcher.text not in ("", "*") else ""
    return f"{', '.join(hook.events)}{tools} · {_show.seconds(hook.timeout)}"


def _runs(seen: Seen) -> str:
    """Every word of it, in the form in which it is started."""
    import json

    handler: Any = getattr(seen.hook.handler, "handler", seen.hook.handler)
    args = getattr(handler, "args", None)
    if args is not None:
        return json.dumps([handler.command, *args], ensure_ascii=False)
    return f"{handler.describe()}" if handler.kind == "command" else f"{handler.kind}: {handler.describe()}"


def _facts(seen: Seen) -> list[tuple[str, Any]]:
    handler: Any = getattr(seen.hook.handler, "handler", seen.hook.handler)
    rows: list[tuple[str, Any]] = []
    files = seen.now.files if seen.now is not None else {}
    rows += [("program", f"{path}  sha256:{digest[:12]}…") for path, (_, digest) in files.items()]
    if getattr(handler, "env", None):
        rows += [("sets", f"{name}={value}") for name, value in handler.env.items()]
    if getattr(handler, "headers", None):
        rows.append(("sends", ", ".join(handler.headers)))
    if seen.problem:
        rows.append(("problem", (seen.problem, "warning")))
    if seen.unseen:
        names = ", ".join(seen.unseen)
        rows.append(("careful", (f"{names} is not there: what it runs cannot be shown", "warning")))
    if seen.open_ended:
        names = ", ".join(seen.open_ended)
        rows.append(("careful", (f"{names} runs what the project's files tell it: no digest covers that", "warning")))
    if seen.now is not None:
        rows.append(("digest", (f"sha256:{seen.now.digest}", "dim")))
    return rows


def _show_difference(page: _show.Page, seen: Seen, review: Review) -> None:
    from fairlead.trust.reviewing import difference

    for line in difference(seen, review):
        page.line([(line, _style(line))], indent=9)


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "dim"
    return "allow" if line.startswith("+") else "deny" if line.startswith("-") else ""


# --- deciding ----------------------------------------------------------------------------------------


def _decide(page: _show.Page, review: Review) -> int:
    from fairlead.trust import reviewing

    ready = [seen for seen in review.waiting if seen.versions]
    what = f"{_show.counted(len(ready), 'hook')}" if ready else "that they are gone"
    page.prose("What you trust runs as you, on every event that it is for, until its bytes change.")
    answer = _answer(f"Trust {what}? [y]es, [N]o, [w]ithout: work here without the project's hooks ")
    if answer is None:
        page.line("Nothing is trusted: nobody can be asked here. This trusts all of it:")
        page.line(f"fairlead trust --accept sha256:{review.digest}", indent=2)
        return 1
    if answer in ("w", "without"):
        reviewing.refuse(review)
        page.line(_WITHOUT)
        return 0
    if answer not in ("y", "yes"):
        page.line("Nothing is trusted; these hooks do not run.")
        return 1
    reviewing.accept(review, ready, "terminal")
    page.line(f"Trusted: {_show.counted(len(ready), 'hook')}.")
    return 1 if len(ready) < len(review.waiting) else 0


def _answer(question: str) -> str | None:
    """From the terminal itself, so that nobody can pipe a yes; None where there is none."""
    if os.environ.get("CI"):
        return None
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(question.encode())
            return terminal.readline().decode("utf-8", "replace").strip().lower()
    except KeyboardInterrupt:
        return "no"
    except OSError:
        return None


def _accept_digests(review: Review, options: argparse.Namespace) -> int:
    from fairlead.errors import UsageError
    from fairlead.trust import reviewing
    from fairlead.trust.pins import pin, shown

    wanted = set(map(pin, options.accept))
    whole = review.digest in wanted
    chosen = [seen for seen in review.hooks if whole or any(one.digest in wanted for one in seen.versions)]
    found = {one.digest for seen in chosen for one in seen.versions} | ({review.digest} if whole else set())
    strange = wanted - found
    if strange:
        why = f"nothing in this project has the digest {shown(min(strange))}"
        raise UsageError(why, hint="it may have changed: `fairlead trust` shows what is there now")
    if review.lost:
        raise UsageError(review.lost)
    reviewing.accept(review, chosen, "digest")
    names = [seen.hook.name for seen in chosen]
    return _done(options, {"trusted": names}, f"Trusted: {', '.join(names)}.")


def _forget(review: Review, options: argparse.Namespace) -> int:
    from fairlead.trust import file_of, reviewing

    if review.lost:
        os.unlink(file_of(review.folder, review.project))
        count = 0
    else:
        count = reviewing.forget(review)
    return _done(options, {"forgotten": count}, f"Nothing of this project is trusted any more ({count} were).")


def _lock(review: Review, options: argparse.Namespace) -> int:
    from fairlead.errors import UsageError
    from fairlead.trust import lock_file
    from fairlead.trust.pins import lock_digest, lock_text, shown

    unreadable = [seen for seen in review.hooks if not seen.versions]
    if unreadable:
        raise UsageError(f"{unreadable[0].hook.name}: {unreadable[0].problem}")
    text = lock_text(one for seen in review.hooks for one in seen.versions)
    path = lock_file(review.project)
    draft = f"{path}.{os.getpid()}"
    with open(draft, "x", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
    os.replace(draft, path)
    digest = shown(lock_digest(text))
    said = (
        f"{_show.near(path)} holds {_show.counted(len(review.hooks), 'hook')}. It is believed where the user's own "
        f'fairlead.toml says so:\n\n[trust]\npins = ["{digest}"]'
    )
    return _done(options, {"lock": path, "digest": digest}, said)


def _done(options: argparse.Namespace, data: dict[str, Any], text: str) -> int:
    if options.json:
        _show.print_json(data)
    else:
        _show.Page().line(text)
    return 0


def _as_data(review: Review) -> dict[str, Any]:
    from fairlead import explaining
    from fairlead.trust.pins import shown
    from fairlead.trust.reviewing import difference

    return {
        "project": review.project,
        "digest": shown(review.digest),
        "refused": review.refused,
        "problem": review.lost,
        "hooks": [
            {
                **explaining.described(seen.hook),
                "trust": seen.state,
                "digest": shown(seen.now.digest) if seen.now is not None else None,
                "programs": {path: shown(facts[1]) for path, facts in (seen.now.files if seen.now else {}).items()},
                "problem": seen.problem,
                "unseen": list(seen.unseen),
                "open_ended": list(seen.open_ended),
                "difference": difference(seen, review) if seen.state != "trusted" else [],
            }
            for seen in review.hooks
        ],
        "gone": [{"name": one.name, "file": one.file} for one in review.gone],
    }
