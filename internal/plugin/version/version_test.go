// SPDX-License-Identifier: Apache-2.0

package version

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/terminal"
)

func podOf(server, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-0",
			Labels: map[string]string{v1alpha1.LabelServer: server}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: sqlserver.ContainerEngine, Image: "mssql:1"}, {Name: sqlserver.ContainerAgent, Image: image}}},
	}
}

func serverOf(name, version string) *v1alpha1.SQLServer {
	return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Status: v1alpha1.SQLServerStatus{Version: version}}
}

// Agents of two images are both shown: that is what somebody looks for after an upgrade.
func TestVersionsInACluster(t *testing.T) {
	g := NewWithT(t)
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: sites.OperatorNamespace, Name: "geosql-operator"}}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "geosql:2"}}
	hub := terminal.Hub(manager, podOf("tukpub", "geosql:2"), podOf("quisec", "geosql:1"), podOf("dubsub", "geosql:2"),
		serverOf("tukpub", "16.0.4135.4"), serverOf("quisec", "16.0.4135.4"), serverOf("dubsub", "")).Build()
	g.Expect(operator(t.Context(), hub, sites.OperatorNamespace)).To(Equal("geosql-operator geosql:2"))
	g.Expect(agents(t.Context(), hub, "web")).To(Equal("geosql:1 (1), geosql:2 (2)"))
	g.Expect(engines(t.Context(), hub, "")).To(Equal("16.0.4135.4 (2), not known (1)"))

	_, err := operator(t.Context(), hub, "elsewhere")
	g.Expect(err).To(MatchError(ContainSubstring("namespace elsewhere has none of the Deployments geosql-operator")))
	g.Expect(agents(t.Context(), hub, "elsewhere")).To(Equal("no agents here"))
	g.Expect(engines(t.Context(), hub, "elsewhere")).To(Equal("no servers"))
}

func TestVersionOfKubernetes(t *testing.T) {
	g := NewWithT(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Expect(r.URL.Path).To(Equal("/version"))
		_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.1"}`))
	}))
	defer api.Close()
	g.Expect(kubernetes(&rest.Config{Host: api.URL})).To(Equal("v1.36.1"))
}

// The plugin's own version needs no cluster, and is shown also when none is reached.
func TestVersionWithoutACluster(t *testing.T) {
	g := NewWithT(t)
	text, err := terminal.Run(t, NewCommand(), "", "--client", "--kubeconfig", "absent")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(MatchRegexp(`(?m)^plugin +dev$`), ContainSubstring("Kubernetes 1.31 or later; SQL Server 2022")))
	g.Expect(text).NotTo(ContainSubstring("not known"))

	text, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", "absent")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(MatchRegexp(`(?m)^plugin +dev$`), MatchRegexp(`(?m)^cluster +not known: .*absent`)))

	away := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(away, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"x",
		"contexts":[{"name":"x","context":{"cluster":"c"}}],
		"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}]}`), 0o600)).To(Succeed())
	text, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", away)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(MatchRegexp(`(?m)^plugin +dev$`), MatchRegexp(`(?m)^Kubernetes +not known: .*127\.0\.0\.1:1`)))
	g.Expect(text).NotTo(ContainSubstring("engines"), "a cluster that is silent is asked once")
}
