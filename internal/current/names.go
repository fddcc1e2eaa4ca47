package current

import "strings"

// names are the names of states and people that devices show, each once, by number. A name is kept
// as long as a device uses it, so a client that makes up names takes no memory with those that are
// gone. Number 0 is no name.
type names struct {
	numbers map[string]uint32
	list    []named
	free    []uint32
}

type named struct {
	name string
	uses uint32
}

func newNames() names {
	return names{numbers: map[string]uint32{}, list: []named{{}}}
}

func (n *names) name(number uint32) string { return n.list[number].name }

// set makes a number that of a name. The new name is counted before the former is released, so
// that its number is another one.
func (n *names) set(number *uint32, name string) {
	was := *number
	if n.list[was].name == name {
		return
	}
	*number = n.use(name)
	n.release(was)
}

func (n *names) use(name string) (number uint32) {
	if name == "" {
		return 0
	}
	number, ok := n.numbers[name]
	if !ok {
		number = n.enter(strings.Clone(name))
	}
	n.list[number].uses++
	return number
}

func (n *names) enter(name string) (number uint32) {
	if last := len(n.free) - 1; last >= 0 {
		number, n.free = n.free[last], n.free[:last]
		n.list[number].name = name
	} else {
		number = uint32(len(n.list))
		n.list = append(n.list, named{name: name})
	}
	n.numbers[name] = number
	return number
}

func (n *names) release(number uint32) {
	if number == 0 {
		return
	}
	of := &n.list[number]
	if of.uses--; of.uses > 0 {
		return
	}
	delete(n.numbers, of.name)
	of.name = ""
	n.free = append(n.free, number)
}
