"""Packages, images, releases: what others will receive."""

from __future__ import annotations

import re

from fairlead.guard.packs import act, reads, verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_DRY = "publish with `--dry-run` first and let a person do the rest"
_PUBLISH = {
    "npm": r"(?:publish|unpublish|deprecate|dist-tag (?:add|rm)|owner (?:add|rm)|access|adduser|token revoke|team"
           r"|hook)\b",
    "pnpm": r"(?:-r )?publish\b|deprecate\b",
    "yarn": r"(?:publish|npm publish|npm tag (?:add|remove))\b",
    "bun": r"publish\b",
    "lerna": r"publish\b",
    "nx": r"release(?: publish)?\b",
    "changeset": r"publish\b",
    "semantic-release": r"",
    "release-it": r"",
    "np": r"",
    "standard-version": r"\Z.",
    "twine": r"upload\b",
    "poetry": r"publish\b",
    "flit": r"publish\b",
    "hatch": r"publish\b",
    "pdm": r"publish\b",
    "uv": r"publish\b",
    "maturin": r"(?:publish|upload)\b",
    "xcrun": r"(?:.*\s)?(?:--upload-app|--upload-package|notarytool submit|altool .*--upload)",
    "hex": r"publish\b",
    "cargo": r"(?:publish|yank|owner (?:--add|--remove|-a|-r)|release)\b",
    "gem": r"(?:push|yank|owner)\b",
    "rake": r"release\b",
    "bundle": r"exec rake release\b",
    "mvn": r".*\b(?:deploy(?::\S+)?|release:(?:perform|prepare)|nexus-staging:release)\b",
    "mvnw": r".*\b(?:deploy|release:perform)\b",
    "gradle": r".*\b(?:publish(?!ToMavenLocal)\w*|uploadArchives|bintrayUpload|closeAndReleaseRepository)\b",
    "gradlew": r".*\b(?:publish(?!ToMavenLocal)\w*|uploadArchives|bintrayUpload|closeAndReleaseRepository)\b",
    "sbt": r".*\b(?:publish(?!Local)\w*|release)\b",
    "dotnet": r"nuget (?:push|delete)\b",
    "nuget": r"(?:push|delete|setapikey)\b",
    "mix": r"hex\.(?:publish|retire|owner)\b",
    "dart": r"pub publish\b",
    "flutter": r"pub publish\b",
    "pod": r"(?:trunk push|repo push|trunk delete)\b",
    "composer": r"\Z.",
    "stack": r"upload\b",
    "cabal": r"upload\b",
    "opam": r"publish\b",
    "luarocks": r"upload\b",
    "cpan-upload": r"",
    "conda": r"\Z.",
    "anaconda": r"(?:upload|remove)\b",
    "jsr": r"publish\b",
    "deno": r"publish\b",
    "vsce": r"(?:publish|unpublish)\b",
    "ovsx": r"publish\b",
    "goreleaser": r"(?:release|publish)\b",
    "docker": r"(?:image )?push\b|buildx build .*--push|buildx imagetools create|(?:build|compose build) .*--push"
              r"|compose push|manifest push",
    "podman": r"(?:image )?push\b|manifest push",
    "buildah": r"push\b",
    "nerdctl": r"push\b",
    "skopeo": r"(?:copy|sync)\b",
    "crane": r"(?:push|copy|cp|append|mutate)\b",
    "oras": r"(?:push|cp|attach)\b",
    "ko": r"(?:publish|build|apply)\b",
    "jib": r"build\b",
    "helm": r"(?:push|cm-push)\b",
    "snapcraft": r"(?:upload|push|release)\b",
    "fastlane": r".*\b(?:deliver|pilot|upload_to_\w+|release|beta|supply|produce)\b",
    "eas": r"(?:submit|update|build .*--auto-submit)\b",
    "expo": r"publish\b",
    "gh": r"release (?:create|upload|edit)\b|gist create\b|repo create .*--public|pages deploy",
    "glab": r"release (?:create|upload)\b|snippet create\b",
    "gh-pages": r"",
    "mkdocs": r"gh-deploy\b",
    "mike": r"(?:deploy|delete)\b",
    "surge": r"",
    "firebase": r"(?:deploy|hosting:disable|firestore:delete|functions:delete|projects:delete)\b",
    "vercel": r"(?:deploy|promote|rollback|alias)\b",
    "netlify": r"deploy\b",
    "wrangler": r"(?:deploy|publish|pages deploy|pages publish|delete|rollback|secret (?:put|delete)|kv:?\S* "
                r"\S*delete|r2 \S+ delete)\b",
    "fly": r"deploy\b",
    "flyctl": r"deploy\b",
    "railway": r"up\b",
    "heroku": r"container:(?:push|release)\b",
    "eb": r"deploy\b",
    "gcloud": r"(?:app deploy|run deploy|functions deploy|builds submit)\b",
    "az": r"(?:webapp (?:up|deploy)|functionapp deployment|acr build)\b",
    "kamal": r"(?:deploy|redeploy|setup|remove|rollback)\b",
    "cap": r".*\bdeploy\b",
    "dokku": r".*\b(?:deploy|destroy)\b",
    "huggingface-cli": r"(?:upload|upload-large-folder|repo delete|repo create)\b",
    "hf": r"(?:upload|repo delete)\b",
    "wandb": r"artifact put\b",
    "dvc": r"push\b",
    "git-annex": r"sync\b",
    "clojars": r"",
    "lein": r"deploy\b",
    "asar": r"\Z.",
    "electron-builder": r".*--publish (?:always|onTag)",
    "web-ext": r"sign\b",
    "chrome-webstore-upload": r"",
    "forge": r"(?:script|create) .*--broadcast",
    "hardhat": r"run .*--network (?:mainnet|polygon|arbitrum)|verify\b",
    "cast": r"send\b",
    "solana": r"(?:transfer|program deploy|program close)\b",
    "truffle": r"(?:migrate|deploy) .*--network (?:live|mainnet)",
}  # fmt: skip


