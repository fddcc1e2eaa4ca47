// Package alerts reads the alerts that Prometheus, Alertmanager and amtool send, as messages that a
// mapping makes entries of. It keeps nothing.
package alerts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/mapping"
)

// The statuses of an alert, which each message has as "status".
const (
	firing   = "firing"
	resolved = "resolved"
)

// Messages reads a body: an array of alerts, as POST /api/v2/alerts of Alertmanager takes, or an
// object with them, as its webhooks send. Each alert becomes a message. It has the status of the
// alert, and its time is that since which the alert is so: sent again it is the same message.
func Messages(text string, now andon.Time) ([]mapping.Message, error) {
	var all []map[string]json.RawMessage
	var err error
	place := "body"
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		place = "body.alerts"
		var hook struct{ Alerts json.RawMessage }
		if err = json.Unmarshal([]byte(text), &hook); err == nil && hook.Alerts == nil {
			return nil, andon.AtField(place, "alerts is missing: an alert is in an array")
		}
		if err == nil {
			err = json.Unmarshal(hook.Alerts, &all)
		}
	} else {
		err = json.Unmarshal([]byte(text), &all)
	}
	if err != nil {
		return nil, andon.AtField("body", "these are no alerts: %s", err)
	}
	var messages []mapping.Message
	for i, alert := range all {
		m, err := message(alert, fmt.Sprintf("%s[%d]", place, i), now)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func message(
	alert map[string]json.RawMessage, place string, now andon.Time,
) (m mapping.Message, err error) {
	if alert == nil {
		return m, andon.AtField(place, "an alert is null")
	}
	starts, err := timeOf(alert, place, "startsAt")
	if err != nil {
		return m, err
	}
	ends, err := timeOf(alert, place, "endsAt")
	if err != nil {
		return m, err
	}
	status := firing
	if m.Time = starts; m.Time == 0 {
		m.Time = now
	}
	if ends != 0 && ends <= now {
		status, m.Time = resolved, ends
	} else {
		delete(alert, "endsAt") // it moves whenever the alert is sent again
	}
	alert["status"] = json.RawMessage(`"` + status + `"`)
	if m.Value, err = json.Marshal(alert); err != nil {
		return m, err
	}
	sum := sha256.Sum256(m.Value)
	m.Topic, m.Place = "alerts", hex.EncodeToString(sum[:8])
	return m, nil
}

// timeOf reads a time of an alert. The year 1 is Go's way to say that there is none.
func timeOf(alert map[string]json.RawMessage, place, name string) (andon.Time, error) {
	var t time.Time
	if text := alert[name]; len(text) > 0 {
		if err := json.Unmarshal(text, &t); err != nil {
			return 0, andon.AtField(place+"."+name, "%s is no time of RFC 3339", name)
		}
	}
	if t.Year() <= 1 {
		return 0, nil
	}
	return andon.TimeOf(t), nil
}
