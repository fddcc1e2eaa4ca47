package notify

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/andonhq/andon"
)

// Linked is what a signed link allows: one person to acknowledge one incident, until a time. Of the
// message it has the state and the highest severity.
type Linked struct {
	Tenant   andon.TenantID `json:"t"`
	Incident string         `json:"i"`
	By       andon.PersonID `json:"b"`
	Until    andon.Time     `json:"u"`
	Device   andon.DeviceID `json:"d"`
	State    andon.State    `json:"s"`
	Severity uint8          `json:"v"`
}

// Calendar is what the signed address of a calendar allows: to read that of one schedule, as long
// as there is the one that was made then.
type Calendar struct {
	Tenant   andon.TenantID `json:"t"`
	Schedule string         `json:"calendar"`
	Begun    andon.Time     `json:"begun"`
}

const (
	// Acknowledgements is the path of signed links; the token follows.
	Acknowledgements = "/acknowledge/"
	// Calendars is the path of signed addresses of calendars; the token follows.
	Calendars = "/calendars/"

	linkedFor                  = 3 * day
	keyKind   andon.RecordKind = "notify_key"
)

// link sets the links of a message.
func (s *Service) link(ctx context.Context, tenant andon.TenantID, m *Message) error {
	if s.URL == "" || m.Test {
		return nil
	}
	base, query := strings.TrimSuffix(s.URL, "/"), ""
	if tenant != andon.DefaultTenant {
		query = "?tenant=" + url.QueryEscape(string(tenant))
	}
	m.Link = base + "/" + query
	if len(m.Worst) != 1 || m.Count != 1 {
		return nil
	}
	i := &m.Worst[0]
	m.Link = base + "/devices/" + url.PathEscape(string(i.Device)) + query
	if !s.Acknowledges || i.Ended != 0 || i.Acknowledged != 0 {
		return nil
	}
	token, err := s.Sign(ctx, Linked{
		Tenant: tenant, Incident: i.Incident, By: m.To, Until: s.Now().Add(linkedFor),
		Device: i.Device, State: i.What(), Severity: max(i.Severity, i.Worst),
	})
	m.Acknowledge = base + Acknowledgements + token
	return err
}

// CalendarURL returns the address at which whoever has it can read a calendar. It is a path where
// the address of the server is not set.
func (s *Service) CalendarURL(ctx context.Context, is Calendar) (string, error) {
	token, err := s.Sign(ctx, is)
	return strings.TrimSuffix(s.URL, "/") + Calendars + token, err
}

// LinkedCalendar returns the calendar that a token lets read; else it is Invalid.
func (s *Service) LinkedCalendar(ctx context.Context, token string) (is Calendar, err error) {
	if err = s.open(ctx, token, &is); err == nil && is.Schedule == "" {
		err = errNoLink
	}
	return is, err
}

// Sign returns the token of a link: what it allows, a Linked or a Calendar, and its signature.
func (s *Service) Sign(ctx context.Context, is any) (string, error) {
	text, err := json.Marshal(is)
	if err != nil {
		return "", err
	}
	sum, err := s.sum(ctx, text)
	encode := base64.RawURLEncoding.EncodeToString
	return encode(text) + "." + encode(sum), err
}

// Linked returns what a token allows. It is Invalid where nothing, and Gone once it is too old.
func (s *Service) Linked(ctx context.Context, token string) (is Linked, err error) {
	switch err = s.open(ctx, token, &is); {
	case err == nil && is.Incident == "":
		return is, errNoLink
	case err == nil && s.Now() > is.Until:
		return is, andon.Errorf(andon.Gone, "this link has expired")
	}
	return is, err
}

var errNoLink = andon.Errorf(andon.Invalid, "this link was not made here, or is not whole")

// open reads what a token was made of.
func (s *Service) open(ctx context.Context, token string, is any) error {
	head, tail, _ := strings.Cut(token, ".")
	text, err1 := base64.RawURLEncoding.DecodeString(head)
	given, err2 := base64.RawURLEncoding.DecodeString(tail)
	if err1 != nil || err2 != nil {
		return errNoLink
	}
	sum, err := s.sum(ctx, text)
	if err == nil && (!hmac.Equal(sum, given) || json.Unmarshal(text, is) != nil) {
		err = errNoLink
	}
	return err
}

func (s *Service) sum(ctx context.Context, text []byte) ([]byte, error) {
	key, err := s.linkKey(ctx)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(text)
	return h.Sum(nil), nil
}

// linkKey returns the key, which all processes of the store share. The first one makes it.
func (s *Service) linkKey(ctx context.Context) ([]byte, error) {
	if key := s.key.Load(); key != nil {
		return *key, nil
	}
	r, err := s.Store.Record(ctx, "", keyKind, "links")
	if andon.KindOf(err) == andon.NotFound {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // it never fails
		r, err = s.put(ctx, andon.Record{Kind: keyKind, ID: "links"}, fresh)
		if andon.KindOf(err) == andon.Conflict {
			r, err = s.Store.Record(ctx, "", keyKind, "links")
		}
	}
	var key []byte
	if err == nil {
		err = json.Unmarshal([]byte(r.Data), &key)
	}
	if err == nil {
		s.key.Store(&key)
	}
	return key, err
}
