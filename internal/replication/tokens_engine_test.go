// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// Where an agent polls every few minutes, none of the newest tokens may ever be seen to have arrived: the newest that
// has is read with them, however old, and the oldest that is on its way behind it.
func TestTokensOfAnAgentThatPollsSeldom(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	run := func(format string, args ...any) {
		t.Helper()
		g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: fmt.Sprintf(format, args...)})).To(Succeed())
	}
	// The tables as their pages have them, with the columns that are read.
	run("CREATE TABLE dbo.MStracer_tokens (tracer_id int IDENTITY(-2147483648, 1) NOT NULL PRIMARY KEY, " +
		"publication_id int NOT NULL, publisher_commit datetime NOT NULL, distributor_commit datetime NULL)")
	run("CREATE TABLE dbo.MStracer_history (parent_tracer_id int NOT NULL, agent_id int NOT NULL, subscriber_commit " +
		"datetime NULL)")
	run("CREATE TABLE dbo.MSpublications (publication_id int NOT NULL, publisher_id smallint NOT NULL, publisher_db " +
		"sysname NOT NULL, publication sysname NOT NULL)")
	run("CREATE TABLE dbo.MSreplservers (srvid int NOT NULL, srvname sysname NOT NULL)")
	run("INSERT dbo.MSreplservers VALUES (1, N'TUKPUB-0')")
	run("INSERT dbo.MSpublications VALUES (5, 1, N'Content', N'articles'), (6, 1, N'Content', N'other')")
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	text := func(minute int) string {
		return at.Add(time.Duration(minute) * time.Minute).Format("2006-01-02T15:04:05")
	}
	arrives := func(minute, agent int, commit string) {
		t.Helper()
		run("INSERT dbo.MStracer_history SELECT tracer_id, %d, %s FROM dbo.MStracer_tokens WHERE publication_id = 5 AND "+
			"publisher_commit = '%s'", agent, commit, text(minute))
	}
	read := func() (tokens []string) {
		t.Helper()
		all, err := mssql.ReadTokens(t.Context(), sa, "tukpub-0", "Content", "articles", 7)
		g.Expect(err).NotTo(HaveOccurred())
		for _, one := range all {
			tokens = append(tokens, fmt.Sprintf("%d", int(one.Posted.Sub(at).Minutes())))
			if one.Latency.Overall != nil {
				tokens[len(tokens)-1] += " arrived"
			}
		}
		return tokens
	}
	g.Expect(read()).To(BeEmpty())
	for minute := range 8 {
		run("INSERT dbo.MStracer_tokens (publication_id, publisher_commit) VALUES (5, '%[1]s'), (6, '%[1]s')", text(minute))
	}
	g.Expect(read()).To(HaveExactElements("7", "6", "0"))
	arrives(5, 8, "GETDATE()")
	arrives(4, 7, "NULL")
	g.Expect(read()).To(HaveExactElements("7", "6", "0"), "at another subscriber, and on its way")
	arrives(1, 7, "GETDATE()")
	arrives(2, 7, "GETDATE()")
	g.Expect(read()).To(HaveExactElements("7", "6", "3", "2 arrived"))
	arrives(6, 7, "GETDATE()")
	g.Expect(read()).To(HaveExactElements("7", "6 arrived"))
	arrives(7, 7, "GETDATE()")
	g.Expect(read()).To(HaveExactElements("7 arrived", "6 arrived"))
}
