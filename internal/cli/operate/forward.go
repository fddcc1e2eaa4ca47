package operate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/forward"
)

// Forward is "andon forward".
func Forward(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forward --to URL",
		Short: "Run a gateway that keeps what devices send until a server takes it",
		Long: `Run a gateway in front of a server: devices send it events and readings as they would
send them to the server, and are answered once all is on this machine's disk. The gateway sends them
on, in order, at once or once the server is there again. An entry without a time gets that of its
arrival here, so what is sent late is exact history. Queries are for the server: 501.

Each flag is also an environment variable (--max-bytes: ANDON_MAX_BYTES) and a key of the YAML file
that --config names (max_bytes). The server's certificate is checked with the certificates of this
machine; SSL_CERT_FILE names your own.

On SIGTERM it sends what it can within timeouts.stop, and ends with exit code 0; the rest is sent
after the next start. Other exit codes are those of andon serve.`,
		Example: `  andon forward --to https://andon.example.com --to-token-file token
  andon forward --to http://10.0.0.1:8080 --tenant plant-1 --data /var/lib/andon-queue
  andon forward --to https://andon.example.com --listen 0.0.0.0:8080 --token-file devices
  SSL_CERT_FILE=ca.pem andon forward --to https://10.0.0.1:8443 --max-bytes 10GB`,
	}
	c := app.DefaultConfig()
	c.Data = "andon-queue"
	c.Forward = &forward.Config{Tenant: string(andon.DefaultTenant), MaxBytes: 1 << 30}
	const help = "YAML `file` to read the configuration from (or ANDON_CONFIG)"
	given := local.GroupFlags(cmd, "config", help, c.GatewayGroups())
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		from := given()
		from.Env = p.Environ
		if _, err := config.Load(from, c.GatewayGroups()...); err != nil {
			return command.OfConfig(local.WrongConfig(err))
		}
		if c.Forward.To == "" {
			return andon.Errorf(andon.Invalid, "--to is missing: the address of the server")
		}
		c.Forward.To = command.WithScheme(c.Forward.To)
		return command.OfConfig(serve(ctx, p, c))
	})
}
