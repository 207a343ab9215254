
# What the functions above need of the package bash-completion, for shells without it.

__treeline_init_completion()
{
    # The shell splits words at = and :. Here they are one word again.
    COMPREPLY=()
    words=()
    local line=$COMP_LINE word blanks i
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        blanks=${line%%[![:blank:]]*}
        line=${line:${#blanks}}
        line=${line:${#word}}
        if ((i > 0)) && [[ -z $blanks ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        if ((i == COMP_CWORD)); then
            cword=$((${#words[@]} - 1))
        fi
    done
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}

if ! declare -F _filedir >/dev/null; then
    _filedir()
    {
        local kind=-f name
        if [[ ${1-} == -d ]]; then
            kind=-d
        fi
        compopt -o filenames 2>/dev/null
        while IFS= read -r name; do
            COMPREPLY+=("$name")
        done < <(compgen "$kind" -- "$cur")
    }
fi
