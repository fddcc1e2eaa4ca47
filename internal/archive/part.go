package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"

	"github.com/parquet-go/parquet-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
)

// Bounds of a file. A row group is in memory until it is written.
const (
	rowsAtOnce = 512
	groupRows  = 256 << 10
	groupBytes = 32 << 20
	partBytes  = 256 << 20

	dictionaryBytes = 1 << 20 // of a column; what does not fit is written in full
)

func byMoment() parquet.SortingOption {
	return parquet.SortingColumns(parquet.Ascending("device"), parquet.Ascending("time"))
}

// adder writes parts of a day. It is given rows that no part has, by moment.
type adder[T any] struct {
	folder  *folder
	rows    []T      // not written yet
	temp    *os.File // of the part; nil: it has not begun
	sum     hash.Hash
	about   File
	parquet *parquet.GenericWriter[T]
}

// Write takes the bytes of a part.
func (w *adder[T]) Write(data []byte) (int, error) {
	n, err := w.temp.Write(data)
	w.sum.Write(data[:n])
	w.about.Bytes += int64(n)
	return n, err
}

func (w *adder[T]) begin() (err error) {
	if w.temp, err = w.folder.place.Temp(); err != nil {
		return err
	}
	w.sum = sha256.New()
	w.about = File{}
	for n := len(w.folder.is.Files) + 1; w.about.Name == "" || w.folder.names(w.about.Name); n++ {
		w.about.Name = fmt.Sprintf("part-%04d.parquet", n)
	}
	w.parquet = parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd),
		parquet.DataPageVersion(1), // readers that are old do not know the second
		parquet.MaxRowsPerRowGroup(groupRows), parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.CreatedBy("andon", "1", ""), parquet.SortingWriterConfig(byMoment()))
	return nil
}

func (w *adder[T]) add(ctx context.Context, row *T) error {
	w.rows = append(w.rows, *row)
	if len(w.rows) < rowsAtOnce {
		return nil
	}
	return w.flush(ctx)
}

func (w *adder[T]) flush(ctx context.Context) (err error) {
	if w.temp == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	n, err := w.parquet.Write(w.rows)
	w.about.Rows += int64(n)
	clear(w.rows) // they may be large
	w.rows = w.rows[:0]
	if err == nil && w.parquet.Size()-w.about.Bytes > groupBytes {
		err = w.parquet.Flush()
	}
	if err == nil && w.about.Bytes > w.folder.most {
		err = w.end(ctx)
	}
	return err
}

// end makes what was added a part of the day, if there is any.
func (w *adder[T]) end(ctx context.Context) error {
	defer w.close()
	if len(w.rows) > 0 {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if w.temp == nil {
		return nil
	}
	if err := w.parquet.Close(); err != nil {
		return err
	}
	w.about.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return w.folder.commit(ctx, w.about, w.temp)
}

func (w *adder[T]) close() {
	if w.temp != nil {
		discard(w.temp)
		w.temp = nil
	}
}

// archived returns all that the archive has of a day, by moment.
func archived[T any](ctx context.Context, f *folder) iter.Seq2[T, error] {
	return seq.Of(func(yield func(T) bool) error {
		var groups []parquet.RowGroup
		for _, file := range f.is.Files {
			part, _, err := f.place.Open(ctx, f.name(file.Name))
			if andon.KindOf(err) == andon.NotFound {
				return andon.Errorf(andon.Damaged, "%s has it: %w", f.name(manifestName), err)
			}
			if err != nil {
				return err
			}
			defer discard(part)
			h := sha256.New()
			if _, err := io.Copy(h, part); err != nil {
				return err
			}
			if hex.EncodeToString(h.Sum(nil)) != file.SHA256 {
				return andon.Errorf(andon.Damaged, "%s is not the file that the manifest names",
					f.name(file.Name))
			}
			opened, err := openParquet(part, f.name(file.Name))
			if err != nil {
				return err
			}
			groups = append(groups, opened.RowGroups()...)
		}
		merged, err := parquet.MergeRowGroups(groups, parquet.SchemaOf(new(T)),
			parquet.SortingRowGroupConfig(byMoment()))
		if err != nil {
			return andon.Errorf(andon.Damaged, "read %s: %w", f, err)
		}
		from := parquet.NewGenericRowGroupReader[T](merged)
		defer func() { _ = from.Close() }()
		for rows := make([]T, rowsAtOnce); ; clear(rows) {
			n, err := from.Read(rows)
			for _, row := range rows[:n] {
				if !yield(row) {
					return nil
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return andon.Errorf(andon.Damaged, "read %s: %w", f, err)
			}
		}
	})
}

// openParquet opens a file, which may be damaged: parquet-go panics then, or says so.
func openParquet(file *os.File, name string) (opened *parquet.File, err error) {
	defer func() {
		if what := recover(); what != nil {
			opened, err = nil, andon.Errorf(andon.Damaged,
				"%s is not the Parquet file that it was: %v", name, what)
		}
	}()
	is, err := file.Stat()
	if err != nil {
		return nil, err
	}
	opened, err = parquet.OpenFile(file, is.Size(), parquet.ReadBufferSize(64<<10))
	if err != nil {
		return nil, andon.Errorf(andon.Damaged, "%s is not the Parquet file that it was: %w",
			name, err)
	}
	return opened, nil
}
