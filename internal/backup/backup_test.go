package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// written is a backup of two files.
func written(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.log": strings.Repeat("a", 5000), "b": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	about := About{Taken: andon.MinTime, Program: "1.0.0", Store: "pebble"}
	if err := Write(t.Context(), &b, about, dir, []string{"a.log", "b"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asIs(r io.Reader) io.Reader { return r }

func discard(_ string, content io.Reader) error {
	_, err := io.Copy(io.Discard, content)
	return err
}

func TestBackupsAreReadInEachForm(t *testing.T) {
	b := written(t)
	dir := t.TempDir()
	var packed bytes.Buffer
	w, err := Compress(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.tar": b, "a.tar.zst": packed.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range []string{"a.tar", "a.tar.zst"} {
		r, err := Open(filepath.Join(dir, form), asIs)
		if err != nil {
			t.Fatal(err)
		}
		into := t.TempDir()
		kept, err := Read(r, Into(into))
		if err != nil || kept.Files != 2 || kept.Bytes != 5000 || kept.Store != "pebble" ||
			kept.Taken != andon.MinTime {
			t.Errorf("%s: %+v, %v", form, kept, err)
		}
		is, err := os.Stat(filepath.Join(into, "a.log"))
		if err != nil || is.Size() != 5000 || is.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", form, is, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryCutIsSeen ends a backup at each of its bytes, up to the end of its sums.
func TestEveryCutIsSeen(t *testing.T) {
	b := written(t)
	whole := bytes.LastIndexByte(b, ']') + 1
	for n := 0; n < whole; n += 97 {
		_, err := Read(bytes.NewReader(b[:n]), discard)
		if kind := andon.KindOf(err); kind != andon.Damaged && (kind != andon.Invalid || n > 0) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := Read(bytes.NewReader(b), discard); err != nil {
		t.Error(err)
	}
}

func TestDamageIsNamed(t *testing.T) {
	b := written(t)
	flipped := bytes.Clone(b)
	flipped[bytes.Index(b, []byte("aaaa"))+100] ^= 1
	other := bytes.ReplaceAll(b, []byte(`"name":"b"`), []byte(`"name":"c"`))
	for _, c := range []struct {
		backup []byte
		kind   andon.Kind
		want   string
	}{
		{append(bytes.Clone(b), "junk"...), andon.Damaged, "something after its end"},
		{append(bytes.Clone(b), b...), andon.Damaged, "something after its end"},
		{append(bytes.Clone(b[:len(b)-1024]), b...), andon.Damaged, "something after its end"},
		{flipped, andon.Damaged, "a.log has 5000 bytes with the SHA-256 "},
		{other, andon.Damaged, "c is missing"},
		{[]byte("no tar at all"), andon.Damaged, "it ends before its first file"},
		{bytes.Repeat([]byte("x"), 2000), andon.Invalid, "it is not a backup"},
		{tarOf(t, "etc/passwd"), andon.Invalid, "it is not a backup"},
		{tarOf(t, aboutFile), andon.Invalid, "it is not a backup"},
	} {
		_, err := Read(bytes.NewReader(c.backup), discard)
		if andon.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s: %s", err, c.kind, c.want)
		}
	}
}

func tarOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 2, Mode: mode}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNamesStayInTheDirectory: no file of a backup goes anywhere else.
func TestNamesStayInTheDirectory(t *testing.T) {
	b := written(t)
	for _, name := range []string{"../b", "/b", "..", "x/b"} {
		evil := tar.NewReader(bytes.NewReader(b))
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for {
			header, err := evil.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Name == "b" {
				header.Name = name
			}
			if err := w.WriteHeader(header); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(w, evil); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := Read(&out, func(name string, content io.Reader) error {
			if !isPlain(name) {
				t.Errorf("it is to be written to %q", name)
			}
			return discard(name, content)
		})
		if andon.KindOf(err) != andon.Damaged {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestANewerFormIsRefused(t *testing.T) {
	b := bytes.Replace(written(t), []byte(`"version":1`), []byte(`"version":2`), 1)
	if _, err := Read(bytes.NewReader(b), discard); andon.KindOf(err) != andon.Conflict {
		t.Error(err)
	}
}

func TestABackupEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), mode); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Write(ctx, io.Discard, About{}, dir, []string{"a"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
