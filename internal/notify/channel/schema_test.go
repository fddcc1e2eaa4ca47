package channel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
)

// check reports what a service would refuse at a place of a body.
type check func(place string, v any) error

func refuse(place, format string, args ...any) error {
	return fmt.Errorf("%s %s", place, fmt.Sprintf(format, args...))
}

// text has so many characters.
func text(least, most int) check {
	return func(place string, v any) error {
		s, is := v.(string)
		if n := utf8.RuneCountInString(s); !is || n < least || n > most {
			return refuse(place, "is no text of %d to %d characters: %v", least, most, v)
		}
		return nil
	}
}

// one is one of some values.
func one(of ...any) check {
	return func(place string, v any) error {
		if !slices.Contains(of, v) {
			return refuse(place, "is %v, none of %v", v, of)
		}
		return nil
	}
}

func number(least, most float64) check {
	return func(place string, v any) error {
		if n, is := v.(float64); !is || n < least || n > most {
			return refuse(place, "is no number from %v to %v: %v", least, most, v)
		}
		return nil
	}
}

func anything(string, any) error { return nil }

func timestamp(place string, v any) error {
	s, _ := v.(string)
	_, err := time.Parse(time.RFC3339, s)
	return err
}

// either is right where one of some checks is.
func either(all ...check) check {
	return func(place string, v any) (err error) {
		for _, c := range all {
			if err = c(place, v); err == nil {
				return nil
			}
		}
		return err
	}
}

// list has so many elements.
func list(least, most int, of check) check {
	return func(place string, v any) error {
		all, is := v.([]any)
		if !is || len(all) < least || len(all) > most {
			return refuse(place, "is no list of %d to %d", least, most)
		}
		for i, v := range all {
			if err := of(fmt.Sprintf("%s[%d]", place, i), v); err != nil {
				return err
			}
		}
		return nil
	}
}

// fields is an object with these fields and no other. Those whose name ends in "!" must be there.
type fields map[string]check

func (f fields) check(place string, v any) error {
	is, ok := v.(map[string]any)
	if !ok {
		return refuse(place, "is no object")
	}
	for name, c := range f {
		name, must := strings.CutSuffix(name, "!")
		value, there := is[name]
		if must && !there {
			return refuse(place, "has no %s", name)
		}
		if there {
			if err := c(place+"."+name, value); err != nil {
				return err
			}
		}
	}
	for name := range is {
		if f[name] == nil && f[name+"!"] == nil {
			return refuse(place, "has a field %s, which is unknown", name)
		}
	}
	return nil
}

// slackBody: https://docs.slack.dev/reference/methods/chat.postMessage and, in blocks,
// https://docs.slack.dev/reference/block-kit/blocks/header-block and …/section-block.
func slackBody(byToken bool) check {
	object := func(kind string, most int) check {
		return fields{
			"type!": one(kind), "text!": text(1, most), "emoji": one(true, false),
			"verbatim": one(true, false),
		}.check
	}
	id := text(1, 255)
	body := fields{
		"text!": text(1, 40_000), "mrkdwn": one(true, false), "thread_ts": text(1, 50),
		"blocks": list(1, 50, either(
			fields{
				"type!": one("header"), "text!": object("plain_text", 150), "block_id": id,
			}.check,
			fields{
				"type!": one("section"), "text!": object("mrkdwn", 3000), "block_id": id,
				"expand": one(true, false),
			}.check,
		)),
	}
	if byToken {
		maps.Copy(body, fields{
			"channel!": text(1, 80), "unfurl_links": one(true, false),
			"unfurl_media": one(true, false), "username": text(1, 80),
		})
	}
	return body.check
}

