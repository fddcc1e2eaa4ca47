#!/usr/bin/env bash
# Prints the path of a Chromium that the tests can use. Where there is none it is installed, if this
# is Debian and we are root; else one line says what is missing, and the exit code is 3.
set -euo pipefail

for browser in "${CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
	if [[ -n $browser && -x $browser ]]; then
		echo "$browser"
		exit
	fi
done
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	wait=-oDPkg::Lock::Timeout=300
	# The package lists of a fresh machine are empty or old.
	if { apt-get install -qq -y $wait --no-install-recommends chromium ||
		{ apt-get update -qq && apt-get install -qq -y $wait --no-install-recommends chromium; }; } >&2; then
		echo /usr/bin/chromium
		exit
	fi
fi
echo "The browser tests need Chromium: install it (Debian: apt-get install chromium), or name one" \
	"with CHROMIUM=/path" >&2
exit 3
