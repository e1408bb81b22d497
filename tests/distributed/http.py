"""Asking a process over HTTP."""

import urllib.error
import urllib.request
from collections.abc import Mapping


def get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Status and body of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers or {})), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
