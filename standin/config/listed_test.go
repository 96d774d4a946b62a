// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/test/limits"
)

// Which settings of mssql.conf are obeyed stands in docs/limits.md.
func TestSettingsOfConfAreListed(t *testing.T) {
	g := NewWithT(t)
	lists, err := limits.Under("mssql.conf")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists["Obeyed"]).
		To(ConsistOf(append(slices.Collect(maps.Keys(effective)), "traceflag.traceflagN")))
	g.Expect(lists["Without effect, which the error log says at the start"]).
		To(ConsistOf(slices.Collect(maps.Keys(idle))))
}
