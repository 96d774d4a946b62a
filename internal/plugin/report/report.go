// SPDX-License-Identifier: Apache-2.0

// Package report has the command that packs what somebody needs who helps: objects, events, logs and elections of hub
// and sites, without secrets.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/version"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	own "geosql.dev/operator/internal/version"
)

type flags struct {
	cli.HubFlags
	contexts          cli.SiteContexts
	operatorNamespace string
	output            string
	since, timeout    time.Duration
}

// NewCommand makes `kubectl geosql report`.
func NewCommand() *cobra.Command { return newCommand(&flags{}) }

func newCommand(f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Pack what somebody needs who helps, without secrets",
		Long: `Packs into one file what the hub and the sites know of a namespace: versions; all objects of the operator's kinds
with their status; events; pods, StatefulSets, Services and the like; the Leases by which groups elect, and the records of
elections; the logs of engines, agents, sites' processes and manager. INDEX.txt says what is in it, and what is not, and
why: a site that does not answer, a right that is missing, a log that is too long.

Secrets are in it by their names and the names of their keys. Their values are taken out of everything else, in whichever
form - as they are, in base64, in connection strings - and so is what has the form of a password, a key or a token.
Values of environments are left out unless they are known to be harmless, and so is what programs that apply manifests
keep of those in annotations, but for JSON. Names of servers, databases and people stay, and so do addresses: look through
it before you give it to somebody. Whose Secrets cannot be read is in the index: then their values are taken out by their
form alone.

Rights: list on the operator's kinds in the hub; there and at the sites get and list on Secrets, events, Leases, pods and
what else is packed, in the namespace and in the operator's, and get on pods/log. When the hub is away, name a site in
--context: that site alone is packed.`,
		Example: `  kubectl geosql report -n web
  kubectl geosql report -n web --since 6h -o incident.tar.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Add(cmd)
	f.contexts.AddTo(cmd, &f.HubFlags)
	flags := cmd.Flags()
	flags.Lookup("context").Usage =
		"context of the hub, or of a site when the hub is away; the current one unless given"
	flags.StringVar(&f.operatorNamespace, "operator-namespace", sites.OperatorNamespace,
		"namespace of the operator in the hub and at the sites")
	flags.StringVarP(&f.output, "output", "o", "",
		"file to write, which must not be there, - for standard output; geosql-report-NAMESPACE-TIME.tar.gz unless given")
	flags.DurationVar(&f.since, "since", 2*time.Hour, "how far logs go back")
	flags.DurationVar(&f.timeout, "timeout", 3*time.Minute, "how long it may take; what has not come by then is left out")
	return cli.UsageIsTwo(cmd)
}

// run collects and writes.
func (f *flags) run(cmd *cobra.Command) error {
	if f.since < time.Second || f.timeout < time.Second {
		return cli.Usage(errors.New("--since and --timeout must be at least 1s"))
	}
	began := time.Now().UTC()
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	c, namespace, err := f.Open()
	if err != nil {
		return err
	}
	b := newBundle(newRedactor())
	all, isHub := f.parts(ctx, join.Cluster{Config: f.Config, Client: c}, namespace, b)
	f.collect(ctx, all, isHub)
	if cmd.Context().Err() != nil {
		return fmt.Errorf("interrupted, nothing was written: %w", context.Cause(cmd.Context()))
	}
	head := fmt.Sprintf("kubectl geosql report, plugin %s, namespace %s, begun %s, logs of the last %s\n", own.String(),
		namespace, began.Format(time.RFC3339), f.since)
	name := f.output
	if name == "" {
		name = fmt.Sprintf("geosql-report-%s-%s.tar.gz", namespace, began.Format("20060102T150405Z"))
	}
	if err := save(cmd.OutOrStdout(), name, func(w io.Writer) error { return b.write(w, head, began) }); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s is written: %d files\n", name, len(b.files))
	for _, m := range slices.Sorted(slices.Values(b.missing)) {
		fmt.Fprintln(cmd.ErrOrStderr(), "not in it: "+cli.Shown(b.redactor.clean(m)))
	}
	return nil
}

// parts are what is collected: the hub and its sites, or one site alone. Whether the context's cluster is the hub is
// told.
func (f *flags) parts(ctx context.Context, here join.Cluster, namespace string, b *bundle) ([]part, bool) {
	as := func(name string, cluster join.Cluster) part {
		return part{name: name, cluster: cluster, namespace: namespace, operator: f.operatorNamespace, since: f.since,
			bundle: b, gone: &atomic.Bool{}}
	}
	var list v1alpha1.SiteList
	reading, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	switch err := here.Client.List(reading, &list); {
	case meta.IsNoMatchError(err):
		b.lacks("hub: the context's cluster does not know the hub's kinds, and is packed as a site")
		return []part{as("site", here)}, false
	case err != nil:
		b.lacks("sites: %v", err)
	}
	all := []part{as("hub", here)}
	for _, site := range list.Items {
		if site.Spec.KubeconfigSecretRef == nil {
			continue // it is the hub
		}
		if !slices.Contains(site.Spec.AllowedNamespaces, namespace) {
			continue
		}
		cluster, _, err := f.contexts.Open(ctx, here, &site)
		if err != nil {
			b.lacks("sites/%s: %v", site.Name, err)
			continue
		}
		all = append(all, as("sites/"+site.Name, cluster))
	}
	return all, true
}

// collect asks all clusters at once. Nothing is added before all Secrets that can be read are known.
func (f *flags) collect(ctx context.Context, all []part, isHub bool) {
	secrets := make([]string, len(all))
	each(all, func(i int, p part) { secrets[i] = p.learn(ctx) })
	each(all, func(i int, p part) {
		if p.gone.Load() {
			p.bundle.lacks("%s: everything, the cluster does not answer", p.name)
			return
		}
		p.bundle.text(p.name+"/secrets.yaml", secrets[i])
		var text strings.Builder
		version.Describe(ctx, &text, p.cluster, p.namespace, p.operator)
		p.bundle.text(p.name+"/versions.txt", text.String())
		if isHub && i == 0 {
			p.declared(ctx)
		}
		p.runs(ctx)
	})
}

func each(all []part, do func(int, part)) {
	var doing sync.WaitGroup
	for i, p := range all {
		doing.Go(func() { do(i, p) })
	}
	doing.Wait()
}

// save writes a file that nobody else may read, whole or not at all.
func save(out io.Writer, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(out)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	err = errors.Join(write(file), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write the report: %w", err), os.Remove(name))
	}
	return nil
}
