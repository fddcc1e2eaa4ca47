package kafka

import (
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/source"
)

// Source is topics that are read, and how.
type Source struct {
	source.Config
	Connection
	Topics []string // names or patterns, which begin with ^
	Group  string
	Start  string // oldest, newest
}

const newest = "newest"

// ConfigGroup returns the settings of a source, with their defaults.
func (s *Source) ConfigGroup() config.Group {
	*s = Source{Group: "andon", Start: "oldest"}
	all := append(s.Config.Settings(), []config.Setting{
		{Key: "topics", Value: config.List(&s.Topics),
			Help: "topics to read; or regular expressions, which begin with ^ and are compared " +
				"with new topics, too"},
		{Key: "group", Value: config.Given(&s.Group),
			Help: "consumer group; the processes of one group share the partitions"},
		{Key: "start", Value: config.Choice(&s.Start, "oldest", newest),
			Help: "where a group begins that has no offset: with the oldest record, or with " +
				"those that come from now on"},
	}...)
	return config.Group{Settings: append(all, s.Connection.Settings()...), Check: s.check}
}

func (s *Source) check(k *config.Check) {
	s.Config.Check(k)
	if len(s.Topics) == 0 {
		k.Wrong("topics", "is missing")
	}
	for _, topic := range s.Topics {
		if isPattern(topic) != isPattern(s.Topics[0]) {
			k.Wrong("topics", "are either names or patterns, which begin with ^")
		} else if _, err := regexp.Compile(topic); err != nil && isPattern(topic) {
			k.Wrong("topics", "has a pattern that can't be read: %v", err)
		}
	}
	s.Connection.Check(k)
}

func isPattern(topic string) bool { return strings.HasPrefix(topic, "^") }

func (s *Source) topics() []kgo.Opt {
	all := []kgo.Opt{kgo.ConsumeTopics(s.Topics...)}
	if isPattern(s.Topics[0]) {
		all = append(all, kgo.ConsumeRegex())
	}
	return all
}
