// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/e2e/bed"
)

// readSite returns a Site of the hub and its condition Ready as text.
func readSite(ctx context.Context, b *bed.Bed, name string) (*v1alpha1.Site, string, error) {
	site := &v1alpha1.Site{}
	if err := b.Hub().Client.Get(ctx, client.ObjectKey{Name: name}, site); err != nil {
		return nil, "", err
	}
	c := meta.FindStatusCondition(site.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return site, "", nil
	}
	return site, fmt.Sprintf("%s %s", c.Status, c.Reason), nil
}

const (
	answering   = string(metav1.ConditionTrue) + " " + v1alpha1.ReasonSiteReady
	unreachable = string(metav1.ConditionUnknown) + " " + v1alpha1.ReasonSiteUnreachable
)

func waitForSite(t *testing.T, b *bed.Bed, name, state string, timeout time.Duration) *v1alpha1.Site {
	t.Helper()
	var site *v1alpha1.Site
	bed.Wait(t, fmt.Sprintf("Site %s is %s", name, state), timeout, func(ctx context.Context) (bool, string, error) {
		var text string
		var err error
		site, text, err = readSite(ctx, b, name)
		return text == state, text, err
	})
	return site
}

// The hub reaches every site over the WAN and says what it sees there: round trip, clusters, storage.
func TestSitesAnswer(t *testing.T) {
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	clusters := map[string]bool{}
	for _, s := range b.Sites {
		site := waitForSite(t, b, s.Name, answering, time.Minute)
		clusters[site.Status.ClusterUID] = true
		bed.Wait(t, fmt.Sprintf("the heartbeat of %s is confirmed", s.Name), time.Minute,
			func(ctx context.Context) (bool, string, error) {
				statuses, err := confirmed.Read(ctx, b.Hub().Client, sites.OperatorNamespace)
				if err != nil {
					return false, "", err
				}
				now, _, err := readSite(ctx, b, s.Name)
				if err != nil {
					return false, "", err
				}
				beat := statuses.Site(now).Status.LastHeartbeat
				return time.Since(beat.Time) < 25*time.Second, fmt.Sprintf("it was at %s", beat), nil
			})
		if s.Name != "dublin" {
			asked := roundTrip("dublin", s.Name)
			// The API server's own time comes on top, and more of it in a heartbeat of a busy moment.
			bed.Wait(
				t,
				fmt.Sprintf("a heartbeat of %s takes about %.0f ms", s.Name, asked),
				time.Minute,
				func(ctx context.Context) (bool, string, error) {
					now, _, err := readSite(ctx, b, s.Name)
					if err != nil || now.Status.RoundTrip == nil {
						return false, "no round trip is known", err
					}
					measured := float64(now.Status.RoundTrip.Duration) / float64(time.Millisecond)
					return measured >= asked*0.9 && measured < asked*1.1+60, fmt.Sprintf("%.1f ms", measured), nil
				},
			)
			g.Expect(site.Status.CredentialsExpire).NotTo(BeNil())
		}
	}
	g.Expect(clusters).To(HaveLen(3))
	tukwila, _, err := readSite(t.Context(), b, "tukwila")
	g.Expect(err).NotTo(HaveOccurred())
	nodes := map[string][]string{}
	for _, c := range tukwila.Status.StorageClasses {
		nodes[c.Name] = c.Nodes
	}
	g.Expect(nodes).To(HaveKeyWithValue("fast", []string{"tukwila-worker"}))
	g.Expect(nodes).To(HaveKeyWithValue("capacity", []string{"tukwila-worker", "tukwila-worker2"}))
	g.Expect(nodes).To(HaveKeyWithValue("archive", []string{"tukwila-worker2"}))
}

// The site of a group's primary is cut off from both others. The primary has stopped acknowledging before anybody could
// take its place, and comes back by itself, with every acknowledged row. Meanwhile the names of the other sites go on
// following their pods, and the manager takes new credentials of another site without a restart; when the cut heals the
// site answers again.
func TestSiteIsCutOff(t *testing.T) {
	turn := groupA.Disturbs(t, 6, 90)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	gt.policy(v1alpha1.FailoverManual) // nobody else may take its place
	turn.Alone()
	b.ResetWan(t)
	gt.backAt("tukwila")
	server := gt.servers["quincy"]
	bed.Wait(t, "the server's name leads to it", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
		c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNamesReady)
		if err != nil || c == nil {
			return false, "", err
		}
		return c.Status == metav1.ConditionTrue, c.Message, nil
	})
	db := gt.through(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(db)
	manager := managerPod(t, b)
	gt.cutOff(w, func() { gt.restOfTheSites(manager) })
	w.end()
	w.verify(t, db)
	quincy := connectorFrom(t, b, shellAt(t, b.Site("quincy"), namespace))
	w.verify(t, open(t, quincy, gt.servers["quincy"], credentials.RoleSA, "Content"))

	began := time.Now()
	waitForSite(t, b, "tukwila", answering, time.Minute)
	t.Logf("the site answered %.1f s after the group was synchronized again", time.Since(began).Seconds())
	g.Expect(managerPod(t, b)).To(Equal(manager), "the manager was not restarted")
}

