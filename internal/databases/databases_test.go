// SPDX-License-Identifier: Apache-2.0

package databases_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

func texts(statements []tsql.Statement) (all []string) {
	for _, s := range statements {
		all = append(all, s.Text)
	}
	return all
}

// A new database has its options before anybody can be in it.
func TestADatabaseIsMadeWithItsProperties(t *testing.T) {
	g := NewWithT(t)
	server := databases.Server{Host: "tukpub-0", Version: "16.0.4135.4"}
	g.Expect(databases.Make(server, v1alpha1.Database{Name: "Content", CompatibilityLevel: 170})).To(HaveLen(1),
		"a version that is not there yet is for Keep to tell")
	g.Expect(databases.Make(server, v1alpha1.Database{Name: "Content"})).
		To(Equal([]tsql.Statement{tsql.CreateDatabase("Content")}))
	g.Expect(texts(databases.Make(server, v1alpha1.Database{Name: "Content", Collation: "Latin1_General_100_BIN2",
		CompatibilityLevel: 150, ReadCommittedSnapshot: ptr.To(true), Owner: "shop"}))).To(Equal([]string{
		"IF DB_ID(N'Content') IS NULL\n    CREATE DATABASE [Content] COLLATE Latin1_General_100_BIN2",
		"ALTER DATABASE [Content] SET COMPATIBILITY_LEVEL = 150",
		"ALTER DATABASE [Content] SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT",
	}))
}

func TestADatabaseIsKeptAsDeclared(t *testing.T) {
	operator := credentials.RoleOperator.Login()
	for name, c := range map[string]struct {
		declared v1alpha1.Database
		have     func(*mssql.Database)
		changes  []databases.Change
		reason   string
		says     string
	}{
		"nothing is declared": {have: func(d *mssql.Database) { d.Owner = "somebody" }},
		"as declared": {declared: v1alpha1.Database{Collation: "latin1_general_ci_as", CompatibilityLevel: 160,
			ReadCommittedSnapshot: ptr.To(false), Owner: operator}},
		"another level": {declared: v1alpha1.Database{CompatibilityLevel: 150},
			changes: []databases.Change{{credentials.RoleOperator, tsql.SetCompatibilityLevel("Content", 150)}}},
		"a level of a later version": {declared: v1alpha1.Database{CompatibilityLevel: 170},
			reason: v1alpha1.ReasonDatabaseDiffers, says: "no higher one than 160"},
		"row versions": {declared: v1alpha1.Database{ReadCommittedSnapshot: ptr.To(true)},
			changes: []databases.Change{{credentials.RoleOperator, tsql.SetReadCommittedSnapshot("Content", true)}}},
		"no more row versions": {declared: v1alpha1.Database{ReadCommittedSnapshot: ptr.To(false)},
			have:    func(d *mssql.Database) { d.ReadCommittedSnapshot = true },
			changes: []databases.Change{{credentials.RoleOperator, tsql.SetReadCommittedSnapshot("Content", false)}}},
		"row versions while others are in it": {declared: v1alpha1.Database{ReadCommittedSnapshot: ptr.To(true)},
			have:   func(d *mssql.Database) { d.Sessions = 3 },
			reason: v1alpha1.ReasonDatabaseInUse, says: "ALTER DATABASE [Content] SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK"},
		"another owner": {declared: v1alpha1.Database{Owner: "Shop"},
			changes: []databases.Change{{credentials.RoleSA, tsql.SetDatabaseOwner("Content", "shop")}}},
		"an owner who is no login": {declared: v1alpha1.Database{Owner: "nobody"},
			reason: v1alpha1.ReasonDatabaseDiffers, says: `to belong to "nobody", and there is no such login`},
		"another collation": {declared: v1alpha1.Database{Collation: "Turkish_CI_AS"},
			reason: v1alpha1.ReasonDatabaseDiffers,
			says:   "has collation Latin1_General_CI_AS and is declared with Turkish_CI_AS"},
		"a collation that nobody can tell": {declared: v1alpha1.Database{Collation: "Turkish_CI_AS"},
			have: func(d *mssql.Database) { d.Collation = "" }},
		"what can be changed is, beside what can't": {
			declared: v1alpha1.Database{Collation: "Turkish_CI_AS", CompatibilityLevel: 150},
			changes:  []databases.Change{{credentials.RoleOperator, tsql.SetCompatibilityLevel("Content", 150)}},
			reason:   v1alpha1.ReasonDatabaseDiffers, says: "Everything else is as declared"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			have := mssql.Database{Name: "Content", State: "ONLINE", Owner: operator, CompatibilityLevel: 160,
				Collation: "Latin1_General_CI_AS"}
			if c.have != nil {
				c.have(&have)
			}
			c.declared.Name = "Content"
			server := databases.Server{Host: "tukpub-0", Version: "16.0.4135.4", Logins: map[string]mssql.Login{"shop": {}}}
			var kept databases.Kept
			kept.Add(databases.Keep(server, c.declared, have))
			g.Expect(kept.Changes).To(Equal(c.changes))
			outcome, told := kept.Outcome()
			g.Expect(told).To(Equal(c.reason != ""))
			g.Expect(outcome.Reason).To(Equal(c.reason))
			g.Expect(outcome.Message).To(ContainSubstring(c.says))
		})
	}
}

