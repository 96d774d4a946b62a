// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"
)

// hadrInstance is an instance of an edition, with a certificate for an endpoint.
func hadrInstance(t *testing.T, edition string) *sql.DB {
	t.Helper()
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1", "MSSQL_PID="+edition)
	i.name = "AGA"
	NewWithT(t).Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	mustExec(t, admin, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'")
	mustExec(t, admin, "CREATE CERTIFICATE [own] WITH SUBJECT = N'own', EXPIRY_DATE = N'2099-12-31'")
	return admin
}

const oneReplica = "N'AGA' WITH (ENDPOINT_URL = N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, " +
	"FAILOVER_MODE = EXTERNAL)"

// Standard has basic groups alone: one database, and no readable secondary.
func TestStandardHasBasicGroupsAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin := hadrInstance(t, "Standard")
	for _, name := range []string{"one", "two"} {
		mustExec(t, admin, "CREATE DATABASE ["+name+"]")
		mustExec(t, admin, "ALTER DATABASE ["+name+"] SET RECOVERY FULL")
		mustExec(t, admin, "BACKUP DATABASE ["+name+"] TO DISK = N'"+name+".bak'")
	}
	g.Expect(failure(t, admin, "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON "+oneReplica).
		Number).To(Equal(int32(41199)))
	basic := "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, BASIC) "
	g.Expect(failure(t, admin, basic+"FOR DATABASE [one], [two] REPLICA ON "+oneReplica).Number).To(Equal(int32(41199)))
	mustExec(t, admin, basic+"FOR DATABASE [one] REPLICA ON "+oneReplica)
	g.Expect(value(t, admin, "SELECT basic_features FROM sys.availability_groups")).To(Equal(true))
	for _, action := range []string{"ADD DATABASE [two]",
		"MODIFY REPLICA ON N'AGA' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))"} {
		g.Expect(failure(t, admin, "ALTER AVAILABILITY GROUP [ag] "+action).Number).To(Equal(int32(41199)), action)
	}
}

// Express and Web hold no replica with data, and their endpoints have no other role than WITNESS.
func TestExpressAndWebAreWitnessesAlone(t *testing.T) {
	t.Parallel()
	for _, edition := range []string{"Express", "Web"} {
		t.Run(edition, func(t *testing.T) {
			g := NewWithT(t)
			admin := hadrInstance(t, edition)
			endpoint := "CREATE ENDPOINT [Hadr_endpoint] STATE = STOPPED AS TCP (LISTENER_PORT = 5022) " +
				"FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE [own], ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = "
			g.Expect(failure(t, admin, endpoint+"ALL)").Number).To(Equal(int32(7871)))
			mustExec(t, admin, endpoint+"WITNESS)")
			g.Expect(failure(t, admin, "ALTER ENDPOINT [Hadr_endpoint] FOR DATABASE_MIRRORING (ROLE = PARTNER)").Number).
				To(Equal(int32(7871)))
			g.Expect(failure(t, admin,
				"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON "+oneReplica).Number).
				To(Equal(int32(41199)))
		})
	}
}
