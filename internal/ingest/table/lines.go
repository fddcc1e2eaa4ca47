package table

import (
	"bufio"
	"io"
	"strings"
)

type lines struct {
	r     *bufio.Reader
	n     int // the number of the line that was returned last, counted from 1
	again []line
}

// line is one line without its end, or why it could not be read.
type line struct {
	text string
	cr   bool // it ended in "\r\n"
	err  error
}

// next returns the next line, or io.EOF after the last. A RowError is about that line only.
func (l *lines) next() line {
	if len(l.again) > 0 {
		first := l.again[0]
		l.again = l.again[1:]
		l.n++
		return first
	}
	text, err := l.read()
	if err != io.EOF {
		l.n++
	}
	text = strings.TrimSuffix(text, "\n")
	plain := strings.TrimSuffix(text, "\r")
	return line{plain, len(plain) < len(text), err}
}

// back returns lines that were read, so that they are read again.
func (l *lines) back(read []line) {
	l.again = append(read, l.again...)
	l.n -= len(read)
}

func (l *lines) read() (string, error) {
	part, err := l.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return ended(string(part), err)
	}
	var long []byte // than the reader's buffer
	size := 0
	for ; err == bufio.ErrBufferFull; part, err = l.r.ReadSlice('\n') {
		size += len(part)
		if size <= maxRow {
			long = append(long, part...)
		}
	}
	if size += len(part); size > maxRow && (err == nil || err == io.EOF) {
		return "", bad("longer than %d bytes", maxRow)
	}
	return ended(string(append(long, part...)), err)
}

// ended returns a line with its end. The last one may have none.
func ended(text string, err error) (string, error) {
	if err == io.EOF && text != "" {
		err = nil
	}
	if err != nil && err != io.EOF {
		return "", broken(err)
	}
	return text, err
}
