"""Potentially dangerous commands other than git's: a table of words, and a few that depend on their options."""

import posixpath
import re
from collections.abc import Callable, Sequence

from toolgate.command.analysis import network
from toolgate.command.analysis.files import has, operands
from toolgate.command.analysis.known import names
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_REMOVES = "it removes files"
_SIGNALS = "it sends signals to processes"
_PUBLISHES = "it publishes"
_SYSTEM = "it changes the system outside the root"
_REMOTE = "it acts on another machine"
_USER = "it acts as another user"
_DISCARDS = "it discards work"

ALWAYS: dict[str, str] = {
    **dict.fromkeys(names("rm rmdir unlink shred srm wipe rimraf trash trash-put del-cli dropdb dropuser"), _REMOVES),
    "truncate": "it truncates files",
    **dict.fromkeys(names("pkill killall killall5 skill snice xkill"), _SIGNALS),
    **dict.fromkeys(names("ssh scp sftp ftp rsh telnet mosh ssh-copy-id"), _REMOTE),
    **dict.fromkeys(names("mail mailx sendmail mutt twine"), _PUBLISHES),
    **dict.fromkeys(names("sudo doas su runuser pkexec newgrp sg"), _USER),
    **dict.fromkeys(
        names("""
        mkfs fdisk parted sfdisk mkswap swapon swapoff mount umount losetup halt reboot shutdown poweroff init
        telinit crontab
        at batch systemctl service useradd userdel usermod groupadd groupdel passwd chpasswd visudo iptables
        nft ip6tables
        insmod rmmod modprobe sysctl chroot nsenter apt apt-get aptitude dpkg dnf yum rpm pacman zypper apk
        brew snap flatpak
        port mdadm cryptsetup zoneadm yaourt yay paru emerge
        systemd-run start-stop-daemon debugfs wipefs blkdiscard hdparm setcap efibootmgr grub-install
        """),
        _SYSTEM,
    ),
}
"""Commands that are dangerous with any words."""

_READING: dict[str, str] = {
    "apt": "list search show policy",
    "apt-get": "",
    "dpkg": "-l -L -s -S -I -c --list --status --listfiles --search --info --contents",
    "rpm": "-q -qa -qi -ql",
    "brew": "list info search --version --prefix",
    "systemctl": "status list-units is-active is-enabled show cat",
    "crontab": "-l",
    "service": "--status-all",
    "mount": "",
    "sysctl": "-a -n",
    "twine": "check",
    "snap": "list info",
    "apk": "info list search",
    "pacman": "-Q -Qi -Ql -Ss",
    **dict.fromkeys(("yum", "dnf"), "list info search repolist provides check-update -h"),
    "zypper": "search info packages repos",
    "mdadm": "--detail -D --query -Q --examine -E",
    "cryptsetup": "status luksDump isLuks",
    "zoneadm": "list",
    **dict.fromkeys(("yaourt", "yay", "paru"), "-Q -Qi -Ql -Ss"),
}
"""What of them only reads: the first word behind the name."""

