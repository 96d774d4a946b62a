// SPDX-License-Identifier: Apache-2.0

//go:build integration

package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/terminal"
)

const siteToken = "a-token-of-the-site-tukwila"

// siteAlone is the API server of a site as hub, kubelet and agents left it: told of two servers and two groups, with a
// pod and the vote of one group, which quisec holds in term 7.
func siteAlone(t *testing.T) *apiserver.Server {
	t.Helper()
	g := NewWithT(t)
	site := apiserver.StartMember(t)
	site.Namespace(t, "web")
	keys, err := orders.Names{
		Servers: []orders.NamedServer{{Name: "tukpub", Site: "tukwila"}, {Name: "quisec", Site: "quincy"}},
		Groups: []orders.NamedGroup{
			{
				Name:     "content",
				Listener: "content",
				Port:     1433,
				Voters:   []string{"tukwila", "quincy", "dublin"},
				Primary:  "tukpub",
			},
			{Name: "elsewhere", Listener: "elsewhere", Port: 1433, Voters: []string{"quincy"}},
		},
	}.Keys()
	g.Expect(err).NotTo(HaveOccurred())
	names, err := orders.NamesData(keys)
	g.Expect(err).NotTo(HaveOccurred())
	labels := map[string]string(sites.OwnLabels())
	meta := func(name string, more map[string]string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: "web", Name: name, Labels: map[string]string{}}
		for _, l := range []map[string]string{labels, more} {
			for k, v := range l {
				m.Labels[k] = v
			}
		}
		return m
	}
	pod := &corev1.Pod{
		ObjectMeta: meta("tukpub-0", map[string]string{v1alpha1.LabelServer: "tukpub"}),
		Spec: corev1.PodSpec{
			NodeName: "worker", ServiceAccountName: "default", AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{Name: "mssql", Image: "mssql:1"}, {Name: "agent", Image: "geosql:1"}}},
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta(orders.NamesObject, nil), Data: names},
		&corev1.Secret{ObjectMeta: meta(credentials.ReaderName, nil),
			Data: map[string][]byte{"token": []byte(siteToken), "ca.crt": []byte("ca")}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "default"}}, pod,
		&discoveryv1.EndpointSlice{ObjectMeta: meta("content-1", map[string]string{discoveryv1.LabelServiceName: "content"}),
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.2.0.9"}}}},
		votes.NewLease("web", "content", "tukpub-0", votes.Configuration{}),
	} {
		g.Expect(client.IgnoreAlreadyExists(site.Client.Create(t.Context(), object))).To(Succeed())
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	g.Expect(site.Client.Status().Update(t.Context(), pod)).To(Succeed())
	kube, err := kubernetes.NewForConfig(site.Config)
	g.Expect(err).NotTo(HaveOccurred())
	voter := votes.NewLeaseVoter("tukwila", kube.CoordinationV1().Leases("web"), "content")
	record, version, err := voter.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	record.Term, record.State, record.Holder = 7, votes.StateHeld, votes.Holder{
		Server: "quisec-0",
		PodUID: "pod",
		Engine: "engine",
		Nonce:  "n",
	}
	_, err = voter.Swap(t.Context(), version, record)
	g.Expect(err).NotTo(HaveOccurred())
	return site
}

// agentAnswers is the agent of tukpub-0, which does not see Dublin's vote.
func agentAnswers(_ context.Context, namespace, pod, token string, ca []byte) ([]byte, error) {
	if namespace != "web" || pod != "tukpub-0" || token != siteToken || string(ca) != "ca" {
		return nil, errors.New("asked for something else")
	}
	return []byte(
		`{"serverName":"tukpub-0","engine":"Ready","roles":{"content":"SECONDARY"},"parts":{"mirrors":[],"election":{"content":{"role":"SECONDARY",
		"votes":{"tukwila":"quisec-0 7 Held","quincy":"quisec-0 7 Held","dublin":""},"error":"voter dublin: i/o timeout"}}}}`,
	), nil
}

