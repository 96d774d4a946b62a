// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/engine"
)

// An engine's log is full when transactions fail with 9002, and has room again when a backup of the log or a greater
// MAXSIZE lets them go on.
func TestLogsThatAreFull(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	master := open(t, e)
	exec := func(text string) error { return master.Exec(t.Context(), statement(text)) }
	log := func() mssql.LogSize {
		logs, err := mssql.ReadLogs(t.Context(), master)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(logs).To(HaveKey("Content"))
		g.Expect(logs["master"].GrowKB).To(BeNil(), "that of a system database is not known")
		return logs["Content"]
	}
	g.Expect(exec("CREATE DATABASE Content")).To(Succeed())
	g.Expect(exec("BACKUP DATABASE Content TO DISK = N'content.bak'")).To(Succeed())
	target := e.Target(credentials.RoleSA)
	target.Database = "Content"
	content, err := e.Connector(t).Open(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content.Exec(t.Context(),
		statement("CREATE TABLE dbo.filled (id int IDENTITY PRIMARY KEY, v varbinary(max))"))).
		To(Succeed())
	g.Expect(log().Full()).To(BeFalse(), "%+v", log())

	g.Expect(exec("ALTER DATABASE Content MODIFY FILE (NAME = Content_log, MAXSIZE = 16MB)")).To(Succeed())
	insert := statement(
		"INSERT dbo.filled (v) VALUES (CAST(REPLICATE(CAST('x' AS varchar(max)), 100000) AS varbinary(max)))",
	)
	for err = nil; err == nil; err = content.Exec(t.Context(), insert) {
	}
	g.Expect(err).To(MatchError(ContainSubstring("9002")))
	g.Eventually(log, "90s", "100ms").
		Should(And(WithTransform(mssql.LogSize.Full, BeTrue()), HaveField("Wait", "LOG_BACKUP")), "once a checkpoint is over")

	g.Expect(exec("ALTER DATABASE Content MODIFY FILE (NAME = Content_log, MAXSIZE = 64MB)")).To(Succeed())
	g.Expect(log().Full()).To(BeFalse(), "%+v", log())
	g.Expect(content.Exec(t.Context(), insert)).To(Succeed())
}

// Full is what has less than a fiftieth of its room left.
func TestFullLogs(t *testing.T) {
	for name, c := range map[string]struct {
		log  mssql.LogSize
		full bool
	}{
		"unused and may grow":          {mssql.LogSize{TotalKB: 1000, UsedKB: 10, GrowKB: ptr.To[int64](1000)}, false},
		"used, may grow":               {mssql.LogSize{TotalKB: 1000, UsedKB: 1000, GrowKB: ptr.To[int64](1000)}, false},
		"unused, may not grow":         {mssql.LogSize{TotalKB: 1000, UsedKB: 10, GrowKB: ptr.To[int64](0)}, false},
		"used, may not grow":           {mssql.LogSize{TotalKB: 1000, UsedKB: 1000, GrowKB: ptr.To[int64](0)}, true},
		"nearly used, may not grow":    {mssql.LogSize{TotalKB: 1000, UsedKB: 981, GrowKB: ptr.To[int64](0)}, true},
		"used by 98 of 100":            {mssql.LogSize{TotalKB: 1000, UsedKB: 980, GrowKB: ptr.To[int64](0)}, false},
		"nobody knows how far it may":  {mssql.LogSize{TotalKB: 1000, UsedKB: 1000}, false},
		"nothing is known of its size": {mssql.LogSize{GrowKB: ptr.To[int64](0)}, false},
	} {
		NewWithT(t).Expect(c.log.Full()).To(Equal(c.full), name)
	}
}
