// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waiting is a hub that answers nobody.
type waiting struct{ client.Client }

func (waiting) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// A reconciliation that is over waits for nothing more.
func TestTheSitesAreNotAwaitedAfterTheEnd(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	places := (&Reconciler{hub: waiting{}}).members(ctx, "web")
	g.Expect(places).To(HaveLen(1))
	g.Expect(places[0].err).To(MatchError(context.Canceled))
}