_VERBS: dict[str, dict[str, str]] = {
    "npm": {"publish unpublish deprecate dist-tag owner access token adduser login": _PUBLISHES},
    "pnpm": {"publish": _PUBLISHES},
    "yarn": {"publish": _PUBLISHES},
    "bun": {"publish": _PUBLISHES},
    "lerna": {"publish": _PUBLISHES},
    "cargo": {"publish yank owner login": _PUBLISHES},
    "poetry": {"publish": _PUBLISHES},
    "uv": {"publish": _PUBLISHES},
    "pdm": {"publish": _PUBLISHES},
    "hatch": {"publish": _PUBLISHES},
    "flit": {"publish": _PUBLISHES},
    "gem": {"push yank owner": _PUBLISHES},
    "docker": {"push login": _PUBLISHES, "rm rmi prune": _REMOVES, "kill stop": _SIGNALS},
    "podman": {"push login": _PUBLISHES, "rm rmi prune": _REMOVES, "kill stop": _SIGNALS},
    "buildah": {"push": _PUBLISHES},
    "skopeo": {"copy sync delete": _PUBLISHES},
    "helm": {"push install upgrade uninstall delete rollback": _PUBLISHES},
    "kubectl": {"apply delete create edit patch replace scale rollout drain cordon exec cp": _REMOTE},
    "terraform": {"apply destroy import": _PUBLISHES},
    "tofu": {"apply destroy import": _PUBLISHES},
    "pulumi": {"up destroy": _PUBLISHES},
    "cdk": {"deploy destroy": _PUBLISHES},
    "serverless": {"deploy remove": _PUBLISHES},
    "vercel": {"deploy --prod remove": _PUBLISHES},
    "netlify": {"deploy": _PUBLISHES},
    "firebase": {"deploy": _PUBLISHES},
    "fly": {"deploy destroy": _PUBLISHES},
    "flyctl": {"deploy destroy": _PUBLISHES},
    "wrangler": {"deploy publish delete": _PUBLISHES},
    "heroku": {"apps:destroy releases:rollback": _PUBLISHES},
    "mvn": {"deploy release:perform site-deploy": _PUBLISHES},
    "gradle": {"publish uploadArchives": _PUBLISHES},
    "gradlew": {"publish uploadArchives": _PUBLISHES},
    "dotnet": {"push": _PUBLISHES},
    "nuget": {"push delete": _PUBLISHES},
    "goreleaser": {"release": _PUBLISHES},
    "make": {"publish deploy upload": _PUBLISHES},
    "just": {"publish deploy upload": _PUBLISHES},
    "hg": {"revert purge strip rollback uncommit histedit rebase shelve": _DISCARDS, "push email": _PUBLISHES},
    "sl": {"revert purge hide rollback undo histedit rebase": _DISCARDS, "push pr": _PUBLISHES},
    "svn": {
        "revert cleanup switch update": _DISCARDS,
        "delete del remove rm": _REMOVES,
        "commit ci import": _PUBLISHES,
    },
    "jj": {"abandon restore undo squash rebase op operation": _DISCARDS, "push": _PUBLISHES},
    "bzr": {"revert uncommit clean-tree": _DISCARDS, "push send": _PUBLISHES},
    "fossil": {"revert clean undo": _DISCARDS, "push sync": _PUBLISHES},
    "darcs": {"revert obliterate unrecord unpull amend rollback": _DISCARDS, "push send": _PUBLISHES},
    "cvs": {"commit ci tag": _PUBLISHES, "remove rm delete": _REMOVES},
    "p4": {"revert clean obliterate": _DISCARDS, "submit": _PUBLISHES},
    "gio": {"trash remove move": _REMOVES},
    "redis-cli": {"flushall FLUSHALL flushdb FLUSHDB shutdown SHUTDOWN": _REMOVES},
    "tmux": {"kill-server kill-session kill-window kill-pane": _SIGNALS},
    "aws": {"rm rb delete-object delete-bucket deploy": _REMOTE},
    "gsutil": {"rm cp mv rsync": _REMOTE},
    "gcloud": {"deploy delete": _PUBLISHES},
    "az": {"delete deploy": _PUBLISHES},
    "adb": {"install uninstall push sideload root reboot shell": _REMOTE},
    "vagrant": {"destroy": "it removes a virtual machine", "push": _PUBLISHES},
    "ip": {"add del delete set flush change replace append": _SYSTEM},
    "route": {"add del delete flush change": _SYSTEM},
    "brctl": {"addbr delbr addif delif stp setageing setfd sethello setmaxage setpathcost setportprio": _SYSTEM},
    "nmcli": {"up down add delete modify connect disconnect on off import edit reload": _SYSTEM},
    "zfs": {"create destroy rollback receive recv rename promote set inherit mount unmount": _SYSTEM},
    "zpool": {"create destroy import export add remove replace detach split": _SYSTEM},
    "timedatectl": {"set-time set-timezone set-ntp set-local-rtc": _SYSTEM},
    "hostnamectl": {"set-hostname hostname set-icon-name set-chassis": _SYSTEM},
    "localectl": {"set-locale set-keymap set-x11-keymap": _SYSTEM},
}
"""Words that make a command dangerous wherever they stand among its first operands."""


