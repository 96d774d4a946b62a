// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

// told keeps the columns of the last result set.
type told struct {
	endings
	columns []tds.Column
}

func (w *told) Columns(cols []tds.Column) error { w.columns = cols; return nil }

// TestNumericColumnsAreToldAsSuch: decimal and numeric are two types to clients ([MS-TDS] 2.2.5.4.2, DECIMALNTYPE and
// NUMERICNTYPE).
func TestNumericColumnsAreToldAsSuch(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	session, err := s.inst.Login(
		context.Background(),
		tds.LoginRequest{User: "sa", Password: "Str0ng!pass", Database: "tempdb"},
	)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { session.Close() })
	w := &told{}
	for _, batch := range []string{"CREATE TABLE amounts (d decimal(9, 2), n numeric(9, 2))",
		"CREATE VIEW seen AS SELECT d, n FROM amounts", "SELECT d, n INTO copied FROM amounts"} {
		g.Expect(session.Batch(context.Background(), batch, w)).To(Succeed())
	}
	for _, from := range []string{"amounts", "seen", "copied", "(SELECT d, n FROM amounts) AS x"} {
		w.columns = nil
		g.Expect(session.Batch(context.Background(), "SELECT d, n FROM "+from, w)).To(Succeed())
		g.Expect(w.columns).To(HaveLen(2), from)
		g.Expect([]bool{w.columns[0].Numeric, w.columns[1].Numeric}).To(Equal([]bool{false, true}), from)
	}
}