// Who is not known to have made a database has to say that it may be taken over.
func TestWhoseADatabaseIs(t *testing.T) {
	g := NewWithT(t)
	declared := v1alpha1.Database{Name: "Content"}
	g.Expect(databases.Owns(declared, mssql.Database{Owner: credentials.RoleOperator.Login()})).To(BeTrue())
	g.Expect(databases.Owns(declared, mssql.Database{Owner: "shop"})).To(BeFalse())
	g.Expect(databases.Owns(declared, mssql.Database{})).To(BeFalse())
	declared.Owner = "Shop"
	g.Expect(databases.Owns(declared, mssql.Database{Owner: "shop"})).To(BeTrue())
	g.Expect(databases.Owns(declared, mssql.Database{Owner: "another"})).To(BeFalse())
	g.Expect(databases.Owns(declared, mssql.Database{Owner: "another"}, "web", "Another")).To(BeTrue())
	g.Expect(databases.Owns(declared, mssql.Database{}, "web")).To(BeFalse())
}

// Until a database has the owner that is declared, any of those that it may have had or is to have is on record.
func TestOwnersAreOnRecordBeforeTheyChange(t *testing.T) {
	for name, c := range map[string]struct {
		declared, have string
		was, is        []string
	}{
		"none is declared":      {"", "shop", []string{"web"}, []string{"shop"}},
		"as declared":           {"Shop", "shop", []string{"web", "shop"}, []string{"shop"}},
		"another is declared":   {"web", "shop", nil, []string{"shop", "web"}},
		"nobody's":              {"shop", "", nil, []string{"shop"}},
		"nobody's, on record":   {"shop", "", []string{"web", "shop"}, []string{"web", "shop"}},
		"nobody's, none wanted": {"", "", []string{"web"}, []string{"web"}},
		"it is on record":       {"web", "shop", []string{"shop", "WEB"}, []string{"shop", "WEB"}},
		"one is under way":      {"net", "shop", []string{"shop", "web"}, []string{"shop", "web", "net"}},
		"more than are kept": {"j", "a", []string{"a", "b", "c", "d", "e", "f", "g", "h"},
			[]string{"a", "c", "d", "e", "f", "g", "h", "j"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := databases.RecordOwners(v1alpha1.Database{Name: "Content", Owner: c.declared},
				mssql.Database{Name: "Content", Owner: c.have}, c.was)
			NewWithT(t).Expect(got).To(Equal(c.is))
		})
	}
}
