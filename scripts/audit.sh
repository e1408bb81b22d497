#!/bin/sh
# Look the locked packages up in a database of known vulnerabilities. Exit code 0: none; 1: some; 2: no database answers here.
set -eu
venv=.audit
if [ ! -x "$venv/bin/pip-audit" ]; then
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet pip-audit
fi
# With --strict, a package that the database does not answer for is a failure and not a line to be overlooked.
audit="$venv/bin/pip-audit --strict --disable-pip --progress-spinner off"

echo "pip==26.0" >"$venv/one.txt"
$audit --no-deps --timeout 5 --requirement "$venv/one.txt" >"$venv/report.txt" 2>&1 || true
if ! grep -q -e "^Name " -e "^No known vulnerabilities" "$venv/report.txt"; then
    cat "$venv/report.txt" >&2
    echo "audit: no database of vulnerabilities answers here. Run make audit where there is a network." >&2
    exit 2
fi
for lock in requirements/image.txt requirements/dev.txt; do
    echo "audit: $lock"
    $audit --require-hashes --requirement "$lock" || exit 1
done
