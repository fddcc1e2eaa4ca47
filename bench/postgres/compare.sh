#!/bin/sh
# compare.sh [seconds]: the seven queries next to PostgreSQL, both from a light client in C. It fills
# an Andon with 2 million events of 100,000 devices, exports them, reads them into a PostgreSQL of
# its own, and asks one after the other. With MIXED=1 the fleet is the mixed one. It needs wrk, the
# programs of PostgreSQL 15 in PGBIN, 2 GB in TMPDIR, and Andon's program in ANDON, which is
# bin/andon otherwise. As root it runs PostgreSQL as the user postgres.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
andon=${ANDON:-$here/../../bin/andon}
PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
url=http://127.0.0.1:${PORT:-18080}
dir=$(mktemp -d)
chmod 755 "$dir"
mkdir "$dir/pg"

# What is asked for: so many of the busiest devices, of operators and of supervisors; an hour of the
# operators, and the state of devices.
if [ -n "${MIXED:-}" ]; then
	mixed=--mixed
	export BUSY=100 OPERATORS=500 SUPERVISORS=20 HOUR=12 NEXT=13 STATE=WARNING1
else
	mixed=
	export BUSY=10 OPERATORS=100 SUPERVISORS=10 HOUR=08 NEXT=09 STATE=WARNING4
fi

as_owner() { # runs a command as the one who may run PostgreSQL
	if [ "$(id -u)" = 0 ]; then
		su postgres -c "export TMPDIR=$dir/pg; $1"
	else
		TMPDIR=$dir/pg sh -c "$1"
	fi
}

finish() {
	as_owner "$PGBIN/pg_ctl -D $dir/pg/data stop -m fast" >"$dir/stop" 2>&1 || true
	kill "$server" 2>/dev/null && wait "$server" || true
	rm -r "$dir"
}

ANDON_INCIDENTS=off "$andon" serve --listen "${url#http://}" --data "$dir/andon" \
	--log-level warn 2>"$dir/log" &
server=$!
trap finish EXIT
until curl --silent --fail --output "$dir/answer" "$url/api/v1/states"; do
	kill -0 $server || { cat "$dir/log" && exit 1; }
	sleep .1
done
# shellcheck disable=SC2086 # mixed may be nothing
TMPDIR=$dir "$andon" bench query --url "$url" --devices 100000 --events 2000000 --duration 100ms \
	$mixed --keep tenant >"$dir/filled"
# Its tenant is the only one that it made.
tenant=$(curl --silent "$url/api/v1/tenants" | grep -o 'andon-check-bench[^"]*')
"$andon" export --url "$url" --tenant "$tenant" --format csv --output "$dir/pg/events.csv"
export DEVICES="$dir/pg/devices"
tail -n +2 "$dir/pg/events.csv" | cut -d , -f 1 | sort | uniq -c | sort -k 1,1nr -k 2 |
	awk '{ print $2 }' >"$dir/counted"
head -n $BUSY "$dir/counted" >"$DEVICES"

chmod 644 "$dir/pg/events.csv" "$DEVICES"
if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir/pg"
fi
export PGHOST=127.0.0.1 PGPORT="${PGPORT:-15432}" PGDATABASE=postgres JSON=1
as_owner "$PGBIN/initdb --pgdata $dir/pg/data" >"$dir/initdb"
as_owner "$PGBIN/pg_ctl --pgdata $dir/pg/data --log $dir/pg/log --wait --options '-p $PGPORT -k $dir/pg \
	-c shared_buffers=1GB -c max_wal_size=8GB -c maintenance_work_mem=512MB' start" >"$dir/started"
as_owner "cd $dir/pg && psql --quiet --file $here/schema.sql"

echo "Andon, JSON over HTTP, by wrk:"
SERVER=$server sh "$here/andon.sh" "$url" "$tenant" "${1:-2}"
echo "PostgreSQL, JSON over TCP, by pgbench:"
SERVER=$(head -n 1 "$dir/pg/data/postmaster.pid")
export SERVER
as_owner "sh $here/run.sh ${1:-2}"
