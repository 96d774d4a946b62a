// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

// What the catalog leaves open - which of two documented forms is sent, and when - is compared as a whole.
func TestCreateGroupAsAWhole(t *testing.T) {
	g := NewWithT(t)
	group := tsql.Group{
		Name:                            "content",
		ClusterType:                     tsql.ClusterExternal,
		WriteLease:                      6 * time.Second,
		RequiredSynchronizedSecondaries: 1,
		Databases:                       []string{"Content", "Orders"},
		Replicas: []tsql.Replica{
			{
				Server:         "tukpub-0",
				EndpointURL:    "TCP://tukpub-0:5022",
				Mode:           tsql.SynchronousCommit,
				Readable:       true,
				SessionTimeout: 15 * time.Second,
			},
			{Server: "quisec-0", EndpointURL: "TCP://quisec-0:5022", Mode: tsql.AsynchronousCommit, ManualSeeding: true},
			{Server: "dubcfg-0", EndpointURL: "TCP://dubcfg-0:5022", Mode: tsql.ConfigurationOnly},
		},
	}
	g.Expect(tsql.CreateGroup(group).Text).To(Equal(strings.Join([]string{
		"CREATE AVAILABILITY GROUP [content]",
		"WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = 6, REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1)",
		"FOR DATABASE [Content], [Orders]",
		"REPLICA ON",
		"    N'tukpub-0' WITH (ENDPOINT_URL = N'TCP://tukpub-0:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, " +
			"FAILOVER_MODE = EXTERNAL, SEEDING_MODE = AUTOMATIC, " +
			"SESSION_TIMEOUT = 15, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL)),",
		"    N'quisec-0' WITH (ENDPOINT_URL = N'TCP://quisec-0:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, " +
			"FAILOVER_MODE = EXTERNAL, SEEDING_MODE = MANUAL, " +
			"SECONDARY_ROLE (ALLOW_CONNECTIONS = NO)),",
		"    N'dubcfg-0' WITH (ENDPOINT_URL = N'TCP://dubcfg-0:5022', AVAILABILITY_MODE = CONFIGURATION_ONLY)",
	}, "\n")))
	group.ClusterType, group.Contained, group.Databases, group.Replicas = tsql.ClusterNone, true, nil, group.Replicas[1:2]
	g.Expect(tsql.CreateGroup(group).Text).To(Equal(strings.Join([]string{
		"CREATE AVAILABILITY GROUP [content]",
		"WITH (CLUSTER_TYPE = NONE, CONTAINED, REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1)",
		"FOR REPLICA ON",
		"    N'quisec-0' WITH (ENDPOINT_URL = N'TCP://quisec-0:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, " +
			"FAILOVER_MODE = MANUAL, SEEDING_MODE = MANUAL, " +
			"SECONDARY_ROLE (ALLOW_CONNECTIONS = NO))",
	}, "\n")))
}

// A payload is written to the column that its table has, and read from it.
func TestPayloadsAreInTheColumnOfTheirTable(t *testing.T) {
	g := NewWithT(t)
	for table, column := range map[tsql.PayloadTable]string{tsql.ArticlePayload: "Body",
		tsql.AttachmentPayload: "Content"} {
		g.Expect(tsql.InsertRecordedRow(tsql.RecordedRow{Table: table}).Text).
			To(ContainSubstring("INSERT INTO " + string(table) + " (Id, WrittenAt, " + column + ") VALUES"))
		g.Expect(tsql.PayloadMarks(table, 0, 5).Text).
			To(ContainSubstring("SUBSTRING(" + column + ", 1, 48) FROM " + string(table)))
	}
	g.Expect(tsql.InsertRecordedRow(tsql.RecordedRow{}).Text).NotTo(ContainSubstring("@payload"))
}

// A view of chosen columns has no filter: an empty one would be no valid clause.
func TestAnArticlesViewHasAFilterOnlyWhereThereIsOne(t *testing.T) {
	g := NewWithT(t)
	g.Expect(tsql.SetArticleView("p", "a", "v", "").Text).NotTo(ContainSubstring("@filter_clause"))
	g.Expect(tsql.SetArticleView("p", "a", "v", "Id > 5").Text).
		To(ContainSubstring("@view_name = N'v', @filter_clause = N'Id > 5', @force"))
}

// A thousand books are a thousand: each digit of their numbers has its weight.
func TestTheStoreIsFilledByDigits(t *testing.T) {
	texts := ""
	for _, s := range tsql.PrepareStore() {
		texts += s.Text + "\n"
	}
	g := NewWithT(t)
	g.Expect(texts).To(ContainSubstring("SELECT a.n * 1 + b.n * 10 AS n FROM (VALUES"))
	g.Expect(texts).To(ContainSubstring("SELECT a.n * 1 + b.n * 10 + c.n * 100 AS n FROM (VALUES"))
	g.Expect(texts).To(ContainSubstring("SELECT a.n * 1 + b.n * 10 + c.n * 100 + d.n * 1000 AS n FROM (VALUES"))
}

func TestStatementsAreToldWithTheirPlaceAndReason(t *testing.T) {
	NewWithT(t).Expect(tsql.ReadClock().Because("see the time").On("tukpub-0", "master")).
		To(Equal("on tukpub-0 in master: see the time: SELECT SYSUTCDATETIME()"))
}

// Only a batch that reads may be sent again; one that is shorter than SELECT is none.
func TestOnlySelectsAreRepeatable(t *testing.T) {
	for text, repeatable := range map[string]bool{
		"SELECT 1": true, "  select\t1": true, "SELECT": false, "select1": true, "PRINT": false, "": false,
		"PRINT N'SELECT'": false,
		"SELECT 1 INTO t": false, "SELECT NEXT VALUE FOR s": false,
	} {
		NewWithT(t).Expect(tsql.Statement{Text: text}.Repeatable()).To(Equal(repeatable), "%q", text)
	}
}
