"""Commands that run another command: the shape of their words."""

from typing import NamedTuple


class Wrapper(NamedTuple):
    """The shape of a wrapper's words."""

    valued: frozenset[str] = frozenset()
    """Options that are followed by a value."""
    flags: frozenset[str] = frozenset()
    """Options that are not."""
    skip: int = 0
    """Operands before the command."""
    sets: bool = False
    """`NAME=value` operands set variables."""
    code: frozenset[str] = frozenset()
    """Options whose value is shell code."""
    appends: bool = False
    """Words that are not known are added to the command."""
    verb: tuple[str, ...] = ()
    """The first operand must be one of these; otherwise nothing is wrapped."""
    joins: bool = False
    """The command is given as shell code, in one or several words."""
    may_omit_verb: bool = False
    """Without such an operand the command begins there."""
    after: frozenset[str] = frozenset()
    """Options that the command follows, wherever they stand; without one nothing is wrapped."""


def _shape(
    valued: str = "", flags: str = "", code: str = "", verb: str = "", after: str = "", **rest: bool | int
) -> Wrapper:
    return Wrapper(
        valued=frozenset(valued.split()),
        flags=frozenset(flags.split()),
        code=frozenset(code.split()),
        verb=tuple(verb.split()),
        after=frozenset(after.split()),
        **rest,  # type: ignore[arg-type]  # the keywords are the field names
    )


_PLAIN = _shape()
_RUN = _shape(
    "--directory --project --with --python -p --env-file --extra --group", verb="run", flags="--no-sync --frozen"
)
_EXEC = _shape(
    "-w --workspace -C --dir --filter -p --package",
    code="-c --call",
    verb="exec x dlx",
    flags="-y --yes -r -s --silent -q --quiet",
)
_ARCHITECTURE = _shape("", "-R -v -3 -B -F -I -L -S -T -X -Z --4gb --uname-2.6")
_USER = _shape(skip=1)
_ENVIRONMENT = _shape(
    "-e --env --env-file -p --project -c --config -f --file --path --account -a", code="--command", verb="run exec"
)
_LOADER = _shape("--library-path --preload --argv0 --audit --inhibit-rpath --glibc-hwcaps-prepend", "--inhibit-cache")
_TERMINAL = "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw"
_MORE_TERMINAL = "run-shell run if-shell if send-keys send pipe-pane pipep display-popup popup"

