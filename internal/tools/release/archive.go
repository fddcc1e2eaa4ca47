package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// shared is what every archive has of the repository: licences, and what is there to deploy.
func shared() []string {
	return []string{
		"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES", "README.md", "CHANGELOG.md", "SECURITY.md",
		"deploy", ":(exclude)*.go",
	}
}

// archive makes a tar.gz below one directory, of what the commit has and of what was built from it:
// the files below built. Git fixes the order, the times and the owners. It is packed here, since
// the libraries that git may have for that differ.
func (s *source) archive(ctx context.Context, name string, built ...string) ([]byte, error) {
	args := []string{"-c", "tar.umask=0022", "archive", "--format=tar"}
	for _, dir := range built {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			below, err := filepath.Rel(dir, filepath.Dir(path))
			args = append(args, "--prefix="+filepath.Join(name, below)+"/", "--add-file="+path)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	args = append(args, "--prefix="+name+"/", "HEAD", "--")
	tar, err := command(ctx, s.root, nil, "git", append(args, shared()...)...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(z, tar)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// sumsFile has the checksums in the form that sha256sum --check reads.
const sumsFile = "SHA256SUMS"

func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(b.String()), 0o644)
}
