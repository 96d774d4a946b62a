// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
)

// A pod that writes on and on does not fill the manager's memory, and is ended.
func TestWhatACommandWritesIsCapped(t *testing.T) {
	g := NewWithT(t)
	ended := 0
	out := capped{most: 10, over: func() { ended++ }}
	for range 5 {
		n, err := out.Write([]byte("abc"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(Equal(3), "the stream is read on")
	}
	g.Expect(out.String()).To(Equal("abcabcabca"))
	g.Expect(out.passed).To(BeTrue())
	g.Expect(ended).To(Equal(1))

	whole := capped{most: 10}
	_, err := whole.Write(bytes.Repeat([]byte("x"), 9))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole.passed).To(BeFalse())
}

// Evidence takes hundreds of megabytes: of several drills that are over one is judged at a time.
func TestOneRunIsJudgedAtATime(t *testing.T) {
	g := NewWithT(t)
	r := &Reconciler{}
	r.judging.Lock()
	_, err := r.gather(t.Context(), &Observed{})
	g.Expect(err).To(MatchError(errJudging))
}