WRAPPERS: dict[str, Wrapper] = {
    "env": _shape(
        "-u --unset -C --chdir", "-i - --ignore-environment -0 --null -v --debug", code="-S --split-string", sets=True
    ),
    "sudo": _shape(
        "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -r --role -t --type -T -U",
        "-A -b -E -e -H -i -K -k -l -n -P -S -s -V -v --login --non-interactive --shell --preserve-env",
        sets=True,
    ),
    "doas": _shape("-u -C -a", "-n -s -L"),
    "su": _shape("-s --shell -g --group -G -w", "- -l --login -m -p", code="-c --command", skip=9),
    "runuser": _shape("-u --user -g -G -s", "- -l -m -p", code="-c --command"),
    "pkexec": _shape("--user", "--disable-internal-agent"),
    "nice": _shape("-n --adjustment"),
    "ionice": _shape("-c --class -n --classdata -p --pid -P -u", "-t --ignore"),
    "chrt": _shape("-T -P -D --sched-runtime", "-b -f -i -o -r -R -a -v", skip=1),
    "taskset": _shape("", "-a -p -c --cpu-list", skip=1),
    "numactl": _shape("-N -m -C -i -p"),
    "timeout": _shape("-s --signal -k --kill-after", "--foreground --preserve-status -v --verbose", skip=1),
    "prlimit": _shape("-p --pid -o --output", "--noheadings --raw --verbose"),
    "setpriv": _shape(
        "--ambient-caps --apparmor-profile --bounding-set --egid --euid --gid --groups --inh-caps --landlock-access"
        " --landlock-rule --pdeathsig --ptracer --reuid --regid --rgid --ruid --seccomp-filter --securebits"
        " --selinux-label",
        "--clear-groups --init-groups --keep-groups --no-new-privs --nnp --reset-env -d --dump",
    ),
    "setsid": _shape("", "-c --ctty -f --fork -w --wait"),
    "nohup": _PLAIN,
    "stdbuf": _shape("-i --input -o --output -e --error"),
    "unbuffer": _shape("", "-p"),
    "time": _shape("-f --format -o --output", "-p -a --append -v --verbose -q --quiet", sets=True),
    "command": _shape("", "-p"),
    "builtin": _PLAIN,
    "exec": _shape("-a", "-c -l"),
    "coproc": _shape(sets=True),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    "chroot": _shape("", "--skip-chdir", skip=1),
    "unshare": _shape("-S -G -R -w --root --wd", "-m -u -i -n -p -U -C -T -f -r -c --fork --pid --mount --net --user"),
    "nsenter": _shape("-t --target -S -G", "-a -m -u -i -n -p -U -C -T -F"),
    "setarch": _shape("", "-R -v -3 -B -I", skip=1),
    "linux32": _PLAIN,
    "linux64": _PLAIN,
    "fakeroot": _shape("-l -s -i -b", "--"),
    "strace": _shape(
        "-e -o -p -s -a -E -I -O -P -S -u -b -X", "-f -ff -c -C -d -h -i -k -q -r -t -tt -T -v -V -x -y -yy -z -Z"
    ),
    "ltrace": _shape("-e -o -p -s -a -n -l -u -x", "-f -c -C -i -S -t -T -L -r"),
    "valgrind": _PLAIN,
    "gdb": _shape("-ex -x -p -d -iex", "--args -q -batch --batch -nx"),
    "perf": _shape("-e -o -F -p -r", "-a -g -d", verb="stat record trace"),
    "flock": _shape(
        "-w --timeout -E", "-n -s -x -u -o -e --nonblock --shared --exclusive -F", code="-c --command", skip=1
    ),
    "chronic": _shape("", "-v -e"),
    "ifne": _shape("", "-n"),
    "rlwrap": _shape("-a -b -c -f -H -s -l"),
    "xvfb-run": _shape("-e -f -n -p -s --server-args", "-a --auto-servernum -l"),
    "dbus-run-session": _shape("--config-file --dbus-daemon"),
    "ssh-agent": _shape("-a -t", "-c -s -k -D"),
    "systemd-run": _shape("-u --unit -p --property -E --setenv -M -H", "--user --scope --pty -t -q --wait -d -G"),
    "xargs": _shape(
        "-I -J -n -P -L -s -d -E -a --max-args --max-procs --max-lines --max-chars --delimiter --arg-file --eof",
        "-0 -i -l -e -r -t -p -x -o --replace --null --no-run-if-empty --verbose --interactive --exit --open-tty",
        appends=True,
    ),
    "parallel": _shape(
        "-j --jobs -a --arg-file -I -n -N -L -C --colsep -S --results", "-k -X -m --keep-order", appends=True
    ),
    "entr": _shape("", "-c -d -n -p -r -s -z"),
    "watch": _shape(
        "-n --interval", "-d -t -g -e -b -c -p -x --differences --no-title --errexit --chgexit", joins=True
    ),
    "hyperfine": _shape(
        "-r --runs -w --warmup -m -M --export-json --export-markdown -n -P -L -p -s", "-i -N", joins=True
    ),
    "script": _shape("-o -E -T -m", "-a -e -f -q -t", code="-c --command", skip=9),
    "nix-shell": _shape("-p -A -I", "--pure", code="--run --command", skip=9),
    "ssh": _shape(
        "-i -l -p -o -F -J -L -R -D -W -b -c -E -e -I -m -O -Q -S -w -B",
        "-A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -4 -6",
        skip=1,
        joins=True,
    ),
    "npx": _shape("-p --package", "-y --yes --no --no-install -q --quiet", code="-c --call"),
    "bunx": _shape("-p --package"),
    "uvx": _shape("--from --with --python -p"),
    "pipx": _shape("--spec --python", verb="run"),
    "uv": _RUN,
    "poetry": _RUN,
    "pdm": _RUN,
    "rye": _RUN,
    "pipenv": _RUN,
    "hatch": _shape("-e --env", verb="run"),
    "conda": _shape("-n --name -p --prefix --cwd", "--no-capture-output --live-stream", verb="run"),
    "mamba": _shape("-n --name -p --prefix --cwd", verb="run"),
    "rustup": _shape("", "--install", verb="run", skip=1),
    "bundle": _shape(verb="exec"),
    "npm": _EXEC,
    "pnpm": _EXEC,
    "yarn": _EXEC,
    "direnv": _shape(verb="exec", skip=1),
    "mise": _shape(verb="exec x"),
    "asdf": _shape(verb="exec"),
    "dotenv": _shape("-f -e -c -v -p", "-o --override --debug", verb="run", may_omit_verb=True),
    **dict.fromkeys("op doppler infisical teller".split(), _ENVIRONMENT),
    **dict.fromkeys("aws-vault chamber".split(), _shape(verb="exec", skip=1)),
    "sops": _shape(verb="exec-env exec-file", skip=1, joins=True),
    "envchain": _shape(skip=1),
    "envconsul": _shape("-prefix -config -secret -upcase", "-once -pristine"),
    **dict.fromkeys("foreman honcho pyenv rbenv nodenv goenv jenv fnm volta proto lerna nx rush".split(), _ENVIRONMENT),
    "with-contenv": _PLAIN,
    **dict.fromkeys("gosu su-exec setuidgid envuidgid envdir setlock lckdo".split(), _USER),
    "softlimit": _shape("-m -d -s -l -a -o -p -f -c -r -t", "-h"),
    "chpst": _shape("-u -U -e -/ -C -n -l -L -m -d -o -p -f -c -t -r -b", "-0 -1 -2 -v -P"),
    "tini": _shape("-p -e", "-s -v -vv -vvv -g -w"),
    "dumb-init": _shape("-r --rewrite", "-c --single-child -v --verbose"),
    "proot": _shape("-r -b -q -k -w -m --rootfs --bind --qemu --cwd", "-0 -v -S -R --root-id"),
    "fakechroot": _shape("-e -b -c -l", "-s -u"),
    "firejail": _PLAIN,
    "bwrap": _shape(
        "--bind --ro-bind --dev-bind --symlink --setenv --chdir --dev --proc --tmpfs --dir --unsetenv --args --uid"
    ),
    **dict.fromkeys("torsocks torify tsocks eatmydata catchsegv heaptrack ddtrace-run".split(), _PLAIN),
    **dict.fromkeys("proxychains proxychains4".split(), _shape("-f", "-q")),
    **dict.fromkeys("faketime datefudge".split(), _shape("-p", "-m -f --exclude-monotonic", skip=1)),
    "cpulimit": _shape("-l --limit -e --exe -p --pid -P --path", "-z --lazy -i -b -f -m"),
    "trickle": _shape("-u -d -w -t -l -n -L", "-s -v"),
    "choom": _shape("-n --adjust -p --pid"),
    "uclampset": _shape("-m -M -p", "-a -s -R -v"),
    "openvt": _shape("-c --console", "-f -e -s -u -l -v -w"),
    "sshpass": _shape("-p -f -d -P", "-e -v"),
    "sg": _shape(code="-c", skip=1),
    "sem": _shape("-j --jobs --id", "--fg --bg", appends=True),
    "gdbserver": _shape("", "--once --multi", skip=1),
    **dict.fromkeys("rr samply py-spy scalene austin".split(), _shape("-o --output -r -d", verb="record run")),
    "watchexec": _shape(
        "-w --watch -W -e --exts -i --ignore -f --filter -d --debounce -s --signal --shell -E --env",
        "-c --clear -r --restart -n -N --notify -p --postpone -v -q",
        joins=True,
    ),
    "nodemon": _shape("-w --watch -i --ignore -e --ext -d --delay -s --signal --config", code="-x --exec"),
    "onchange": _PLAIN,
    "nix": _shape(after="-c --command"),
    "devbox": _shape(verb="run"),
    "just": _shape(after="--command -c"),
    "vagrant": _shape(code="-c --command", verb="ssh", skip=9),
    "screen": _shape("-S -c -e -h -p -r -s -t -T -x", "-d -D -m -A -a -L -U -O -q -R -ls -list -wipe"),
    "tmux": _shape(
        "-L -S -f -t -s -n -c -F -x -y -e -b",
        "-2 -d -P -A -D -E -X -h -v -l",
        verb=f"{_TERMINAL} {_MORE_TERMINAL}",
        joins=True,
    ),
    **dict.fromkeys(
        "x86_64 i386 i486 i586 i686 amd64 uname26 aarch64 arm armv7l armv8l armh ppc ppc32 ppc64 ppc64le mips mips32"
        " mips64 s390 s390x sparc sparc32 sparc64 ia64 alpha riscv64 parisc loongarch64".split(),
        _ARCHITECTURE,
    ),
    **dict.fromkeys(
        "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1".split(), _LOADER
    ),
    "cross-env": _shape(sets=True),
    "ccache": _PLAIN,
    "distcc": _PLAIN,
    "docker": _shape(
        "-u -w -e --env --user --workdir --name -v -p --network",
        "-i -t -it -d --rm --interactive --tty",
        verb="exec run",
        skip=1,
    ),
    "podman": _shape(
        "-u -w -e --env --user --workdir --name -v -p --network",
        "-i -t -it -d --rm --interactive --tty",
        verb="exec run",
        skip=1,
    ),
    "kubectl": _shape("-n --namespace -c --container", "-i -t -it --stdin --tty", verb="exec", skip=1),
}
