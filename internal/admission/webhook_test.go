// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/apiserver"
)

// A group is labelled and a drill of it created before the manager's cache has the label; a drill of what the API
// server itself does not let be drilled is refused.
func TestNothingIsRefusedByTheCacheAlone(t *testing.T) {
	g := NewWithT(t)
	having := func(label string) client.Reader {
		group := &v1alpha1.AvailabilityGroup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "web",
				Name:      "content",
				Labels:    map[string]string{v1alpha1.DrillsLabel: label},
			},
		}
		return fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(group).Build()
	}
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d"},
		Spec:       v1alpha1.DrillSpec{RunID: "1", Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}},
	}
	create := func(r readers) error {
		v := &validator[*v1alpha1.Drill]{
			r,
			"Drill",
			func(w *World, old, o *v1alpha1.Drill) field.ErrorList { return w.drill(field.NewPath("spec"), old, o) },
			nil,
			nil, false,
		}
		_, err := v.ValidateCreate(t.Context(), d)
		return err
	}
	g.Expect(create(readers{having(""), having(v1alpha1.DrillsAllowed), make(chan struct{}, 1)})).To(Succeed())
	g.Expect(create(readers{having(""), having(""), make(chan struct{}, 1)})).
		To(MatchError(ContainSubstring("does not allow drills")))
}

// slow answers a list once it is told to, and counts how many wait.
type slow struct {
	client.Reader
	waiting atomic.Int32
	release chan struct{}
}

func (s *slow) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case <-s.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Reader.List(ctx, list, opts...)
}

// Whoever reaches the port can have objects refused, without being anybody: the API server is asked for few at a time,
// and the rest are told to come again.
func TestAStrangerDoesNotMakeTheManagerListForever(t *testing.T) {
	g := NewWithT(t)
	empty := fake.NewClientBuilder().WithScheme(apiserver.Scheme).Build()
	server := &slow{Reader: empty, release: make(chan struct{})}
	r := readers{empty, server, make(chan struct{}, refusals)}
	v := &validator[*v1alpha1.Drill]{r, "Drill", func(*World, *v1alpha1.Drill, *v1alpha1.Drill) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), "", "it is refused")}
	}, nil, nil, false}
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d"}}
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 100)
	for range 100 {
		go func() {
			_, err := v.ValidateCreate(ctx, d)
			answers <- err
		}()
	}
	g.Eventually(server.waiting.Load, "60s").Should(BeEquivalentTo(refusals))
	g.Eventually(func() bool { return apierrors.IsTooManyRequests(<-answers) }, 4*refusalWait).Should(BeTrue())
	g.Expect(server.waiting.Load()).To(BeEquivalentTo(refusals))
	close(server.release)
	g.Eventually(server.waiting.Load, "60s").Should(BeZero())
	_, err := v.ValidateCreate(ctx, d)
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	cancel()
}
