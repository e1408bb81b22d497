"""The file types that `grep` accepts: a name, and the globs of its file names.

Both search engines use this table, so that a type means the same with and without ripgrep.
"""

import difflib

_TABLE = """
asm: *.S *.asm *.s
awk: *.awk
bat: *.bat
batch: *.bat
bazel: *.BUILD *.bazel *.bazelrc *.bzl BUILD MODULE.bazel WORKSPACE WORKSPACE.bazel WORKSPACE.bzlmod
c: *.[chH] *.[chH].in *.cats
clojure: *.clj *.cljc *.cljs *.cljx
cmake: *.cmake CMakeLists.txt
config: *.cfg *.conf *.config *.ini
coffeescript: *.coffee
cpp: *.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl
cs: *.cs
csharp: *.cs
css: *.css *.scss
csv: *.csv
cython: *.pxd *.pxi *.pyx
d: *.d
dart: *.dart
diff: *.diff *.patch
docker: *Dockerfile*
dockercompose: docker-compose.*.yml docker-compose.yml
elisp: *.el
elixir: *.eex *.ex *.exs *.heex *.leex *.livemd
elm: *.elm
erlang: *.erl *.hrl
fish: *.fish
fortran: *.F *.F77 *.F90 *.F95 *.f *.f77 *.f90 *.f95 *.pfo
fsharp: *.fs *.fsi *.fsx
go: *.go
gradle: *.gradle *.gradle.kts gradle-wrapper.* gradle.properties gradlew gradlew.bat
graphql: *.graphql *.graphqls
groovy: *.gradle *.groovy
h: *.h *.hh *.hpp
haskell: *.c2hs *.cpphs *.hs *.hsc *.lhs
html: *.ejs *.htm *.html
java: *.java *.jsp *.jspx *.properties
jinja: *.j2 *.jinja *.jinja2
js: *.cjs *.js *.jsx *.mjs *.vue
json: *.json *.sarif composer.lock
jsonl: *.jsonl
julia: *.jl
jupyter: *.ipynb *.jpynb
kotlin: *.kt *.kts
less: *.less
lisp: *.el *.jl *.lisp *.lsp *.sc *.scm
lock: *.lock package-lock.json
log: *.log
lua: *.lua
make: *.mak *.mk Makefile.* [Gg][Nn][Uu]makefile [Gg][Nn][Uu]makefile.am [Gg][Nn][Uu]makefile.in
make: [Mm]akefile [Mm]akefile.am [Mm]akefile.in
markdown: *.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn
matlab: *.m
md: *.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn
meson: meson.build meson.options meson_options.txt
nim: *.nim *.nimble *.nimf *.nims
nix: *.nix
objc: *.h *.m
objcpp: *.h *.mm
ocaml: *.ml *.mli *.mll *.mly
org: *.org *.org_archive
pascal: *.dpr *.inc *.lpr *.pas *.pp
perl: *.PL *.perl *.pl *.plh *.plx *.pm *.t
php: *.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml
po: *.po
protobuf: *.proto
ps: *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
py: *.py *.pyi
python: *.py *.pyi
r: *.R *.Rmd *.Rnw *.r *.rmd *.rnw
rst: *.rst
ruby: *.gemspec *.rake *.rb *.rbw .irbrc Gemfile Rakefile config.ru
rust: *.rs
sass: *.sass *.scss
scala: *.sbt *.scala
sh: *.bash *.bashrc *.csh *.cshrc *.env *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout
sh: .bash_profile .bashrc .cshrc .env .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile
sh: .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv
sh: zshrc
solidity: *.sol
spec: *.spec
sql: *.psql *.sql
svelte: *.svelte *.svelte.ts
svg: *.svg
swift: *.swift
tcl: *.tcl
tex: *.bib *.cls *.dtx *.ins *.ltx *.sty *.tex
tf: *.terraform.lock.hcl *.terraformrc *.tf *.tf.json *.tfrc *.tfvars *.tfvars.json terraform.rc
toml: *.toml Cargo.lock
ts: *.cts *.mts *.ts *.tsx
txt: *.txt
typescript: *.cts *.mts *.ts *.tsx
verilog: *.sv *.svh *.v *.vh
vhdl: *.vhd *.vhdl
vim: *.vim .gvimrc .vimrc _gvimrc _vimrc gvimrc vimrc
vue: *.vue
xml: *.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt
yaml: *.yaml *.yml
zig: *.zig
zsh: *.zsh .zlogin .zlogout .zprofile .zshenv .zshrc zlogin zlogout zprofile zshenv zshrc
"""


def _read() -> dict[str, list[str]]:
    types: dict[str, list[str]] = {}
    for line in _TABLE.strip().splitlines():
        name, _, globs = line.partition(": ")
        types.setdefault(name, []).extend(globs.split())
    return types


FILE_TYPES = _read()
"""Name of a type → globs of its file names."""


def similar(name: str) -> list[str]:
    """Return types with a similar name."""
    wanted = name.lower().lstrip("*.")
    by_extension = [known for known, globs in FILE_TYPES.items() if f"*.{wanted}" in globs]
    return list(dict.fromkeys([*by_extension, *difflib.get_close_matches(wanted, FILE_TYPES, n=5, cutoff=0.5)]))
