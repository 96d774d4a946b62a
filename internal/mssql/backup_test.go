// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// versioned is a server of a version that notes no backups; asked are the statements that it was sent but for the one
// about its version.
type versioned struct {
	mssql.Querier
	version string
	asked   *[]string
}

func (v versioned) Server() string { return "tukpub-0" }

func (v versioned) Scan(dest ...any) error {
	*dest[0].(*string) = v.version
	return nil
}

func (v versioned) Query(_ context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	if s.Text == tsql.ProductVersion().Text {
		return scan(v)
	}
	*v.asked = append(*v.asked, s.Text)
	return nil
}

// SQL Server 2019 does not have the column in which later versions note to when a set restores, and refuses the name.
func TestWhatWasTakenIsReadByVersion(t *testing.T) {
	for version, has := range map[string]bool{"15.0.4430.1": false, "16.0.4135.4": true, "17.0.1000.7": true} {
		g := NewWithT(t)
		var asked []string
		taken, err := mssql.ReadBackupTaken(t.Context(), versioned{version: version, asked: &asked}, "1.bak")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(taken).To(BeNil())
		g.Expect(asked).To(HaveLen(1))
		g.Expect(strings.Contains(asked[0], "last_valid_restore_time")).To(Equal(has), version)
	}
	g := NewWithT(t)
	_, err := mssql.ReadBackupTaken(t.Context(), versioned{version: "new"}, "1.bak")
	g.Expect(err).To(MatchError(ContainSubstring("tukpub-0")))
}
