#!/usr/bin/env bash
# Prints the path of a Chromium that the tests can use. The headless shell is the same engine without
# the windows around it, and takes half of the CPU. Where it is missing it is installed, if this is
# Debian and we are root; else any Chromium will do. Where there is none, one line says what is
# missing, and the exit code is 3.
set -euo pipefail

shell=chromium-headless-shell
export DEBIAN_FRONTEND=noninteractive

# use prints the first of the paths that is a program, and ends.
use() {
	local browser
	for browser; do
		if [[ -n $browser && -x $browser ]]; then
			echo "$browser"
			exit
		fi
	done
}

install() {
	apt-get install -qq -y -oDPkg::Lock::Timeout=300 --no-install-recommends "$shell"
}

use "${CHROMIUM:-}" "/usr/bin/$shell"
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	# The package lists of a fresh machine are empty or old.
	{ install || { apt-get update -qq && install; }; } >&2 || true
	use "/usr/bin/$shell"
fi
use /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome
echo "The browser tests need Chromium: install it (Debian: apt-get install $shell), or name one" \
	"with CHROMIUM=/path" >&2
exit 3
