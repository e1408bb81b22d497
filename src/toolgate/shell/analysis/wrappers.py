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


def _shape(valued: str = "", flags: str = "", code: str = "", verb: str = "", **rest: bool | int) -> Wrapper:
    return Wrapper(
        valued=frozenset(valued.split()),
        flags=frozenset(flags.split()),
        code=frozenset(code.split()),
        verb=tuple(verb.split()),
        **rest,  # type: ignore[arg-type]  # the keywords are the field names
    )


_PLAIN = _shape()
_RUN = _shape(
    "--directory --project --with --python -p --env-file --extra --group", verb="run", flags="--no-sync --frozen"
)
_EXEC = _shape(
    "-w --workspace -C --dir --filter -c -p --package", verb="exec x dlx", flags="-y --yes -r -s --silent -q --quiet"
)

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
        "-I -n -P -L -s -d -E -a --replace --max-args --max-procs --max-lines --max-chars --delimiter --arg-file --eof",
        "-0 -i -l -e -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty",
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
    "dotenv": _shape("-f -e", verb="run"),
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
