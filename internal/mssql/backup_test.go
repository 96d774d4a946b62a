// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

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

// noted is a server that notes one backup of the log with changes in bulk, whose times its clock shows an hour before
// UTC.
type noted struct{ versioned }

var notedAt = time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)

func (n noted) Query(ctx context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	if s.Text == tsql.ProductVersion().Text {
		return n.versioned.Query(ctx, s, scan)
	}
	columns := strings.Split(s.Text[:strings.Index(s.Text, "FROM msdb")], "s.")
	return scan(cells{"L", "AB", "Content", "CD", "10", "20", "", "EF", "EF", "", notedAt, notedAt, notedAt, int64(4),
		int64(7), false, false, true, strings.HasPrefix(columns[len(columns)-1], "has_bulk_logged_data")})
}

// cells are a row with these values.
type cells []any

func (r cells) Scan(dest ...any) error {
	for n, d := range dest {
		if s, is := d.(sql.Scanner); is {
			if err := s.Scan(r[n]); err != nil {
				return err
			}
			continue
		}
		reflect.ValueOf(d).Elem().Set(reflect.ValueOf(r[n]))
	}
	return nil
}

func TestWhatWasTakenSaysThatItHasChangesInBulk(t *testing.T) {
	g := NewWithT(t)
	taken, err := mssql.ReadBackupTaken(t.Context(), noted{versioned{version: "16.0.4135.4"}}, "1.trn")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(taken.BulkLogged).To(BeTrue())
	g.Expect(taken.ID).To(Equal("ab"))
	g.Expect(taken.Until).To(Equal(notedAt.Add(-time.Hour)))
}