// A site whose hub is away shows what it knows, and says that it is no more than that.
func TestStatusAtASite(t *testing.T) {
	g := NewWithT(t)
	site := siteAlone(t)
	at := []string{"--kubeconfig", site.KubeconfigFile(t), "-n", "web"}
	text, err := terminal.Run(t, (&statusFlags{ask: agentAnswers}).command(), "", at...)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix("Site tukwila, namespace web: a site's view\n"))
	for _, want := range []string{
		"the hub was not asked", "One vote decides nothing", "nothing here says that geosql site keeps the names",
		"quisec-0 (quincy)", "when the hub last told this site, the primary was tukpub-0", "leads here to 10.2.0.9",
		"voters tukwila, quincy, dublin",
		"vote here: Held in term 7 by quisec-0, written ", "no vote here: there is no Lease geosql-elsewhere",
		"tukpub-0: SECONDARY, last error: voter dublin: i/o timeout",
		"of the other sites' votes nothing is known",
	} {
		g.Expect(oneLine(text)).To(ContainSubstring(want))
	}
	g.Expect(text).To(MatchRegexp(`(?m)^  tukpub-0 +Running +yes +worker +Ready +content SECONDARY$`))
	g.Expect(text).
		To(And(MatchRegexp(`(?m)^  quincy +quisec-0 7 Held$`), MatchRegexp(`(?m)^  dublin +\?$`)),
			"a vote that is not seen is not known")
	g.Expect(text).To(MatchRegexp(`(?s)\nAvailability group content\n.*\nServers here\n`), "the groups come first")
	g.Expect(text).NotTo(ContainSubstring(siteToken))

	t.Run("as JSON", func(t *testing.T) {
		g := NewWithT(t)
		text, err := terminal.Run(
			t,
			(&statusFlags{ask: agentAnswers}).command(),
			"",
			append([]string{"-o", "json"}, at...)...)
		g.Expect(err).NotTo(HaveOccurred())
		var view overview.SiteView
		g.Expect(json.Unmarshal([]byte(text), &view)).To(Succeed())
		g.Expect(view.Groups[0].Vote).
			To(And(HaveField("Term", int64(7)), HaveField("State", "Held"), HaveField("Server", "quisec-0"),
				HaveField("Renewed", HaveValue(BeTemporally("~", time.Now(), time.Minute)))))
		g.Expect(view.Servers[0].Agent.Parts.Election["content"].Votes).To(HaveKeyWithValue("dublin", ""))
	})
	t.Run("when the agents are not heard", func(t *testing.T) {
		g := NewWithT(t)
		// No kubelet runs here through which they could be asked.
		text, err := terminal.Run(t, NewCommand(), "", at...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(oneLine(text)).
			To(And(ContainSubstring("tukpub-0: its agent was not heard: "), ContainSubstring("vote here: Held in term 7")))
		g.Expect(text).To(MatchRegexp(`(?m)^  tukpub-0 +Running +yes +worker +\? +\?$`))
	})
	t.Run("by somebody who may not read all of it", func(t *testing.T) {
		g := NewWithT(t)
		may := reader(t, site, "configmaps", "leases")
		text, err := terminal.Run(t, NewCommand(), "", "--kubeconfig", may, "-n", "web")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(oneLine(text)).
			To(And(ContainSubstring("Could not be read"), ContainSubstring("pods: "), ContainSubstring("leads here to ?"),
				ContainSubstring("vote here: Held in term 7")))
		_, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", reader(t, site), "-n", "web")
		g.Expect(err).To(MatchError(ContainSubstring("forbidden")))
	})
	t.Run("what it cannot show it refuses", func(t *testing.T) {
		g := NewWithT(t)
		_, err := terminal.Run(t, NewCommand(), "", append([]string{"msdn"}, at...)...)
		g.Expect(err).To(MatchError(ContainSubstring("a site knows no Topologies")))
		_, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", site.KubeconfigFile(t), "-A")
		g.Expect(err).To(MatchError(ContainSubstring("say -n NAMESPACE")))
		site.Namespace(t, "empty")
		_, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", site.KubeconfigFile(t), "-n", "empty")
		g.Expect(err).
			To(MatchError(And(ContainSubstring("not the hub"),
				ContainSubstring("no servers, no votes and no ConfigMap geosql-names"))))
		away := filepath.Join(t.TempDir(), "kubeconfig")
		g.Expect(os.WriteFile(away, apiserver.Kubeconfig(&rest.Config{Host: "https://127.0.0.1:1"}), 0o600)).To(Succeed())
		_, err = terminal.Run(t, NewCommand(), "", "--kubeconfig", away, "-n", "web")
		g.Expect(err).To(MatchError(ContainSubstring("name in --context any site that answers")))
		site.Wire.Cut()
		began := time.Now()
		_, err = terminal.Run(t, NewCommand(), "", at...)
		g.Expect(err).
			To(MatchError(ContainSubstring("name in --context any site that answers")), "where nothing is heard at all")
		g.Expect(time.Since(began)).To(BeNumerically("<", 2*cli.ReadTimeout))
	})
}

// reader is the kubeconfig of somebody who may get and list these resources of namespace web, and nothing else.
func reader(t *testing.T, site *apiserver.Server, resources ...string) string {
	t.Helper()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("reader-%d", len(resources))}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	for _, object := range []client.Object{account,
		&rbacv1.Role{ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"", "coordination.k8s.io"}, Resources: append(resources, "none"),
				Verbs: []string{"get", "list"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "web", Name: meta.Name}}},
	} {
		g.Expect(site.Client.Create(t.Context(), object)).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(site.Client.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	config := rest.AnonymousClientConfig(site.Config)
	config.BearerToken = token.Status.Token
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, apiserver.Kubeconfig(config), 0o600)).To(Succeed())
	return file
}

// oneLine is a text as if it had not been wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
