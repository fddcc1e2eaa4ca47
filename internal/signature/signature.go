// Package signature signs what is posted, as Standard Webhooks has it:
// https://www.standardwebhooks.com, and reads how long the other side wants to be left alone. It
// knows nothing of what is posted.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
)

// Keys sign: each for itself, so that a receiver knows one of them while another replaces it.
type Keys [][]byte

// Read reads a file of secrets: whsec_ and base64, each on a line.
func Read(file string) (all Keys, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, andon.Errorf(andon.Invalid, "read secret_file: %w", err)
	}
	for _, secret := range strings.Fields(string(text)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 { // that error would say some of it
			return nil, andon.Errorf(andon.Invalid, "secret_file %s is not whsec_ and base64", file)
		}
		all = append(all, key)
	}
	if len(all) == 0 {
		return nil, andon.Errorf(andon.Invalid, "secret_file %s holds no secret", file)
	}
	return all, nil
}

// Sign sets the headers that name and sign a body.
func (k Keys) Sign(h http.Header, id string, now andon.Time, body []byte) {
	at := strconv.FormatInt(now.Std().Unix(), 10)
	var all []string
	for _, key := range k {
		sum := hmac.New(sha256.New, key)
		_, _ = sum.Write(append([]byte(id+"."+at+"."), body...))
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", strings.Join(all, " "))
}

// longestWait is after how long a receiver is asked again, whatever it says.
const longestWait = time.Hour

// After reads a Retry-After header: seconds, or the time until which the receiver wants to be left
// alone. It is 0 where the header says neither.
func After(h http.Header, now andon.Time) time.Duration {
	text := h.Get("Retry-After")
	if until, err := http.ParseTime(text); err == nil {
		return min(max(until.Sub(now.Std())+time.Second, 0), longestWait)
	}
	seconds, _ := strconv.ParseUint(text, 10, 64)
	return time.Duration(min(seconds, uint64(longestWait/time.Second))) * time.Second
}
