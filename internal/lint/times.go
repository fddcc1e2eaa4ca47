package lint

import (
	"go/ast"
	"slices"
)

func timeRules() []Rule {
	return []Rule{
		{
			Name: "the clock is passed in",
			Mend: "take now as an argument, or a clock as an option; internal/cli alone knows " +
				"what time it is",
			Find: clocks,
			Except: []Exception{
				{"internal/cli/", "", "the program"},
				{"internal/app/clock.go", "", "how much time has passed, whatever the clock says"},
				{"internal/app/calls.go", "", "durations of calls, which only the real clock has"},
				{"internal/httpapi/", "", "durations of requests and deadlines of connections, " +
					"which only the real clock has"},
				{"internal/store/cassandrastore/processes.go", "",
					"how long to rely on what was seen, which no setting of the time may change"},
				{"internal/store/pebblestore/occupy.go", "",
					"for people: since when a directory is open"},
				{"internal/store/pebblestore/room.go", "", "how old a look at the disk is"},
				{"storecheck/", "", "a shared engine expires rows by the real clock"},
				{"storetest/", "", "a shared engine expires rows by the real clock"},
			},
		},
		{
			Name: "nothing sleeps",
			Mend: "wait for what you wait for, or run the test in testing/synctest, whose clock " +
				"does not wait",
			Find: sleeps,
			Except: []Exception{
				{"storetest/histories.go", "", "a store that is eventual is asked until it agrees"},
			},
		},
	}
}

func clocks(t *Tree) (found []Problem) {
	asking := []string{"time.Now", "time.Since", "time.Until"}
	for _, f := range t.program() {
		f.inspect(func(n ast.Node) {
			e, ok := n.(ast.Expr)
			if name := qualified(e); ok && slices.Contains(asking, name) {
				found = append(found, t.problem(n.Pos(), "%s asks the real clock", name))
			}
		})
	}
	return found
}

// sleeps leaves out files that import synctest: there sleeping is how time goes on.
func sleeps(t *Tree) (found []Problem) {
	for _, f := range t.Go {
		synced := false
		f.imports(func(_ *ast.ImportSpec, name string) {
			synced = synced || name == "testing/synctest"
		})
		f.inspect(func(n ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if ok && !synced && qualified(call.Fun) == "time.Sleep" {
				found = append(found, t.problem(n.Pos(), "time.Sleep"))
			}
		})
	}
	return found
}
