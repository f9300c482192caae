# Outlives a Galley Core by a moment, to end what it left behind.
#
# usage: sh -c SCRIPT galley-guard SEARCH_PATH
#
# Standard input says what there is: `=MARK` the mark of this Core, `+GROUP` and `-GROUP` a process
# group that came or went. Its end means that the Core is gone, however it went. Written for every
# POSIX shell; the environment is empty.

trap '' INT TERM HUP QUIT PIPE
PATH=$1
cd /

mark=
groups=
while IFS= read -r line; do
    case $line in
    =*) mark=${line#=} ;;
    +*) groups="$groups ${line#+}" ;;
    -*)
        kept=
        for group in $groups; do
            [ "$group" = "${line#-}" ] || kept="$kept $group"
        done
        groups=$kept
        ;;
    esac
done

# The processes that carry the mark, one number a line. Every tool here reports failure as soon as
# one process is gone or another user's, so only what they print counts.
carriers() {
    if [ -r /proc/self/environ ]; then
        cd /proc || return
        # `head` names each file before its content; one process reads them all.
        head -c 8388608 [0-9]*/environ 2>/dev/null | tr '\000' '\n' |
            grep -e '^==> [0-9]*/environ <==$' -e "^GALLEY_OWNER=$mark\\." 2>/dev/null |
            while IFS= read -r line; do
                case $line in
                '==> '*)
                    pid=${line#==> }
                    pid=${pid%%/*}
                    ;;
                *) echo "$pid" ;;
                esac
            done
    else
        ps -axEww -o pid=,command= 2>/dev/null | grep -e " GALLEY_OWNER=$mark\\." |
            while read -r pid rest; do
                echo "$pid"
            done
    fi
}

# `-s KILL --`: dash takes the minus of a group for an option otherwise.
for group in $groups; do
    kill -s KILL -- "-$group" 2>/dev/null
done

# Again until nothing is left: what is being killed may have been starting something. Bounded, for
# a process that the kernel does not let go of.
[ -n "$mark" ] || exit 0
round=0
while [ "$round" -lt 30 ]; do
    found=$(carriers)
    [ -n "$found" ] || break
    for pid in $found; do
        kill -s KILL "$pid" 2>/dev/null
    done
    round=$((round + 1))
    [ "$round" -lt 20 ] || sleep 1
done
