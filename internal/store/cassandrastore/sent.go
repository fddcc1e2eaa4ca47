package cassandrastore

import (
	"strings"
	"sync"
	"sync/atomic"
)

// sent counts what the session was given.
type sent struct {
	requests atomic.Int64
	texts    sync.Map // of statements, to *atomic.Int64
}

// count counts a statement that is a request of its own.
func (s *sent) count(text string) {
	s.requests.Add(1)
	s.add(text)
}

// orders counts what is sent in one request.
func (s *sent) orders(all []order) {
	s.requests.Add(1)
	for i := range all {
		s.add(all[i].text)
	}
}

func (s *sent) add(text string) {
	n, ok := s.texts.Load(text)
	if !ok {
		n, _ = s.texts.LoadOrStore(text, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// Sent is of wrap.Counted: "INSERT events_by_device".
func (s *Store) Sent() (statements map[string]int64, requests int64) {
	statements = map[string]int64{}
	s.sent.texts.Range(func(text, n any) bool {
		statements[inShort(text.(string))] += n.(*atomic.Int64).Load()
		return true
	})
	return statements, s.sent.requests.Load()
}

// inShort is what a statement does, and to which table.
func inShort(text string) string {
	words := strings.Fields(text)
	for i, word := range words[:len(words)-1] {
		switch word {
		case "FROM", "INTO", "UPDATE":
			return words[0] + " " + words[i+1]
		}
	}
	return words[0]
}
