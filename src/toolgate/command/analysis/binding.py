"""What decides the effect of a command besides its words: build files, lists, other input, and what it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolgate.command.analysis.known import READ_ONLY, WELL_KNOWN, names
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_MOST_OPERANDS = 200
"""Words that are looked up as files; a command with more is asked about every time."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYPROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_BUILD_FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("package.json", ".npmrc")),
    **dict.fromkeys(("poetry", "hatch", "pdm", "uv", "pip", "pip3", "flit", "twine"), _PYPROJECT),
    **dict.fromkeys(("docker", "docker-compose", "podman", "podman-compose"), (*_COMPOSE, "Dockerfile")),
    **dict.fromkeys(("gradle", "gradlew"), ("build.gradle", "build.gradle.kts", "settings.gradle")),
    **dict.fromkeys(("mvn", "mvnw"), ("pom.xml",)),
    **dict.fromkeys(("invoke", "inv", "fab"), ("tasks.py", "fabfile.py")),
    "just": ("justfile", "Justfile", ".justfile"),
    "go-task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb"),
    "ninja": ("build.ninja",),
    "tox": ("tox.ini", *_PYPROJECT),
    "nox": ("noxfile.py",),
    "cargo": ("Cargo.toml", "build.rs"),
    "ant": ("build.xml",),
    "gulp": ("gulpfile.js",),
    "grunt": ("Gruntfile.js",),
    "snakemake": ("Snakefile",),
    "composer": ("composer.json",),
    "bundle": ("Gemfile",),
}
"""Files in the working directory that say what a program does."""
_FINDS = names("find gfind fd fdfind")
_ACTS = re.compile(r"-(?:delete|exec|execdir|ok|okdir|fls|fprint\w*)|-x|-X|--exec(?:-batch)?(?:=.*)?")
_LISTS = re.compile(r"(?:-a|-T|--arg-file|--files-from|--files0-from|--pathspec-from-file|--exclude-from|--from-file)")
"""Options of well-known programs whose value is a file that names others."""
_ATTACHED = {"xargs": "-a", "tar": "-T", "make": "-f", "gmake": "-f", "parallel": "-a"}


def bind(scope: Scope, words: Sequence[Word]) -> None:
    """Note the files and the input that the effect of a command depends on, and what cannot be known of it."""
    found, name = scope.found, words[0].text.rpartition("/")[2]
    if scope.stdin is not None and scope.stdin.kind == "pipe" and name not in READ_ONLY:
        found.unresolved[f"'{name}' reads what another command prints"] = None
    if name in _FINDS and any(_ACTS.fullmatch(word.text) for word in words[1:]):
        found.unresolved[f"what '{name}' finds is only known when it runs"] = None
    if name in ("cd", "pushd"):
        found.variables["CDPATH"] = None
    if name in ("popd", "dirs") or (name in ("cd", "pushd") and any(_is_earlier(word.text) for word in words[1:])):
        found.variables["OLDPWD"] = None
        found.unresolved["it goes back to an earlier directory"] = None
    if name in ("make", "gmake"):
        _makefiles(scope, words)
    for file in _BUILD_FILES.get(name, ()):
        _existing(scope, file)
    if len(words) > _MOST_OPERANDS and name not in WELL_KNOWN:
        found.unresolved["it has too many words to look each up"] = None
        return
    for file in _named(name, words):
        _existing(scope, file)


def _is_earlier(text: str) -> bool:
    return text == "-" or re.fullmatch(r"[-+][0-9]+", text) is not None


def _named(name: str, words: Sequence[Word]) -> Iterator[str]:
    """Words that may be files which the program reads.

    The operands of well-known programs are what they act on, as they are then: only lists of others count there.
    """
    attached = _ATTACHED.get(name, "")
    for at, word in enumerate(words[1:], 1):
        option, _, value = word.text.partition("=")
        if attached and word.text.startswith(attached) and len(word.text) > len(attached):
            yield word.text[len(attached) :]
        elif name not in WELL_KNOWN and name != "git":
            yield value if value else word.text
        elif _LISTS.fullmatch(option):
            yield value if value else words[at + 1].text if at + 1 < len(words) else ""


def _existing(scope: Scope, text: str) -> None:
    if text and not text.startswith("-") and any(scope.around.kind(path) == "file" for path in scope.place(text).paths):
        scope.input(Word(text))


def _makefiles(scope: Scope, words: Sequence[Word]) -> None:
    """The rules of `make` are a script; which file they are in depends on `-f` and `-C`."""
    directory, files = "", []
    for at, word in enumerate(words):
        option, _, value = word.text.partition("=")
        following = words[at + 1].text if at + 1 < len(words) else ""
        if option in ("-f", "--file", "--makefile"):
            files.append(value or following)
        elif word.text.startswith("-f") and word.text != "-f":
            files.append(word.text[2:])
        elif option in ("-C", "--directory"):
            directory = f"{directory}{value or following}/"
        elif word.text.startswith("-C"):
            directory = f"{directory}{word.text[2:]}/"
    for file in files or _MAKEFILES:
        for path in scope.place(directory + file).paths:
            if scope.around.kind(path) == "file":
                scope.found.scripts[path] = None
