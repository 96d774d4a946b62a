// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// What is copied by a schedule has no stream that has to go on elsewhere: it is not moved, and nothing is ended for it.
func TestASnapshotPublicationIsNotMoved(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Publication.Spec.Type, d.Publication.Spec.Schedule = v1alpha1.PublicationSnapshot, "0 3 * * *"
	p := plan(d, o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonNotSupported))
	g.Expect(p.Outcome.Message).To(ContainSubstring("declare one of another name at SQLServer dubsub"))
}
