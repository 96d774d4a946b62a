// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answering gives the answers one after the other, then none.
type answering struct {
	client.Client
	answers []error
	asked   int
}

func (a *answering) Create(context.Context, client.Object, ...client.CreateOption) error {
	a.asked++
	return a.answers[a.asked-1]
}

// What the webhook did not hear of is asked again; every other answer is the test's.
func TestRequestsOutlastTheWebhook(t *testing.T) {
	away := apierrors.NewInternalError(errors.New(`failed calling webhook "sqlserver.geosql.dev": connection refused`))
	broken := apierrors.NewInternalError(errors.New("etcd is gone"))
	for name, c := range map[string]struct {
		answers []error
		want    error
	}{
		"away for a while": {[]error{away, away, nil}, nil},
		"refused":          {[]error{away, broken}, broken},
		"there":            {[]error{nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			a := &answering{answers: c.answers}
			err := insistent{a}.Create(t.Context(), &corev1.Pod{})
			if c.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(c.want))
			}
			g.Expect(a.asked).To(Equal(len(c.answers)))
		})
	}
}
