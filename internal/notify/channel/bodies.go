package channel

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
)

const (
	email        = "email"
	webhook      = "webhook"
	slack        = "slack"
	teams        = "teams"
	pagerduty    = "pagerduty"
	alertmanager = "alertmanager"
)

type object = map[string]any

// kind is what differs between channels.
type kind struct {
	url       string // unless it is set
	secret    bool   // it needs a secret_file
	secretURL bool   // which may hold the URL
	bearer    bool   // what is in it is a token of the header Authorization
	says      bool   // a failure is in the body: "ok": false
	follows   bool
	address   string                    // what a contact must have
	check     func(address string) bool // nil: any text
	// form returns where a message goes, and as what; nil: there is nothing to send.
	form func(w *web, m *notify.Message) (to string, body any)
}

func kinds() []string { return slices.Sorted(maps.Keys(table())) }

func table() map[string]kind {
	return map[string]kind{
		email:   {address: "an e-mail address"},
		webhook: {secret: true, form: ofWebhook},
		slack: {url: "https://slack.com/api/chat.postMessage", secret: true, secretURL: true,
			bearer: true, says: true, form: ofSlack},
		teams: {secret: true, secretURL: true, form: ofTeams},
		pagerduty: {url: "https://events.pagerduty.com/v2/enqueue", secret: true, follows: true,
			form: ofPagerDuty},
		"ntfy": {url: "https://ntfy.sh", bearer: true, form: ofNtfy, check: isTopic,
			address: "a topic: at most 64 letters, digits, - and _"},
		"telegram": {url: "https://api.telegram.org", secret: true, says: true,
			form: ofTelegram, check: isChat,
			address: "the ID of a chat, which is a number, or @ and a name"},
		alertmanager: {bearer: true, follows: true, form: ofAlertmanager},
	}
}

func ofWebhook(w *web, m *notify.Message) (string, any) {
	return w.URL, object{
		"type": "andon.notification", "timestamp": m.At.String(),
		"data": object{
			"id": m.ID, "tenant": m.Tenant, "to": m.To, "address": m.Address,
			"subject": m.Subject(), "text": m.Text(), "test": m.Test, "count": m.Count,
			"states": m.States, "worst": m.Worst, "link": m.Link, "acknowledge": m.Acknowledge,
		},
	}
}

// isTopic reports whether a text is a topic of ntfy.
func isTopic(text string) bool {
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return text != "" && len(text) <= 64 && strings.Trim(text, chars) == ""
}

// isChat reports whether a text is a chat of Telegram.
func isChat(text string) bool {
	_, isName := chat(text).(string)
	return !isName || len(text) > 1 && text[0] == '@' && !strings.ContainsAny(text, " \t\n")
}

// chat is a chat as Telegram takes it: a number, or a name.
func chat(address string) any {
	if id, err := strconv.ParseInt(address, 10, 64); err == nil {
		return id
	}
	return address
}

// fit returns a text of so many bytes at most, whose links are whole.
func fit(body, links string, most int) string {
	if len(body)+len(links) > most {
		const more = "…\n"
		body = strings.ToValidUTF8(body[:max(most-len(links)-len(more), 0)], "") + more
	}
	return body + links
}

// ofSlack escapes what Slack would read as a link or a mention. A block holds 3,000 characters.
func ofSlack(w *web, m *notify.Message) (string, any) {
	plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	body := object{
		"text": plain(m.Subject()),
		"blocks": []object{
			{"type": "header", "text": object{
				"type": "plain_text", "text": clip(m.Subject(), 150)}},
			{"type": "section", "text": object{
				"type": "mrkdwn", "text": fit(plain(m.Body()), plain(m.Links()), 3000)}},
		},
	}
	if w.byToken() {
		body["channel"] = m.Address
	}
	return w.URL, body
}

// ofTeams makes a card of at most 28 KB, whose texts are no Markdown: devices can't write links.
func ofTeams(w *web, m *notify.Message) (string, any) {
	line := func(text string, more object) object {
		run := object{"type": "TextRun", "text": text}
		maps.Copy(run, more)
		return object{"type": "RichTextBlock", "inlines": []object{run}}
	}
	content := []object{line(m.Subject(), object{"weight": "bolder", "size": "medium"})}
	for text := range strings.SplitSeq(fit(m.Body(), "", 10_000), "\n") {
		if text != "" {
			content = append(content, line(text, nil))
		}
	}
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard",
		"version": "1.4", "body": content,
	}
	var actions []object
	for _, a := range []struct{ title, url string }{
		{"Open", m.Link}, {"Acknowledge", m.Acknowledge},
	} {
		if a.url != "" {
			actions = append(actions,
				object{"type": "Action.OpenUrl", "title": a.title, "url": a.url})
		}
	}
	if actions != nil {
		card["actions"] = actions
	}
	return w.URL, object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "content": card,
	}}}
}

