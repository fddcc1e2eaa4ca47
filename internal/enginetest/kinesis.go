package enginetest

import "testing"

// kinesaliteVersion is also in package-lock.json.
const kinesaliteVersion = "3.3.3"

// OwnKinesis returns a kinesalite that a test may kill and start again. It ends with the test, and
// keeps streams in a directory, or in memory where that is "".
//
// It limits neither reads nor writes, always says that a reader is at the tip, and never answers a
// call for an iterator at a time after all records of a shard.
func OwnKinesis(t testing.TB, dir string) *Service {
	t.Helper()
	var args []string
	if dir != "" {
		args = []string{dir}
	}
	s := asked(t, func() (*Service, error) {
		return startNode("kinesalite", kinesaliteVersion, "kinesis", args...)
	})
	t.Cleanup(s.Kill)
	return s
}
