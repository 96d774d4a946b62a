// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// only parses one statement into a node of that type.
func only[N any](t *testing.T, text string) *N {
	t.Helper()
	g := NewWithT(t)
	b, err := syntax.Parse(text)
	g.Expect(err).To(BeNil(), text)
	g.Expect(b.Statements).To(HaveLen(1))
	n, ok := any(b.Statements[0].Node).(*N)
	g.Expect(ok).To(BeTrue(), "%T", b.Statements[0].Node)
	return n
}

func TestAvailabilityGroupNode(t *testing.T) {
	g := NewWithT(t)
	n := only[syntax.CreateAvailabilityGroup](t, documented[0])
	g.Expect(n.Name).To(Equal("ag"))
	g.Expect(*n.Options.ClusterType).To(Equal("EXTERNAL"))
	g.Expect(*n.Options.WriteLeaseValidity).To(BeEquivalentTo(20))
	g.Expect(*n.Options.RequiredSynchronizedCommits).To(BeEquivalentTo(1))
	g.Expect(n.Databases).To(Equal([]string{"a", "b"}))
	g.Expect(n.Replicas).To(HaveLen(3))
	one := n.Replicas[0]
	g.Expect(one.Server).To(Equal("one"))
	g.Expect(*one.EndpointURL).To(Equal("tcp://one:5022"))
	g.Expect(*one.SecondaryRole.AllowConnections).To(Equal("ALL"))
	g.Expect(one.PrimaryRole.ReadOnlyRoutingList).To(Equal([][]string{{"two", "three"}, {"one"}}))
	g.Expect(n.Replicas[1].SeedingMode).To(BeNil())
	g.Expect(*n.Replicas[2].AvailabilityMode).To(Equal("CONFIGURATION_ONLY"))
	g.Expect(n.Replicas[2].FailoverMode).To(BeNil())
	g.Expect(n.Listener.IPs).To(Equal([]syntax.ListenerAddress{{IP: "10.0.0.1", Mask: "255.255.255.0"}, {IP: "2001::1"}}))
	g.Expect(*n.Listener.Port).To(BeEquivalentTo(1433))
}

func TestAlterAvailabilityGroupActions(t *testing.T) {
	g := NewWithT(t)
	action := func(text string) any {
		return only[syntax.AlterAvailabilityGroup](t, "ALTER AVAILABILITY GROUP ag "+text).Action
	}
	g.Expect(action("FAILOVER")).To(Equal(syntax.AGFailover{}))
	g.Expect(action("JOIN WITH (CLUSTER_TYPE = EXTERNAL)")).To(Equal(syntax.AGJoin{ClusterType: "EXTERNAL"}))
	g.Expect(action("GRANT CREATE ANY DATABASE")).To(Equal(syntax.AGGrantCreateAnyDatabase{}))
	g.Expect(*action("SET (ROLE = SECONDARY)").(syntax.AGSet).Options.Role).To(Equal("SECONDARY"))
	g.Expect(action("REMOVE REPLICA ON N'x'")).To(Equal(syntax.AGRemoveReplica{Servers: []string{"x"}}))
}

func TestOtherNodes(t *testing.T) {
	g := NewWithT(t)
	login := only[syntax.CreateLogin](t, "CREATE LOGIN [a b] WITH PASSWORD = N'it''s', SID = 0x0102, CHECK_POLICY = OFF")
	g.Expect(*login.Options.Password).To(Equal("it's"))
	g.Expect(login.Options.SID).To(Equal([]byte{1, 2}))
	g.Expect(*login.Options.CheckPolicy).To(BeFalse())

	endpoint := only[syntax.CreateEndpoint](
		t,
		"CREATE ENDPOINT e AS TCP (LISTENER_PORT = 5022, LISTENER_IP = (10.1.2.3)) FOR DATABASE_MIRRORING (AUTHENTICATION "+
			"= CERTIFICATE c, ROLE = ALL)",
	)
	g.Expect(endpoint.IP).To(Equal("10.1.2.3"))
	g.Expect(endpoint.Mirroring.Certificate).To(Equal("c"))

	grant := only[syntax.PermissionStatement](t, "GRANT VIEW SERVER STATE, exec ON OBJECT::dbo.p TO [x], public")
	g.Expect(grant.Permissions[0].Name).To(Equal("VIEW SERVER STATE"))
	g.Expect(grant.Permissions[1].Name).To(Equal("EXECUTE"))
	g.Expect(grant.On.Name).To(Equal([]string{"dbo", "p"}))
	g.Expect(grant.Principals).To(Equal([]string{"x", "public"}))

	alter := only[syntax.AlterDatabase](
		t,
		"ALTER DATABASE d SET RECOVERY SIMPLE, PAGE_VERIFY CHECKSUM WITH ROLLBACK AFTER 3",
	)
	g.Expect(alter.Action.(syntax.DBSet).Options).
		To(Equal([]syntax.DatabaseOption{{Name: "RECOVERY", Value: "SIMPLE"}, {Name: "PAGE_VERIFY", Value: "CHECKSUM"}}))
	g.Expect(alter.Action.(syntax.DBSet).RollbackAfter).To(BeEquivalentTo(3))

	restore := only[syntax.Restore](t, "RESTORE DATABASE d FROM DISK = 'x' WITH MOVE 'a' TO 'b', NORECOVERY")
	g.Expect(restore.Options.Move).To(Equal([]syntax.MoveFile{{LogicalName: "a", Path: "b"}}))
	g.Expect(restore.Options.NoRecovery).To(BeTrue())

	create := only[syntax.CreateDatabase](
		t,
		"CREATE DATABASE d ON (NAME = a, FILENAME = 'x', SIZE = 8MB, FILEGROWTH = 10%)",
	)
	g.Expect(create.Files[0].Size.KB).To(BeEquivalentTo(8192))
	g.Expect(create.Files[0].Growth.Percent).To(BeTrue())
}

