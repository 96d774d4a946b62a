// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/bind"
)

// INSERT BULK as drivers write it, and what is no form of it.
func TestParseBulkStatement(t *testing.T) {
	for text, want := range map[string]bulkStatement{
		"INSERT BULK t ([n] int)": {table: bind.SplitName("t")},
		"insert bulk [db].[dbo].[a (]] b] ([n] Decimal(10,2), [s] NVarChar(max) COLLATE X) with (TABLOCK, " +
			"CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS)": {
			table: bind.SplitName("[db].[dbo].[a (]] b]"), keepNulls: true, fireTriggers: true},
		"INSERT BULK t(n int)WITH(ROWS_PER_BATCH = 10, KILOBYTES_PER_BATCH=5,ORDER([a] ASC, [b)] " +
			"DESC),keep_nulls);": {table: bind.SplitName("t"), keepNulls: true},
		"INSERT BULK \"q\".t": {table: bind.SplitName("\"q\".t")},
	} {
		got, err := parseBulkStatement(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
		NewWithT(t).Expect(*got).To(Equal(want), text)
	}
	for text, want := range map[string]int32{
		"INSERT t":                   102,
		"INSERT BULK t (n int) WITH": 102, "INSERT BULK t (n int) WITH (KEEP_NULLS": 102,
		"INSERT BULK t (n int) WITH ()":        155,
		"INSERT BULK t (n int) WITH (NO_SUCH)": 155, "INSERT BULK t (n int) WITH (KEEP_NULLS TABLOCK)": 102,
		"INSERT BULK t (n int) more":                  102,
		"INSERT BULK t (n int) WITH (ROWS_PER_BATCH)": 102, "INSERT BULK t (n int) WITH (ROWS_PER_BATCH = x)": 102,
		"INSERT BULK t (n int) WITH (ORDER)":                               102,
		"INSERT BULK t (n int) WITH (ALLOW_ENCRYPTED_VALUE_MODIFICATIONS)": 40517,
	} {
		_, err := parseBulkStatement(text)
		NewWithT(t).Expect(err).NotTo(BeNil(), text)
		NewWithT(t).Expect(err.Number).To(Equal(want), text)
	}
}
