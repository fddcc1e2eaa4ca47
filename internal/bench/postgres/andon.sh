#!/bin/sh
# andon.sh url tenant [seconds]: asks Andon what run.sh asks PostgreSQL, by 1 and by 16 clients, with
# wrk, which is as light as pgbench. The tenant is one that "andon bench --url --keep" left.
set -eu
cd "$(dirname "$0")"
printf '%-16s %8s %10s %10s %10s\n' question clients 'answers/s' 'p50 µs' 'p99 µs'
for question in [1-7]-*.sql; do
	question=${question%.sql}
	for clients in 1 16; do
		said=$(wrk --threads 1 --connections $clients --duration "${3:-2}" \
			--script questions.lua "$1" -- "$question" "$2")
		# shellcheck disable=SC2046 # three numbers
		printf '%-16s %8d %10d %10d %10d\n' "$question" $clients \
			$(echo "$said" | sed -n 's/^answers //p')
	done
done
