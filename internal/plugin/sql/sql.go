// SPDX-License-Identifier: Apache-2.0

// Package sql has the command with which a person asks an engine, by the credentials that are declared and through the
// API server of its site.
package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/plugin/cli"
)

type flags struct {
	cli.HubFlags
	contexts        cli.SiteContexts
	database, query string
	output, login   string
	secondary       bool
}

// maxScript bounds what is read from standard input, in bytes.
const maxScript = 64 << 20

// NewCommand makes `kubectl geosql sql`.
func NewCommand() *cobra.Command { return newCommand(&flags{}) }

func newCommand(f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sql SERVER|GROUP",
		Short: "Ask an engine: a prompt, one statement, or a script",
		Long: `Executes T-SQL on a server, or on the primary of a group. The connection goes through the API server of the
server's site to its pod, is encrypted, and is verified by the server's certificate; nothing listens on this machine,
and nothing but this program is needed on it.

The login is sa, with the password of the Secret <server>-credentials; --login takes that of a Login, from its connection
Secret. Which one it is is said. A group's primary is who its status says it is, and has to say so itself, before the
first batch and after a pause before the next: else nothing is sent. A login without VIEW SERVER STATE cannot see that:
its role is unknown. --secondary goes to a secondary that is declared to be readable, for statements that read.

On a terminal without -Q it is a prompt, which says who one is, on which server, what that is in its groups, in which
database, and how many transactions are open. GO on a line of its own sends what came before, GO n sends it n times;
:quit or exit leaves, :reset drops what was typed, :help says the rest. Ctrl-C ends the batch that is executed. Between
batches it is asked where the session is: read @@ROWCOUNT and @@ERROR in the batch that they are about.

Otherwise standard input is a script of batches that each end with GO. It is read whole before anything is sent, and ends
with the first batch that fails. What -Q has is seen in the list of processes and in the history of the shell: statements
with passwords belong into a script.

Result sets go to standard output, all that the server says besides to standard error. Exit status: 0; 1 when the server
told of an error, the outcome is not known, or it could not be asked; 2 when the command or script is not understood, of
which then nothing was sent.

Rights: in the hub get on SQLServers, AvailabilityGroups, Sites, and the Secrets <server>-credentials and <server>-tls, or
on the Login and its connection Secret; at the site get on pods and create on pods/portforward. When the hub is away,
name the server's site in --context: the site's own copies of the Secrets are read.`,
		Example: `  kubectl geosql sql content -n web
  kubectl geosql sql tukpub -n web -d Content -Q "SELECT COUNT(*) FROM dbo.Article"
  kubectl geosql sql content --secondary --login reader -n web -o csv < report.sql
  kubectl geosql sql quisec -n web --context quincy-admin   # the hub is away`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.Add(cmd)
	f.contexts.AddTo(cmd, &f.HubFlags)
	flags := cmd.Flags()
	flags.Lookup("context").Usage =
		"context of the hub, or of the server's site when the hub is away; the current one unless given"
	flags.StringVarP(&f.database, "database", "d", "", "database to begin in; master unless given")
	flags.StringVarP(&f.query, "query", "Q", "", "execute this and exit; GO on lines of its own parts batches")
	flags.StringVarP(&f.output, "output", "o", outputTable, "form of result sets: table, csv or json")
	flags.StringVar(&f.login, "login", "", "Login whose connection Secret is used; sa unless given")
	flags.BoolVar(&f.secondary, "secondary", false, "of a group, a secondary that is readable; its primary unless given")
	return cli.UsageIsTwo(cmd)
}

