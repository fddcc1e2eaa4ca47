package archive

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// duckdb has DuckDB run the statements that the archive prints, and then queries, and returns what
// these answer, a line for each row.
func duckdb(t *testing.T, c *Config, queries ...string) string {
	t.Helper()
	python := enginetest.Python(t, "duckdb-1.5.6", "duckdb==1.5.6\n")
	var statements strings.Builder
	if err := c.DDL(&statements, "duckdb"); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys, duckdb
db = duckdb.connect()
db.execute(sys.argv[1])
for query in sys.argv[2:]:
    for row in db.execute(query).fetchall():
        print(*row)
`
	args := append([]string{"-c", script, statements.String()}, queries...)
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestSerialDuckDB: it reads the folders with the types that the columns are to have.
func TestSerialDuckDB(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 3, 10)
	p.send(noon.Add(dayLong), 2, 5)
	p.now = noon.Add(5 * dayLong)
	p.run()
	got := duckdb(t, &p.conf,
		`SELECT date, tenant, count(*), count(message) FROM andon_events GROUP BY ALL ORDER BY 1`,
		`SELECT metric, count(*), sum(value) FROM andon_readings GROUP BY ALL ORDER BY 1`,
		`SELECT epoch_us(time), severity, message, attributes->>'n', operator, escalated_to
			FROM andon_events WHERE date = '2026-03-14' AND state = 'WARNING1'
			ORDER BY ALL LIMIT 1`,
		`SELECT column_name, column_type FROM (DESCRIBE andon_readings)`)
	want := fmt.Sprintf(`2026-03-14 default 60 30
2026-03-15 default 20 10
temp 40 155.0
zero 40 0.0
None 40 None
%d 32 hot
“oil” 1 Liz None
tenant VARCHAR
date DATE
device VARCHAR
time TIMESTAMP WITH TIME ZONE
metric VARCHAR
value DOUBLE
metadata VARCHAR
`, noon)
	if got != want {
		t.Errorf("DuckDB answers\n%swant\n%s", got, want)
	}
}

// TestSerialS3: a run on a bucket is broken off at each call, and repeated; what is there is exact,
// and is read back.
func TestSerialS3(t *testing.T) {
	endpoint := enginetest.Moto(t).URL
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	step := 61
	if os.Getenv(enginetest.LongTests) != "" {
		step = 1
	}
	for n := 0; ; n += step {
		p := newPlant(t)
		p.conf.To, p.conf.Endpoint = "s3://cold/plant "+fmt.Sprint(n), endpoint
		p.send(noon, 2, 3)
		a, left := p.archive(), n
		if n == 0 {
			b := a.place.(*bucket)
			_, err := b.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.name})
			if err != nil {
				t.Fatal(err)
			}
		}
		a.place = &faulty{a.place, &left, n%2 > 0}
		_, err := a.Run(t.Context(), Selection{})
		p.send(noon.Add(hour), 1, 2)
		p.now = noon.Add(10 * dayLong)
		p.run()
		a = p.archive()
		copyOf(t, a, p.dir)
		p.isExact()
		contents, wrong := a.Verify(t.Context(), Selection{}, func(place, what string) {
			t.Errorf("%s: %s", place, what)
		})
		if wrong != nil || contents.Files < 2 {
			t.Errorf("%+v, %v", contents, wrong)
		}
		if t.Failed() {
			t.Fatalf("broken off at call %d: %v", n, err)
		}
		if err == nil {
			break
		}
	}
}

// copyOf copies an archive into a directory.
func copyOf(t *testing.T, a *Archive, dir string) {
	t.Helper()
	for name, err := range a.place.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		from, _, err := a.place.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer discard(from)
		to := directory(dir)
		temp, err := to.Temp()
		if err == nil {
			_, err = temp.ReadFrom(from)
		}
		if err == nil {
			_, err = to.Put(t.Context(), name, temp, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoBucket: a bucket that does not exist is no day whose tenant was deleted.
func TestNoBucket(t *testing.T) {
	endpoint := enginetest.Moto(t).URL
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	p := newPlant(t)
	p.conf.To, p.conf.Endpoint = "s3://nowhere/plant", endpoint
	p.send(noon, 2, 3)
	p.now = noon.Add(10 * dayLong)
	done, err := p.archive().Run(t.Context(), Selection{})
	if err == nil || !strings.Contains(err.Error(), "there is no bucket nowhere") ||
		andon.KindOf(err) != andon.Unavailable {
		t.Errorf("it is not said that there is no bucket: %v", err)
	}
	if done.Rows != 0 || done.Days != 0 || done.Failed == 0 {
		t.Errorf("%+v", done)
	}
}

// TestS3Conditions: of two processes that write over the same version one is refused.
func TestS3Conditions(t *testing.T) {
	endpoint := enginetest.Moto(t).URL
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b, err := newBucket(t.Context(), Config{To: "s3://conditions/x", Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	name := b.(*bucket).name
	_, err = b.(*bucket).client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
	if err != nil {
		t.Fatal(err)
	}
	conditions(t, b)
}

// TestDirectoryConditions is TestS3Conditions of a directory.
func TestDirectoryConditions(t *testing.T) {
	conditions(t, directory(path.Join(t.TempDir(), "new")))
}

func conditions(t *testing.T, p place) {
	t.Helper()
	put := func(text, version string) (string, error) {
		f, err := p.Temp()
		if err != nil {
			t.Fatal(err)
		}
		defer discard(f)
		fmt.Fprint(f, text)
		return p.Put(t.Context(), "a/b c/%20", f, version)
	}
	if _, _, err := p.Open(t.Context(), "a/b c/%20"); andon.KindOf(err) != andon.NotFound {
		t.Errorf("open what is not there: %v", err)
	}
	first, err := put("one", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put("two", ""); andon.KindOf(err) != andon.Conflict {
		t.Errorf("a second one that is new: %v", err)
	}
	if _, err := put("three", first); err != nil {
		t.Errorf("over the version that is there: %v", err)
	}
	if _, err := put("four", first); andon.KindOf(err) != andon.Conflict {
		t.Errorf("over a version that was: %v", err)
	}
	f, _, err := p.Open(t.Context(), "a/b c/%20")
	if err != nil {
		t.Fatal(err)
	}
	defer discard(f)
	text := make([]byte, 10)
	if n, _ := f.Read(text); string(text[:n]) != "three" {
		t.Errorf("it holds %q", text[:n])
	}
}
