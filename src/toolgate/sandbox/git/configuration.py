"""git's configuration files as entries, and which of their keys name a program."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_BYTES = 1 << 18
"""Largest configuration file that is read, in bytes."""
_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?[ \t]*\]')
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*")
_SKIPPED = re.compile(r"(?:[ \t\r\n]+|[#;][^\n]*)*")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


class ConfigEntry(NamedTuple):
    """One setting. Section and name are in lower case; a subsection is as it was written."""

    section: str
    subsection: str
    name: str
    value: str

    @property
    def key(self) -> str:
        """The key as git prints it."""
        return ".".join(part for part in (self.section, self.subsection, self.name) if part)


class UnreadableConfigurationError(Exception):
    """The text may not be read by git as it is read here."""


def parse(text: bytes) -> list[ConfigEntry]:
    """Return the entries of a configuration file, in order."""
    try:
        reader = _Reader(text.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise UnreadableConfigurationError("it is not UTF-8") from error
    return reader.entries()


class _Reader:
    def __init__(self, text: str) -> None:
        if "\0" in text:
            raise UnreadableConfigurationError("it holds a NUL character")
        self._text = text.replace("\r\n", "\n")
        self._at = 0

    def entries(self) -> list[ConfigEntry]:
        found: list[ConfigEntry] = []
        section, subsection = "", ""
        while self._skip():
            if header := _HEADER.match(self._text, self._at):
                self._at = header.end()
                section, _, dotted = header.group(1).lower().partition(".")
                subsection = dotted if header.group(2) is None else re.sub(r"\\(.)", r"\1", header.group(2))
                continue
            name = _NAME.match(self._text, self._at)
            if name is None or not section:
                raise UnreadableConfigurationError("a line is neither a section nor a setting")
            self._at = name.end()
            value = self._value() if name.group(2) else self._implied()
            found.append(ConfigEntry(section, subsection, name.group(1).lower(), value))
        return found

    def _skip(self) -> bool:
        match = _SKIPPED.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._text)

    def _implied(self) -> str:
        """A name without a value means true, and must end its line."""
        rest = self._text[self._at : self._at + 1]
        if rest not in ("", "\n", "#", ";"):
            raise UnreadableConfigurationError("a setting has no '='")
        return "true"

    def _value(self) -> str:
        value, kept, quoted = "", 0, False
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == "\n":
                break
            if character == "\\":
                value, kept = value + self._escaped(), len(value) + 1
            elif character == '"':
                quoted, kept = not quoted, len(value)
            elif character in "#;" and not quoted:
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                value += character
                kept = len(value) if quoted or character not in " \t" else kept
        if quoted:
            raise UnreadableConfigurationError("a quotation is not closed")
        return value[:kept]

    def _escaped(self) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        if character in ("\n", ""):
            return ""
        if character not in _ESCAPES:
            raise UnreadableConfigurationError("an escape is unknown")
        return _ESCAPES[character]


_ANY = r"(?:.*\.)?"
_PROGRAMS = re.compile(
    r"alias\..*|pager\..*|hook\..*\.command|sequence\.editor|imap\.tunnel|interactive\.difffilter|web\.browser"
    r"|core\.(?:fsmonitor|hookspath|sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand)"
    rf"|credential\.{_ANY}helper|diff\.external|diff\..*\.(?:command|textconv)|merge\..*\.driver"
    r"|(?:difftool|mergetool|browser|man|guitool)\..*\.(?:cmd|path)|filter\..*\.(?:clean|smudge|process)"
    rf"|gpg\.{_ANY}program|gpg\.ssh\.defaultkeycommand|trailer\..*\.(?:command|cmd)|tar\..*\.command"
    r"|uploadpack\.packobjectshook|gc\.recentobjectshook|remote\..*\.(?:uploadpack|receivepack|vcs)"
    rf"|submodule\..*\.update|sendemail\.{_ANY}(?:smtpserver|sendmailcmd|tocmd|cccmd|headercmd)|instaweb\..*"
    r"|init\.templatedir|lfs\.(?:customtransfer|extension)\..*"
)
_DURING_WRITES = re.compile(
    r"filter\..*|merge\..*\.driver|diff\.external|diff\..*\.(?:command|textconv)|gpg\..*|trailer\..*"
    r"|interactive\.difffilter|gc\.recentobjectshook|hook\..*|core\.alternaterefscommand"
)
"""Keys whose programs git runs while it writes the repository. Editors, hooks and networks are switched off."""
_DURING_READS = re.compile(
    r"filter\..*|merge\..*\.driver|diff\.external|diff\..*\.(?:command|textconv)|core\.alternaterefscommand"
    r"|(?:difftool|mergetool|browser|man)\..*|interactive\.difffilter|tar\..*|trailer\..*"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs)"
)
"""Keys whose programs git runs while it only reads. File monitors, pagers and signatures are dealt with elsewhere."""
_EXTERNAL_DIFF = re.compile(r"diff\.external|diff\..*\.command")
_WITHOUT_EXTERNAL_DIFF = frozenset({"log", "show", "shortlog", "status", "whatchanged", "reflog", "blame"})
"""Commands that run such a program only with `--ext-diff`, which is looked at for itself."""
_DURING_FETCHES = re.compile(rf"core\.(?:sshcommand|gitproxy|askpass)|credential\.{_ANY}helper")
_TRUSTED = re.compile(
    r"(?:git-lfs|git-crypt) [a-z-]+(?: -- %f| %f)?|gpg2?|ssh-keygen|gpgsm|(?:/usr)?/bin/(?:gpg2?|ssh-keygen)"
)
"""Programs that run no code of the project."""
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf"
    r"|safecrlf|eol|quotepath|abbrev|compression|bigfilethreshold|preloadindex|untrackedcache|longpaths|sparsecheckout"
    r"|sparsecheckoutcone|protectntfs|protecthfs|checkstat|trustctime|fscache|sharedrepository)"
    r"|user\.(?:name|email|useconfigonly|signingkey)|author\.(?:name|email)|committer\.(?:name|email)"
    r"|remote\..*\.(?:url|fetch|push|pushurl|mirror|tagopt|prune|partialclonefilter|promisor|skipdefaultupdate)"
    r"|branch\..*\.(?:remote|merge|rebase|pushremote|description)|branch\.(?:autosetupmerge|autosetuprebase|sort)"
    r"|init\.defaultbranch|(?:commit|tag|push)\.gpgsign|gc\.(?:auto|autodetach|autopacklimit|pruneexpire)"
    r"|maintenance\.(?:auto|strategy|autodetach)|advice\..*|color\..*|column\..*"
    r"|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|fetch\.(?:prune|prunetags|parallel)"
    r"|merge\.(?:ff|conflictstyle|renames|log|stat)|rebase\.(?:autostash|autosquash|updaterefs|stat)"
    r"|diff\.(?:renames|algorithm|mnemonicprefix|colormoved|noprefix|context)|status\..*|log\.(?:date|decorate)"
    r"|index\.(?:version|threads)|pack\.(?:threads|windowmemory)|feature\..*|rerere\.(?:enabled|autoupdate)"
    r"|submodule\..*\.(?:url|active|branch)|submodule\.(?:active|recurse)|receive\.(?:denycurrentbranch|denynonfastforwards)"
    r"|extensions\.(?:objectformat|refstorage|partialclone|noop)|transfer\.fsckobjects|versionsort\.suffix|http\.postbuffer"
)
"""Keys that cannot make git run anything, whatever their value is."""


def names_program(entry: ConfigEntry) -> bool:
    """Whether the entry's value is a program, or a directory of programs."""
    if entry.section == "alias":
        return entry.value.startswith("!")
    return _PROGRAMS.fullmatch(entry.key.lower()) is not None