// ofPagerDuty makes one alert of a message. Of one incident all messages are one alert.
func ofPagerDuty(w *web, m *notify.Message) (string, any) {
	key, action, source := m.ID, "trigger", "andon"
	ended := func(i notify.Item) bool { return i.Ended == 0 }
	seen := func(i notify.Item) bool { return i.Ended == 0 && i.Acknowledged == 0 }
	if m.Count == 1 && len(m.Worst) == 1 {
		key, source = m.Worst[0].Incident, string(m.Worst[0].Device)
	}
	switch {
	case m.Test:
	case !slices.ContainsFunc(m.Worst, ended):
		action = "resolve"
	case !slices.ContainsFunc(m.Worst, seen):
		action = "acknowledge"
	}
	body := object{"routing_key": w.secret, "dedup_key": clip(key, 255), "event_action": action}
	if action != "trigger" {
		return w.URL, body
	}
	severity, _ := urgency(m)
	body["payload"] = object{
		"summary": clip(m.Subject(), 1024), "source": source, "severity": severity,
		"timestamp": m.At.String(), "custom_details": object{"text": m.Text()},
	}
	body["client"] = "Andon"
	if m.Link != "" {
		body["client_url"] = m.Link
	}
	return w.URL, body
}

// ofNtfy keeps to the bounds of ntfy: a message of 4,096 bytes, in a body of 8,192.
func ofNtfy(w *web, m *notify.Message) (string, any) {
	_, priority := urgency(m)
	body := object{
		"topic": m.Address, "title": clip(m.Subject(), 250), "priority": priority,
		"message": fit(m.Body(), m.Links(), 3000),
	}
	if m.Link != "" {
		body["click"] = m.Link
	}
	return w.URL, body
}

func ofTelegram(w *web, m *notify.Message) (string, any) {
	to := strings.TrimSuffix(w.URL, "/") + "/bot" + w.secret + "/sendMessage"
	return to, object{
		"chat_id":              chat(m.Address),
		"text":                 fit(m.Subject()+"\n\n"+m.Body(), m.Links(), 4096),
		"link_preview_options": object{"is_disabled": true},
	}
}

// lives is how long an alert lasts where it is not sent again.
const lives = andon.Duration(5 * 60 * 1e6)

func ofAlertmanager(w *web, m *notify.Message) (string, any) {
	var all []object
	items := m.Worst
	if m.Test {
		items = []notify.Item{{Device: "andon-test", State: "TEST", Since: m.At}}
	}
	for _, i := range items {
		ends := w.now().Add(lives)
		if i.Ended != 0 {
			ends = i.Ended
		}
		alert := object{
			"labels": object{
				"alertname": "AndonIncident", "device": i.Device, "state": i.What(),
				"incident": i.Incident, "to": m.To,
			},
			"annotations": object{
				"summary": "Andon: " + string(i.Device) + " " + string(i.What()),
				"message": i.Message, "operator": i.Operator,
			},
			"startsAt": i.Since.Std().Format(time.RFC3339Nano),
			"endsAt":   ends.Std().Format(time.RFC3339Nano),
		}
		if m.Link != "" {
			alert["generatorURL"] = m.Link
		}
		all = append(all, alert)
	}
	if all == nil {
		return "", nil
	}
	return strings.TrimSuffix(w.URL, "/") + "/api/v2/alerts", all
}

// urgency says how severe the worst of a message is: as PagerDuty has it, and of ntfy's 1 to 5. The
// steps are those of the looks of states.
func urgency(m *notify.Message) (severity string, priority int) {
	worst := uint8(0)
	for _, i := range m.Worst {
		worst = max(worst, i.Severity)
	}
	switch {
	case worst == 0:
		return "info", 3
	case worst < 40:
		return "warning", 3
	case worst < 72:
		return "error", 4
	}
	return "critical", 5
}

// clip returns so many characters at most.
func clip(text string, most int) string {
	r := []rune(text)
	return string(r[:min(len(r), most)])
}
