"""Which files hold secrets: by their names, and by what they contain. `docs/secrets.md` has the same list."""

from __future__ import annotations

import fnmatch
import functools
import posixpath
import re

SNIFFED = 1 << 16
"""Bytes at the start of a file that are compared with known contents."""
TEMPLATES = ("example", "sample", "template", "dist", "defaults", "schema", "tpl")
"""Endings of files that show how a secret file looks, without its secrets: `.env.example`."""

NAMES: dict[str, str] = {
    "environment variables": ".env .env.* *.env .envrc .flaskenv .dev.vars",
    "a private key": "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk id_xmss *.ppk *.p12 *.pfx *.jks"
    " *.keystore *.kdbx *.pk8 master.key",
    "passwords or tokens of a tool": ".netrc _netrc .pgpass .my.cnf .mylogin.cnf .pypirc .git-credentials .dockercfg"
    " .htpasswd .vault-token .s3cfg .boto .terraformrc terraform.rc credentials.tfrc.json .kubeconfig kubeconfig"
    " .npmrc .yarnrc.yml .databrickscfg .snowsql .azureauth .credentials credentials.json client_secret*.json"
    " service-account*.json service_account*.json application_default_credentials.json accessTokens.json"
    " secrets.yml secrets.yaml secrets.json secrets.toml .secrets.toml *.tfstate *.tfstate.backup",
}
"""Names of files, compared without regard to case, and what they usually hold."""
PATHS: dict[str, str] = {
    "a private key": ".ssh/* .gnupg/*",
    "passwords or tokens of a tool": ".aws/credentials .kube/config .docker/config.json .azure/* .config/gcloud/*"
    " .config/gh/hosts.yml .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json"
    " .m2/settings.xml .m2/settings-security.xml .config/hub .password-store/*",
}
"""The last components of paths."""
_PUBLIC = frozenset({"known_hosts", "known_hosts.old", "authorized_keys"})
_BY_CONTENT = frozenset({".npmrc", ".yarnrc.yml", "credentials.json", "kubeconfig"})
"""Names that count only if the content says so as well: most such files of projects hold no secret."""

_CONTENTS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(
            rb"^-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*\n(?:[A-Za-z-]+: ?[^\n]*\n){0,8}\s*"
            rb"[A-Za-z0-9+/=]{32,}",
            re.MULTILINE,
        ),
        "a private key",
    ),
    (re.compile(rb"^PuTTY-User-Key-File-\d", re.MULTILINE), "a private key"),
    (re.compile(rb"^AGE-SECRET-KEY-1[0-9A-Z]{20,}", re.MULTILINE), "a private key"),
    (re.compile(rb'"private_key"\s*:\s*"-----BEGIN '), "a private key"),
    (re.compile(rb"^\s*aws_secret_access_key\s*=\s*[A-Za-z0-9/+=]{30,}", re.MULTILINE), "keys of AWS"),
    (re.compile(rb":_(?:authToken|password)\s*=\s*[^\s$]{8,}|^_auth\s*=\s*[^\s$]{8,}", re.MULTILINE), "tokens of npm"),
    (re.compile(rb"^\s*npmAuthToken:\s*[^\s$]{8,}", re.MULTILINE), "tokens of npm"),
    (re.compile(rb'"(?:client_secret|refresh_token)"\s*:\s*"[^"]{8,}"'), "tokens of a tool"),
    (re.compile(rb"^\s*(?:client-key-data|token):\s*[A-Za-z0-9+/=._-]{40,}", re.MULTILINE), "keys of Kubernetes"),
)


@functools.lru_cache(maxsize=4096)
def secret_name(path: str) -> str:
    """What a file holds according to its path; empty if the path does not say, or is that of a template."""
    parts = path.lower().split("/")
    name = parts[-1]
    if name.rpartition(".")[2] in TEMPLATES or name in _PUBLIC or name.endswith(".pub") or name in _BY_CONTENT:
        return ""
    if found := _name(name):
        return found
    if len(parts) == 1:
        return ""
    for pattern, reason in _paths().get(parts[-2], ()):
        depth = pattern.count("/") + 1
        if fnmatch.fnmatchcase("/".join(parts[-depth:]), pattern):
            return reason
    return ""


def secret_content(start: bytes) -> str:
    """What a file holds according to its first bytes; empty if they do not show it."""
    if not any(mark in start and any(hint in start for hint in hints) for mark, hints in _HINTS.items()):
        return ""
    return next((reason for pattern, reason in _CONTENTS if pattern.search(start)), "")


_HINTS: dict[bytes, tuple[bytes, ...]] = {
    b"-": (b"-----BEGIN ", b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-1", b"client-key-data:"),
    b"_": (b"aws_secret_access_key", b"_auth", b":_password", b'"client_secret"', b'"refresh_token"'),
    b":": (b"npmAuthToken:", b"token:"),
}
"""A character → texts with it. Every content in `_CONTENTS` has one of these texts.

Looking for a character takes a microsecond, looking for a text 15 to 50, and one pattern with all texts ten times as
long.
"""


TOKENS: dict[str, str] = {
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{50,}",
    "a token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "a key of AWS": r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b",
    "a key of a model provider": r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}",
    "a key of Google": r"\bAIza[0-9A-Za-z_-]{35}",
    "a token of Slack": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a token of npm": r"\bnpm_[A-Za-z0-9]{36}",
    "a token of PyPI": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "a key of Stripe": r"\b[rs]k_live_[A-Za-z0-9]{16,}",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
"""What a token is, and its form. Only notes are compared with them: many projects have such forms in their tests."""


def secret_text(text: str) -> str:
    """What secret is in a text that is to be stored: a known content of files, or a token; empty if there is none."""
    found = secret_content(text.encode("utf-8", "replace"))
    return found or next((what for what, form in TOKENS.items() if re.search(form, text)), "")


def templates_of(path: str) -> list[str]:
    """Names that a template of a secret file may have."""
    directory, name = posixpath.split(path)
    names = [f"{name}.{ending}" for ending in TEMPLATES]
    if name.lower().startswith(".env"):
        names += [f".env.{ending}" for ending in TEMPLATES]
    return [posixpath.join(directory, found) for found in dict.fromkeys(names)]


@functools.cache
def _names() -> tuple[dict[str, str], re.Pattern[str], list[str]]:
    """Names without a wildcard, one pattern for the others, and what each of its groups holds."""
    exact, wild = {}, []
    for reason, names in NAMES.items():
        for name in names.lower().split():
            if "*" in name:
                wild.append((name, reason))
            else:
                exact[name] = reason
    groups = "|".join(f"({fnmatch.translate(name)})" for name, _ in wild)
    return exact, re.compile(groups), [reason for _, reason in wild]


@functools.cache
def _paths() -> dict[str, list[tuple[str, str]]]:
    """The patterns of paths, by the name of the directory that holds the file."""
    found: dict[str, list[tuple[str, str]]] = {}
    for reason, patterns in PATHS.items():
        for pattern in patterns.lower().split():
            found.setdefault(pattern.split("/")[-2], []).append((pattern, reason))
    return found


def _name(name: str) -> str:
    exact, wild, reasons = _names()
    if name in exact:
        return exact[name]
    match = wild.match(name)
    return "" if match is None or match.lastindex is None else reasons[match.lastindex - 1]
