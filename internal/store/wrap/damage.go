package wrap

import "github.com/andonhq/andon"

// Damageable is a store that keeps files of its own, which can be damaged. A store need not be one.
type Damageable interface {
	// Damage returns the names of the files of which something could not be read since the store
	// was opened: questions that need it are refused as Damaged.
	Damage() []string
}

// Damage returns the damaged files of a store; none where it has no files of its own.
func Damage(s andon.Store) []string {
	if d, ok := As[Damageable](s); ok {
		return d.Damage()
	}
	return nil
}
