"""Cloud consoles and infrastructure as code."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads, verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_PLAN = "show the plan first and let a person apply it"
_DESTROY = lazy(
    r"(?:delete|destroy|terminate|deallocate|remove|rm|rb|purge|drop|deregister|deprovision|decommission|wipe|erase"
    r"|nuke|uninstall|teardown|down|undeploy|"
    r"disable|revoke|detach|disassociate|cancel|release|reset|abandon|expire|empty|reject|disconnect|drain|unset"
    r"|kill)(?:[-:].*)?\Z"
)
_DESTROY_PART = lazy(
    r"(?:[a-z]+-)?(?:delete|deallocate|leave|terminate|remove|purge|deregister|destroy|disable|revoke|detach"
    r"|disassociate|cancel|release|reset|abort|stop|reboot|empty)-"
)
_CHANGE = lazy(
    r"(?:create|run|start|launch|put|update|modify|set|add|attach|associate|authorize|allocate|register|request"
    r"|purchase|apply|deploy|up|scale|resize|import|"
    r"restore|replace|promote|failover|enable|grant|publish|invoke|send|copy|tag|untag|patch|rotate|change|assign"
    r"|stop|restart|reboot|provision|migrate|move|mv|"
    r"upload|sync|clone|swap|rollback|transfer|edit|submit|execute|exec|post|batch|assume|accept|increase|decrease"
    r"|schedule|simulate|on|off)(?:[-:].*)?\Z"
)
_READ = lazy(
    r"(?:list|ls|get|describe|show|head|lookup|search|query|filter|scan|view|status|info|logs?|tail|wait|validate"
    r"|check|whoami|version|help|history|plan|diff|preview|"
    r"select|test|lint|ping|estimate|detect|discover|export|print|read|cat|presign|configure|config|login|auth|init"
    r"|current|events|metrics|docs|completion|console|open)(?:[-:].*)?\Z"
)


@reads("aws", "aws2", "awslocal")
def _aws(call: Call) -> None:
    if call.name == "awslocal" or _local_endpoint(call):
        return
    words = verbs(call, ("--profile", "--region", "--output", "--query", "--endpoint-url", "--color", "--ca-bundle"))
    if len(words) < 2 or "--dry-run" in call.args or "--dryrun" in call.args or "help" in words[:3]:
        return
    service, verb = words[0], words[1]
    if service == "s3":
        _s3(call, verb, words[2:])
    elif (
        service in ("configure", "sso", "login", "help")
        or verb == "update-kubeconfig"
        or (service == "lambda" and verb == "invoke")
    ):
        return
    else:
        _verb(call, verb)


def _local_endpoint(call: Call) -> bool:
    return bool(
        re.search(
            r"--endpoint(?:-url)?[= ]https?://(?:localhost|127\.|localstack|minio|0\.0\.0\.0|host\.docker)",
            " ".join(call.args),
        )
    )


def _s3(call: Call, verb: str, rest: list[str]) -> None:
    if verb in ("rm", "rb"):
        act(
            call,
            "destroy",
            "cloud.destroy",
            "deletes objects or a bucket",
            "`--dryrun` shows what would go",
            decision="deny",
        )
    elif verb in ("sync", "mv") and ("--delete" in call.args or verb == "mv"):
        act(call, "destroy", "cloud.destroy", "deletes what the source does not have", "`--dryrun` shows what would go")
    elif verb in ("cp", "sync") and rest and rest[-1].startswith("s3:"):
        act(call, "upload", "cloud.upload", "sends files to a bucket")
    elif verb in ("mb", "website", "presign"):
        act(call, "spend", "cloud.change", "creates or opens up a bucket")


def _verb(call: Call, verb: str) -> None:
    """Judge a cloud command by its verb; a verb that nobody knows is asked about."""
    if _DESTROY.match(verb) or _DESTROY_PART.match(verb):
        hard = bool(re.match(r"(?:delete|terminate|destroy|purge|rm|rb|remove|wipe|nuke)", verb))
        act(
            call,
            "destroy",
            "cloud.destroy",
            f"destroys or switches off something in the cloud ({verb})",
            decision="deny" if hard else "ask",
        )
    elif _CHANGE.match(verb):
        act(call, "spend", "cloud.change", f"changes something in the cloud, which may cost money ({verb})")


@reads("gcloud", "gsutil", "bq", "az", "doctl", "hcloud", "linode-cli", "vultr-cli", "scw", "ibmcloud", "oci",
       "aliyun", "yc", "exo", "civo", "upctl", "openstack", "nova",
       "heroku", "fly", "flyctl", "vercel", "now", "netlify", "railway", "render", "wrangler", "supabase", "firebase",
       "amplify", "eb", "copilot", "cf", "dokku", "platform",
       "ns", "koyeb", "northflank", "zeabur", "stripe", "twilio", "datadog-ci", "pagerduty", "cloudflare", "flarectl",
       "neonctl", "pscale", "atlas", "mongocli", "confluent",
       "databricks", "snow", "auth0", "okta", "launchdarkly", "ldcli", "shopify", "contentful", "sanity", "convex",
       "deta", "encore", "porter", "qovery", "sf", "sfdx")  # fmt: skip
def _consoles(call: Call) -> None:
    words = verbs(call, ("--project", "--region", "--zone", "--account", "-a", "--app", "-r", "--resource-group",
    "-g", "-n", "--name", "--subscription", "--format",
                         "--output", "-o", "--query", "--filter", "--location", "-c", "--config", "--remote", "-p",
                         "--context", "--team", "--org", "--token"))  # fmt: skip
    if any(flag.startswith(("--prod", "--production")) for flag in call.args) and call.name in (
        "vercel",
        "netlify",
        "now",
    ):
        act(call, "publish", "cloud.deploy", "puts this version in front of users")
        return
    if re.search(r"\b0\.0\.0\.0/0|\ball(?:Authenticated)?Users\b|public-read", " ".join(call.args)):
        act(call, "destroy", "cloud.change", "opens something in the cloud to everybody")
        return
    if not words or {"--dry-run", "--help"} & set(call.args) or words[0] in _LOCAL_ONLY.get(call.name, ()):
        return
    for word in words[:5]:
        for verb in word.split(":")[-1:] if ":" in word else [word]:
            if _DESTROY.match(verb) or _DESTROY_PART.match(verb):
                _verb(call, verb)
                return
    if not any(_READ.match(part) for word in words[:4] for part in word.split(":")[-1:]):
        for word in words[:5]:
            verb = word.split(":")[-1]
            if _CHANGE.match(verb):
                _verb(call, verb)
                return


_LOCAL_ONLY = {
    "wrangler": {"dev", "types", "login", "whoami", "tail", "init", "pages", "build", "check"},
    "supabase": {"start", "stop", "status", "init", "gen", "functions", "link", "login", "db", "test", "migration"},
    "firebase": {"emulators:start", "serve", "init", "login", "use", "emulators:exec", "projects:list"},
    "vercel": {"dev", "build", "link", "login", "pull", "inspect", "logs", "ls", "list", "whoami"},
    "netlify": {"dev", "build", "link", "login", "init", "status", "env:list"},
    "railway": {"link", "login", "status", "logs", "run", "init"},
    "stripe": {"listen", "login", "trigger", "logs", "samples"},
    "shopify": {"theme dev", "app", "login", "version"},
    "amplify": {"init", "status", "pull", "mock", "codegen", "configure"},
    "heroku": {"run", "logs", "local", "ps", "login", "info", "apps", "releases", "git:remote"},
    "gcloud": {"init", "auth", "config", "components", "info", "emulators", "help", "version", "feedback"},
    "az": {"login", "account", "configure", "version", "bicep", "find", "upgrade"},
    "sf": {"org", "project", "config"}, "ns": {"run", "build", "test", "create", "clean", "debug", "preview", "doctor"},
    "platform": set(), "render": set(), "now": {"dev"}, "convex": {"dev"}, "sanity": {"dev", "build"}, "bq": {"query",
    "ls", "show", "head"},
}  # fmt: skip


@reads("gsutil")
def _gsutil(call: Call) -> None:
    words = verbs(call)
    if words[:1] in (["cp"], ["rsync"], ["mv"]) and words[-1].startswith("gs:"):
        act(call, "upload", "cloud.upload", "sends files to a bucket")
    if words[:1] in (["iam"], ["acl"], ["rewrite"]) and "allUsers" in " ".join(words):
        act(call, "destroy", "cloud.change", "opens a bucket to everyone")


_INFRASTRUCTURE = lazy(
    r"(?:apply|destroy|import|taint|untaint|force-unlock|refresh|state (?:rm|push|mv|replace-provider)|workspace "
    r"delete|run-all (?:apply|destroy)|up|rm|cancel|"
    r"stack (?:rm|import|rename|change-secrets-provider)|state (?:delete|unprotect)|deploy|remove|bootstrap|rollback"
    r"|delete|login --token|apply-all|destroy-all)(?:\s|\Z)"
)


@reads("terraform", "tofu", "terragrunt", "pulumi", "cdk", "sam", "serverless", "sls", "cdktf", "sst",
       "ansible-playbook", "ansible", "ansible-pull", "salt", "puppet",
       "chef-client", "knife", "packer", "waypoint", "nuke", "aws-nuke", "cloud-nuke", "crossplane", "up", "copilot",
       "chalice", "zappa", "arc", "claudia", "kitchen")  # fmt: skip
def _infrastructure(call: Call) -> None:
    if call.name in ("aws-nuke", "cloud-nuke", "nuke") and call.name != "nuke":
        act(call, "destroy", "cloud.destroy", "destroys a whole cloud account", decision="deny")
    elif call.name.startswith("ansible"):
        _ansible(call)
    elif call.name in ("salt", "puppet", "chef-client", "knife"):
        if not {"--noop", "--test", "test=True", "--why-run", "--version", "validate", "lookup"} & set(call.args) and (
            call.name != "knife" or re.search(r"delete|bootstrap|ssh", " ".join(call.args))
        ):
            act(call, "destroy", "cloud.infrastructure", "changes machines", _PLAN)
    elif call.name != "nuke":
        _stack(call)


def _stack(call: Call) -> None:
    words = " ".join(verbs(call, ("-chdir", "--cwd", "-C", "-s", "--stack", "--stage", "--profile", "--region")))
    match = _INFRASTRUCTURE.match(words)
    if match is None or (call.name == "packer") or options(call.args, words=True).has("help", "dry-run", "h"):
        return
    if call.name == "sam" and words.startswith("remote"):
        return
    if call.name == "serverless" and words.startswith("deploy list"):
        return
    destroys = (
        bool(
            re.match(
                r"(?:destroy|remove|rm|delete|run-all destroy|stack rm|state (?:rm|delete)|workspace delete"
                r"|destroy-all)",
                words,
            )
        )
        or "-destroy" in call.args
    )
    act(call, "destroy", "cloud.destroy-stack" if destroys else "cloud.infrastructure",
        "destroys infrastructure" if destroys else "changes real infrastructure", _PLAN,
        decision="deny" if destroys else "ask")  # fmt: skip


def _ansible(call: Call) -> None:
    opts = options(
        call.args, short="iaemMulfktC", long=("inventory", "args", "extra-vars", "module-name", "limit", "user")
    )
    if opts.has("C", "check", "syntax-check", "list-hosts", "list-tasks", "version", "help", "list-tags"):
        return
    if call.name == "ansible":
        if opts.value("m", "module-name") in ("", "shell", "command", "raw") and opts.value("a", "args"):
            call.shell.child().run_text(opts.value("a", "args"))
        elif opts.value("m", "module-name") in ("ping", "setup", "debug", "stat"):
            return
    act(
        call,
        "destroy",
        "cloud.infrastructure",
        "changes every machine of the inventory",
        "`--check --diff` shows what would change",
    )


@reads("gh", "glab")
def _github(call: Call) -> None:
    words = " ".join(
        verbs(
            call,
            ("-R", "--repo", "-H", "--header", "-f", "-F", "--field", "--raw-field", "-q", "--jq", "-t", "--template"),
        )
    )
    if re.match(r"repo (?:delete|archive|rename)|project delete|org delete", words):
        act(
            call,
            "destroy",
            "cloud.repository",
            "deletes or closes a repository",
            decision="deny" if "delete" in words else "ask",
        )
    elif re.match(
        r"(?:release|secret|variable|ssh-key|gpg-key|label|gist|cache|codespace|workflow|run|environment|deploy-key"
        r"|issue|ruleset|milestone|mr|schedule|token|incident) (?:delete|remove|disable|cancel-all)",
        words,
    ):
        act(call, "destroy", "cloud.repository", "removes something from the forge")
    elif re.match(
        r"(?:secret|variable) set|ssh-key add|gpg-key add|repo deploy-key add|repo edit|auth (?:login|refresh"
        r"|setup-git)|repo transfer|extension install",
        words,
    ):
        if (not words.startswith("auth") and "edit" not in words) or "--visibility" in call.args:
            act(call, "destroy", "cloud.repository", "changes rights or secrets of a repository")
    elif words.startswith("pr merge") and "--admin" in call.args:
        act(call, "destroy", "cloud.repository", "merges past the rules of the repository")
    elif words.startswith("api"):
        _forge_api(call)


def _forge_api(call: Call) -> None:
    method = options(call.args, short="XfFHqt", long=("method",)).value("X", "method").upper()
    if method == "DELETE":
        act(call, "destroy", "cloud.repository", "removes something from the forge")
    elif method in ("PUT", "PATCH", "POST") and re.search(
        r"visibility|collaborators|protection|hooks|keys|secrets|permissions", " ".join(call.args)
    ):
        act(call, "destroy", "cloud.repository", "changes rights or secrets of a repository")