func TestParameters(t *testing.T) {
	g := NewWithT(t)
	p, err := syntax.ParseParameters(
		"@p1 int, @p2 nvarchar(20) = N'x' OUTPUT,@p3 decimal(10,2) , @p4 varbinary(max), @p5 sysname, @p6 datetime2(3)",
	)
	g.Expect(err).To(BeNil())
	g.Expect(p).To(HaveLen(6))
	g.Expect(p[0].Type.Kind).To(Equal(sqltype.Int))
	g.Expect(p[1]).
		To(Equal(syntax.Parameter{Name: "@p2", Type: sqltype.Type{Kind: sqltype.NVarChar, Length: 20}, Output: true,
			HasDefault: true, Default: "x"}))
	g.Expect(p[2].Type).To(Equal(sqltype.Type{Kind: sqltype.Decimal, Precision: 10, Scale: 2}))
	g.Expect(p[3].Type.Length).To(Equal(sqltype.MaxLength))
	g.Expect(p[4].Type).To(Equal(sqltype.Type{Kind: sqltype.NVarChar, Length: 128}))
	g.Expect(p[5].Type.Scale).To(BeEquivalentTo(3))
	typed, err := syntax.ParseParameters("@t dbo.[My Type] READONLY, @a Alias = 1")
	g.Expect(err).To(BeNil())
	g.Expect(typed[0]).To(Equal(syntax.Parameter{Name: "@t", TypeName: "[dbo].[My Type]", ReadOnly: true}))
	g.Expect(typed[1].TypeName).To(Equal("[Alias]"))
	none, err := syntax.ParseParameters("  ")
	g.Expect(err).To(BeNil())
	g.Expect(none).To(BeEmpty())
	for text, number := range map[string]int32{"@p1": 102, "@p1 int READONLY": 346, "@p1 int @p2 int": 102,
		"@a int, @A int":    134,
		"@a nvarchar(5000)": 131, "@a decimal(5,6)": 192, "p int": 102, "@a int,": 102} {
		_, err := syntax.ParseParameters(text)
		g.Expect(err).NotTo(BeNil(), text)
		g.Expect(err.Number).To(Equal(number), "%s: %s", text, err.Message)
	}
}

// The text around a table's name is what replication sends with another name in it.
func TestTextAroundAName(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{"/* é */ ALTER TABLE  [dbo].[a b] ADD x int NULL CONSTRAINT c DEFAULT N'dbo.t;'",
		"ALTER TABLE t DROP COLUMN x", "ALTER TABLE db.dbo.t ALTER COLUMN x nvarchar(max) NOT NULL",
		"ALTER TABLE t WITH NOCHECK ADD CONSTRAINT c CHECK (x > 0)", "ALTER TABLE dbo.t NOCHECK CONSTRAINT ALL"} {
		b, err := syntax.Parse("SELECT 1; " + text + " ;")
		g.Expect(err).To(BeNil(), text)
		node := b.Statements[1].Node
		var name *ast.SchemaObjectName
		switch n := node.(type) {
		case *ast.AlterTableAddTableElementStatement:
			name = n.SchemaObjectName
		case *ast.AlterTableDropTableElementStatement:
			name = n.SchemaObjectName
		case *ast.AlterTableAlterColumnStatement:
			name = n.SchemaObjectName
		case *ast.AlterTableConstraintModificationStatement:
			name = n.SchemaObjectName
		}
		before, after, ok := b.Around(node, name)
		g.Expect(ok).To(BeTrue(), text)
		g.Expect(before+b.TextOf(name)+after).To(Equal(strings.TrimPrefix(text, "/* é */ ")), text)
		g.Expect(strings.Fields(before)).To(Equal([]string{"ALTER", "TABLE"}), text)
	}
}
