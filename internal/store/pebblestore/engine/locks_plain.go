//go:build !race

package engine

// Enter says that a lock, which is none of this package, is about to be taken.
func Enter(Rank) {}

// Leave says that a lock was given back.
func Leave(Rank) {}