// restOfTheSites looks what the others are worth while Tukwila is cut off: the names of Quincy's servers follow, and
// the manager takes Quincy's new credentials.
func (gt *groupTest) restOfTheSites(manager string) {
	t, b, server := gt.t, gt.b, gt.servers["quincy"]
	t.Helper()
	g := NewWithT(t)
	waitForSite(t, b, "tukwila", unreachable, time.Minute)
	old, err := podOf(t.Context(), b.Site("quincy"), server)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.Site("quincy").Client.Delete(t.Context(), old)).To(Succeed())
	delay := followed(t, b, server, old, "dublin")
	t.Logf("the name led to the new pod at Dublin %.1f s after it had an address", delay.Seconds())
	g.Expect(delay).To(BeNumerically("<", 5*time.Second))

	before, _, err := readSite(t.Context(), b, "quincy")
	g.Expect(err).NotTo(HaveOccurred())
	rejoin(t, b, "quincy")
	bed.Wait(t, "the manager uses quincy's new credentials", time.Minute, func(ctx context.Context) (bool, string, error) {
		site, text, err := readSite(ctx, b, "quincy")
		if err != nil {
			return false, "", err
		}
		renewed := site.Status.CredentialsExpire != nil &&
			before.Status.CredentialsExpire.Before(site.Status.CredentialsExpire)
		return renewed && text == answering, text, nil
	})
	g.Expect(managerPod(t, b)).To(Equal(manager), "the manager was not restarted")
}

// managerPod identifies the manager's container and its restarts.
func managerPod(t *testing.T, b *bed.Bed) string {
	t.Helper()
	var pods corev1.PodList
	err := b.Hub().Client.List(
		t.Context(),
		&pods,
		client.InNamespace(sites.OperatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": "geosql-operator"},
	)
	if err != nil || len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
		t.Fatalf("one running manager is needed: %d pods, error %v", len(pods.Items), err)
	}
	return pods.Items[0].Status.ContainerStatuses[0].ContainerID
}

// followed waits for the pod that replaces old and returns how long after it had an address the name at another site
// led there.
func followed(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, old *corev1.Pod, at string) time.Duration {
	t.Helper()
	home := b.Site(string(server.Spec.Site))
	var addressed, led time.Time
	bed.Wait(t, "the name leads to the new pod", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		pod, err := podOf(ctx, home, server)
		if client.IgnoreNotFound(err) != nil {
			return false, "", err
		}
		if err != nil || pod.UID == old.UID || pod.Status.PodIP == "" {
			return false, "the new pod has no address yet", nil
		}
		if addressed.IsZero() {
			addressed = time.Now()
		}
		var list discoveryv1.EndpointSliceList
		if err := b.Site(at).Client.List(ctx, &list, client.InNamespace(namespace),
			client.MatchingLabels{discoveryv1.LabelServiceName: server.Name + "-0"}); err != nil {
			return false, "", err
		}
		there := slices.ContainsFunc(list.Items, func(s discoveryv1.EndpointSlice) bool {
			return slices.ContainsFunc(
				s.Endpoints,
				func(e discoveryv1.Endpoint) bool { return slices.Contains(e.Addresses, pod.Status.PodIP) },
			)
		})
		led = time.Now()
		return there, "address " + pod.Status.PodIP, nil
	})
	return led.Sub(addressed)
}

// rejoin runs the plugin as a person does to renew credentials, with further flags.
func rejoin(t *testing.T, b *bed.Bed, site string, flags ...string) {
	t.Helper()
	if output, err := tryRejoin(t, b, site, flags...); err != nil {
		t.Fatalf("kubectl geosql site join %s: %v\n%s", site, err, output)
	}
}

func tryRejoin(t *testing.T, b *bed.Bed, site string, flags ...string) (string, error) {
	t.Helper()
	plugin := filepath.Join(b.Cache, "bin-project", "kubectl-geosql")
	// A test that has failed puts the site right when its own context is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, plugin, append([]string{"site", "join", site,
		"--kubeconfig", b.Site(site).Kubeconfig, "--context", "kind-" + site, "--hub-context", "kind-" + b.Hub().Name,
		"--kubeconfig-server", "https://" + b.Site(site).Address + ":6443"}, flags...)...).CombinedOutput()
	return string(output), err
}
