package kafka

import (
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
)

// Source is topics that are read, and how.
type Source struct {
	Connection
	Name    string
	Topics  []string // names or patterns, which begin with ^
	Group   string
	Tenant  string
	Mapping string // file; "" for Andon's own JSON
	Start   string // oldest, newest
}

const newest = "newest"

// Config returns the settings of a source, with their defaults.
func (s *Source) Config() config.Group {
	*s = Source{Group: "andon", Tenant: string(andon.DefaultTenant), Start: "oldest"}
	own := []config.Setting{
		{Key: "name", Value: config.Text(&s.Name),
			Help: "what metrics, the log and rejections call the source"},
		{Key: "topics", Value: config.List(&s.Topics),
			Help: "topics to read; or regular expressions, which begin with ^ and are compared " +
				"with new topics, too"},
		{Key: "group", Value: config.Given(&s.Group),
			Help: "consumer group; the processes of one group share the partitions"},
		{Key: "tenant", Value: config.Given(&s.Tenant),
			Help: "tenant of the entries whose mapping names none"},
		{Key: "mapping", Value: config.Text(&s.Mapping),
			Help: "file that says how a message becomes entries; else it is Andon's own JSON"},
		{Key: "start", Value: config.Choice(&s.Start, "oldest", newest),
			Help: "where a group begins that has no offset: with the oldest record, or with " +
				"those that come from now on"},
	}
	return config.Group{Settings: append(own, s.Settings()...), Check: s.check}
}

func (s *Source) check(k *config.Check) {
	if andon.TenantID(s.Name).Validate() != nil {
		k.Wrong("name", "is missing, is too long or has control characters")
	}
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
	if err := andon.TenantID(s.Tenant).Validate(); err != nil {
		k.Wrong("tenant", "is none: %v", err)
	}
	s.Check(k)
}

func isPattern(topic string) bool { return strings.HasPrefix(topic, "^") }

// topics are the options for what is read.
func (s *Source) topics() []kgo.Opt {
	all := []kgo.Opt{kgo.ConsumeTopics(s.Topics...)}
	if isPattern(s.Topics[0]) {
		all = append(all, kgo.ConsumeRegex())
	}
	return all
}
