#!/bin/sh
# andon.sh url tenant [seconds]: asks Andon what run.sh asks PostgreSQL, by 1 and by 16 clients, with
# wrk, which is as light as pgbench. The tenant is one that "andon bench --url --keep" left. The
# variables are those of compare.sh; SERVER is the process of the server.
set -eu
cd "$(dirname "$0")"
printf '%-16s %8s %10s %10s %10s %10s\n' query clients 'answers/s' 'p50 µs' 'p99 µs' 'CPU µs'
for query in [1-7]-*.sql; do
	query=${query%.sql}
	for clients in 1 16; do
		before=$(sh cpu.sh "$SERVER")
		said=$(wrk --threads 1 --connections $clients --duration "${3:-2}" \
			--script queries.lua "$1" -- "$query" "$2")
		used=$(($(sh cpu.sh "$SERVER") - before))
		# shellcheck disable=SC2046 # four numbers
		set -- "$1" "$2" "${3:-2}" $(echo "$said" | sed -n 's/^answers //p')
		printf '%-16s %8d %10d %10d %10d %10d\n' "$query" $clients "$5" "$6" "$7" $((used / $4))
	done
done
