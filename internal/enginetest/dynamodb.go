package enginetest

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// UserDynamoDB is the environment variable that says which DynamoDB tests use: the URL of one that
// runs already, or "aws" for the service itself, with the credentials and the region of the
// environment. Unless it is set, dynalite is started.
const UserDynamoDB = "ANDON_DYNAMODB"

// The versions of what is started are also in package-lock.json and requirements.txt.
const (
	dynaliteVersion = "4.0.0"
	motoVersion     = "5.2.5"
)

//go:embed dynamodb kinesis
var serviceFiles embed.FS

// errLocal respects the licence of DynamoDB Local, which the person who tests has to agree to.
var errLocal = errors.New(`DynamoDB Local is not started from here. Its licence, the "DynamoDB ` +
	`Local License Agreement" that comes with it, asks for an AWS account in good standing, and ` +
	`forbids to pass it on. A person who agrees starts it on a loopback address and sets ` +
	UserDynamoDB + `=http://127.0.0.1:8000`)

// Service is a service of AWS that tests use, or what imitates it.
type Service struct {
	URL   string // "" for AWS itself
	About string // what it is, and which version

	process *process         // nil: it was not started here
	command func() *exec.Cmd // starts it
}

// DynamoDB returns the DynamoDB that all tests of a binary share: dynalite, unless UserDynamoDB
// says otherwise. It is as strict as the service is about requests and limits. Each test makes
// tables of its own there. Otherwise it works as Cassandra does.
func DynamoDB(t testing.TB) *Service {
	t.Helper()
	if os.Getenv(UserDynamoDB) == "" {
		skipUnlessAsked(t)
	}
	s, err := shared().dynamo()
	require(t, err)
	return s
}

// Moto returns a moto that all tests of a binary share. Other than dynalite it knows transactions
// and the settings of TTL. It is lax about requests, and slow with a thousand items.
func Moto(t testing.TB) *Service {
	t.Helper()
	return asked(t, shared().moto)
}

// runLint is what cfn-lint's own script does. That script names the directory that it was installed
// in, which is not the one that it is in now.
const runLint = "import sys; from cfnlint.runner import main; sys.exit(main())"

// CheckTemplates returns what cfn-lint says against templates of CloudFormation. To start takes it
// longer than to read one.
func CheckTemplates(t testing.TB, paths ...string) error {
	t.Helper()
	python := asked(t, func() (string, error) { return installMoto(t.Context()) })
	return run(exec.CommandContext(t.Context(), python,
		append([]string{"-c", runLint}, paths...)...))
}

func findDynamo() (*Service, error) {
	switch url := os.Getenv(UserDynamoDB); url {
	case "":
		return startNode("dynalite", dynaliteVersion, "dynamodb")
	case "aws":
		return &Service{About: "Amazon DynamoDB"}, nil
	case "local":
		return nil, errLocal
	default:
		return usersService(url)
	}
}

// usersService is a service that somebody else runs.
func usersService(url string) (*Service, error) {
	const timeout = 15 * time.Second // it should run already
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s := &Service{URL: url, About: "the DynamoDB on " + url}
	if err := s.answers(ctx); err != nil {
		return nil, fmt.Errorf("reach the DynamoDB of %s: %w", UserDynamoDB, err)
	}
	return s, nil
}

// answers reports whether a service answers, whatever it says.
func (s *Service) answers(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// startNode starts the program of a package of npm, of which the files in a directory say what to
// fetch and how it is started, with arguments after the port.
func startNode(name, version, files string, args ...string) (*Service, error) {
	about := name + " " + version
	node, dir, err := installNode(context.Background(), name+"-"+version, files)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", about, err)
	}
	listen, err := serviceFiles.ReadFile(files + "/listen.js")
	if err != nil {
		return nil, err
	}
	return startService(about, func(port string) *exec.Cmd {
		cmd := exec.Command(node, append([]string{"-e", string(listen), port}, args...)...)
		cmd.Dir = dir
		return cmd
	})
}

func startMoto() (*Service, error) {
	about := "moto " + motoVersion
	python, err := installMoto(context.Background())
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", about, err)
	}
	return startService(about, func(port string) *exec.Cmd {
		return exec.Command(python, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
	})
}

// installNode returns a node, and the directory with a package.
func installNode(ctx context.Context, name, files string) (node, dir string, err error) {
	if node, err = findTool(ctx, "node", name+" runs on Node.js", "nodejs"); err != nil {
		return "", "", err
	}
	dir, err = cached(ctx, name, func(ctx context.Context, dir string) error {
		npm, err := findTool(ctx, "npm", "it fetches "+name, "npm")
		if err != nil {
			return err
		}
		from, err := fs.Sub(serviceFiles, files)
		if err == nil {
			err = os.CopyFS(dir, from)
		}
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		return run(cmd)
	})
	return node, dir, err
}

// installMoto returns a python that has moto and cfn-lint.
func installMoto(ctx context.Context) (python string, err error) {
	requirements, err := serviceFiles.ReadFile("dynamodb/requirements.txt")
	if err != nil {
		return "", err
	}
	return installPython(ctx, "moto-"+motoVersion, string(requirements))
}

// Python returns a python that has packages: lines of a requirements.txt, each with its version.
// name is that of the directory that keeps it for the next time.
func Python(t testing.TB, name, requirements string) (python string) {
	t.Helper()
	return asked(t, func() (string, error) {
		return installPython(t.Context(), name, requirements)
	})
}

func installPython(ctx context.Context, name, requirements string) (python string, err error) {
	dir, err := cached(ctx, name, func(ctx context.Context, dir string) error {
		python, err := findTool(ctx, "python3", name+" runs on it", "python3", "python3-venv")
		if err != nil {
			return err
		}
		if err := run(exec.CommandContext(ctx, python, "-m", "venv", dir)); err != nil {
			return err
		}
		list := filepath.Join(dir, "requirements.txt")
		if err := os.WriteFile(list, []byte(requirements), 0o644); err != nil {
			return err
		}
		return run(exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip",
			"install", "--quiet", "--no-compile", "--disable-pip-version-check", "-r", list))
	})
	return filepath.Join(dir, "bin", "python"), err
}

func startService(about string, command func(port string) *exec.Cmd) (*Service, error) {
	p, err := freePorts("127.0.0.1")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(p.CQL)
	s := &Service{About: about, URL: "http://127.0.0.1:" + port}
	s.command = func() *exec.Cmd { return command(port) }
	return s, s.Start()
}

// Start starts a service again that was killed, at its URL, and returns once it answers.
func (s *Service) Start() (err error) {
	s.process, err = launch(s.About, s.command(), s.answers)
	return err
}

// launch starts a command, and returns once it answers.
func launch(
	about string, cmd *exec.Cmd, answers func(context.Context) error,
) (*process, error) {
	printed := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = printed, printed
	p, err := startProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", about, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestSilence)
	defer cancel()
	ctx, stop := p.whileRunning(ctx)
	defer stop(nil)
	if err := eventually(ctx, answers); err != nil {
		_ = p.end(syscall.SIGKILL) // it prints no more then
		return nil, fmt.Errorf("start %s: %w; it printed\n%s", about, err, printed)
	}
	return p, nil
}

// Kill ends what was started here, by SIGKILL.
func (s *Service) Kill() { _ = s.process.end(syscall.SIGKILL) }
