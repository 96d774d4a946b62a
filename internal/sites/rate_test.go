// SPDX-License-Identifier: Apache-2.0

package sites_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/sites"
)

// A client that is in use is let send more as soon as more is declared.
func TestTheRateFollowsWhatIsDeclared(t *testing.T) {
	sent := func(t *testing.T, l interface{ Wait(context.Context) error }, during time.Duration) int {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), during)
		defer cancel()
		n := 0
		for l.Wait(ctx) == nil {
			n++
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := sites.NewHubRate()
		l := r.Limiter()
		g.Expect(sent(t, l, 10*time.Second)).To(BeNumerically("~", 400+2000, 10), "a burst, and 200 a second")
		r.Declare(140, 42)
		g.Expect(l.QPS()).To(BeNumerically("==", 200+280+168))
		g.Expect(sent(t, l, 10*time.Second)).To(BeNumerically("~", 6480, 80))
		r.Declare(0, 0)
		g.Expect(sent(t, l, 10*time.Second)).To(BeNumerically("~", 2000, 10))
	})
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := sites.NewSiteRate()
		r.Fix(20)
		r.Declare(1000, 1000)
		g.Expect(r.Limiter().QPS()).To(BeNumerically("==", 20), "a person has said how many")
	})
}
