#!/bin/sh
# cpu.sh process: how many µs of a processor a process and its children have taken, with those of
# its children that have ended.
for p in "$1" $(pgrep --parent "$1"); do
	sed 's/.*) //' "/proc/$p/stat" 2>/dev/null || true # it may have ended
done | awk -v "hertz=$(getconf CLK_TCK)" '{ n += $12 + $13 + $14 + $15 }
	END { printf "%d\n", n * 1000000 / hertz }'
