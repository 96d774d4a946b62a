// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
)

// What a subscriber has is compared with a snapshot as engines compare numbers: a shorter one ends with zeros, and the
// last byte of sixteen is no part of it.
func TestWhichSnapshotASubscriberHas(t *testing.T) {
	full := func(last byte) []byte { return append(bytes.Repeat([]byte{1}, 14), last, 9) }
	for name, c := range map[string]struct {
		here, snapshot []byte
		applied, has   bool
	}{
		"the same":              {full(5)[:15], full(5), true, true},
		"an older one":          {full(4)[:15], full(5), true, false},
		"a newer one":           {full(6)[:15], full(5), true, true},
		"zeros at the end":      {[]byte{1, 2, 0, 0}, []byte{1, 2}, true, true},
		"a shorter, older one":  {[]byte{1, 2}, []byte{1, 2, 0, 1}, true, false},
		"nothing applied":       {make([]byte, 15), []byte{1}, false, false},
		"no snapshot to have":   {full(5)[:15], nil, true, false},
		"not applied, it seems": {full(5)[:15], full(5), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(SubscriptionHere{Applied: c.applied, Transaction: c.here}.Has(c.snapshot)).To(Equal(c.has))
		})
	}
}
