#!/usr/bin/env bash
# Tests the board in a real browser, against the program that was built: ui/e2e/run.sh [ARGUMENT...],
# the arguments being those of "playwright test". Where something is missing, one line says what, and
# the tests are skipped; in continuous integration (CI=true) that is an error.
set -euo pipefail
cd "$(dirname "$0")"

missing() {
	echo "ui/e2e: $1" >&2
	if [[ ${CI:-} == true ]]; then exit 1; fi
	echo "ui/e2e: the board is not tested in a browser" >&2
	exit 0
}

command -v npm >/dev/null || missing "Node.js 20 with npm is needed"
[[ -x ../../bin/andon ]] || missing "there is no bin/andon: run 'make build'"
CHROMIUM=$(./chromium.sh) || missing "there is no browser"
export CHROMIUM

# What is installed is what the lock file says; npm keeps what it fetched outside the checkout.
if ! cmp -s package-lock.json node_modules/.lock; then
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --ignore-scripts --no-audit --no-fund
	cp package-lock.json node_modules/.lock
fi
npx tsc --noEmit

# What measures runs alone: --project=load.
[[ $# -gt 0 ]] || set -- --project=board --project=views
exec npx playwright test "$@"
