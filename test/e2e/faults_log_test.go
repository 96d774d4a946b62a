// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

// logVolume is the folder of a server's log volume in its node; name is that of the PersistentVolume.
type logVolume struct{ name, node, path string }

// logVolumeOf finds the folder behind a server's claim for its log.
func logVolumeOf(t *testing.T, s *bed.Site, server *v1alpha1.SQLServer) logVolume {
	t.Helper()
	g := NewWithT(t)
	var claim corev1.PersistentVolumeClaim
	g.Expect(s.Client.Get(t.Context(), client.ObjectKey{Namespace: server.Namespace, Name: server.Name + "-log"}, &claim)).
		To(Succeed())
	var volume corev1.PersistentVolume
	g.Expect(s.Client.Get(t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)).To(Succeed())
	pod, err := podOf(t.Context(), s, server)
	g.Expect(err).NotTo(HaveOccurred())
	v := logVolume{name: volume.Name, node: pod.Spec.NodeName}
	switch source := volume.Spec.PersistentVolumeSource; {
	case source.HostPath != nil:
		v.path = source.HostPath.Path
	case source.Local != nil:
		v.path = source.Local.Path
	}
	g.Expect(v.path).NotTo(BeEmpty(), "%+v", volume.Spec)
	return v
}

// boundLogVolume puts a file system of its own, of some MiB, under a server's log volume, which is else a folder of the
// host's disk. The pod is away meanwhile: mounts below a volume that is in use would be undone with that use.
func (m *matrix) boundLogVolume(t *testing.T, site string, size int) logVolume {
	t.Helper()
	server, at := m.servers[site], m.b.Site(site)
	v := logVolumeOf(t, at, server)
	cordon := func(verb string) {
		if _, _, err := at.Kubectl(context.Background(), verb, v.node); err != nil {
			t.Fatalf("%s node %s: %v", verb, v.node, err)
		}
	}
	cordon("cordon")
	t.Cleanup(func() { cordon("uncordon") })
	if used, err := m.inUse(t.Context(), v); err != nil || !used {
		t.Fatalf("volume %s of a running pod is not seen in use in node %s: %v", v.name, v.node, err)
	}
	old := m.deletePod(site, 0)
	bed.Wait(
		t,
		"the volumes of "+server.Name+" are no longer in use",
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			used, err := m.inUse(ctx, v)
			return err == nil && !used, "still mounted", err
		},
	)
	m.b.NodeExec(
		t,
		v.node,
		"sh",
		"-ec",
		fmt.Sprintf(
			"cp -a %[1]s %[1]s.kept && mount -t tmpfs -o size=%[2]dm tmpfs %[1]s && cp -a %[1]s.kept/. %[1]s/ && rm "+
				"-rf %[1]s.kept",
			v.path,
			size,
		),
	)
	t.Cleanup(func() { m.b.NodeExec(t, v.node, "umount", "-l", v.path) })
	cordon("uncordon")
	at.NextPod(t, server.Namespace, server.Name+"-0", old, 2*time.Minute)
	waitForServer(t, m.b, server, 2*time.Minute)
	return v
}

// inUse tells whether the kubelet has the volume mounted for a pod: below its own folder, under the volume's name.
func (m *matrix) inUse(ctx context.Context, v logVolume) (bool, error) {
	mounts, err := exec.CommandContext(ctx, "docker", "exec", v.node, "cat", "/proc/mounts").Output()
	return strings.Contains(string(mounts), "/"+v.name+" "), err
}

// available is the number of free blocks of the volume.
func (m *matrix) available(ctx context.Context, v logVolume) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", "exec", v.node, "stat", "-f", "-c", "%a", v.path).Output()
	return strings.TrimSpace(string(out)), err
}

// fillLogVolume lets the primary's log volume have no room. The group stays with its primary and says why nobody can
// write.
func fillLogVolume(volumes map[string]logVolume) func(*matrix, *injected) {
	return func(m *matrix, f *injected) {
		t, v := m.groupTest.t, volumes[m.primary]
		term := m.term(t)
		began := time.Now()
		// Never more than the volume's size, and nothing at all where it is a folder of the host's disk.
		m.b.NodeExec(
			t,
			v.node,
			"sh",
			"-ec",
			fmt.Sprintf("mountpoint -q %[1]s; dd if=/dev/zero of=%[1]s/filler bs=4k count=65536 || true", v.path),
		)
		said := false
		f.proof = func(ctx context.Context) (string, error) {
			free, err := m.available(ctx, v)
			if err != nil || free != "0" {
				return "", err
			}
			c, err := m.condition(ctx, v1alpha1.ConditionLogRoom)
			if err != nil || c.Reason != v1alpha1.ReasonLogFull {
				return "", err
			}
			if !said {
				said = true
				t.Logf("said after %.1f s: %s", time.Since(began).Seconds(), c.Message)
			}
			return "no room in " + v.path + " on " + v.node, nil
		}
		f.heal = func() {
			m.expectNothingWritten(t, 5*time.Second)
			NewWithT(t).Expect(m.term(t)).To(Equal(term), "nothing fails over for a full log")
			m.b.NodeExec(t, v.node, "rm", v.path+"/filler")
			bed.Wait(t, "the log has room again", time.Minute, func(ctx context.Context) (bool, string, error) {
				c, err := m.condition(ctx, v1alpha1.ConditionLogRoom)
				return c.Status == metav1.ConditionTrue, c.Message, err
			})
		}
	}
}

// expectNothingWritten checks that no client was acknowledged a write that it sent in that last time.
func (m *matrix) expectNothingWritten(t *testing.T, recently time.Duration) {
	t.Helper()
	since := history.Instant{Monotonic: history.Now().Monotonic - int64(recently)}
	for _, site := range m.b.Sites {
		written, _, err := m.acknowledgedSince(t.Context(), site.Name, since)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(written).To(BeFalse(), "a client at %s is still acknowledged", site.Name)
	}
}

// term is the group's term, by the word of the voter in Dublin.
func (m *matrix) term(t *testing.T) int64 {
	t.Helper()
	_, r, err := m.vote(t.Context(), "dublin")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r.Term
}

// condition is a condition of the group; an empty one when there is none of the type.
func (m *matrix) condition(ctx context.Context, kind string) (metav1.Condition, error) {
	if err := m.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(m.group), m.group); err != nil {
		return metav1.Condition{}, err
	}
	if c := meta.FindStatusCondition(m.group.Status.Conditions, kind); c != nil {
		return *c, nil
	}
	return metav1.Condition{}, nil
}

// The primary's log volume is full: transactions fail, nothing that was acknowledged is lost, nothing fails over, the
// group says why, and when there is room writes go on without a restart. So it is at the other replica after a
// switchover.
func TestFullLogVolume(t *testing.T) {
	if os.Getenv(soakRounds) == "" {
		t.Skip("in make soak only: " + soakRounds + " is not set")
	}
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	volumes := map[string]logVolume{}
	gt := declareServers(t, b, "e2elog", nil)
	at := &matrix{groupTest: gt}
	for _, site := range copySites {
		waitForServer(t, b, gt.servers[site], 4*time.Minute)
		volumes[site] = at.boundLogVolume(t, site, 256)
	}
	gt.declare("e2elog", v1alpha1.ConfigurationOnly, usual)
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	m := matrixOf(t, gt)
	full := fault{name: "log volume full", hold: 20 * time.Second, lasting: true, inject: fillLogVolume(volumes)}
	m.runAll(t, []fault{full, {name: "switchover", inject: switchOver}, full}, time.Now().Add(20*time.Minute))
}
