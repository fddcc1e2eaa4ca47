#!/bin/sh
# run.sh [seconds]: asks PostgreSQL the seven queries of "andon bench query states --url", by 1
# and by 16 clients, with prepared statements. PGHOST, PGUSER and PGDATABASE name the database,
# into which schema.sql was read; a PGHOST of 127.0.0.1 has it go over TCP. With JSON=1 the answers
# are JSON, as those of an API are. The other variables are those of compare.sh; SERVER is the first
# process of PostgreSQL. It needs pgbench.
set -eu
cd "$(dirname "$0")"
logs=$(mktemp -d)
trap 'rm -r "$logs"' EXIT
printf '%-16s %8s %10s %10s %10s %10s\n' query clients 'answers/s' 'p50 µs' 'p99 µs' 'CPU µs'
for query in [1-7]-*.sql; do
	rm -f "$logs"/file*
	sed "s/HOUR/$HOUR/; s/NEXT/$NEXT/; s/STATE/$STATE/" "$query" >"$logs/query"
	if [ -n "${JSON:-}" ]; then
		sed -i 's/^SELECT/SELECT json_agg(t) FROM (SELECT/; s/;$/) t;/' "$logs/query"
	fi
	if grep -q DEVICE "$logs/query"; then # one file for each device
		n=0
		while read -r device; do
			n=$((n + 1))
			sed "s|DEVICE|$device|" "$logs/query" >"$logs/file$n"
		done <"$DEVICES"
	else
		cp "$logs/query" "$logs/file"
	fi
	files=
	for file in "$logs"/file*; do
		files="$files --file=$file"
	done
	for clients in 1 16; do
		rm -f "$logs"/log*
		before=$(sh cpu.sh "$SERVER")
		# shellcheck disable=SC2086 # several files
		said=$(pgbench --no-vacuum --protocol=prepared --client=$clients --time="${1:-2}" \
			--log --log-prefix="$logs/log" --define="operators=$OPERATORS" \
			--define="supervisors=$SUPERVISORS" $files 2>&1)
		sleep .3 # until the processes of its connections have ended
		used=$(($(sh cpu.sh "$SERVER") - before))
		rate=$(echo "$said" | sed -n 's/^tps = \([0-9]*\).*/\1/p')
		# The third field of a log is how long a transaction took.
		cut -d ' ' -f 3 "$logs"/log* | sort -n | awk -v q="${query%.sql}" -v c=$clients \
			-v r="$rate" -v used=$used '{ t[NR] = $1 } END { printf "%-16s %8d %10d %10d %10d %10d\n",
				q, c, r, t[int(NR / 2)], t[int(NR * .99)], used / NR }'
	done
done
