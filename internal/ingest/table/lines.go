package table

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

type lines struct {
	r     *bufio.Reader
	n     int // the number of the line that was returned last, counted from 1
	again []string
}

// next returns the next line without its "\n", or io.EOF after the last. Of a line that is longer
// than maxRow only the beginning is there, which is longer, too.
func (l *lines) next() (string, error) {
	if len(l.again) > 0 {
		first := l.again[0]
		l.again = l.again[1:]
		l.n++
		return first, nil
	}
	part, err := l.r.ReadSlice('\n')
	text := string(part)
	for err == bufio.ErrBufferFull { // the line is longer than the reader's buffer
		part, err = l.r.ReadSlice('\n')
		if len(text) <= maxRow {
			text += string(part)
		}
	}
	if err == io.EOF && text == "" {
		return "", io.EOF
	}
	if err != nil && err != io.EOF { // the last line may have no end
		return "", broken(err)
	}
	l.n++
	return strings.TrimSuffix(text, "\n"), nil
}

// checkLength is an error for a row that is too long.
func checkLength(text string) error {
	if len(text) > maxRow {
		return fmt.Errorf("longer than %d bytes", maxRow)
	}
	return nil
}

// back returns lines that were read, so that they are read again.
func (l *lines) back(read []string) {
	l.again = append(read, l.again...)
	l.n -= len(read)
}