// teamsBody: the message of
// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/
// connectors-using and the schema of its card, version 1.4, in the repository
// microsoft/AdaptiveCards: schemas/src/elements and schemas/src/actions.
func teamsBody() check {
	element := fields{
		"type!": one("RichTextBlock"), "id": text(1, 100), "isVisible": one(true, false),
		"separator": one(true, false), "height": one("auto", "stretch"),
		"horizontalAlignment": one("left", "center", "right"),
		"spacing": one("default", "none", "small", "medium", "large", "extraLarge",
			"padding"),
		"inlines!": list(1, 1000, either(text(1, 1<<20), fields{
			"type!": one("TextRun"), "text!": text(1, 1<<20), "italic": one(true, false),
			"weight":   one("default", "lighter", "bolder"),
			"size":     one("default", "small", "medium", "large", "extraLarge"),
			"fontType": one("default", "monospace"), "isSubtle": one(true, false),
		}.check)),
	}
	action := fields{
		"type!": one("Action.OpenUrl"), "url!": text(1, 1<<20), "title": text(1, 1000),
		"iconUrl": text(1, 1000), "id": text(1, 100), "style": one("default", "positive"),
	}
	card := fields{
		"$schema": one("http://adaptivecards.io/schemas/adaptive-card.json"),
		"type!":   one("AdaptiveCard"), "version!": one("1.4"), "lang": text(2, 10),
		"body": list(1, 1000, element.check), "actions": list(1, 6, action.check),
		"fallbackText": text(1, 1<<20),
	}
	return fields{
		"type!": one("message"), "summary": text(1, 1000),
		"attachments!": list(1, 1, fields{
			"contentType!": one("application/vnd.microsoft.card.adaptive"),
			"contentUrl":   one(nil), "content!": card.check,
		}.check),
	}.check
}

// pagerDutyBody: https://developer.pagerduty.com/docs/send-alert-event, and the schema in the
// repository PagerDuty/api-schema: reference/events-v2/openapiv3.json.
func pagerDutyBody() check {
	common := fields{
		"routing_key!": text(32, 32), "client": text(1, 1000), "client_url": text(1, 1000),
		"images": list(0, 10, anything), "links": list(0, 10, anything),
	}
	trigger := fields{
		"event_action!": one("trigger"), "dedup_key": text(1, 255),
		"payload!": fields{
			"summary!": text(1, 1024), "source!": text(1, 1024), "timestamp": timestamp,
			"severity!": one("critical", "error", "warning", "info"), "component": text(1, 1024),
			"group": text(1, 1024), "class": text(1, 1024), "custom_details": anything,
		}.check,
	}
	change := fields{"event_action!": one("acknowledge", "resolve"), "dedup_key!": text(1, 255)}
	maps.Copy(trigger, common)
	maps.Copy(change, common)
	return func(place string, v any) error {
		if body, is := v.(map[string]any); is && body["event_action"] != "trigger" {
			return change.check(place, v)
		}
		return trigger.check(place, v)
	}
}

// ntfyBody: https://docs.ntfy.sh/publish/#publish-as-json; topics and the length of a message are
// bounded by server/server.go of the repository binwiederhier/ntfy.
func ntfyBody() check {
	topic := func(place string, v any) error {
		s, _ := v.(string)
		const good = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if s == "" || len(s) > 64 || strings.Trim(s, good) != "" {
			return refuse(place, "is no topic: %v", v)
		}
		return nil
	}
	message := func(place string, v any) error {
		if s, is := v.(string); !is || len(s) > 4096 {
			return refuse(place, "is longer than 4,096 bytes")
		}
		return nil
	}
	return fields{
		"topic!": topic, "message": message, "title": text(0, 250), "priority": number(1, 5),
		"tags": list(0, 20, text(1, 100)), "click": text(1, 2000), "attach": text(1, 2000),
		"actions": list(0, 3, anything), "markdown": one(true, false), "icon": text(1, 2000),
		"filename": text(1, 255), "delay": text(1, 50), "email": text(1, 255), "call": text(1, 50),
	}.check
}

// telegramBody: https://core.telegram.org/bots/api#sendmessage and …#linkpreviewoptions.
func telegramBody() check {
	user := func(place string, v any) error {
		if s, _ := v.(string); len(s) < 2 || s[0] != '@' {
			return refuse(place, "is neither a number nor @ and a name: %v", v)
		}
		return nil
	}
	flag := one(true, false)
	return fields{
		"chat_id!": either(number(-1e15, 1e15), user), "text!": text(1, 4096),
		"parse_mode": one("MarkdownV2", "HTML", "Markdown"), "disable_notification": flag,
		"protect_content": flag, "message_thread_id": number(1, 1e15),
		"link_preview_options": fields{
			"is_disabled": flag, "url": text(1, 2000), "prefer_small_media": flag,
			"prefer_large_media": flag, "show_above_text": flag,
		}.check,
	}.check
}

