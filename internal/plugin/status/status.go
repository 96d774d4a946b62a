// SPDX-License-Identifier: Apache-2.0

// Package status has the commands that show a topology: status as text, graph as a drawing.
package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
)

// minEvery keeps --watch from asking an API server without a pause.
const minEvery = 100 * time.Millisecond

type statusFlags struct {
	cli.HubFlags
	output string
	watch  bool
	every  time.Duration
	site   bool
	// ask asks an agent at a site.
	ask overview.AskAgent
}

// NewCommand makes `kubectl geosql status`.
func NewCommand() *cobra.Command {
	f := &statusFlags{}
	f.ask = f.askAgent
	return f.command()
}

func (f *statusFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [TOPOLOGY]",
		Short: "Show groups, replication, servers, sites, and what is not as it should be",
		Long: `Shows what the hub knows:

- of groups the roles, queues, estimated data loss and recovery time, and which replicas can be promoted;
- of replication the agents, pending commands and latency, and how far copies of subscribers are, with a bar;
- where servers run, what their sites answer, and why servers are where they are;
- at the end every condition that is not as it should be, with what to do, also of PublisherMoves and Logins.

What is not known is shown as "?" or Unknown. Without a name, everything in the namespace is shown.

When the hub is away, name any site in --context. Shown is what that site knows: its votes (term, holder, Held, Claimed
or Released), its pods and listeners, what people asked of its vote, and the answers of its agents: their engines and
roles, and the votes of all sites as they see them. What only the hub knows is listed as not shown. With --site a
cluster that has the hub's kinds is shown in this way, too.

Rights at a site: get on ConfigMaps; list on Leases, pods and EndpointSlices; for the agents get on the Secret
geosql-agent-reader and create on pods/portforward. What may not be read is said.`,
		Example: `  kubectl geosql status msdn -n web
  kubectl geosql status -A --watch
  kubectl geosql status msdn -n web -o json
  kubectl geosql status --context quincy-admin -n web`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output != "text" && f.output != "json" {
				return fmt.Errorf("output %q is not known: text and json are", f.output)
			}
			if f.every < minEvery {
				return fmt.Errorf("--every must be at least %s", minEvery)
			}
			if f.AllNamespaces && len(args) > 0 {
				return fmt.Errorf("a Topology is in one namespace: name it, or say --all-namespaces")
			}
			if f.site && (len(args) > 0 || f.AllNamespaces) {
				return errOneNamespace
			}
			var scope overview.Scope
			if len(args) > 0 {
				name, err := cli.ObjectName(args[0], "Topology")
				if err != nil {
					return fmt.Errorf("%w; without a name everything in the namespace is shown", err)
				}
				scope.Topology = name
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			scope.Namespace = namespace
			return f.run(cmd, hub, scope)
		},
	}
	f.Add(cmd)
	f.AddAllNamespaces(cmd)
	cmd.Flags().Lookup("context").Usage =
		"context of the hub, or of a site when the hub is away; the current one unless given"
	cmd.Flags().BoolVar(&f.site, "site", false, "show the context's cluster as a site, whether it is the hub or not")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, or json: the objects that are shown")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show it again and again until interrupted")
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "how often --watch shows it")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command, hub client.Client, scope overview.Scope) error {
	for {
		text, err := f.show(cmd.Context(), hub, scope)
		if !f.watch {
			if err != nil {
				return err
			}
			_, err = text.WriteTo(cmd.OutOrStdout())
			return err
		}
		if apierrors.IsForbidden(err) {
			return err // it will be so the next time
		}
		if err := f.shown(cmd, text, err); err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

// shown writes one look of many: over the one before on a terminal, after it elsewhere. A hub that does not answer may
// answer again.
func (f *statusFlags) shown(cmd *cobra.Command, text *bytes.Buffer, failed error) error {
	out := cmd.OutOrStdout()
	if !onScreen(out) {
		if failed != nil {
			_, err := fmt.Fprintln(cmd.ErrOrStderr(), "error: "+failed.Error())
			return err
		}
		_, err := fmt.Fprintf(out, "%s\n", text)
		return err
	}
	if failed != nil {
		text = bytes.NewBufferString("error: " + failed.Error() + "\n")
	}
	// Home, and what is behind the text is cleared: less flicker than clearing first.
	_, err := fmt.Fprintf(out, "\x1b[H%s\x1b[J", bytes.ReplaceAll(text.Bytes(), []byte("\n"), []byte("\x1b[K\n")))
	return err
}

// onScreen tells whether somebody looks at what is written there.
func onScreen(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (f *statusFlags) show(ctx context.Context, hub client.Client, scope overview.Scope) (*bytes.Buffer, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	if f.site {
		return f.showSite(ctx, hub, scope)
	}
	snapshot, err := overview.Read(ctx, hub, scope)
	switch {
	case overview.NotTheHub(err):
		return f.showSite(ctx, hub, scope)
	case cli.Silent(err):
		return nil, fmt.Errorf("%w; if the hub is away, name in --context any site that answers", err)
	case err != nil:
		return nil, err
	}
	var text bytes.Buffer
	if f.output == "text" && snapshot.Nothing() {
		where := "in any namespace"
		if scope.Namespace != "" {
			where = "in namespace " + scope.Namespace
		}
		fmt.Fprintf(&text, "nothing is declared %s\n", where)
	}
	if f.output == "json" {
		return &text, writeJSON(&text, snapshot)
	}
	snapshot.WriteStatus(&text, time.Now())
	return &text, nil
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
