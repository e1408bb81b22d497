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

PATTERN_FIRST = names("grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk jq yq perl fd fdfind")
"""Commands whose first operand is a pattern or a program."""

PATTERN_OPTIONS = names(
    """
    -e --regexp --expression -m --message -S -G --grep -k -g --glob --include --exclude --exclude-dir -H
    --header -d --data
    --data-raw -name -iname -path -ipath -wholename -regex -t --title -b --body -p --path-regex -X --format
    --author --since
    """
)
"""Options whose value is text and no path."""
