#!/bin/sh
# Make the virtual environment once: scripts/setup.sh VENV LOCK STAMP
set -eu
venv=$1
lock=$2
stamp=$3
python=${PYTHON:-python3}
log=$venv/setup.log

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    fail "setup: there is no '$python'. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "setup: $("$python" --version 2>&1) is too old. Name a Python 3.11 or newer: make PYTHON=/path/to/python3.12"
if [ ! -x "$venv/bin/pip" ]; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "setup: this Python cannot make virtual environments (no ensurepip)." \
            "Debian and Ubuntu: apt-get install python3-venv. Or name another: make PYTHON=/path/to/python3.12"
    echo "setup: making $venv"
    "$python" -m venv --clear "$venv"
fi

PIP_DISABLE_PIP_VERSION_CHECK=1
PYTHONUNBUFFERED=1
export PIP_DISABLE_PIP_VERSION_CHECK PYTHONUNBUFFERED

# Show how far pip is: it names every package of the lock once.
progress() {
    awk -v total="$(grep -c '==' "$lock")" -v terminal="$([ -t 2 ] && echo 1)" '
        { print >log_file; fflush(log_file) }
        /^(Collecting|Requirement already satisfied:|Ignoring) / && done < total {
            done++
            if (terminal) printf "\r\033[Ksetup: package %d of %d: %s", done, total, ($1 == "Requirement" ? $4 : $2)
            else if (done % 25 == 0) printf "setup: %d of %d packages\n", done, total
        }
        /^Installing collected packages/ { printf "%ssetup: unpacking\n", (terminal ? "\r\033[K" : "") }
    ' log_file="$log" >&2
}

echo "setup: installing $(grep -c '==' "$lock") packages of $lock"
: >"$log"
failed=$venv/.failed
rm -f "$failed"
{
    "$venv/bin/python" -m pip install --require-hashes --requirement "$lock" 2>&1 || : >"$failed"
} | progress
if [ -e "$failed" ] ||
    ! "$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable . >>"$log" 2>&1; then
    cat "$log" >&2
    fail "setup: installing failed (above). It needs the package registry that pip is set up for; then run make again."
fi
touch "$stamp"
