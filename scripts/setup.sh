#!/bin/sh
# Make the virtual environment once: scripts/setup.sh VENV STAMP
set -eu
venv=$1
stamp=$2
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

echo "setup: installing the locked dependencies"
PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_DISABLE_PIP_VERSION_CHECK
if ! {
    "$venv/bin/python" -m pip install --quiet --require-hashes --requirement requirements/dev.txt &&
        "$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
} >"$log" 2>&1; then
    cat "$log" >&2
    fail "setup: installing failed (above). It needs the package registry that pip is set up for; then run make again."
fi
touch "$stamp"
