"""What is known about common commands: which only read, and which of their words are no paths."""


def names(text: str) -> frozenset[str]:
    """The words of a table that is easier to read as text."""
    return frozenset(text.split())


READ_ONLY = names(
    """
    : [ ag arch awk b2sum base32 base64 basename bat cal cat cd cksum cmp column comm cut date df diff diff3
    dirname dirs du
    echo egrep env exa expand expr eza factor false fd fdfind fgrep file find fmt fold free gawk getconf git
    grep groups head
    help hexdump hostid hostname iconv id join jq less ls lsb_release lsblk lscpu md5sum more nl nm nproc
    numfmt objdump od
    paste pathchk popd pr printenv printf ps pushd pwd readelf readlink realpath return rev rg sed seq sha1sum
    sha224sum
    sha256sum sha384sum sha512sum size sleep sort stat strings sum tac tail test time tokei tr tree true tsort
    tty type uname
    unexpand uniq uptime users vmstat wait wc whereis which who whoami xxd yes yq zcat zgrep cloc continue
    break exit command
    """
)
"""Commands that change nothing, unless something else about them says so."""

INPUTS = names("ldd split")
"""Commands that only read the files they name, although they run or write others."""

WELL_KNOWN = READ_ONLY | names(
    """
    bash chgrp chmod chown cp curl dd docker gunzip gzip install kill ln make mkdir mktemp mv nc patch rm rmdir
    rsync scp sh
    shred split ssh su sudo tar tee timeout touch truncate unlink unzip wget xargs xz zip zsh dash
    """
)
"""Words that everybody knows the meaning of: finding another program behind one is a surprise."""

NO_PATHS = names(
    """
    : echo printf true false expr seq sleep test [ type which whereis command basename dirname date let read
    return exit set
    shopt alias unalias trap kill tr export declare typeset local readonly unset hash wait help break continue yes cal
    """
)
"""Commands whose words are never opened."""

ORDINARY = names(
    """
    ack actionlint alembic ansible-lint ant apropos ar asciidoctor astyle autoconf automake autopep8 autoreconf
    babel bandit banner basedpyright bazel bg bind biome black bokeh buck builtin bundler c++ c++filt cabal
    caller cargo cargo-clippy cc celery checkov clang clang++ clang-format clang-tidy clj cmake-format code
    codespell composer coverage cowsay cppcheck crystal csvcut csvgrep csvlook csvstat ctags ctest cucumber dart
    delta dialyzer dig dirs disown django-admin dmesg doctest dot doxygen dune dvc editorconfig-checker elixir
    elm enable erlc esbuild eslint fg figlet flake8 flask flit flutter fx fzf g++ gcc gcov gem gfortran ghc ghci
    gleam go gofmt goimports golangci-lint gradle gradlew graphviz gron gunicorn hadolint hash help history host
    htop hugo iex ifconfig info interrogate ip ipython isort jar java javac jekyll jest jless journalctl jshell
    jupyter kotlinc lcov ld ldd lein lerna let license-checker lint-staged ln logout lsof lspci lsusb ltrace man
    markdownlint mdbook meson mix mkdir mkdocs mlr mocha mvn mvnw mypy nbconvert nc netstat next nim ninja nox
    npm-check nslookup nuxt nx nyc objcopy opam open pandoc parcel pdflatex pgrep phpcs phpstan phpunit pidof
    ping pip pip-audit pip-compile pip-sync pip3 playwright pnpm pod pre-commit prettier protoc psalm pstree pv
    py.test pycodestyle pydocstyle pyflakes pylint pyright pytest pyupgrade qemu-img rails rake ranlib
    react-scripts reuse rollup rspec rubocop ruff rustc rustfmt sass sbt scala scalac semgrep serve set
    shellcheck shfmt shift shopt snakemake solc sphinx-build sqlfluff sqlfmt ss stack strip stylelint stylua
    suspend swift swiftc tap terser tflint times tldr tofu top touch tox traceroute tree-sitter trivy ts-node
    tsc tsx turbo twine typos ulimit umask unalias uvicorn vale vite vitest vue vulture watch webpack whatis
    xcodebuild xdg-open xdotool xelatex yamllint zig
    """
)
"""Ordinary programs that never run their words as commands."""

PATTERN_FIRST = names("grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk jq yq perl fd fdfind")
"""Commands whose first operand is a pattern or a program."""

PATTERN_OPTIONS = names(
    """
    --regexp --expression --message --grep --glob --include --exclude --exclude-dir --header --data --data-raw
    -name -iname -path -ipath -wholename -regex --title --body --path-regex --format --author --since
    """
)
"""Options of any program whose value is text and no path."""

_MATCHING = names("-e -m -A -B -C")
_MESSAGE = names("-m")
TEXT_OPTIONS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "ack"), _MATCHING),
    "rg": _MATCHING | names("-g -t -T"),
    "ag": _MATCHING | names("-G -g"),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby"), names("-e -E")),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), names("-v -F")),
    "curl": names("-H -d -X -e -b -m -A -u -w"),
    **dict.fromkeys(("cut", "paste", "numfmt", "xargs"), names("-d -f -E")),
    **dict.fromkeys(("sort", "join", "split"), names("-t -k")),
    "column": names("-s -o"),
    "nl": names("-b -d -s"),
    "touch": names("-d -t"),
    **dict.fromkeys(("fd", "fdfind"), names("-e -E -t")),
    "tree": names("-P -I"),
    **dict.fromkeys(("pytest", "py.test"), names("-k -m -p")),
    **dict.fromkeys(("gh", "glab"), names("-t -b -m -S -H -q")),
    **dict.fromkeys(("hg", "svn", "jj", "bzr", "alembic"), _MESSAGE),
    **dict.fromkeys(("docker", "podman"), names("-t -p -e")),
    **dict.fromkeys(("virtualenv", "uv"), names("-p")),
}
"""Letters of a program whose value is text and no path; those of other programs may be flags before a path."""
