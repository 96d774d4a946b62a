// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"geosql.dev/operator/api/v1alpha1"
)

// indexed is a cluster that takes an index, and tells.
type indexed struct {
	cluster.Cluster
	told func()
}

func (c indexed) GetFieldIndexer() client.FieldIndexer { return c }

func (c indexed) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	c.told()
	return nil
}

// A site may be lost while a field is indexed at another one: the index is in the caches that are there.
func TestSitesAreLostWhileAFieldIsIndexed(t *testing.T) {
	g, p := NewWithT(t), NewProvider(Options{})
	taken := 0
	lost := func() {
		taken++
		for _, run := range p.snapshot() {
			gone := make(chan struct{})
			go func() { defer close(gone); run.disengaged() }()
			<-gone
		}
	}
	for _, name := range []string{"tukwila", "quincy", "dublin"} {
		site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}}
		run := newEngagement(p, site, nil, "")
		run.cluster = indexed{told: lost}
		p.runs[run.name] = run
	}
	g.Expect(p.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", nil)).To(Succeed())
	g.Expect(taken).To(Equal(3))
}
