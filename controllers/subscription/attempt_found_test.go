// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
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

// A manager that has just begun may not reach a sidecar's orders yet: how the subscription was registered is not known
// then, and nothing is written that no later look would mend.
func TestWhatIsNotReadIsNoWordOfTheRegistration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newBackupWorld(declared())
	w.until(t, func() bool { return registers(plan(w.d, w.look())) })
	for _, s := range plan(w.d, w.look()).All() {
		g.Expect(w.does(t, s)).To(Succeed())
	}
	read := w.o.Backup
	w.o.Backup = Backup{Err: errors.New("site tukwila is not engaged")}
	g.Expect(unreported(w.d, w.look())).To(BeTrue())
	g.Expect(initialization(w.d, w.look(), plan(w.d, w.look()))).To(BeNil())
	w.o.Backup = read
	g.Expect(initialization(w.d, w.look(), plan(w.d, w.look())).Method).To(
		BeEquivalentTo(v1alpha1.InitializeBackup))
}
