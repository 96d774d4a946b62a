// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/internal/topology"
	"geosql.dev/operator/test/support/terminal"
)

const examples = "../../../examples/"

// world is a hub in which the example has been applied and expanded.
func world(t *testing.T) client.Client {
	t.Helper()
	g := NewWithT(t)
	text, err := terminal.Run(t, NewGraphCommand(), "", "-f", examples+"msdn.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix("flowchart"))
	snapshot, err := cli.DecodeFiles(NewGraphCommand(), []string{examples + "msdn.yaml"})
	g.Expect(err).NotTo(HaveOccurred())
	declared := &snapshot.Topologies[0]
	objects, err := topology.Expand(declared)
	g.Expect(err).NotTo(HaveOccurred())
	return terminal.Hub(append(objects.All(), declared)...).Build()
}

func TestStatusCommand(t *testing.T) {
	g := NewWithT(t)
	hub := world(t)
	f := &statusFlags{output: "text"}
	command := NewCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetContext(t.Context())
	g.Expect(f.run(command, hub, overview.Scope{Namespace: "web", Topology: "msdn"})).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("tukpub-0  tukwila  Unknown  NotObserved"))

	out.Reset()
	f.output = "json"
	g.Expect(f.run(command, hub, overview.Scope{})).To(Succeed())
	g.Expect(out.String()).To(MatchJSON(out.String()))
	g.Expect(out.String()).To(ContainSubstring(`"availabilityGroups"`))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command.SetContext(ctx)
	screens := 0
	command.SetOut(writes(func(p []byte) {
		g.Expect(string(p)).NotTo(ContainSubstring("\x1b"), "nobody's terminal")
		if screens += strings.Count(string(p), "Topology web/msdn"); screens > 1 {
			cancel()
		}
	}))
	f.watch, f.every, f.output = true, 10*time.Millisecond, "text"
	g.Expect(f.run(command, hub, overview.Scope{})).To(Succeed())
	g.Expect(screens).To(BeNumerically(">", 1))

	command.SetOut(&out)
	forbidden := terminal.Hub().
		WithInterceptorFuncs(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
			...client.ListOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "sites"}, "", errors.New("no"))
		}}).
		Build()
	g.Expect(f.run(command, forbidden, overview.Scope{})).
		To(MatchError(ContainSubstring("forbidden")), "it is not said again and again")

	out.Reset()
	f.watch = false
	command.SetContext(t.Context())
	g.Expect(f.run(command, hub, overview.Scope{Namespace: "nowhere"})).To(Succeed())
	g.Expect(out.String()).To(HavePrefix("nothing is declared in namespace nowhere\n"))

	_, err := terminal.Run(t, NewCommand(), "", "-o", "yaml")
	g.Expect(err).To(MatchError(`output "yaml" is not known: text and json are`))
	_, err = terminal.Run(t, NewCommand(), "", "--watch", "--every", "0s")
	g.Expect(err).To(MatchError("--every must be at least 100ms"))
	_, err = terminal.Run(t, NewCommand(), "", "sqlserver/nw1")
	g.Expect(err).To(MatchError(ContainSubstring(`"sqlserver/nw1" is no Topology`)))
}

// Who has rights in a namespace alone may not list Sites: all else is shown.
func TestStatusWithoutSites(t *testing.T) {
	g := NewWithT(t)
	hub := interceptor.NewClient(world(t).(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context,
		hub client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, sites := list.(*v1alpha1.SiteList); sites {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "sites"}, "", errors.New("no"))
		}
		return hub.List(ctx, list, opts...)
	}})
	command := NewCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetContext(t.Context())
	f := &statusFlags{output: "text"}
	g.Expect(f.run(command, hub, overview.Scope{Namespace: "web", Topology: "msdn"})).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("tukpub-0  tukwila  Unknown  NotObserved"),
		ContainSubstring("\nSites\n  not shown: you may not list them; ClusterRole geosql-operator-sites")))

	out.Reset()
	f.output = "json"
	g.Expect(f.run(command, hub, overview.Scope{Namespace: "web"})).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring(`"sitesHidden": true`))
}

// writes is told of each write.
type writes func(p []byte)

func (w writes) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestGraphCommand(t *testing.T) {
	g := NewWithT(t)
	text, err := terminal.Run(
		t,
		NewGraphCommand(),
		"",
		"-o",
		"dot",
		"-f",
		examples+"sites.yaml",
		"-f",
		examples+"msdn.yaml",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(ContainSubstring(`"tukpub-0" -> "quisec-0" [label="content, synchronous, 4 ms", style=bold];`))
	_, err = terminal.Run(t, NewGraphCommand(), "", "msdn", "-f", "x")
	g.Expect(err).To(MatchError(ContainSubstring("not both")))
	_, err = terminal.Run(t, NewGraphCommand(), "", "-o", "svg", "-f", "x")
	g.Expect(err).To(MatchError(ContainSubstring("mermaid and dot are")))
}
