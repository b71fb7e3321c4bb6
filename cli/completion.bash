# Completion of berth's command line in bash. What there is the program itself tells, from its tables: verbs,
# the options of each with their values, and names of models, systems and methods.
_berth() {
	local line=${COMP_LINE:0:COMP_POINT} words cur short long rest value="" before="" names=""
	read -ra words <<< "$line"
	[[ $line != *[[:space:]] ]] || words+=("")
	cur=${words[-1]}
	if ((${#words[@]} <= 2)); then
		names="--help --version $("$1" --help | sed -n 's/^  \([a-z-]\+\) .*/\1/p')"
	elif [[ $cur == -* ]]; then
		names=$("$1" "${words[1]}" --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p')
	else
		while read -r short long rest; do
			[[ $short == -?, ]] || { rest="$long $rest" && long=$short; }
			[[ ${words[-2]} != "$long" && ${words[-2]}, != "$short" ]] || value=${rest%% *}
		done < <("$1" "${words[1]}" --help 2>/dev/null)
		[[ $value == *["|"[:upper:]]* ]] || value="" # an option that takes nothing
		[[ $value != *,... ]] || before=${cur%"${cur##*,}"}
		case $value in
		*"|"*) names=${value//[][|]/ } ;;
		SYSTEM*) names=$("$1" systems | sed -n '2,$s/^\([^ ]*\).*/system:\1/p') ;;
		M | M,...) names=$("$1" methods | sed -n '2,$s/ .*//p') ;;
		"" | GRAPH*) names=$("$1" zoo | sed -n '2,/^$/s/^\([^ ]*\).*/zoo:\1/p') ;;
		esac
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "${cur#"$before"}")
	fi
	# The shell counts a word from its last : or = on.
	local known from=${cur%"${cur##*[:=]}"}
	for known in $names; do
		[[ $before$known != "$cur"* ]] || COMPREPLY+=("$before$known")
	done
	COMPREPLY=("${COMPREPLY[@]#"$from"}")
}
complete -F _berth berth
