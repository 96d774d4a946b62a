// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/reconcile"
)

func TestWhatIsWorthWriting(t *testing.T) {
	g := NewWithT(t)
	g.Expect(reconcile.WorthWriting(500, 519, 1000)).To(BeFalse())
	g.Expect(reconcile.WorthWriting(500, 481, 1000)).To(BeFalse())
	g.Expect(reconcile.WorthWriting(500, 520, 1000)).To(BeTrue())
	g.Expect(reconcile.WorthWriting(500, 480, 1000)).To(BeTrue())
	g.Expect(reconcile.WorthWriting(3, 3, 10)).To(BeFalse(), "what has not changed is never")
	g.Expect(reconcile.WorthWriting(3, 4, 10)).To(BeTrue())
}
