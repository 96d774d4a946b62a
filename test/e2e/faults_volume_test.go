// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/e2e/bed"
)

// smallVolume is the size of the volume that is filled.
const smallVolume = "96m"

// limitVolume makes a server's log volume small: the bed's volumes are folders of the node's disk, and a file system of a fixed
// size is laid over the one of the log, with what was in it. Until then the engine stands still. It lasts until the node is
// restarted.
func limitVolume(gt *groupTest, site string) (node, folder string) {
	t := gt.t
	t.Helper()
	waitForServer(t, gt.b, gt.servers[site], 4*time.Minute)
	pod, err := podOf(t.Context(), gt.b.Site(site), gt.servers[site])
	if err != nil {
		t.Fatal(err)
	}
	node = pod.Spec.NodeName
	var claim corev1.PersistentVolumeClaim
	for _, v := range pod.Spec.Volumes {
		if v.Name == "log" && v.PersistentVolumeClaim != nil {
			if err := gt.b.Site(site).Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: v.PersistentVolumeClaim.ClaimName}, &claim); err != nil {
				t.Fatalf("claim of the log volume: %v", err)
			}
		}
	}
	var volume corev1.PersistentVolume
	if err := gt.b.Site(site).Client.Get(t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, &volume); err != nil {
		t.Fatalf("log volume of %s: %v", gt.server(site), err)
	}
	switch {
	case volume.Spec.HostPath != nil:
		folder = volume.Spec.HostPath.Path
	case volume.Spec.Local != nil:
		folder = volume.Spec.Local.Path
	default:
		t.Fatalf("volume %s is no folder of a node", volume.Name)
	}
	gt.signalEngine(site, "-STOP")
	gt.b.NodeExec(t, node, "sh", "-ec", fmt.Sprintf(`small=$(mktemp -d); mount -t tmpfs -o size=%s,mode=$(stat -c %%a %[2]s) none "$small"
chown --reference=%[2]s "$small"; cp -a %[2]s/. "$small"; mount --bind "$small" %[2]s`, smallVolume, folder))
	t.Cleanup(func() {
		gt.b.NodeExec(t, node, "sh", "-c", fmt.Sprintf("umount -l %s; for m in $(awk '$3 == \"tmpfs\" && $2 ~ \"^/tmp/tmp\\\\.\" {print $2}' /proc/mounts); do umount -l $m; rmdir $m; done; true", folder))
	})
	if err := gt.b.Site(site).Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatalf("restart %s on its small volume: %v", gt.server(site), err)
	}
	gone(t, gt.b.Site(site), pod)
	waitForServer(t, gt.b, gt.servers[site], 2*time.Minute)
	return node, folder
}

// A primary whose log volume is full refuses writes, loses none, and goes on when there is room again.
func TestLogVolumeFull(t *testing.T) {
	if os.Getenv(soakRounds) == "" && os.Getenv(faultNames) == "" {
		t.Skip("a long form: " + soakRounds + " is not set")
	}
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	var node, folder string
	m := startMatrix(t, b, "e2efull", func(gt *groupTest) { node, folder = limitVolume(gt, "tukwila") })
	full := fault{name: "log volume full", hold: 15 * time.Second, lasting: true, inject: func(m *matrix, f *injected) {
		f.Target = string(m.server("tukwila"))
		b.NodeExec(t, node, "sh", "-c", fmt.Sprintf("dd if=/dev/zero of=%s/filler bs=64k 2>/dev/null; true", folder))
		f.proof = func(context.Context) (string, error) {
			free := strings.Fields(b.NodeExec(t, node, "df", "-k", "--output=avail,size", folder))
			if len(free) != 4 || free[2] != "0" {
				return "", fmt.Errorf("the volume has %v", free)
			}
			return "the volume has 0 KB of " + free[3] + " free", nil
		}
		f.heal = func() { b.NodeExec(t, node, "rm", "-f", folder+"/filler") }
	}}
	m.runAll(t, []fault{full}, time.Now().Add(time.Hour))
}
