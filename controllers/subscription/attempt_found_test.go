// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	. "github.com/onsi/gomega"
)

// While the status does not tell of a registration, the order does: it ends when the status has it.
func TestTheOrderStaysUntilTheStatusTellsOfTheRegistration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { return registers(plan(w.d, w.look())) })
	w.d.Subscription.Status.Copy = progress(w.d, w.look())
	for _, s := range plan(w.d, w.look()).All() {
		g.Expect(w.does(t, s)).To(Succeed())
	}
	ends := func() bool {
		for _, s := range plan(w.d, w.look()).All() {
			if tell, is := s.(TellBackup); is && tell.Reader != nil && tell.Reader.Ended {
				return true
			}
		}
		return false
	}
	g.Expect(unreported(w.d, w.look())).To(BeTrue())
	w.until(t, func() bool { return !w.o.sealed(w.d) })
	g.Expect(unreported(w.d, w.look())).To(BeTrue())
	g.Expect(ends()).To(BeFalse(), "the copy takes writes, and the order is there yet")
	w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), plan(w.d, w.look()))
	g.Expect(ends()).To(BeTrue())
}
