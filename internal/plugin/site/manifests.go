// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/sites/join"
)

// What --of takes.
const (
	ofHub  = "hub"
	ofSite = "site"
)

func (f *siteFlags) addOutput(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", "", "with --dry-run, yaml: the objects that would be applied")
	flags.StringVar(&f.of, "of", "", "with -o yaml, hub or site: the objects of that cluster alone")
}

// checkOutput refuses what -o cannot show.
func (f *siteFlags) checkOutput() error {
	switch {
	case f.output == "" && f.of == "":
		return nil
	case f.output == "":
		return errors.New("--of chooses among the objects that -o yaml shows: say --dry-run -o yaml, too")
	case f.output != "yaml":
		return fmt.Errorf("%q is no output: use yaml", f.output)
	case !f.dryRun:
		return errors.New("-o yaml shows what would be applied: say --dry-run, too")
	case f.of != "" && f.of != ofHub && f.of != ofSite:
		return fmt.Errorf("%q is no cluster of --of: use %s or %s", f.of, ofHub, ofSite)
	case f.takeOver:
		// The claims are Leases that the two hubs write: a repository would claim the site again with every sync.
		return errors.New("--take-over changes what no repository keeps: run it without -o, and then -o yaml without it")
	}
	return nil
}

// printManifests prints what would be applied, once all of it is known; what is said besides goes to standard error.
func (f *siteFlags) printManifests(cmd *cobra.Command, r join.Request) error {
	m := &manifests{site: r.Name, of: f.of, alone: r.Member == nil}
	r.Out, r.Declare = cmd.ErrOrStderr(), m.add
	if _, err := join.Join(cmd.Context(), r); err != nil {
		return err
	}
	if err := m.write(cmd.OutOrStdout()); err != nil {
		return err
	}
	m.note(r.OperatorNamespace)
	fmt.Fprintf(cmd.ErrOrStderr(), "nothing was done: --dry-run; namespaces that must be there: %s\n",
		strings.Join(m.namespaces, ", "))
	if r.Member != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "Secret %s/%s in the hub, with the credentials, is made by `site join` without "+
			"--dry-run\n", r.OperatorNamespace, r.Name)
	}
	return nil
}

// manifests are objects as a repository has them.
type manifests struct {
	// site by its name, and of which cluster objects are shown; empty for both.
	site, of string
	// alone tells that the site is the hub, so that there is one cluster.
	alone bool
	out   bytes.Buffer
	// namespaces in which the objects are, sorted, each once.
	namespaces []string
}

func (m *manifests) add(one join.Manifest) error {
	if !m.alone && (m.of == ofHub && !one.Hub || m.of == ofSite && one.Hub) {
		return nil
	}
	text, err := yaml.Marshal(one.Object.Object)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", one.Object.GetKind(), one.Object.GetName(), err)
	}
	where := "at site " + m.site
	if one.Hub {
		where = "in the hub"
	}
	fmt.Fprintf(&m.out, "---\n# %s\n%s", where, text)
	if ns := one.Object.GetNamespace(); ns != "" {
		m.note(ns)
	}
	return nil
}

// note notes a namespace once.
func (m *manifests) note(namespace string) {
	if at, found := slices.BinarySearch(m.namespaces, namespace); !found {
		m.namespaces = slices.Insert(m.namespaces, at, namespace)
	}
}

func (m *manifests) write(out io.Writer) error {
	if _, err := m.out.WriteTo(out); err != nil {
		return fmt.Errorf("print the objects: %w", err)
	}
	return nil
}
