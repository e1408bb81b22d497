r"""What is known about programs: one table, which `program.py` reads.

A row is `name name … | fact | fact …`; an indented line continues the row above. A program may stand in several rows:
its facts are combined. `Program` in `program.py` explains every fact, `docs/command-analysis.md` how to add a program.
`git-push` is the row of `git push`, `(any)` is about every program.
"""

TABLE = r"""
# Programs that change nothing
: [ ag arch awk b2sum base32 base64 basename bat break cal cat cd cksum cloc cmp column comm command continue cut date
    df diff diff3 dirname dirs du echo egrep env exa exit expand expr eza factor false fd fdfind fgrep file find fmt
    fold free gawk getconf git grep groups head help hexdump hostid hostname iconv id join jq less ls lsb_release
    lsblk lscpu md5sum more nl nm nproc numfmt objdump od paste pathchk popd pr printenv printf ps pushd pwd readelf
    readlink realpath return rev rg sed seq sha1sum sha224sum sha256sum sha384sum sha512sum size sleep sort stat
    strings sum tac tail test time tokei tr tree true tsort tty type uname unexpand uniq uptime users vmstat wait wc
    whereis which who whoami xxd yes yq zcat zgrep | reads
ldd split | reads_operands

# Programs whose names everybody knows
bash chgrp chmod chown cp curl dash dd docker gunzip gzip install kill ln make mkdir mktemp mv nc patch rm rmdir rsync
    scp sh shred split ssh su sudo tar tee timeout touch truncate unlink unzip wget xargs xz zip zsh | familiar

# Programs whose words are never opened as files
: echo printf true false expr seq sleep test [ type which whereis command basename dirname date let read return exit
    set shopt alias unalias trap kill tr export declare typeset local readonly unset hash wait help break continue yes
    cal | no_paths

# Programs that never run their words as commands
ack actionlint alembic ansible-lint ant apropos ar asciidoctor astyle autoconf automake autopep8 autoreconf babel
    bandit banner basedpyright bazel bg bind biome black bokeh buck builtin bundler c++ c++filt cabal caller cargo
    cargo-clippy cc celery checkov clang clang++ clang-format clang-tidy clj cmake-format code codespell composer
    coverage cowsay cppcheck crystal csvcut csvgrep csvlook csvstat ctags ctest cucumber dart delta dialyzer dig dirs
    disown django-admin dmesg doctest dot doxygen dune dvc editorconfig-checker elixir elm enable erlc esbuild eslint
    fg figlet flake8 flask flit flutter fx fzf g++ gcc gcov gem gfortran ghc ghci gleam go gofmt goimports
    golangci-lint gradle gradlew graphviz gron gunicorn hadolint hash help history host htop hugo iex ifconfig info
    interrogate ip ipython isort jar java javac jekyll jest jless journalctl jshell jupyter kotlinc lcov ld ldd lein
    lerna let license-checker lint-staged ln logout lsof lspci lsusb ltrace man markdownlint mdbook meson mix mkdir
    mkdocs mlr mocha mvn mvnw mypy nbconvert nc netstat next nim ninja nox npm-check nslookup nuxt nx nyc objcopy opam
    open pandoc parcel pdflatex pgrep phpcs phpstan phpunit pidof ping pip pip-audit pip-compile pip-sync pip3
    playwright pnpm pod pre-commit prettier protoc psalm pstree pv py.test pycodestyle pydocstyle pyflakes pylint
    pyright pytest pyupgrade qemu-img rails rake ranlib react-scripts reuse rollup rspec rubocop ruff rustc rustfmt
    sass sbt scala scalac semgrep serve set shellcheck shfmt shift shopt snakemake solc sphinx-build sqlfluff sqlfmt
    ss stack strip stylelint stylua suspend swift swiftc tap terser tflint times tldr tofu top touch tox traceroute
    tree-sitter trivy ts-node tsc tsx turbo twine typos ulimit umask unalias uvicorn vale vite vitest vue vulture
    watch webpack whatis xcodebuild xdg-open xdotool xelatex yamllint zig | ordinary
! { } [[ ]] if then elif else fi for while until do done case esac in select function | keyword

# Options whose value is text and no path
(any) | texts --regexp --expression --message --grep --glob --include --exclude --exclude-dir --header --data --data-raw
    -name -iname -path -ipath -wholename -regex --title --body --path-regex --format --author --since
grep egrep fgrep zgrep ack | pattern | texts -e -m -A -B -C
rg | pattern | texts -e -m -A -B -C -g -t -T | commands --pre --hostname-bin
ag | pattern | texts -e -m -A -B -C -G -g
jq yq | pattern
cut paste numfmt xargs | texts -d -f -E
join | texts -t -k
column | texts -s -o
nl | texts -b -d -s
touch | texts -d -t
pytest py.test | texts -k -m -p
virtualenv uv | texts -p
virtualenv docker-compose podman-compose go-task invoke inv fab gulp grunt tmux screen | suspect

# Builtins of the shell
read mapfile readarray let printf unset getopts wait | reader builtins.variables
export declare typeset local readonly | reader builtins.declarations
test [ | reader builtins.tests
set shopt | reader builtins.shell_options
compgen complete | reader builtins.completions
fc | unclear 'fc' runs what the history holds: unless -l*
eval | reader interpreters.evaluate | own_paths
. source | reader interpreters.source
trap | reader interpreters.trap
alias | reader interpreters.alias
cd pushd | reader builtins.change_directory | own_paths
popd | reader builtins.change_directory
jobs | after -x
hash enable complete | unclear '{name}' changes what a command word means: -p -f -C
bind | unclear '{name}' changes what a key runs: -x -f

# Files
rm rmdir unlink shred srm wipe rimraf trash trash-put del-cli dropdb dropuser | removes
truncate | asks it truncates files
gio | removes trash remove move
cp mv install | reader files.copy
ln | reader files.link | own_paths
cp mv install ln | long --target-directory --no-clobber --force --directory --suffix --mode
    | values -t --target-directory -S --suffix -m --mode -o --owner -g --group --backup
    | flags -a -b -c -C -d -D -f -H -i -L -l -n -P -p -R -r -s -T -u -v -x -Z
mkdir | reader builtins.mkdir | values -m --mode
tee sponge | writes_operands 1 | appends_with -a --append
tee | long --append
dd | writes of
sort | writes -o --output | values -k -t -S -T | texts -t -k | commands --compress-program
    | long --output --compress-program
uniq | writes_operands 2 | values -f --skip-fields -s --skip-chars -w --check-chars
split | reader files.split | texts -t -k | long --filter
    | values -a --suffix-length -b --bytes -C --line-bytes -l --lines -n --number -t --separator
csplit | reader files.csplit | own_paths | values -f --prefix -b --suffix-format -n --digits
shuf | writes -o --output | values -i -n -z
iconv | writes -o --output | values -f -t
xxd | writes_operands 2 | values -c -g -l -n -o -R -s
tree | writes -o | values -L -P -I -H -T | texts -P -I
jc | writes -o | values -o
patch | writes -o --output -r --reject-file | values -p -i -d -D -B -F -g -V -Y -z
chmod chown chgrp setfacl chattr chcon | asks it changes permissions recursively: -R --recursive {}
chmod chown chgrp | long --recursive
rename prename file-rename perl-rename rename.ul mmv mcp qmv vidir brename rnr rnm nomino
    | asks it may overwrite files: 1+ unless -n --nono --no-act --dry-run --just-print
fallocate | asks it removes content of files: -p -c -z -i --punch-hole --collapse-range --zero-range --dig-holes
find gfind | reader find.find | own_paths
    | flags -print -print0 -delete -ls -prune -depth -o -a -or -and -not -follow -xdev -mount -empty -daystart -quit
      -true -false -readable -writable -executable -nouser -nogroup -noleaf -ignore_readdir_race -L -H -P
fd fdfind | pattern | texts -e -E -t | after -x --exec -X --exec-batch | appends
sed gsed | reader sed.sed | pattern | texts -e -E | values -e --expression -f --file -l --line-length
    | flags -n -E -r -s -u -z | long --expression --file --in-place --line-length

# Archives and conversions
tar | reader files.tar | values -b -f -g -C -F -H -I -K -L -N -T -V -X
    | code --to-command --use-compress-program --rsh-command --info-script --new-volume-script -I -F | lists -T
    | writes -g --listed-incremental --index-file
    | unclear 'tar --checkpoint-action' may run a program: --checkpoint-action
    | removes --remove-files --recursive-unlink --unlink-first
    | long --to-command --use-compress-program --rsh-command --info-script --new-volume-script --checkpoint
      --checkpoint-action --remove-files --recursive-unlink --unlink-first --extract
gzip bzip2 xz lzma lzip compress pigz pbzip2 | reader files.compress
    | values -S --suffix -b -p --processes -T --threads
zstd pzstd lrzip brotli | removes --rm
lz4 | removes --rm -m
7z 7za 7zr 7zz rar p7zip | removes d m mf -sdel* -df* -dr* -dw*
zip | reader files.zip_archive | asks it removes files or runs a program: -m --move -TT --unzip-command
convert magick gm ffmpeg sox | reader files.convert
mogrify | asks it replaces files: unless -path -format
pandoc | writes -o --output | values -f -t -r -w -V -M -H -B -A
dot | writes -o | values -T -K -G -N -E -l -n -s
gs | writes -o -sOutputFile | values -d -s -I
xmllint xsltproc | writes -o --output
openssl | writes -out -keyout -writerand
age | writes -o --output | values -r -R -i
gpg | writes -o --output | values -r -u
gpg gpg2 | publishes --send-keys --send-key
    | asks it removes keys: --delete-keys --delete-key --delete-secret-keys --delete-secret-key
      --delete-secret-and-public-key
ssh-keygen | asks it changes keys outside the root: unless -f -l -F -Y

# Programs that run another command
env | wraps | sets | values -u --unset -C --chdir | flags -i - --ignore-environment -0 --null -v --debug
    | code -S --split-string | long --split-string --chdir --unset --ignore-environment
sudo | wraps | sets
    | values -u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -r --role -t --type -T
      -U | flags -A -b -E -e -H -i -K -k -l -n -P -S -s -V -v --login --non-interactive --shell --preserve-env
doas | wraps | values -u -C -a | flags -n -s -L
su | wraps | skip 9 | values -s --shell -g --group -G -w | flags - -l --login -m -p | code -c --command
runuser | wraps | values -u --user -g -G -s | flags - -l -m -p | code -c --command
pkexec | wraps | values --user | flags --disable-internal-agent
sudo doas su runuser pkexec newgrp sg | asks it acts as another user
nice | wraps | values -n --adjustment | long --adjustment
ionice | wraps | values -c --class -n --classdata -p --pid -P -u | flags -t --ignore
chrt | wraps | skip 1 | values -T -P -D --sched-runtime | flags -b -f -i -o -r -R -a -v
taskset | wraps | skip 1 | flags -a -p -c --cpu-list
numactl | wraps | values -N -m -C -i -p
timeout | wraps | skip 1 | values -s --signal -k --kill-after | flags --foreground --preserve-status -v --verbose
    | long --signal --kill-after
prlimit | wraps | values -p --pid -o --output | flags --noheadings --raw --verbose
setpriv | wraps
    | values --ambient-caps --apparmor-profile --bounding-set --egid --euid --gid --groups --inh-caps
      --landlock-access --landlock-rule --pdeathsig --ptracer --reuid --regid --rgid --ruid --seccomp-filter
      --securebits --selinux-label
    | flags --clear-groups --init-groups --keep-groups --no-new-privs --nnp --reset-env -d --dump
setsid | wraps | flags -c --ctty -f --fork -w --wait
stdbuf | wraps | values -i --input -o --output -e --error
time | wraps | sets | values -f --format -o --output | flags -p -a --append -v --verbose -q --quiet
command | wraps | flags -p | checks -v -V
unbuffer | wraps | flags -p
exec | wraps | values -a | flags -c -l
coproc cross-env | wraps | sets
nohup builtin busybox toybox linux32 linux64 valgrind with-contenv firejail torsocks torify tsocks eatmydata catchsegv
    heaptrack ddtrace-run onchange ccache distcc | wraps
chroot | wraps | skip 1 | flags --skip-chdir
unshare | wraps | values -S -G -R -w --root --wd
    | flags -m -u -i -n -p -U -C -T -f -r -c --fork --pid --mount --net --user
nsenter | wraps | values -t --target -S -G | flags -a -m -u -i -n -p -U -C -T -F
setarch | wraps | flags -R -v -3 -B -I
x86_64 i386 i486 i586 i686 amd64 uname26 aarch64 arm armv7l armv8l armh ppc ppc32 ppc64 ppc64le mips mips32 mips64
    s390 s390x sparc sparc32 sparc64 ia64 alpha riscv64 parisc loongarch64 | wraps
    | flags -R -v -3 -B -F -I -L -S -T -X -Z --4gb --uname-2.6
ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 | wraps | flags --inhibit-cache
    | values --library-path --preload --argv0 --audit --inhibit-rpath --glibc-hwcaps-prepend
fakeroot | wraps | values -l -s -i -b | flags --
strace | wraps | writes -o --output | values -e -o -p -s -a -E -I -O -P -S -u -b -X
    | flags -f -ff -c -C -d -h -i -k -q -r -t -tt -T -v -V -x -y -yy -z -Z
ltrace | wraps | writes -o --output | values -a -A -e -D -l -n -o -p -s -u -w -x -X | flags -f -c -C -i -S -t -T -L -r
gdb | reader tools.gdb | wraps | values -ex -x -p -d -iex | flags --args -q -batch --batch -nx
perf | wraps | verbs stat record trace | values -e -o -F -p -r | flags -a -g -d
flock | wraps | skip 1 | values -w --timeout -E | flags -n -s -x -u -o -e --nonblock --shared --exclusive -F
    | code -c --command
flock su runuser script | long --command --shell --user --group
chronic | wraps | flags -v -e
ifne | wraps | flags -n
rlwrap | wraps | values -a -b -c -f -H -s -l
xvfb-run | wraps | values -e -f -n -p -s --server-args | flags -a --auto-servernum -l
dbus-run-session | wraps | values --config-file --dbus-daemon
ssh-agent | wraps | values -a -t | flags -c -s -k -D
systemd-run | wraps | values -u --unit -p --property -E --setenv -M -H | flags --user --scope --pty -t -q --wait -d -G
xargs | wraps | appends | lists -a | long --replace --arg-file --max-args --max-procs --max-lines --delimiter
    | values -I -J -n -P -L -s -d -E -a --max-args --max-procs --max-lines --max-chars --delimiter --arg-file --eof
    | flags -0 -i -l -e -r -t -p -x -o --replace --null --no-run-if-empty --verbose --interactive --exit --open-tty
parallel | wraps | appends | joins | lists -a | values -j --jobs -a --arg-file -I -n -N -L -C --colsep -S --results
    | flags -k -X -m --keep-order
sem | wraps | appends | joins | values -j --jobs --id | flags --fg --bg
entr | wraps | flags -c -d -n -p -r -s -z
watch | wraps | joins | values -n --interval
    | flags -d -t -g -e -b -c -p -x --differences --no-title --errexit --chgexit
hyperfine | wraps | joins | flags -i -N
    | values -r --runs -w --warmup -m -M --export-json --export-markdown -n -P -L -p -s
concurrently | joins | values -n --names -c --prefix-colors -p --prefix -m --max-processes -s --success
script | wraps | skip 9 | values -o -E -T -m -c --command | flags -a -e -f -q -t | code -c --command
    | writes_operands 1 | appends_with -a --append
envchain gosu su-exec setuidgid envuidgid envdir setlock lckdo | wraps | skip 1
envconsul | wraps | values -prefix -config -secret -upcase | flags -once -pristine
softlimit | wraps | values -m -d -s -l -a -o -p -f -c -r -t | flags -h
chpst | wraps | values -u -U -e -/ -C -n -l -L -m -d -o -p -f -c -t -r -b | flags -0 -1 -2 -v -P
tini | wraps | values -p -e | flags -s -v -vv -vvv -g -w
dumb-init | wraps | values -r --rewrite | flags -c --single-child -v --verbose
proot | wraps | values -r -b -q -k -w -m --rootfs --bind --qemu --cwd | flags -0 -v -S -R --root-id
fakechroot | wraps | values -e -b -c -l | flags -s -u
bwrap | wraps
    | values --bind --ro-bind --dev-bind --symlink --setenv --chdir --dev --proc --tmpfs --dir --unsetenv --args --uid
proxychains proxychains4 | wraps | values -f | flags -q
faketime datefudge | wraps | skip 1 | values -p | flags -m -f --exclude-monotonic
cpulimit | wraps | values -l --limit -e --exe -p --pid -P --path | flags -z --lazy -i -b -f -m
trickle | wraps | values -u -d -w -t -l -n -L | flags -s -v
choom | wraps | values -n --adjust -p --pid
uclampset | wraps | values -m -M -p | flags -a -s -R -v
openvt | wraps | values -c --console | flags -f -e -s -u -l -v -w
sshpass | wraps | values -p -f -d -P | flags -e -v
sg | wraps | skip 1 | code -c
gdbserver | wraps | skip 1 | flags --once --multi
rr samply py-spy scalene austin | wraps | verbs record run | values -o --output -r -d
watchexec | wraps | joins | flags -c --clear -r --restart -n -N --notify -p --postpone -v -q
    | values -w --watch -W -e --exts -i --ignore -f --filter -d --debounce -s --signal --shell -E --env
nodemon | wraps | values -w --watch -i --ignore -e --ext -d --delay -s --signal --config | code -x --exec
screen | wraps | values -S -c -e -h -p -r -s -t -T -x | flags -d -D -m -A -a -L -U -O -q -R -ls -list -wipe
tmux | wraps | joins | values -L -S -f -t -s -n -c -F -x -y -e -b | flags -2 -d -P -A -D -E -X -h -v -l
    | verbs new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw
      run-shell run if-shell if send-keys send pipe-pane pipep display-popup popup
    | signals kill-server kill-session kill-window kill-pane
capsh | after -- == -+ =+ | language bash
man | unclear 'man' is told to run another program: -P* -H* --pager* --html* --preprocessor*
    | long --pager --html --preprocessor

# Shells and other languages
sh bash dash zsh ksh ash rbash mksh lksh oksh pdksh yash posh osh | reader interpreters.shell | shell
csh tcsh fish pwsh powershell nu elvish xonsh rc es ion murex ngs | reader interpreters.foreign_shell
python expect guile | interprets | code -c
node nodejs | interprets | code -e -p --eval --print | checks -c --check
deno | interprets | code eval
bun | interprets | code -e --eval
perl | interprets | code -e -E | pattern | texts -e -E
ruby | interprets | code -e | texts -e -E | checks -c -wc
php | interprets | code -r | checks -l --syntax-check
lua Rscript osascript julia ocaml | interprets | code -e
tclsh | interprets
python-venv | removes --clear
python-timeit | reader interpreters.statements
python-cProfile python-profile | writes -o --outfile | values -o -s
python-json.tool | writes_operands 2 | values --indent
awk gawk mawk nawk | reader awk.awk | pattern | texts -v -F
    | values -v --assign -F --field-separator -f --file -E --exec -e --source -i --include -l --load
    | unclear '{name}' is told to load code or to write a file: -i* --include* -l* --load* -o* --pretty-print* -p*
      --profile* -d* --dump-variables*
psql mysql mariadb sqlite3 mongo mongosh duckdb | reader interpreters.sql
psql | writes -o --output -L --log-file | values -c -d -f -h -p -U -v -F -P -R -T
m4 dc | reader interpreters.macros
vi vim nvim view vimdiff ex ed emacs | reader interpreters.editor
less more | reader interpreters.pager
less | writes -o -O --log-file --LOG-FILE | values -b -D -h -j -k -p -P -t -T -x -y -z

# Programs that are typed into
irb pry ipython bpython pdb tsx psql mysql mariadb sqlite3 duckdb | console
irb pry | language ruby
ipython bpython pdb | language python3
tsx | language node
gdb lldb jdb dlv ghci ocaml sbcl clisp scheme racket clojure clj scala kotlinc jshell groovysh iex erl elixir swipl R
    octave matlab maxima gnuplot dc lua luajit deno mongosh mongo redis-cli screen tmux nano emacs pico joe mc expect
    rlwrap top htop script nu pwsh fish | console | unread
less more most man info zless zmore bat journalctl systemctl | pager
R bpython clisp clojure dlv erl gnuplot groovysh irb jdb joe lldb luajit matlab maxima mc most nano octave pdb pico pry
    racket sbcl scheme swipl zless zmore | suspect

# Compilers, build tools and package managers
cc c++ gcc g++ clang clang++ tcc ld gold lld as nasm yasm rustc ghc gfortran dmd ldc2 nim zig swiftc | writes -o
    | builds
strip | writes -o | builds
objcopy | writes_operands 2
gcc g++ cc c++ | unclear '{name} -wrapper' runs another program: -wrapper
go | code -exec -toolexec --exec --toolexec | commands -vettool --vettool
flex | writes -o --outfile | values -P
bison | writes -o --output | values -b -p
terser | writes -o --output | values -c -m
rollup | writes -o --file | values -c -i -f
esbuild | writes --outfile
tsc | writes --outFile --outfile
cmake | reader tools.cmake
make gmake | reader tools.make | lists -f | values -C -E -f -I -j -l -o -W
    | unclear 'make --eval' adds rules that run programs: --eval -E
make | long --eval --file --makefile --directory
make just | publishes publish deploy upload
just | wraps | after --command -c | build_files justfile Justfile .justfile
npm pnpm yarn bun | reader tools.package_scripts
npm pnpm yarn | wraps | verbs exec x dlx | values -w --workspace -C --dir --filter -p --package | code -c --call
    | flags -y --yes -r -s --silent -q --quiet
npm npx yarn pnpm bun | build_files package.json .npmrc
npm | publishes publish unpublish deprecate dist-tag owner access token adduser login
pnpm yarn bun lerna poetry uv pdm hatch flit | publishes publish
npx | wraps | values -p --package | flags -y --yes --no --no-install -q --quiet | code -c --call
bunx | wraps | values -p --package
uvx | wraps | values --from --with --python -p
pipx | wraps | verbs run | values --spec --python
uv poetry pdm rye pipenv | wraps | verbs run | flags --no-sync --frozen
    | values --directory --project --with --python -p --env-file --extra --group
hatch | wraps | verbs run | values -e --env
poetry hatch pdm uv pip pip3 flit twine | build_files pyproject.toml setup.py setup.cfg
conda mamba | wraps | verbs run | values -n --name -p --prefix --cwd | flags --no-capture-output --live-stream
rustup | wraps | verbs run | skip 1 | flags --install
bundle | wraps | verbs exec | build_files Gemfile
gem | publishes push yank owner
cargo | publishes publish yank owner login | build_files Cargo.toml build.rs
direnv aws-vault chamber | wraps | verbs exec | skip 1
asdf mise | wraps | verbs exec x
dotenv | wraps | verbs run | optional_verb | values -f -e -c -v -p | flags -o --override --debug
op doppler infisical teller foreman honcho pyenv rbenv nodenv goenv jenv fnm volta proto lerna nx rush | wraps
    | verbs run exec | code --command
    | values -e --env --env-file -p --project -c --config -f --file --path --account -a
sops | wraps | verbs exec-env exec-file | skip 1 | joins
nix | wraps | after -c --command
nix-shell | wraps | skip 9 | values -p -A -I | flags --pure | code --run --command
devbox | wraps | verbs run
vagrant | wraps | verbs ssh | skip 9 | code -c --command | asks it removes a virtual machine: destroy | publishes push
docker podman | wraps | verbs exec run | skip 1 | texts -t -p -e
    | values -u -w -e --env --user --workdir --name -v -p --network | flags -i -t -it -d --rm --interactive --tty
    | publishes push login | removes rm rmi prune | signals kill stop
docker docker-compose podman podman-compose
    | build_files compose.yaml compose.yml docker-compose.yml docker-compose.yaml Dockerfile
kubectl | wraps | verbs exec | skip 1 | values -n --namespace -c --container | flags -i -t -it --stdin --tty
    | remote apply delete create edit patch replace scale rollout drain cordon exec cp
gradle gradlew | publishes publish uploadArchives | build_files build.gradle build.gradle.kts settings.gradle
mvn | publishes deploy release:perform site-deploy
mvn mvnw | build_files pom.xml
invoke inv fab | build_files tasks.py fabfile.py
go-task | build_files Taskfile.yml Taskfile.yaml
rake | build_files Rakefile rakefile Rakefile.rb
ninja | build_files build.ninja
tox | build_files tox.ini pyproject.toml setup.py setup.cfg
nox | build_files noxfile.py
ant | build_files build.xml
gulp | build_files gulpfile.js
grunt | build_files Gruntfile.js
snakemake | build_files Snakefile
composer | build_files composer.json
buildah dotnet | publishes push
skopeo | publishes copy sync delete
helm | publishes push install upgrade uninstall delete rollback
terraform tofu | publishes apply destroy import
pulumi | publishes up destroy
serverless | publishes deploy remove
vercel | publishes deploy --prod remove
netlify firebase | publishes deploy
cdk fly flyctl | publishes deploy destroy
wrangler | publishes deploy publish delete
heroku | publishes apps:destroy releases:rollback
nuget | publishes push delete
goreleaser | publishes release

# Version control
git | reader git.git | own_paths | writes --output
    | flags --no-pager -P -p --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs --no-replace-objects
      --version --help
    | values -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source
    | texts -m --message -S -G --grep --author --date --format --pretty --since --until -F -t --trailer -L
    | unclear 'git' is told to run another program: --ext-diff --textconv --upload-pack --receive-pack
      --open-files-in-pager
    | long --abort --aggressive --amend --delete --discard-changes --dry-run --exec --ext-diff --extcmd --force
      --force-with-lease --global --hard --mirror --open-files-in-pager --output --prune --quit --receive-pack --reset
      --staged --system --textconv --tree-filter --upload-pack --worktree
git-annotate git-blame git-cat-file git-check-attr git-check-ignore git-check-mailmap git-check-ref-format git-cherry
    git-count-objects git-describe git-diff git-diff-files git-diff-index git-diff-tree git-for-each-ref git-fsck
    git-get-tar-commit-id git-grep git-help git-log git-ls-files git-ls-remote git-ls-tree git-merge-base git-name-rev
    git-patch-id git-range-diff git-rev-list git-rev-parse git-shortlog git-show git-show-branch git-show-ref
    git-status git-var git-verify-commit git-verify-pack git-verify-tag git-version git-whatchanged | reads
git-add git-apply git-bundle git-clone git-commit-graph git-commit-tree git-fast-export git-format-patch
    git-hash-object git-index-pack git-init git-interpret-trailers git-maintenance git-merge-file git-merge-tree
    git-mergetool git-mktree git-multi-pack-index git-pack-objects git-pack-refs git-repack git-request-pull
    git-rerere git-sparse-checkout git-stripspace git-unpack-objects git-update-index git-write-tree git-archimport
    git-citool git-gui git-instaweb | ordinary
git-archive | writes -o | values -o
git-apply | writes --build-fake-ancestor
git-repack | asks it discards history that nothing refers to: -a
git-bundle | reader git.bundle
git-fast-export | writes --export-marks
git-clone | reader git.clone | code -u | values -b -c -j -o -u
git-archive git-push git-fetch git-pull git-clone git-ls-remote | unclear 'git' is told to run another program: --exec
git-grep | unclear 'git' is told to run another program: -O* | code -O | values -A -B -C -e -f -m
git-bisect | after run
git-difftool | code -x --extcmd | values -t
git-submodule | wraps | verbs foreach | joins | flags --recursive --quiet -q | asks it removes files: deinit
    | discards update with --force -f
git-push | asks it publishes commits: unless -n --dry-run
git-send-email | asks it publishes commits
git-rebase | asks it rewrites history | code -x --exec
git-filter-branch git-filter-repo git-replace git-fast-import | asks it rewrites history
git-commit | asks it rewrites the last commit: --amend
git-pull | asks it rewrites or discards history: --rebase -r --force -f
git-fetch | asks it may discard remote history: --force -f --prune -p
git-clean | asks it removes files: unless -n --dry-run
git-rm | asks it removes files: unless -n --dry-run --cached
git-mv | asks it may overwrite files: -f --force
git-checkout | reader git.checkout
    | asks it may discard uncommitted work: -f --force -B --ours --theirs --discard-changes -p --patch -m --merge -C
git-switch | asks it may discard uncommitted work: -f --force --discard-changes -C -m --merge
git-restore | asks it discards uncommitted work: unless --staged -S | asks it discards uncommitted work: --worktree -W
git-reset | reader git.reset | asks it discards uncommitted work: --hard --merge --keep
git-stash | asks it discards stashed work: drop clear
git-branch | asks it may discard commits of a branch: -f --force -M -C -D
git-tag | asks it removes or moves a tag: -d --delete -f --force
git-reflog | asks it discards history: expire delete
git-gc | asks it discards history: --prune --aggressive
git-prune | asks it discards history: unless -n --dry-run
git-update-ref | asks it changes history directly
git-symbolic-ref | asks it changes history directly: 2+
git-read-tree | asks it discards uncommitted work: -u --reset
git-checkout-index | asks it overwrites files: -f --force
git-worktree | asks it removes a work tree: remove prune
git-remote | asks it changes where commits are published: set-url
git-config | reader git.config
git-lfs | asks it publishes or discards files: push prune
git-notes | asks it discards notes: remove prune
git-merge | asks it discards a merge: --abort
git-cherry-pick git-revert git-am | asks it discards work: --abort --quit
hg | discards revert purge strip rollback uncommit histedit rebase shelve | publishes push email
sl | discards revert purge hide rollback undo histedit rebase | publishes push pr
hg sl | discards -C --clean with update up checkout co merge
svn | discards revert cleanup switch update | removes delete del remove rm | publishes commit ci import
jj | discards abandon restore undo squash rebase op operation | publishes push
bzr | discards revert uncommit clean-tree | publishes push send
alembic hg svn jj bzr | texts -m
fossil | discards revert clean undo | publishes push sync
darcs | discards revert obliterate unrecord unpull amend rollback | publishes push send
cvs | publishes commit ci tag | removes remove rm delete
p4 | discards revert clean obliterate | publishes submit
gh glab | reader tools.forge | texts -t -b -m -S -H -q

# Other machines
ssh | wraps | joins | skip 1 | values -i -l -p -o -F -J -L -R -D -W -b -c -E -e -I -m -O -Q -S -w -B
    | flags -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -4 -6
ssh scp sftp ftp rsh telnet mosh ssh-copy-id nc ncat netcat socat | remote
mail mailx sendmail mutt twine | publishes
twine | shows check
curl | reader tools.curl | texts -H -d -X -e -b -m -A -u -w
    | writes -o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl
    | values -A -b -C -d -e -E -F -H -K -m -P -Q -r -T -t -u -U -w -x -X -y -Y -z
    | sends -d -F -T --data --data-raw --data-binary --data-urlencode --form --upload-file --json
    | method -X --request
wget | writes -O --output-document -o --output-file | values -a -A -B -D -e -I -i -l -P -Q -R -S -t -T -U -w -X
    | sends --post-data --post-file --body-data --body-file --method
    | unclear 'wget --use-askpass' runs another program: --use-askpass*
http https httpie xh xhs | reader tools.http
aria2c | writes -o --out -l --log | values -d -i -j -k -s -t -x
rsync | reader files.rsync | writes --write-batch --only-write-batch | removes --del* --remove-* unless -n --dry-run
    | unclear 'rsync -e' runs another program: -e --rsh --rsync-path
    | values -e --rsh --exclude --include --filter -f --exclude-from --include-from --files-from --chmod -T -M
redis-cli | removes flushall FLUSHALL flushdb FLUSHDB shutdown SHUTDOWN
aws | remote rm rb delete-object delete-bucket deploy
gsutil | remote rm cp mv rsync
gcloud | publishes deploy delete
az | publishes delete deploy
adb | remote install uninstall push sideload root reboot shell
tcpdump | unclear 'tcpdump -z' runs another program: -z | writes -w
    | values -B -c -C -D -E -F -G -i -I -j -m -M -r -s -T -V -y -z -Z -Q
pg_dump | writes -f --file | values -a -F -h -j -n -N -p -S -t -T -U -w -W -Z -E
mysqldump | writes -r --result-file | values -h -P -u -S -B -T

# Processes and the system
kill | signals | shows (nothing) -l -L -0 --list --table
pkill killall killall5 skill snice xkill | signals
fuser | signals -k --kill
mkfs fdisk parted sfdisk mkswap swapon swapoff mount umount losetup halt reboot shutdown poweroff init telinit crontab
    at batch systemctl service useradd userdel usermod groupadd groupdel passwd chpasswd visudo iptables nft ip6tables
    insmod rmmod modprobe sysctl chroot nsenter apt apt-get aptitude dpkg dnf yum rpm pacman zypper apk brew snap
    flatpak port mdadm cryptsetup zoneadm yaourt yay paru emerge systemd-run start-stop-daemon debugfs wipefs
    blkdiscard hdparm setcap efibootmgr grub-install chsh chfn gpasswd newusers vipw lpadmin ipmitool racadm nvme
    pvcreate pvremove pvresize pvmove pvchange vgcreate vgremove vgextend vgreduce vgrename vgchange lvcreate lvremove
    lvextend lvreduce lvresize lvrename lvchange lvconvert ntpd ntpdate chronyd hwclock depmod ldconfig tune2fs
    resize2fs xfs_growfs dmsetup rfkill setenforce update-rc.d update-alternatives | system
apt | shows list search show policy
dpkg | shows -l -L -s -S -I -c --list --status --listfiles --search --info --contents
rpm | shows -q -qa -qi -ql -qf -qR -qc -qd -qp --query
brew | shows list info search doctor config deps outdated --version --prefix
systemctl | shows status list-units list-unit-files list-timers list-sockets list-dependencies list-jobs is-active
    is-enabled is-failed is-system-running get-default show cat --failed
ipmitool | shows sensor sensors sdr sel fru
nvme | shows list smart-log id-ctrl id-ns version
hwclock | shows (nothing) -r --show --verbose
lpadmin chfn | shows --help
ldconfig | shows -p -v --print-cache --version
update-alternatives | shows --list --display --query --get-selections
dmsetup | shows ls info status table version
rfkill | shows (nothing) list
crontab mount tune2fs | shows -l
dmesg | system -C -c -n -D -E --clear --read-clear --console-level --console-off --console-on
chronyc | system makestep settime add delete burst online offline
lp lpr | asks it sends data to a printer
service | shows --status-all
mount at | shows (nothing)
sysctl | shows -a -n
snap | shows list info
apk | shows info list search
pacman yaourt yay paru | shows -Q -Qi -Ql -Ss
yum dnf | shows list info search repolist provides check-update -h
zypper | shows search info packages repos
mdadm | shows --detail -D --query -Q --examine -E
cryptsetup | shows status luksDump isLuks
zoneadm | shows list
ip | unclear 'ip netns exec' runs another command: exec | system add del delete set flush change replace append
route | system add del delete flush change
brctl | system addbr delbr addif delif stp setageing setfd sethello setmaxage setpathcost setportprio
nmcli | system up down add delete modify connect disconnect on off import edit reload
zfs | system create destroy rollback receive recv rename promote set inherit mount unmount
zpool | system create destroy import export add remove replace detach split
timedatectl | system set-time set-timezone set-ntp set-local-rtc
hostnamectl | system set-hostname hostname set-icon-name set-chassis
localectl | system set-locale set-keymap set-x11-keymap
ifconfig iwconfig | system 2+
hostname | system 1+ -F -b --file --boot
"""
