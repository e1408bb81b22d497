#!/bin/sh
# Make a private copy of the demo project with a short history, once, and print where it is.
set -eu
source="$(cd "$(dirname "$0")/../examples/shop" && pwd)"
target="${TOOLGATE_DEMO:-${XDG_DATA_HOME:-$HOME/.local/share}/toolgate/demo/shop}"
if [ ! -d "$target/.git" ]; then
    mkdir -p "$target"
    copy() { for name in "$@"; do mkdir -p "$target/$(dirname "$name")"; cp "$source/$name" "$target/$name"; done; }
    commit() { git -C "$target" add -A; git -C "$target" -c user.name=shop -c user.email=shop@example.invalid commit -qm "$1"; }
    git init -q -b main "$target"
    printf '__pycache__/\ntool-output/\n.toolgate/\n' > "$target/.gitignore"
    copy README.md shop/__init__.py shop/prices.py tests/__init__.py
    commit "Prices of three kinds of fruit"
    copy shop/basket.py tests/test_basket.py
    commit "A basket that adds up"
    copy tests/test_prices.py
    commit "Large orders get a discount"
fi
printf '%s\n' "$target"
