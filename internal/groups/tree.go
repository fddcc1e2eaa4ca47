package groups

import "github.com/andonhq/andon"

// tree has the groups of a tenant by number. Number 0 stands for devices in no group. A group keeps
// its number, and one that contains another has the smaller one.
type tree struct {
	groups  []group
	numbers map[andon.Group]uint32
}

type group struct {
	path     andon.Group
	parent   uint32
	members  map[andon.DeviceID]struct{} // that have a profile, without those below
	ruled    bool                        // a rule leads here
	byPrefix bool                        // devices without a profile may be here
}

func newTree() tree {
	t := tree{numbers: map[andon.Group]uint32{}}
	t.add("", 0)
	t.newRules(nil)
	return t
}

func (t *tree) add(path andon.Group, parent uint32) uint32 {
	n := uint32(len(t.groups))
	t.groups = append(t.groups, group{
		path: path, parent: parent, members: map[andon.DeviceID]struct{}{},
	})
	t.numbers[path] = n
	return n
}

// number returns that of a group, and makes one where there is none.
func (t *tree) number(path andon.Group) uint32 {
	if n, known := t.numbers[path]; known {
		return n
	}
	return t.add(path, t.number(path.Parent()))
}

// within reports whether a group is one or below it. None is within none only.
func (t *tree) within(n, of uint32) bool {
	for n > of && of != 0 {
		n = t.groups[n].parent
	}
	return n == of
}
