package session_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/session"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const token = "0123456789abcdef"

func TestSession(t *testing.T) {
	here := session.New(token)
	made, text := here.Begin(noon)
	for name, s := range map[string]*session.Sessions{
		"the server that made it": here, "the server after a restart": session.New(token),
	} {
		got, err := s.Check(text, noon.Add(time.Hour))
		if err != nil || got != made {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, other := here.Begin(noon); other == text {
		t.Error("two sessions are the same")
	}
	if strings.Contains(text, token) || len(made.Name()) != 8 {
		t.Errorf("text %q, name %q", text, made.Name())
	}
}

func TestSessionsEnd(t *testing.T) {
	s := session.New(token)
	made, text := s.Begin(noon)
	ended := func(why string, s *session.Sessions, text string, now time.Time) {
		t.Helper()
		if _, err := s.Check(text, now); !errors.Is(err, session.ErrEnded) {
			t.Errorf("%s: %v", why, err)
		}
	}
	ended("it has expired", s, text, noon.Add(session.Life+time.Second))
	ended("it is of the future", s, text, noon.Add(-time.Hour))
	ended("the token is another one", session.New(token+"x"), text, noon)
	if _, err := s.Check(text, noon.Add(session.Life)); err != nil {
		t.Errorf("its last second: %v", err)
	}

	later := noon.Add(20 * 24 * time.Hour)
	renewed, longer := s.Renew(made, later)
	if renewed.Name() != made.Name() || renewed.Age(later) != 0 {
		t.Errorf("renewed: %v", renewed)
	}
	if _, err := s.Check(longer, later.Add(session.Life)); err != nil {
		t.Errorf("renewed: %v", err)
	}

	s.End(made, later)
	ended("it was signed out", s, text, later)
	ended("it was signed out, and this is the renewed one", s, longer, later)
	_, other := s.Begin(later)
	if _, err := s.Check(other, later); err != nil {
		t.Errorf("another session: %v", err)
	}
}

// TestEndIsReported: a caller of OnEnd is called when a session is signed out, not of another one,
// and not once it asks no more.
func TestEndIsReported(t *testing.T) {
	s := session.New(token)
	mine, _ := s.Begin(noon)
	other, _ := s.Begin(noon)
	var called []string
	call := func(name string) func() { return func() { called = append(called, name) } }
	forget := s.OnEnd(mine.Name(), call("forgotten"))
	defer s.OnEnd(mine.Name(), call("mine"))()
	defer s.OnEnd(other.Name(), call("other"))()
	forget()
	s.End(mine, noon)
	if len(called) != 1 || called[0] != "mine" {
		t.Errorf("called were %q", called)
	}
	s.OnEnd(mine.Name(), call("late"))()
	if len(called) != 2 || called[1] != "late" {
		t.Errorf("called were %q, want one that asks after the end, too", called)
	}
}

// Each bit of the text counts: the id, the time and the code.
func TestTamperedSessions(t *testing.T) {
	s := session.New(token)
	_, text := s.Begin(noon)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(raw) {
		raw[bit/8] ^= 1 << (bit % 8)
		if _, err := s.Check(base64.RawURLEncoding.EncodeToString(raw), noon); err == nil {
			t.Errorf("with bit %d turned it holds", bit)
		}
		raw[bit/8] ^= 1 << (bit % 8)
	}
	for _, wrong := range []string{
		"", "x", text[:len(text)-1], text + "A", text + "=", strings.Repeat("A", len(text)),
	} {
		if _, err := s.Check(wrong, noon); err == nil {
			t.Errorf("%q holds", wrong)
		}
	}
}

// TestSessionsEndForGood: one that is renewed again and again ends, too.
func TestSessionsEndForGood(t *testing.T) {
	s := session.New(token)
	made, text := s.Begin(noon)
	const step = 20 * 24 * time.Hour
	now := noon
	for now.Add(step).Sub(noon) <= session.Longest {
		now = now.Add(step)
		made, text = s.Renew(made, now)
	}
	if _, err := s.Check(text, noon.Add(session.Longest)); err != nil {
		t.Errorf("its last second: %v", err)
	}
	_, err := s.Check(text, noon.Add(session.Longest+time.Second))
	if !errors.Is(err, session.ErrEnded) {
		t.Errorf("after the longest time: %v", err)
	}
}
