// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/terminal"
)

func server(name string) *v1alpha1.SQLServer {
	return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
}

// Servers are asked for together, or none is: the turns are theirs. Each command asks anew.
func TestServersAreAskedToRestart(t *testing.T) {
	g := NewWithT(t)
	held, of := server("held"), server("of")
	held.Spec.Suspend = true
	of.Labels = map[string]string{v1alpha1.LabelTopology: "msdn"}
	topology := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "msdn"}}
	topology.Spec.Suspend = true
	leaving := server("leaving")
	leaving.Finalizers = []string{v1alpha1.Finalizer}
	leaving.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	hub := terminal.Hub(server("tukpub"), server("quisec"), held, of, topology, leaving).Build()
	asked := func(name string) string {
		var s v1alpha1.SQLServer
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: name}, &s)).To(Succeed())
		return s.Annotations[v1alpha1.RestartAnnotation]
	}
	restart := func(names ...string) (string, error) {
		var out bytes.Buffer
		cmd := NewCommand()
		cmd.SetOut(&out)
		cmd.SetContext(t.Context())
		err := run(cmd, hub, "web", names, v1alpha1.RestartAnnotation)
		return out.String(), err
	}
	for name, why := range map[string]string{"none": "not found", "held": "spec.suspend is true",
		"of": "spec.suspend of Topology msdn is true", "leaving": "is being deleted"} {
		_, err := restart("tukpub", name)
		g.Expect(err).To(MatchError(And(ContainSubstring("refused, nothing was changed"), ContainSubstring(why))))
		g.Expect(asked("tukpub")).To(BeEmpty())
	}
	out, err := restart("tukpub", "quisec")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("sqlserver.geosql.dev/tukpub: a restart is asked for\n" +
		"sqlserver.geosql.dev/quisec: a restart is asked for\n"))
	first := asked("tukpub")
	g.Expect(first).NotTo(BeEmpty())
	g.Expect(asked("quisec")).To(Equal(first))
	_, err = restart("tukpub")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked("tukpub")).NotTo(Equal(first))
}

// An update is asked for in the same way, and says of which image.
func TestServersAreAskedToUpdate(t *testing.T) {
	g := NewWithT(t)
	declares := server("tukpub")
	declares.Spec.Image = "m.example/mssql:2022-CU25"
	hub := terminal.Hub(declares).Build()
	var out bytes.Buffer
	cmd := NewUpdateCommand()
	cmd.SetOut(&out)
	cmd.SetContext(t.Context())
	g.Expect(run(cmd, hub, "web", []string{"tukpub"}, v1alpha1.UpdateAnnotation)).To(Succeed())
	g.Expect(out.String()).To(
		Equal("sqlserver.geosql.dev/tukpub: an update to m.example/mssql:2022-CU25 is asked for\n"))
	var s v1alpha1.SQLServer
	g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "tukpub"}, &s)).To(Succeed())
	g.Expect(s.Annotations[v1alpha1.UpdateAnnotation]).NotTo(BeEmpty())
	g.Expect(s.Annotations).NotTo(HaveKey(v1alpha1.RestartAnnotation))
}