// run reads what is to be executed, finds the server, and executes it.
func (f *flags) run(cmd *cobra.Command, name string) error {
	if f.output != outputTable && f.output != outputCSV && f.output != outputJSON {
		return cli.Usage(fmt.Errorf("output %q is not known: table, csv and json are", f.output))
	}
	a, err := parse(name, f.secondary)
	if err != nil {
		return cli.Usage(err)
	}
	given := cmd.Flags().Changed("query")
	if in, out, is := terminalOf(cmd); is && !given {
		return f.converse(cmd, a, in, out)
	}
	batches, err := f.read(cmd, given)
	if err != nil {
		return cli.Usage(err)
	}
	s, err := f.open(cmd.Context(), a)
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintln(cmd.ErrOrStderr(), s.banner())
	return execute(cmd.Context(), s, batches, f.sink(cmd.OutOrStdout(), cmd.ErrOrStderr()), cmd.ErrOrStderr())
}

// terminalOf are both ends of the terminal at which somebody sits.
func terminalOf(cmd *cobra.Command) (in, out *os.File, is bool) {
	in, isFile := cmd.InOrStdin().(*os.File)
	out, isAlso := cmd.OutOrStdout().(*os.File)
	if !isFile || !isAlso {
		return nil, nil, false
	}
	return in, out, term.IsTerminal(descriptor(in)) && term.IsTerminal(descriptor(out))
}

// read returns the batches of -Q, or of standard input.
func (f *flags) read(cmd *cobra.Command, given bool) ([]batch, error) {
	text, where := f.query, "-Q"
	if !given {
		data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxScript+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		if len(data) > maxScript {
			return nil, fmt.Errorf("standard input has more than %s", cli.Bytes(maxScript))
		}
		text, where = string(data), "standard input"
	}
	batches, err := script(text, given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if len(batches) == 0 {
		return nil, fmt.Errorf("%s has no statement", where)
	}
	return batches, nil
}

// open finds the server and logs in.
func (f *flags) open(ctx context.Context, a asked) (*session, error) {
	g, err := f.find(ctx, a)
	if err != nil {
		return nil, err
	}
	var l login
	if f.login == "" {
		l, err = g.readSA(ctx)
	} else {
		l, err = g.readLogin(ctx, f.login)
	}
	if err != nil {
		return nil, err
	}
	return connect(ctx, g, l, f.database)
}

// execute executes batches up to the first that fails.
func execute(ctx context.Context, s *session, batches []batch, sink mssql.Sink, notes io.Writer) error {
	for i, b := range batches {
		for range b.times {
			failed, err := s.send(ctx, b, sink)
			if err == nil && !failed {
				continue
			}
			if len(batches) > 1 {
				fmt.Fprintf(notes, "batch %d of %d %s; nothing after it was sent\n", i+1, len(batches), fate(err))
			}
			if err == nil {
				return cli.ErrTold
			}
			return interrupted(ctx, err)
		}
	}
	// What a session leaves open the server rolls back, and nobody would hear of it.
	s.look(ctx)
	if n := s.open(); n > 0 {
		return fmt.Errorf("%s at the end: the server rolls back what was done in it; end it with COMMIT", transactions(n))
	}
	return nil
}

// send sends a batch once, unless the server is no longer what it was chosen for.
func (s *session) send(ctx context.Context, b batch, sink mssql.Sink) (failed bool, err error) {
	if err := s.elsewhere(ctx); err != nil {
		return false, err
	}
	return s.console.Execute(ctx, b.text, sink)
}

// fate of a batch after which none was sent.
func fate(err error) string {
	switch {
	case errors.Is(err, errElsewhere), mssql.Is(err, mssql.Unreachable):
		return "was not sent"
	case err != nil:
		return "has an unknown outcome"
	}
	return "failed"
}

// interrupted adds to an error what an interruption leaves open.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return fmt.Errorf("%w: it was interrupted, and what it had done before stands unless a transaction was open", err)
	}
	return err
}

// continued is the prompt of a line that goes on a batch, under the first one's.
func continued(first string, b *batcher) string {
	mark := fmt.Sprintf("%d", b.lines+1)
	if b.mode != plain {
		mark += string(rune(b.mode))
	}
	mark += "> "
	return strings.Repeat(" ", max(len([]rune(first))-len(mark), 0)) + mark
}