def runs_code_during_writes(entry: ConfigEntry) -> bool:
    """Whether git, while it writes the repository, would run a program that may belong to the project."""
    runs = _DURING_WRITES.fullmatch(entry.key.lower()) is not None and names_program(entry)
    return runs and entry.value != "" and _TRUSTED.fullmatch(entry.value) is None


def runs_code_during_reads(entry: ConfigEntry, verb: str) -> bool:
    """Whether `git verb`, although it only reads, would run a program that may belong to the project."""
    key = entry.key.lower()
    runs = _DURING_READS.fullmatch(key) is not None and names_program(entry)
    runs = runs and not (verb in _WITHOUT_EXTERNAL_DIFF and _EXTERNAL_DIFF.fullmatch(key))
    return runs and entry.value != "" and _TRUSTED.fullmatch(entry.value) is None


def fetches_on_demand(entry: ConfigEntry) -> bool:
    """Whether git gets objects that are missing from elsewhere whenever it needs one."""
    return entry.key.lower() == "extensions.partialclone" or (entry.section == "remote" and entry.name == "promisor")


def runs_code_during_fetches(entry: ConfigEntry) -> bool:
    """Whether git would run a program of its settings when it gets objects from elsewhere."""
    runs = _DURING_FETCHES.fullmatch(entry.key.lower()) is not None and entry.value != ""
    return runs or "::" in entry.value or "::" in entry.subsection


def is_harmless(text: bytes) -> bool:
    """Whether a configuration file certainly makes git run nothing."""
    try:
        entries = parse(text)
    except UnreadableConfigurationError:
        return False
    return all(_HARMLESS.fullmatch(entry.key.lower()) and not entry.value.startswith("ext::") for entry in entries)
