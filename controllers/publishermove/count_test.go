// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// A distributor that does not count in time what it has for a subscriber answers all the same: what is not known is
// told, and waited for, without a word that the engine is away.
func TestCountThatTakesTooLong(t *testing.T) {
	late := &mssql.Error{Server: "dist-0", Class: mssql.Unknown}
	for name, c := range map[string]struct {
		err             error
		fails           bool
		known, notKnown bool
	}{
		"counted":     {nil, false, true, false},
		"too late":    {late, false, false, true},
		"another's":   {&mssql.Error{Class: mssql.Refused}, false, false, false},
		"unreachable": {&mssql.Error{Class: mssql.Unreachable}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, _ := lostSite()
			var o Old
			err := o.count(d, func(v1alpha1.Subscription) (int64, error) { return 7, c.err })
			g.Expect(err != nil).To(Equal(c.fails))
			_, known := o.Pending["dublin"]
			g.Expect(known).To(Equal(c.known))
			g.Expect(o.Uncounted["dublin"] != nil).To(Equal(c.notKnown))
		})
	}
}
