#!/bin/sh
# compare.sh [seconds]: the seven queries next to PostgreSQL, both from a light client in C. It fills
# an Andon with 2 million events of 100,000 devices, exports them, reads them into a PostgreSQL of
# its own, and asks one after the other. It needs wrk, the programs of PostgreSQL 15 in PGBIN, 2 GB
# in TMPDIR, and Andon's program in ANDON, which is bin/andon otherwise. As root it runs PostgreSQL as
# the user postgres.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
andon=${ANDON:-$here/../../bin/andon}
PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
url=http://127.0.0.1:${PORT:-18080}
dir=$(mktemp -d)
chmod 755 "$dir"
mkdir "$dir/pg"

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

"$andon" serve --listen "${url#http://}" --data "$dir/andon" --log-level warn 2>"$dir/log" &
server=$!
trap finish EXIT
until curl --silent --fail --output "$dir/answer" "$url/api/v1/states"; do
	kill -0 $server || { cat "$dir/log" && exit 1; }
	sleep .1
done
TMPDIR=$dir "$andon" bench --url "$url" --devices 100000 --events 2000000 --duration 100ms \
	--loads queries --keep tenant >"$dir/filled"
# Its tenant is the only one that it made.
tenant=$(curl --silent "$url/api/v1/tenants" | grep -o 'andon-check-bench[^"]*')
"$andon" export --url "$url" --tenant "$tenant" --output csv --file "$dir/pg/events.csv"

chmod 644 "$dir/pg/events.csv"
if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir/pg"
fi
export PGHOST=127.0.0.1 PGPORT="${PGPORT:-15432}" PGDATABASE=postgres JSON=1
as_owner "$PGBIN/initdb --pgdata $dir/pg/data" >"$dir/initdb"
as_owner "$PGBIN/pg_ctl --pgdata $dir/pg/data --log $dir/pg/log --wait --options '-p $PGPORT -k $dir/pg \
	-c shared_buffers=1GB -c max_wal_size=8GB -c maintenance_work_mem=512MB' start" >"$dir/started"
as_owner "cd $dir/pg && psql --quiet --file $here/schema.sql"

echo "Andon, JSON over HTTP, by wrk:"
sh "$here/andon.sh" "$url" "$tenant" "${1:-2}"
echo "PostgreSQL, JSON over TCP, by pgbench:"
as_owner "sh $here/run.sh ${1:-2}"