def judge(scope: Scope, words: Sequence[Word]) -> None:
    """Note why a command is potentially dangerous, if it is."""
    name = words[0].text
    if name not in LISTED:
        return
    reason = ALWAYS.get(name)
    if reason and not _only_reads(name, words):
        scope.found.danger(f"'{name}': {reason}")
    verbs(scope, words)
    check = _CHECKS.get(name)
    if check:
        check(scope, words)


def verbs(scope: Scope, words: Sequence[Word]) -> None:
    """Note a word that makes an otherwise ordinary command dangerous."""
    table = _VERBS.get(words[0].text)
    if table is None or has(words, "", "--dry-run", "-n"):
        return
    first = {word.text for word in [*operands(words)[:3], *words[1:2]]}
    for listed, why in table.items():
        if not first.isdisjoint(listed.split()):
            scope.found.danger(f"'{words[0].text}': {why}")


def _only_reads(name: str, words: Sequence[Word]) -> bool:
    if len(words) == 1:
        return name in ("mount", "at", "ip")
    if len(words) == 2 and words[1].text in ("--version", "--help", "-V"):
        return True
    return words[1].text in _READING.get(name, "").split()


def _kill(scope: Scope, words: Sequence[Word]) -> None:
    if len(words) > 1 and words[1].text not in ("-l", "-L", "-0", "--list", "--table"):
        scope.found.danger(f"'kill': {_SIGNALS}")


def _recursive(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "R", "--recursive") or any(not word.known and word.text.startswith("\ufffd") for word in words[2:]):
        scope.found.danger(f"'{words[0].text}': it changes permissions recursively")


def _curl(scope: Scope, words: Sequence[Word]) -> None:
    sends = has(
        words, "dFT", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--form", "--upload-file", "--json"
    )
    method = next((words[at + 1].text for at, word in enumerate(words[:-1]) if word.text in ("-X", "--request")), "")
    if (sends or method.upper() in ("POST", "PUT", "PATCH", "DELETE")) and not _local(words):
        scope.found.danger("'curl': it sends data to another machine")
    _downloads(scope, words)


def _wget(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "", "--post-data", "--post-file", "--body-data", "--body-file", "--method") and not _local(words):
        scope.found.danger("'wget': it sends data to another machine")
    if any(word.text.startswith("--use-askpass") for word in words):
        scope.found.unclear("'wget --use-askpass' runs another program")


_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)")


def _local(words: Sequence[Word]) -> bool:
    """Whether all addresses are this machine's."""
    urls = [word.text for word in operands(words) if "://" in word.text or _LOCAL.match(word.text)]
    return bool(urls) and all(_LOCAL.match(url) for url in urls)


def _rsync(scope: Scope, words: Sequence[Word]) -> None:
    if any(word.text.startswith(("--del", "--remove-")) for word in words[1:]) and not has(words, "n", "--dry-run"):
        scope.found.danger(f"'rsync': {_REMOVES}")
    if any(re.match(r"[\w.@-]+:", word.text) for word in operands(words)):
        scope.found.danger(f"'rsync': {_REMOTE}")
    if has(words, "e", "--rsh", "--rsync-path"):
        scope.found.unclear("'rsync -e' runs another program")


def _gh(scope: Scope, words: Sequence[Word]) -> None:
    given = [word.text for word in operands(words)]
    reading = {"list", "view", "status", "diff", "checks", "checkout", "watch", "search", "download", "clone"}
    if given[:1] == ["api"]:
        if has(words, "XfF", "--method", "--field", "--raw-field", "--input"):
            scope.found.danger(f"'gh': {_PUBLISHES}")
    elif len(given) > 1 and given[1] not in reading and given[0] != "search":
        scope.found.danger(f"'gh': {_PUBLISHES}")


