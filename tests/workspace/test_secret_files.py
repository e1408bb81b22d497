"""Secret files by name and by content."""

import re
from pathlib import Path

import pytest

from toolgate.workspace.secret_files import NAMES, PATHS, secret_content, secret_name, templates_of

KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB\n"


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "api/.env", ".ENV", ".env.local", ".env.production", "prod.env", ".envrc"),
        *("id_rsa", "deploy/id_ed25519", "cert.p12", "release.keystore", "config/master.key"),
        *(".netrc", ".pypirc", ".git-credentials", ".aws/credentials", "home/.kube/config", ".docker/config.json"),
        *(".ssh/work", "secrets.yml", "client_secret_1.json", "terraform.tfstate", ".streamlit/secrets.toml"),
    ],
)
def test_names_of_secret_files(path: str) -> None:
    assert secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", ".env.template", ".env.dist", "secrets.yml.example"),
        *("environment.py", "env", "process.env.ts", "src/config.json", "id_rsa.pub", ".ssh/known_hosts"),
        *("key.py", "README.md", "docs/credentials.md", "config", ".npmrc", "credentials.json"),
    ],
)
def test_control_names_of_other_files(path: str) -> None:
    assert secret_name(path) == ""


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        b"some text before\n" + KEY,
        b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n" + b"A" * 64 + b"\n",
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + b"l" * 64 + b"\n",
        b'{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\nMII"}',
        b"[default]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
        b"//registry.example/:_authToken=npm_0123456789abcdef\n",
        b"AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQ\n",
        b"PuTTY-User-Key-File-3: ssh-ed25519\n",
        b"//registry.example/:_password=c2VjcmV0IHdvcmRz\n",
        b"_auth=dXNlcjpwYXNzd29yZA==\n",
        b"npmAuthToken: npm_0123456789abcdef\n",
        b'{"installed": {"client_secret": "GOCSPX-0123456789"}}',
        b'{"refresh_token" : "1//0123456789abcdef"}',
        b"users:\n- user:\n    client-key-data: " + b"A" * 64 + b"\n",
        b"users:\n- user:\n    token: " + b"A" * 64 + b"\n",
    ],
)
def test_contents_of_secret_files(content: bytes) -> None:
    assert secret_content(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'HEADER = "-----BEGIN PRIVATE KEY-----"\n',
        b"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQ==\n",
        b"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n",
        b"//registry.example/:_authToken=${NPM_TOKEN}\n",
        b"aws_secret_access_key = os.environ['KEY']\n",
    ],
)
def test_control_contents_of_other_files(content: bytes) -> None:
    assert secret_content(content) == ""


def test_a_template_has_the_name_of_the_file_and_an_ending() -> None:
    assert "api/.env.example" in templates_of("api/.env")
    assert ".env.example" in templates_of(".env.production")


def test_the_page_lists_every_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "secrets.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([^`]+)`", page))
    patterns = {name for names in (*NAMES.values(), *PATHS.values()) for name in names.split()}
    assert sorted(patterns - listed) == []
