// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sites_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
	"geosql.dev/operator/test/support/apiserver"
)

// What a site was told comes back from a backup of the site, under the field manager of whoever restored it: a key of
// it goes all the same once its object does, or the object's deletion never came to an end.
func TestARestoredKeyGoes(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	at := apiserver.StartMember(t)
	at.Namespace(t, "web")
	restored := &corev1.ConfigMap{ObjectMeta: told.Meta("web", orders.NamesObject),
		Data: map[string]string{orders.ServerKey("tukpub"): "{}", orders.ServerKey("dubsub"): "{}"}}
	data, err := orders.NamesData(restored.Data)
	g.Expect(err).NotTo(HaveOccurred())
	restored.Data = data
	g.Expect(at.Client.Create(ctx, restored, client.FieldOwner("velero-server"))).To(Succeed())
	read := func() told.Names {
		names, err := told.Read(ctx, at.Client, "web")
		g.Expect(err).NotTo(HaveOccurred())
		return names
	}
	before := read()
	g.Expect(before.Has(orders.ServerKey("dubsub"))).To(BeTrue())
	without, err := before.Without(orders.ServerKey("dubsub"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sites.ApplyUnchanged(ctx, at.Client, without)).To(Succeed())
	g.Expect(read().Keys).To(And(HaveKey(orders.ServerKey("tukpub")), Not(HaveKey(orders.ServerKey("dubsub")))))
	last, err := before.Without(orders.ServerKey("tukpub"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(apierrors.IsConflict(sites.ApplyUnchanged(ctx, at.Client, last))).To(BeTrue(), "it has changed since")
}
