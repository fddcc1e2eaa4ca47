package app

import (
	"os"
	"strings"
	"unicode"

	"github.com/andonhq/andon"
)

// readToken reads the token from a file; "" where none is named. White space around it is not part
// of it. What the file holds never enters an error.
func readToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", andon.Errorf(andon.Invalid, "read token_file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	switch {
	case token == "":
		return "", andon.Errorf(andon.Invalid, "token_file %s holds no token", file)
	case strings.IndexFunc(token, unfit) >= 0:
		return "", andon.Errorf(andon.Invalid,
			"token_file %s holds more than one token of printable ASCII", file)
	}
	return token, nil
}

// unfit reports whether a header could not carry r as part of a token.
func unfit(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 }
