// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// A snapshot that is packed once reaches subscribers as one that is not does, and is kept packed at the distributor.
func TestASnapshotThatIsPackedOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub", "quisub")
	b.publisherDatabase(t, 200)
	d, p := published()
	p.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompressedSnapshot}
	s, other := subscribed(v1alpha1.SubscriptionPull), second("quincy", "quisub", v1alpha1.SubscriptionPull)
	b.create(t, d, p, s, other)
	for _, one := range []*v1alpha1.Subscription{s, other} {
		b.waitFor(t, one, &one.Status.StatusBase, v1alpha1.ReasonDelivering)
		g.Expect(b.sum(t, one.Spec.Subscriber.Server, "dbo.Article")()).To(Equal(b.sum(t, "tukpub", "dbo.Article")()))
		g.Expect(one.Status.Copy).To(HaveField("Phase", v1alpha1.CopyDone))
	}
	g.Expect(filepath.Glob(filepath.Join(b.snapshots["dist"], "packed", "*", "*.pack"))).To(HaveLen(1))
}
