"""The forge that hosts the repository: its rights, keys, hooks and workflows."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs import act, reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_CHANGES = lazy(
    r"(?:-X|--method)[= ]?(?:PATCH|PUT|DELETE|POST)\b|(?:\A|\s)(?:-f|-F|--field|--raw-field|--input)\b", re.IGNORECASE
)
_READS = lazy(r"(?:-X|--method)[= ]?GET\b", re.IGNORECASE)
_SETTINGS = lazy(
    r"/?(?:repos|projects)/[^/\s]+(?:/[^/\s]+)?(?:/(?:keys|hooks|collaborators|branches/\S+/protection|actions/(?:secrets|permissions|variables)\S*"
    r"|environments\S*|transfer|teams\S*|rulesets\S*|deploy_keys|protected_branches\S*|members\S*|variables\S*|pages|vulnerability-alerts))?(?:\s|\Z)"
    r"|/?(?:orgs|groups|teams|enterprises|admin|user/keys|user/gpg_keys|application/settings)\b"
)


@reads("gh", "glab", "tea")
def _forge(call: Call) -> None:
    text = " ".join(call.args)
    if call.args[:1] == ["api"] and "graphql" not in call.args:
        if _CHANGES.search(text) and not _READS.search(text) and any(_SETTINGS.match(arg) for arg in call.args[1:]):
            act(call, "settings", "git.forge-settings", "changes rights, keys or settings of a repository on the forge")
    elif re.match(r"(?:workflow run|ci run|pipeline run)\b.*(?:prod|deploy|release|publish)", text, re.IGNORECASE):
        act(call, "publish", "cloud.deploy", "starts a workflow that deploys or publishes")
    elif re.match(
        r"repo edit\b.*--visibility|repo (?:rename|archive|deploy-key add)|(?:ssh-key|gpg-key) (?:add"
        r"|delete)|ruleset|secret (?:set|delete)|variable (?:set|delete)",
        text,
    ):
        act(call, "settings", "git.forge-settings", "changes rights, keys or settings of a repository on the forge")
