package httpconn

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// Unreadable writes the answer to a request that net/http can't read, such as one with the path
// /%zz, and for which it calls no handler. It gets the status and what net/http would say, and
// returns the body with its media type; without a body, what net/http says is sent.
type Unreadable func(status int, text string) (media string, body []byte)

// answer returns the answer in place of p, if net/http made that without a handler: in one piece
// and with just these header fields. It is nil for any other.
func (u Unreadable) answer(p []byte) []byte {
	const begin, fields = "HTTP/1.1 ",
		"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	if !bytes.HasPrefix(p, []byte(begin)) {
		return nil
	}
	line, text, found := strings.Cut(string(p[len(begin):]), fields)
	status, err := strconv.Atoi(line[:min(3, len(line))])
	if !found || err != nil || strings.Contains(line, "\r\n") {
		return nil
	}
	media, body := u(status, text)
	if body == nil {
		return nil
	}
	head := begin + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Type: " +
		media + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) + endOfHead
	return append([]byte(head), body...)
}
