// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/reconcile"
)

// An answer of "none" and no answer are told apart, and what nobody asked for is no answer.
func TestReadingTellsNoneFromNotRead(t *testing.T) {
	g := NewWithT(t)
	none, err := reconcile.Read[*int](nil).Get()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(BeNil())
	silent := errors.New("tukpub-0 is silent")
	_, err = reconcile.NotRead[*int](silent).Get()
	g.Expect(err).To(MatchError(silent))
	var never reconcile.Reading[*int]
	_, err = never.Get()
	g.Expect(err).To(HaveOccurred())
}
