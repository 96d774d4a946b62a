// SPDX-License-Identifier: Apache-2.0

//go:build integration

package check

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/internal/sites/reach"
	"geosql.dev/operator/test/support/apiserver"
)

// starts has the pods of probes run, as a kubelet would, until the test is over.
func starts(t *testing.T, at join.Cluster, address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- every(ctx, cli.PollEvery, func() (bool, error) {
			var pods corev1.PodList
			if err := at.Client.List(ctx, &pods, client.HasLabels{labelProbe}); err != nil {
				return false, nil // the test tells of an API server that does not answer
			}
			for i := range pods.Items {
				if p := &pods.Items[i]; p.Status.Phase != corev1.PodRunning {
					p.Status.Phase, p.Status.PodIP, p.Status.HostIP = corev1.PodRunning, address, "192.0.2.7"
					p.Status.PodIPs = []corev1.PodIP{{IP: address}}
					p.Status.HostIPs = []corev1.HostIP{{IP: "192.0.2.7"}}
					_ = at.Client.Status().Update(ctx, p) // it may be gone
				}
			}
			return false, nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		NewWithT(t).Expect(<-ended).To(MatchError(context.Canceled))
	})
}

// answersAll is a pod's program that finds all well.
func answersAll(_ context.Context, _ *rest.Config, _, _ string, command ...string) ([]byte, error) {
	a := wellAt("192.0.2.9")
	a.Connect, a.Ports = nil, nil
	for _, argument := range command {
		if to, is := strings.CutPrefix(argument, "--to="); is {
			a.Ports = append(a.Ports, reach.Port{To: to})
		}
		if to, is := strings.CutPrefix(argument, "--connect="); is {
			a.Connect = append(a.Connect, reach.Port{To: to})
		}
	}
	return json.Marshal(a)
}

// API servers take what a probe makes, in namespaces of the restricted profile, with either exposure; what they refuse
// is told, and nothing stays, whatever happened.
func TestAProbeAtAPIServers(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	hub, member := apiserver.StartHub(t), apiserver.StartMember(t)
	inHub := join.Cluster{Config: hub.Config, Client: hub.Client}
	at := join.Cluster{Config: member.Config, Client: member.Client}
	starts(t, inHub, "10.103.0.5")
	starts(t, at, "10.102.0.5")
	for _, c := range []join.Cluster{inHub, at} {
		g.Expect(c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web",
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})).To(Succeed())
		g.Expect(c.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web",
			Name: "default"}})).To(Or(Succeed(), MatchError(ContainSubstring("already exists"))))
	}
	_, err := join.Join(ctx, join.Request{Name: "dublin", Hub: inHub, Server: "https://dublin.example:6443",
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.103.0.0/16"}},
		Out:  io.Discard})
	g.Expect(err).NotTo(HaveOccurred())
	r := Request{Hub: inHub, Member: &at, Names: []string{"quincy"}, OperatorNamespace: sites.OperatorNamespace,
		Said:  v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"}},
		Probe: &Probe{Image: "registry.example/geosql:1", run: answersAll}}

	for _, exposure := range []v1alpha1.ExposureType{v1alpha1.ExposureFlatNetwork, v1alpha1.ExposureNodePort} {
		r.Said.Exposure.Type = exposure
		found := probes(t, r)
		g.Expect(bad(found)).To(BeEmpty())
		g.Expect(found).To(ContainElement(And(HaveField("Cluster", "dublin"), HaveField("Check", "reach"))))
		g.Expect(append(remains(t, inHub), remains(t, at)...)).To(BeEmpty())
	}

	r.Probe.run = func(context.Context, *rest.Config, string, string, ...string) ([]byte, error) {
		return nil, errors.New("the stream broke")
	}
	g.Expect(bad(probes(t, r))).To(ContainElement(HaveField("Says", ContainSubstring("the stream broke"))))
	g.Expect(append(remains(t, inHub), remains(t, at)...)).To(BeEmpty())

	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: none}}
	g.Expect(at.Client.Create(ctx, quota)).To(Succeed())
	// No controller counts here what is used.
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	g.Expect(at.Client.Status().Update(ctx, quota)).To(Succeed())
	g.Eventually(func() []Finding { return bad(probes(t, r)) }).WithTimeout(30 * time.Second).Should(ContainElement(And(
		HaveField("Cluster", "quincy"), HaveField("Check", "probe"), HaveField("Level", Unknown), HaveField("Says",
			MatchRegexp("quota|limited")))))
	g.Expect(append(remains(t, inHub), remains(t, at)...)).To(BeEmpty())
}
