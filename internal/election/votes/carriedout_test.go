// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// What was carried out is noted once each, in the order of time, and the newest are kept. What nobody can read is
// written anew.
func TestCarriedOutIsNotedOnce(t *testing.T) {
	g := NewWithT(t)
	one := func(n int) CarriedOut {
		return CarriedOut{Name: fmt.Sprint("f", n), ID: fmt.Sprint("u", n), At: time.Unix(int64(1_800_000_000+n), 0).UTC()}
	}
	annotations := map[string]string{}
	g.Expect(ParseCarriedOut(annotations)).To(BeEmpty())
	g.Expect(NoteCarriedOut(annotations, nil)).To(BeFalse())
	g.Expect(annotations).To(BeEmpty())
	g.Expect(NoteCarriedOut(annotations, []CarriedOut{one(2), one(1)})).To(BeTrue())
	g.Expect(ParseCarriedOut(annotations)).To(Equal([]CarriedOut{one(1), one(2)}))
	before := annotations[AnnotationCarriedOut]
	g.Expect(NoteCarriedOut(annotations, []CarriedOut{one(2)})).To(BeFalse())
	g.Expect(annotations[AnnotationCarriedOut]).To(Equal(before))
	g.Expect(NoteCarriedOut(annotations, []CarriedOut{one(2), one(3)})).To(BeTrue())
	g.Expect(ParseCarriedOut(annotations)).To(Equal([]CarriedOut{one(1), one(2), one(3)}))
	for n := range carriedOutKept + 2 {
		NoteCarriedOut(annotations, []CarriedOut{one(n)})
	}
	kept, err := ParseCarriedOut(annotations)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(carriedOutKept))
	g.Expect(kept[0]).To(Equal(one(2)))

	annotations[AnnotationCarriedOut] = "{"
	_, err = ParseCarriedOut(annotations)
	g.Expect(err).To(MatchError(ContainSubstring(AnnotationCarriedOut)))
	g.Expect(NoteCarriedOut(annotations, []CarriedOut{one(1)})).To(BeTrue())
	g.Expect(ParseCarriedOut(annotations)).To(Equal([]CarriedOut{one(1)}))
}
