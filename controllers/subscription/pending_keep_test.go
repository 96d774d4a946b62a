// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// A look that could not count forgets nothing of a count that took long: the next one would begin it again.
func TestACountIsRememberedForItsRest(t *testing.T) {
	g := NewWithT(t)
	var c counts
	dear := &Counted{At: time.Now(), Took: time.Minute}
	c.keep("u", dear)
	c.keep("u", nil)
	g.Expect(c.of("u")).To(Equal(dear))
	c.keep("u", &Counted{At: time.Now().Add(-time.Minute), Took: time.Second})
	c.keep("u", nil)
	g.Expect(c.of("u")).To(BeNil(), "its rest is over")
}
