// Package session makes and checks the sessions of browsers that signed in with the server's token.
//
// A session is a text of its own that the server can check without keeping anything:
//
//	base64url( id, 16 random bytes | begun, 8 bytes, seconds | issued, likewise | HMAC-SHA256 )
//
// The key follows from the token. So a session outlives a restart of the server, every server with
// the same token takes it, and a new token ends all sessions. From the text nothing leads back to
// the token, as long as that can't be guessed.
//
// The package is pure: it knows no HTTP, and the clock is passed in.
package session

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// Life is how long a session holds that is not renewed.
	Life = 30 * 24 * time.Hour
	// Longest is how long a session holds that is renewed again and again.
	Longest = 90 * 24 * time.Hour
	// Fresh is the age from which on a session that is used should be renewed.
	Fresh = 24 * time.Hour
	// skew is how far ahead the clock may be that another server issued a session by.
	skew = 10 * time.Minute
)

const (
	idBytes     = 16
	signedBytes = idBytes + 2*8
	allBytes    = signedBytes + sha256.Size
)

// Session is one browser that signed in.
type Session struct {
	id     [idBytes]byte
	begun  int64 // seconds: when the browser signed in
	issued int64 // seconds: when it was last renewed
}

// Name names the session in logs. It is a part of the id, which alone signs nobody in.
func (s Session) Name() string { return fmt.Sprintf("%x", s.id[:4]) }

// Age is how long ago the session was issued or renewed.
func (s Session) Age(now time.Time) time.Duration { return now.Sub(time.Unix(s.issued, 0)) }

// Sessions makes and checks the sessions of one token. Its methods may be called concurrently.
type Sessions struct {
	key []byte

	mu    sync.Mutex
	ended map[[idBytes]byte]time.Time // those that were signed out, until they expire
	// ending are what is to be called when a session is signed out, by its name.
	ending map[string]map[*func()]bool
}

// New returns the sessions of a token.
func New(token string) *Sessions {
	key, err := hkdf.Key(sha256.New, []byte(token), nil, "andon session 1", sha256.Size)
	if err != nil {
		panic("session: a key of this length can be derived: " + err.Error())
	}
	return &Sessions{
		key: key, ended: map[[idBytes]byte]time.Time{}, ending: map[string]map[*func()]bool{},
	}
}

// Begin makes a session and its text.
func (s *Sessions) Begin(now time.Time) (Session, string) {
	made := Session{begun: now.Unix()}
	_, _ = rand.Read(made.id[:]) // it never fails
	return s.Renew(made, now)
}

// Renew returns the session with a new age, and its text. The text that it had holds as long as it
// did before.
func (s *Sessions) Renew(old Session, now time.Time) (Session, string) {
	old.issued = now.Unix()
	return old, s.write(old)
}

func (s *Sessions) write(of Session) string {
	text := make([]byte, 0, allBytes)
	text = append(text, of.id[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(of.begun))
	text = binary.BigEndian.AppendUint64(text, uint64(of.issued))
	return base64.RawURLEncoding.EncodeToString(s.sign(text))
}

// sign appends the code, which only a program that knows the key can make.
func (s *Sessions) sign(text []byte) []byte {
	code := hmac.New(sha256.New, s.key)
	code.Write(text)
	return code.Sum(text)
}

// ErrEnded is the error of a session that does not hold: signed out, expired, or of another token.
var ErrEnded = errors.New("the session has ended")

// Check returns the session of a text, or ErrEnded.
func (s *Sessions) Check(text string, now time.Time) (Session, error) {
	var found Session
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != allBytes {
		return found, ErrEnded
	}
	if !hmac.Equal(raw, s.sign(raw[:signedBytes:signedBytes])) {
		return found, ErrEnded
	}
	copy(found.id[:], raw)
	found.begun = int64(binary.BigEndian.Uint64(raw[idBytes:]))
	found.issued = int64(binary.BigEndian.Uint64(raw[idBytes+8:]))
	age, whole := found.Age(now), now.Sub(time.Unix(found.begun, 0))
	if age > Life || age < -skew || whole > Longest || s.hasEnded(found) {
		return Session{}, ErrEnded
	}
	return found, nil
}

func (s *Sessions) hasEnded(of Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[of.id]
	return ended
}

// End signs a session out. Only this server, and only until it is restarted, refuses copies of its
// text from now on.
func (s *Sessions) End(of Session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, until := range s.ended {
		if now.After(until) {
			delete(s.ended, id)
		}
	}
	s.ended[of.id] = now.Add(Life + skew)
	for f := range s.ending[of.Name()] {
		(*f)()
	}
}

// OnEnd has f called when the session of a name is signed out here, until forget is called. Where
// that has happened already, f is called before OnEnd returns. f must return at once.
func (s *Sessions) OnEnd(name string, f func()) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.ended {
		if (Session{id: id}).Name() == name { // since it was checked
			f()
		}
	}
	if s.ending[name] == nil {
		s.ending[name] = map[*func()]bool{}
	}
	s.ending[name][&f] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.ending[name], &f); len(s.ending[name]) == 0 {
			delete(s.ending, name)
		}
	}
}
