// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

// Nobody reads the log for a snapshot publication: what would be written there for a log reader would keep it.
func TestASnapshotPublicationAsksNobodyForTheLog(t *testing.T) {
	g := NewWithT(t)
	g.Expect(tsql.AddSnapshotPublication("articles", "mine").Text).
		To(And(ContainSubstring("@repl_freq = N'snapshot'"), ContainSubstring("@replicate_ddl = 0")))
	g.Expect(tsql.AddPublication("articles", "mine").Text).
		To(And(ContainSubstring("@repl_freq = N'continuous'"), ContainSubstring("@replicate_ddl = 1")))
}
