"""Credentials that are none, of many kinds, each in a text in which agents have them.

They are put together here, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

_A = "k7Qw2ZpX9vLm4TbR8sNc1HdY6fGj3KaE5uVoBiMzPxQr"
_HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_UPPER = "Q7W2ZPX9VLM4TBR8SNC1HDY6FGJ3KAE5"


def _join(*parts: str) -> str:
    return "".join(parts)


CANARIES: dict[str, tuple[str, str]] = {
    "an AWS key id": (_join("AKIA", _UPPER[:16]), "aws configure set aws_access_key_id {}"),
    "an AWS secret": (_A[:40], "AWS_SECRET_ACCESS_KEY={} aws s3 ls"),
    "an AWS session": (_A + _HEX[:20], "export AWS_SESSION_TOKEN='{}'"),
    "a GitHub token": (_join("ghp", "_", _A[:36]), "git remote add o https://x:{}@github.com/a/b"),
    "a GitHub token alone": (_join("gho", "_", _A[:36]), "echo {}"),
    "a fine-grained GitHub token": (_join("github", "_pat_", _A, _A[:38]), "gh auth login --with {}"),
    "a GitLab token": (_join("glpat", "-", _A[:20]), "curl -H 'PRIVATE-TOKEN: {}' https://gitlab.com/api"),
    "a Slack token": (_join("xoxb", "-123456789012-", _A[:24]), "slack send {} hello"),
    "a Slack hook": (_join("T00000000/B00000000/", _A[:24]), "curl https://hooks.slack.com/services/{} -d x"),
    "a Discord hook": (_join("123456789012345678/", _A, _A[:24]), "curl https://discord.com/api/webhooks/{}"),
    "a Stripe key": (_join("sk", "_live_", _A[:24]), "stripe charges list --api-key {}"),
    "an OpenAI key": (_join("sk", "-proj-", _A), "OPENAI_API_KEY={} python x.py"),
    "an Anthropic key": (_join("sk", "-ant-api03-", _A, "-", _A), "the key {} is wrong"),
    "a Google key": (_join("AIza", _A[:35]), "curl 'https://maps.googleapis.com/x?key={}'"),
    "a Google session": (_join("ya29", ".", _A), "gcloud --access-token {}"),
    "an npm token": (_join("npm", "_", _A[:36]), "//registry.npmjs.org/:_authToken={}"),
    "a PyPI token": (_join("pypi", "-AgEIcHlwaS5vcmc", _A), "twine upload -u __token__ -p {} dist/*"),
    "a SendGrid key": (_join("SG", ".", _A[:22], ".", _A[:43]), "send with {} now"),
    "a Twilio key": (_join("SK", _HEX[:32]), "twilio login {}"),
    "a Mailchimp key": (_join(_HEX[:32], "-us12"), "mailchimp {}"),
    "a Hugging Face token": (_join("hf", "_", _A[:34]), "huggingface-cli login {}"),
    "a DigitalOcean token": (_join("dop", "_v1_", _HEX), "doctl auth init -t {}"),
    "a Shopify token": (_join("shpat", "_", _HEX[:32]), "shopify {}"),
    "a Vault token": (_join("hvs", ".", _A), "vault login {}"),
    "a Databricks token": (_join("dapi", _HEX[:32]), "databricks configure {}"),
    "a Grafana token": (_join("glsa", "_", _A[:32], "_", _HEX[:8]), "grafana {}"),
    "a Telegram bot": (_join("123456789", ":AA", _A[:33]), "curl https://api.telegram.org/bot{}/getMe"),
    "a JSON Web Token": (
        _join("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.", _A[:43]), "curl -H 'Cookie: s={}' x.example"
    ),
    "a bearer": (_A[:32], "curl -H 'Authorization: Bearer {}' https://x.example"),
    "a basic header": (_A[:28] + "==", 'curl -H "authorization: Basic {}" https://x.example'),
    "a header of its own": (_A[:30], "curl -H 'X-Api-Key: {}' https://x.example"),
    "a cookie": (_A[:26], "curl -H 'Cookie: session={}; theme=dark' https://x.example"),
    "a password in a URL": ("Tr0ub4dor&3xyz", "psql postgresql://app:{}@db.example/prod"),
    "a password without a user": ("r3d1sPa55word", "redis-cli -u redis://:{}@cache:6379/0"),
    "a token as user": (_A[:40], "git clone https://{}@git.example/a.git"),
    "a query": (_A[:30], "curl 'https://x.example/a?page=2&access_token={}&x=1'"),
    "a signed URL": (_HEX, "curl 'https://s3.example/a?X-Amz-Signature={}'"),
    "a variable with digits": ("s3cretVa1ue", "DB2_PASSWORD_V2={} ./migrate"),
    "an option": ("correcthorse9", "mysql --user root --password {} shop"),
    "an option with =": ("batterystaple7", "deploy --client-secret={} --dry-run"),
    "mysql -p": ("hunter2hunter", "mysql -u root -p{} shop"),
    "curl -u": ("opensesame42", "curl -u admin:{} https://x.example"),
    "sshpass": ("letmein!2026", "sshpass -p '{}' ssh host"),
    "docker login": ("dockerhub99pw", "docker login -u me -p {} r.example"),
    "JSON": ("json-pa55-value", '{{"user": "a", "password": "{}", "n": 1}}'),
    "JSON in JSON": ("inner-pa55-value", '{{"body": "{{\\"client_secret\\": \\"{}\\"}}"}}'),
    "YAML": ("yaml-pa55-value", "database:\n  password: {}\n  host: db"),
    "a property": ("prop-pa55-value", "spring.datasource.password={}"),
    "a connection string": (_A[:43] + "=", "AccountName=x;AccountKey={};EndpointSuffix=core.windows.net"),
    "ADO": ("ado-pa55-value", "Server=db;User Id=sa;Password={};"),
    "netrc": ("netrc-pa55-value", "machine x.example login me password {}"),
    "a phrase": ("four words of mine 77", 'PASSPHRASE="{}" gpg --sign x'),
    "a private key": (
        "MIIEowIBAAKCAQEA" + _A, "cat <<X\n-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\nX"
    ),
    "half a private key": ("b3BlbnNzaC1rZXktdjE" + _A, "-----BEGIN OPENSSH PRIVATE KEY-----\n{}"),
    "a hash of a password": (_join("$2b$12$", _A, _A[:9]), "htpasswd said {}"),
    "a Telegram-like code": (_join("tskey", "-auth-", _A[:30]), "tailscale up --authkey {}"),
    "SQL": ("sql-pa55-value", "CREATE USER a IDENTIFIED BY '{}'"),
    "an age key": (_join("AGE-SECRET-KEY-1", _UPPER, _UPPER[:26]), "echo {} > key.txt"),
}  # fmt: skip
"""The secret, and the text around it."""

SECRETS = {name: secret for name, (secret, _) in CANARIES.items()}
TEXTS = {name: text.format(secret) for name, (secret, text) in CANARIES.items()}

ORDINARY = [
    "ls -la /home/me/project",
    "git commit -m 'Fix the parser' && git push origin main",
    "git show 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "session 0f8fad5b-d9cb-469f-a165-70867728950e",
    "pytest tests/test_tokens.py -k 'password and not slow'",
    "max_tokens=4096 temperature=0.7",
    '{"input_tokens": 1234, "token_count": 55}',
    "export TOKEN=$GITHUB_TOKEN",
    'curl -H "Authorization: $AUTH" https://x.example',
    "password: must be at least 12 characters",
    "token = get_token(request)",
    "password = os.environ['DB_PASSWORD']",
    "PASSWORD_FILE=/run/secrets/db",
    "https://user@host.example/path?page=2",
    "ssh git@github.com",
    "pattern=src/** path=/usr/bin patch: applied",
    "author: Ada Lovelace <ada@example.com>",
    "authentication: basic",
    "the secret of success: work",
    "def f(token: str, secret: bytes | None = None) -> None: ...",
    "docker run -p 8080:80 nginx",
    "npm install left-pad@1.3.0",
    "http://localhost:8080/a:b@c",
    "cookie_policy: strict",
    "API_KEY=<your key here>",
    'api_key: "***"',
    "mysql -p shop",
    "1204  16 Nov 06:31:22  deny  codex PreToolUse Bash",
]
