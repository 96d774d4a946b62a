// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"log/slog"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

// Whatever changes in orders of mirrors, each that is there is followed.
func TestEachOrderThatChangesIsFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := NewMirrors(t.TempDir(), "web", slog.New(slog.DiscardHandler))
	for round := range 200 {
		list := make([]orders.Mirror, 1+round%9)
		var want []string
		for i := range list {
			name := fmt.Sprint("subscription-", i)
			// Without a snapshot nothing is fetched.
			list[i] = orders.Mirror{Subscription: name, Token: fmt.Sprint(round)}
			want = append(want, name)
		}
		m.Set(t.Context(), list)
		var have []string
		for _, s := range m.Statuses() {
			have = append(have, s.Subscription)
		}
		g.Expect(have).To(Equal(want), "round %d", round)
	}
}