// judge is a server that refuses what its check does, with what it has to say.
func judge(t *testing.T, c check, most int) (url string, last *string) {
	last = new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		*last = string(text)
		var body any
		err := json.Unmarshal(text, &body)
		switch {
		case err == nil && r.Header.Get("Content-Type") != "application/json":
			err = refuse("the body", "is called %s", r.Header.Get("Content-Type"))
		case err == nil && len(text) > most:
			err = refuse("the body", "has %d bytes, more than %d", len(text), most)
		case err == nil:
			err = c("body", body)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, err.Error())
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, last
}

// longest is a message in which all is as long as it may be.
func longest() *notify.Message {
	m := message(100_000)
	m.Zone = "America/Argentina/ComodRivadavia"
	m.States = map[andon.State]int{}
	for i := range 50 {
		name := fmt.Sprintf("%d<%s", i, strings.Repeat("Ä&", andon.MaxStateBytes/3-2))
		m.States[andon.State(name)] = i
	}
	for i := range m.Worst {
		is := &m.Worst[i]
		is.Device = andon.DeviceID(strings.Repeat("ü<", andon.MaxIDBytes/3))
		is.State = andon.State(strings.Repeat("ß", andon.MaxStateBytes/2))
		is.Message = strings.Repeat("& _*[", 100)
	}
	return m
}

// TestSchemas: what is sent is what the services publish that they take, whatever devices say, and
// the link is in it whole.
func TestSchemas(t *testing.T) {
	const kept = 1 << 20
	for _, test := range []struct {
		kind, secret, address string
		body                  check
		most                  int // bytes of a body
	}{
		{"slack", "xoxb-1234", "C024BE91L", slackBody(true), kept},
		{"slack", "", "", slackBody(false), kept}, // an incoming webhook
		// https://learn.microsoft.com/microsoftteams/limits-specifications-teams
		{"teams", "https://x.example/secret", "", teamsBody(), 28 << 10},
		// https://developer.pagerduty.com/docs/send-alert-event: at most 512 KB
		{"pagerduty", strings.Repeat("r", 32), "", pagerDutyBody(), 512 << 10},
		{"ntfy", "tk_1", "Andon_alerts-1", ntfyBody(), 8192},
		{"telegram", "123:abc", "-1001234567890", telegramBody(), kept},
		{"telegram", "123:abc", "@andon", telegramBody(), kept},
	} {
		t.Run(test.kind, func(t *testing.T) {
			url, last := judge(t, test.body, test.most)
			c := opened(t, test.kind, test.secret, url)
			if err := c.Check(test.address); err != nil {
				t.Error(err)
			}
			for name, m := range map[string]*notify.Message{
				"one": message(1), "twenty": message(20), "the longest": longest(),
				"a test": {ID: "t", To: "Liz", At: now(), Test: true},
			} {
				for _, step := range []string{"first", "acknowledged", "over"} {
					m.Address = test.address
					if _, err := c.Send(t.Context(), m); err != nil {
						t.Errorf("%s, %s: %v", name, step, err)
					}
					if step == "first" && !strings.Contains(*last, m.Link) {
						t.Errorf("%s: the link is not in %s", name, *last)
					}
					for i := range m.Worst {
						if step == "first" {
							m.Worst[i].Acknowledged = now()
						} else {
							m.Worst[i].Ended = now()
						}
					}
				}
			}
		})
	}
}

// TestAddresses: what is no address of a channel is refused before anybody is to be told.
func TestAddresses(t *testing.T) {
	for _, test := range []struct{ kind, secret, good, bad, why string }{
		{"email", "", "liz@example.org", "liz", "liz"},
		{"email", "", "Liz <liz@example.org>", "", "no address"},
		{"ntfy", "", "press_7-x", "press 7", "topic"},
		{"telegram", "1:a", "-100123", "Liz", "number"},
		{"telegram", "1:a", "@andon", "@", "number"},
		{"pagerduty", "r", "", "P123", "one place"},
		{"slack", "xoxb-1", "C024BE91L", "", "channel"},
	} {
		url := "http://127.0.0.1:1"
		if test.kind == "email" {
			url = "smtp+plain://127.0.0.1:1"
		}
		c := opened(t, test.kind, test.secret, url)
		if err := c.Check(test.good); err != nil {
			t.Errorf("%s %q: %v", test.kind, test.good, err)
		}
		err := c.Check(test.bad)
		if err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s %q: %v", test.kind, test.bad, err)
		}
	}
}