@reads(*_PUBLISH)
def _publish(call: Call) -> None:
    pattern = _PUBLISH[call.name]
    words = " ".join(
        call.args
        if call.name in _RAW
        else verbs(call, ("-C", "--prefix", "--filter", "-w", "--workspace", "--dir", "-R", "--repo"))
    )
    if not re.match(pattern, words) or _rehearsal(call):
        return
    if call.name == "npm" and re.match(r"access (?:ls|list|get)|owner ls|team ls|hook ls", words):
        return
    if call.name == "docker" and re.search(r"localhost[:/]|127\.0\.0\.1", words):
        return
    act(call, "publish", "publishing.publish", "puts something out where others receive it", _DRY)


_RAW = frozenset(
    {
        "docker",
        "xcrun",
        "cargo",
        "gh",
        "forge",
        "hardhat",
        "electron-builder",
        "eas",
        "truffle",
        "buildx",
        "mvn",
        "gradle",
    }
)


def _rehearsal(call: Call) -> bool:
    return bool(
        {"--dry-run", "--dryrun", "--help", "--snapshot", "--skip-publish", "--skip=publish", "--list"} & set(call.args)
    )


@reads("python", "python3")
def _setup(call: Call) -> None:
    words = call.args
    if words[:1] == ["setup.py"] and {"upload", "register"} & set(words):
        act(call, "publish", "publishing.publish", "puts a package out where others receive it", _DRY)
    if words[:3] == ["-m", "twine", "upload"]:
        act(call, "publish", "publishing.publish", "puts a package out where others receive it", _DRY)


@reads("npm", "yarn", "pnpm", "bun", "make", "just", "task", "rake")
def _scripts(call: Call) -> None:
    """Scripts of the project run as they are; their names say when they publish."""
    words = [word for word in verbs(call, ("-C", "-f", "--prefix")) if word != "run"]
    if any(
        re.match(r"(?:publish|release|deploy)(?:[:_-](?:prod(?:uction)?|live|public|npm|pypi))\Z", word)
        for word in words[:3]
    ):
        act(call, "publish", "publishing.deploy-script", "runs a script of the project that deploys or publishes")
