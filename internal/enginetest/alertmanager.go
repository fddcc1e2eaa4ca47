package enginetest

import "testing"

// Alertmanager returns the path of Debian's Alertmanager, and that of its amtool.
func Alertmanager(t testing.TB) (server, amtool string) {
	t.Helper()
	skipUnlessAsked(t)
	const debian = "prometheus-alertmanager"
	server, err := findTool(t.Context(), debian, "alerts are sent both ways", debian)
	require(t, err)
	amtool, err = findTool(t.Context(), "amtool", "it sends alerts", debian)
	require(t, err)
	return server, amtool
}
