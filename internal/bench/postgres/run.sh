#!/bin/sh
# run.sh [seconds]: asks PostgreSQL the seven questions of "andon bench --url --loads questions", by
# 1 and by 16 clients, with prepared statements. PGHOST, PGUSER and PGDATABASE name the database,
# into which schema.sql was read. It needs pgbench.
set -eu
cd "$(dirname "$0")"
logs=$(mktemp -d)
trap 'rm -r "$logs"' EXIT
printf '%-16s %8s %10s %10s %10s\n' question clients 'answers/s' 'p50 µs' 'p99 µs'
for question in [1-7]-*.sql; do
	for clients in 1 16; do
		rm -f "$logs"/*
		rate=$(pgbench --no-vacuum --protocol=prepared --client=$clients --time="${1:-2}" \
			--log --log-prefix="$logs/log" --file="$question" 2>&1 |
			sed -n 's/^tps = \([0-9]*\).*/\1/p')
		# The third field of a log is how long a transaction took.
		cut -d ' ' -f 3 "$logs"/log* | sort -n | awk -v q="${question%.sql}" -v c=$clients \
			-v r="$rate" '{ t[NR] = $1 }
			END { printf "%-16s %8d %10d %10d %10d\n", q, c, r, t[int(NR / 2)], t[int(NR * .99)] }'
	done
done
