// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Agents of different things have jobs of different names; where no name has a hyphen they are as they always were.
func TestNamesOfJobs(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("x", 60)
	names := map[string]string{}
	for what, name := range map[string]string{
		"snapshot of shop, eu-orders": replication.SnapshotJob("tukpub-0", "shop", "eu-orders"),
		"snapshot of shop-eu, orders": replication.SnapshotJob("tukpub-0", "shop-eu", "orders"),
		"log reader of shop-eu":       replication.LogReaderJob("tukpub-0", "shop-eu"),
		"distribution of shop, eu-orders": replication.DistributionJob("tukpub-0", "shop", "eu-orders", "dubsub-0",
			"Copy"),
		"distribution of shop-eu, orders": replication.DistributionJob("tukpub-0", "shop-eu", "orders", "dubsub-0",
			"Copy"),
		"distribution to a-b": replication.DistributionJob("tukpub-0", "shop", "orders", "dubsub-0",
			"a-b"),
		"distribution of a database 0":               replication.DistributionJob("a-0", "0", "p", "x-y-0", "Copy"),
		"distribution of a publisher that ends in 0": replication.DistributionJob("a-0-0", "p", "x", "y-0", "Copy"),
		"long, a-b": replication.SnapshotJob("tukpub-0", long+"-a", "b"+long),
		"long, b":   replication.SnapshotJob("tukpub-0", long, "a-b"+long),
	} {
		g.Expect(names).NotTo(HaveKey(name), "%s and %s", what, names[name])
		names[name] = what
		g.Expect(len(name)).To(BeNumerically("<=", 100))
	}
	g.Expect(replication.LogReaderJob("tukpub-0", "Content")).To(Equal("geosql-tukpub-0-Content-logreader"))
	g.Expect(replication.SnapshotJob("tukpub-0", "Content", "articles")).
		To(Equal("geosql-tukpub-0-Content-articles-snapshot"))
	g.Expect(replication.DistributionJob("tukpub-0", "Content", "articles", "dubsub-0", "Copy")).
		To(Equal("geosql-tukpub-0-Content-articles-dubsub-0-Copy"))
}

// jobs are those of a server: their command lines by name.
type jobs struct {
	mssql.Querier
	commands map[string]string
}

type job string

func (j job) Scan(dest ...any) error {
	*dest[2].(*string) = string(j)
	return nil
}

func (q jobs) Query(_ context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	for name, command := range q.commands {
		for _, a := range s.Args {
			if a.Value == name {
				return scan(job(command))
			}
		}
	}
	return nil
}

// A job that a release before has made goes on under its name, if it is that agent's.
func TestJobsOfReleasesBefore(t *testing.T) {
	agent, before := replication.SnapshotAgent("tukpub-0", "shop", "eu-orders"), "geosql-tukpub-0-shop-eu-orders-snapshot"
	command := func(database, publication string) string {
		system := replication.System{Login: "agents", Server: "dist"}
		return system.SnapshotCommand("tukpub-0", database, publication, nil).Text()
	}
	for name, c := range map[string]struct {
		commands map[string]string
		finds    string
	}{
		"none":               {nil, ""},
		"this agent's":       {map[string]string{before: command("shop", "eu-orders")}, before},
		"another agent's":    {map[string]string{before: command("shop-eu", "orders")}, ""},
		"a new one":          {map[string]string{agent.Now: command("shop", "eu-orders")}, agent.Now},
		"both":               {map[string]string{agent.Now: "", before: command("shop", "eu-orders")}, agent.Now},
		"one without a step": {map[string]string{before: ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := agent.Read(t.Context(), jobs{commands: c.commands})
			g.Expect(err).NotTo(HaveOccurred())
			if c.finds == "" {
				g.Expect(found).To(BeNil())
				g.Expect(agent.Name(found)).To(Equal(agent.Now))
				return
			}
			g.Expect(agent.Name(nil, found)).To(Equal(c.finds))
			var p replication.Plan
			p.RemoveJob("dist", agent.Now, found)
			p.Run("dist", agent.Now, &mssql.Job{Name: found.Name, Enabled: true})
			p.Job("dist", tsql.Job{Name: agent.Now}, false, &mssql.Job{Name: found.Name, Enabled: true, Step: 1, Command: "x"})
			for _, s := range p.Steps {
				g.Expect(s.Describe()).To(ContainSubstring("N'"+c.finds+"'"), "no second job")
			}
		})
	}
}
