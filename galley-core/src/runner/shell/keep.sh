# Evaluated before a command line: when its shell ends, however it does, the file $2 gets the
# directory, the exported variables and the exit code, as env prints them.
__galley_file=$2
__galley_keep() {
    __galley_code=$1
    set +eux
    test -z "${__galley_kept-}" || return 0
    __galley_kept=1
    PWD=$PWD OLDPWD=${OLDPWD-} GALLEY_EXIT_CODE=$__galley_code /usr/bin/env -0 >|"$__galley_file"
}
trap '{ __galley_keep "$?"; } 2>/dev/null' EXIT
