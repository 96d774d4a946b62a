// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// Three times as much is written as the log's volume has room for, with a switchover in between, and a while in which
// the store cannot be reached: no write is refused since the log is full, and what was written can be restored. Without
// the policy less than one volume's room is written until writes are refused, and a policy has them go on.
func TestBackupsKeepTheLogSmall(t *testing.T) {
	onlyInAll(t)
	const (
		megabytes = 128
		rowBytes  = 100_000
		perSecond = 8
		volume    = megabytes << 20 / rowBytes
	)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	gt := declareServers(t, b, "e2ekept", nil)
	target := declareServer(t, b, "e2ekeptback", "quincy", nil)
	at := &matrix{groupTest: gt}
	for _, site := range copySites {
		waitForServer(t, b, gt.servers[site], 4*time.Minute)
		at.boundLogVolume(t, site, megabytes)
	}
	gt.declare("e2ekept", v1alpha1.ConfigurationOnly, usual)
	gt.wait("the group is synchronized", 1, 5*time.Minute)
	bucketAt(t, b, b.Site("dublin"), "e2e-kept")
	rows := &returned{gt: gt, db: gt.wherever(shellAt(t, b.Site("quincy"), namespace)), store: "e2e-kept", bytes: rowBytes}
	paced := func(n int) {
		t.Helper()
		for began, i := time.Now(), 0; i < n; i++ {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / perSecond)))
			rows.write(1)
		}
	}
	x := gt.backUp("e2e-kept", "e2e-kept")
	paced(volume)
	_, err := gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server("quincy")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	paced(volume / 2)
	b.Wan(t, "cut", "quincy", "dublin")
	t.Cleanup(func() { b.Wan(t, "heal", "quincy", "dublin") })
	paced(volume / 2)
	b.Wan(t, "heal", "quincy", "dublin")
	paced(volume / 2)
	moment, before := rows.moment(), rows.written
	paced(volume / 2)
	g.Expect(rows.full).To(BeZero(), "writes were refused since the log was full")
	x.restorableTo("all that was written can be restored", time.Now().Truncate(time.Second), 5*time.Minute)

	waitForServer(t, b, target, 3*time.Minute)
	rows.comeBack(target, "KeptNewest", nil, rows.written)
	rows.comeBack(target, "KeptBefore", &v1alpha1.RestorePoint{Time: &moment}, before)

	x.leaveOff()
	since := rows.written
	bed.Wait(t, "writes are refused without a policy", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		for range volume / 10 {
			if rows.insert(ctx, rows.written+1) == nil {
				rows.written++
			}
		}
		return rows.full > 0, fmt.Sprint(rows.written-since, " more rows are written"), nil
	})
	g.Expect(rows.written - since).To(BeNumerically("<", volume))

	gt.backUp("e2e-kept-again", "e2e-kept")
	bed.Wait(t, "a policy ends it", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := rows.insert(ctx, rows.written+1)
		return err == nil, fmt.Sprint(err), nil
	})
}