def _runs_task(scope: Scope, words: Sequence[Word]) -> None:
    given = [word.text for word in operands(words)]
    if given[:1] in (["run"], ["run-script"]) and len(given) > 1 and re.match(r"(publish|deploy|upload)\b", given[1]):
        scope.found.danger(f"'{words[0].text}': {_PUBLISHES}")
    if has(words, "g", "--global") and given[:1] not in (["list"], ["ls"], ["root"], ["bin"], ["config"], ["run"]):
        scope.found.danger(f"'{words[0].text}': {_SYSTEM}")


def _fuser(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "k", "--kill"):
        scope.found.danger(f"'fuser': {_SIGNALS}")


def _netcat(scope: Scope, _: Sequence[Word]) -> None:
    scope.found.danger(f"it opens a connection: {_REMOTE}")


def _redefines(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "pfC"):
        scope.found.unclear(f"'{words[0].text}' changes what a command word means")


def _renames(scope: Scope, words: Sequence[Word]) -> None:
    reads_names = scope.stdin is not None and len(words) > 1
    if (len(words) > 2 or reads_names) and not has(words, "n", "--nono", "--no-act", "--dry-run", "--just-print"):
        scope.found.danger(f"'{words[0].text}': it may overwrite files")


def _archiver(scope: Scope, words: Sequence[Word]) -> None:
    if any(word.text.startswith(("-sdel", "-df", "-dr", "-dw")) for word in words[1:]) or (
        len(words) > 1 and words[1].text in ("d", "m", "mf")
    ):
        scope.found.danger(f"'{words[0].text}': {_REMOVES}")


def _compresses(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "", "--rm") or (words[0].text == "lz4" and has(words, "m")):
        scope.found.danger(f"'{words[0].text}': {_REMOVES}")


def _punches(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "pczi", "--punch-hole", "--collapse-range", "--zero-range", "--dig-holes"):
        scope.found.danger(f"'{words[0].text}': it removes content of files")


def _mercurial(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "C", "--clean") and any(word.text in ("update", "up", "checkout", "co", "merge") for word in words):
        scope.found.danger(f"'{words[0].text}': {_DISCARDS}")


def _downloads(scope: Scope, words: Sequence[Word]) -> None:
    """`curl -O address`: the file is called as at the end of the address."""
    if has(words, "O", "--remote-name", "--remote-name-all"):
        for word in operands(words):
            if "/" in word.text:
                scope.write(word._replace(text=posixpath.basename(word.text.partition("?")[0]) or "index.html"))


def _zip(scope: Scope, words: Sequence[Word]) -> None:
    if has(words, "m", "--move") or any(word.text in ("-TT", "--unzip-command") for word in words):
        scope.found.danger("'zip': it removes files or runs a program")


_CHECKS: dict[str, Callable[[Scope, Sequence[Word]], None]] = {
    "kill": _kill,
    **dict.fromkeys(names("chmod chown chgrp setfacl chattr chcon"), _recursive),
    "curl": _curl,
    "wget": _wget,
    "rsync": _rsync,
    **dict.fromkeys(names("rename prename file-rename perl-rename rename.ul mmv mcp qmv vidir"), _renames),
    **dict.fromkeys(names("7z 7za 7zr 7zz rar p7zip"), _archiver),
    **dict.fromkeys(names("zstd pzstd lz4 lrzip brotli"), _compresses),
    "fallocate": _punches,
    "hg": _mercurial,
    "sl": _mercurial,
    "gh": _gh,
    "glab": _gh,
    **dict.fromkeys(names("npm pnpm yarn bun"), _runs_task),
    "fuser": _fuser,
    **dict.fromkeys(names("nc ncat netcat socat"), _netcat),
    "hash": _redefines,
    "enable": _redefines,
    "complete": _redefines,
    "bind": _redefines,
    "zip": _zip,
    **dict.fromkeys(("http", "https", "httpie", "xh", "xhs"), network.httpie),
    **dict.fromkeys(("gpg", "gpg2"), network.gpg),
    "ssh-keygen": network.ssh_keygen,
    **dict.fromkeys(("ifconfig", "iwconfig"), network.interface),
    "hostname": network.hostname,
}
LISTED = frozenset({*ALWAYS, *_VERBS, *_CHECKS})
