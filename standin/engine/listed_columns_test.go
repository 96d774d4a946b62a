// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/test/limits"
)

// The columns of sys.databases that follow the database, and those that are always the same, stand in docs/limits.md.
func TestColumnsOfDatabasesAreListed(t *testing.T) {
	g := NewWithT(t)
	columns := newServer(t).conn("master").rows(
		"SELECT name FROM sys.all_columns WHERE object_id = OBJECT_ID('sys.databases')")
	names, err := limits.All("Columns of sys.databases")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names).To(ConsistOf(columns))
}
