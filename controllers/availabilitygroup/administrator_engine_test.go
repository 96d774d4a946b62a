// SPDX-License-Identifier: Apache-2.0

//go:build integration

package availabilitygroup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/controllers/availabilitygroup"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// An engine lets the operator's login, with the grants that it is given, do what is planned for it.
func TestTheOperatorsLoginNeedsNoAdministratorForThat(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	connector := e.Connector(t)
	sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	role := credentials.RoleOperator
	now := time.Now()
	for _, s := range []tsql.Statement{
		tsql.CreateLogin(tsql.Login{Name: role.Login(), SID: credentials.SID("web", role.Login()),
			Password: e.Access.Passwords.Of(role)}),
		tsql.GrantServerPermission(tsql.AlterAnyEndpoint, role.Login()),
		tsql.GrantServerPermission(tsql.AlterAnyDatabase, role.Login()),
		tsql.CreateMasterKey("It's-a_secret.7"),
		tsql.CreateSelfSignedCertificate("geosql_tukpub_1", "endpoint", now.Add(-time.Hour), now.Add(time.Hour)),
		tsql.CreateMirroringEndpoint(availabilitygroup.MirroringPort, "geosql_tukpub_1", tsql.EndpointRoleAll),
		{Text: "ALTER ENDPOINT [" + tsql.MirroringEndpoint + "] STATE = STOPPED"},
		tsql.CreateDatabase("Content"), {Text: "ALTER DATABASE [Content] SET RECOVERY SIMPLE"},
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	operator, err := connector.Open(t.Context(), e.Target(role))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{tsql.StartEndpoint(tsql.MirroringEndpoint), tsql.SetRecoveryFull("Content"),
		tsql.CreateDatabaseWith("Own", "Latin1_General_100_CI_AS"), tsql.SetCompatibilityLevel("Own", 150),
		tsql.SetReadCommittedSnapshot("Own", true), tsql.SetCompatibilityLevel("Content", 150),
		tsql.SetReadCommittedSnapshot("Content", true)} {
		g.Expect(operator.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
}
