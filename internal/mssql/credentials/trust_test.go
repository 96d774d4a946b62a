// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Another CA is made while certificates of the present one are valid: they would end with it, all at once.
func TestACAIsReplacedBeforeItsCertificatesEnd(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	g.Expect(a.Unfit(now.Add(authorityLife - certificateLife))).To(BeEmpty())
	g.Expect(a.Unfit(now.Add(authorityLife - certificateLife + time.Second))).
		To(ContainSubstring("the present one ends at"))
}

func TestBundlesHaveEachCAOnce(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	b, _ := authority(t)
	both := MergeCAs(a.PEM(), []byte("what is no certificate\n"), b.PEM(), a.PEM())
	g.Expect(string(both)).To(Equal(string(a.PEM()) + string(b.PEM())))
	g.Expect(HasCAs(both, b.PEM())).To(BeTrue())
	g.Expect(Fingerprints(both)).To(HaveExactElements(Fingerprints(a.PEM())[0], Fingerprints(b.PEM())[0]))
	g.Expect(Fingerprints(nil)).To(BeEmpty())
	g.Expect(HasCAs(a.PEM(), both)).To(BeFalse())
	data, err := a.Issue([]string{"x"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(SignedBy(data, b.PEM())).To(BeFalse())
	g.Expect(SignedBy(data, both)).To(BeTrue())
	g.Expect(IssuersOf(data)).To(Equal(a.PEM()), "of a release that did not keep them apart")
	data[KeyIssuers] = b.PEM()
	g.Expect(IssuersOf(data)).To(Equal(b.PEM()))
	g.Expect(HasCAs(TrustOf(data), both)).To(BeTrue())
}
