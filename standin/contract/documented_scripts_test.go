// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDocumentedReadScale is docs/linux/availability-group/configure-read-scale.md as a script: one certificate that is
// copied to the secondary with its key, no logins for the endpoints, a group without a cluster, and the documented
// failover without loss of data (docs/includes/ss-force-failover-read-scale-out.md).
func TestDocumentedReadScale(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	servers := make([]*instance, 2)
	c := &agCluster{t: t, servers: servers}
	for n := range servers {
		i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
		i.name = fmt.Sprintf("node%d", n+1)
		g.Expect(i.launch()).To(Succeed())
		servers[n] = i
		c.admins = append(c.admins, i.open(t, ""))
		c.ports = append(c.ports, freePort(t))
	}
	admins := c.admins
	for n := range servers {
		mustExec(t, admins[n], "ALTER EVENT SESSION AlwaysOn_health ON SERVER WITH (STARTUP_STATE = ON);")
		g.Expect(value(t, admins[n], "SELECT startup_state FROM sys.server_event_sessions WHERE name = 'AlwaysOn_health'")).
			To(BeTrue())
		mustExec(t, admins[n], "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password';")
	}
	mustExec(t, admins[0], `CREATE CERTIFICATE dbm_certificate WITH SUBJECT = 'dbm';
BACKUP CERTIFICATE dbm_certificate
   TO FILE = '/var/opt/mssql/data/dbm_certificate.cer'
   WITH PRIVATE KEY (
           FILE = '/var/opt/mssql/data/dbm_certificate.pvk',
           ENCRYPTION BY PASSWORD = 'Pr1vate-Key'
       );`)
	for _, name := range []string{"dbm_certificate.cer", "dbm_certificate.pvk"} {
		data, err := os.ReadFile(filepath.Join(servers[0].root, "data", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(servers[1].root, "data", name), data, 0o600)).To(Succeed())
	}
	mustExec(t, admins[1], `CREATE CERTIFICATE dbm_certificate
    FROM FILE = '/var/opt/mssql/data/dbm_certificate.cer'
    WITH PRIVATE KEY (
    FILE = '/var/opt/mssql/data/dbm_certificate.pvk',
    DECRYPTION BY PASSWORD = 'Pr1vate-Key'
            );`)
	for n := range servers {
		mustExec(t, admins[n], fmt.Sprintf(`CREATE ENDPOINT [Hadr_endpoint]
    AS TCP (LISTENER_PORT = %d, LISTENER_IP = (127.0.0.1))
    FOR DATABASE_MIRRORING (
        ROLE = ALL,
        AUTHENTICATION = CERTIFICATE dbm_certificate,
        ENCRYPTION = REQUIRED ALGORITHM AES
        );
ALTER ENDPOINT [Hadr_endpoint] STATE = STARTED;`, c.ports[n]))
	}
	g.Expect(value(t, admins[0],
		"SELECT port FROM sys.dm_tcp_listener_states WHERE type_desc = 'DATABASE_MIRRORING' AND state_desc = 'ONLINE'")).
		To(BeEquivalentTo(c.ports[0]))
	replica := func(n int) string {
		return fmt.Sprintf(`N'node%d' WITH (
            ENDPOINT_URL = N'tcp://127.0.0.1:%d',
		    AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT,
		    FAILOVER_MODE = MANUAL,
		    SEEDING_MODE = AUTOMATIC,
                    SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL)
		    )`, n+1, c.ports[n])
	}
	mustExec(
		t,
		admins[0],
		"CREATE AVAILABILITY GROUP [ag1]\n    WITH (CLUSTER_TYPE = NONE)\n    FOR REPLICA ON\n        "+replica(
			0,
		)+",\n        "+replica(
			1,
		)+";\n\nALTER AVAILABILITY GROUP [ag1] GRANT CREATE ANY DATABASE;",
	)
	mustExec(
		t,
		admins[1],
		"ALTER AVAILABILITY GROUP [ag1] JOIN WITH (CLUSTER_TYPE = NONE);\n\nALTER AVAILABILITY GROUP [ag1] GRANT CREATE "+
			"ANY DATABASE;",
	)
	mustExec(
		t,
		admins[0],
		"CREATE DATABASE [db1];\nALTER DATABASE [db1] SET RECOVERY FULL;\nBACKUP DATABASE [db1]\n   TO DISK = "+
			"N'/var/opt/mssql/data/db1.bak';",
	)
	mustExec(t, admins[0], "ALTER AVAILABILITY GROUP [ag1] ADD DATABASE [db1];")
	g.Eventually(func() any { return query(t, admins[1], "SELECT * FROM sys.databases WHERE name = 'db1';") }, patient,
		"100ms").
		ShouldNot(BeEmpty())

	// The failover without loss of data.
	mustExec(t, admins[0], "CREATE TABLE db1.dbo.t (id int PRIMARY KEY); INSERT INTO db1.dbo.t VALUES (1)")
	for _, node := range []string{"node1", "node2"} {
		mustExec(
			t,
			admins[0],
			"ALTER AVAILABILITY GROUP [ag1]\n     MODIFY REPLICA ON N'"+node+"'\n     WITH (AVAILABILITY_MODE = "+
				"SYNCHRONOUS_COMMIT);",
		)
	}
	g.Eventually(func() any {
		return query(t, admins[0], `SELECT ag.name, drs.synchronization_state_desc, ag.sequence_number / ag.sequence_number
FROM sys.dm_hadr_database_replica_states drs, sys.availability_groups ag
WHERE drs.group_id = ag.group_id AND drs.is_local = 0;`)
	}, patient, "100ms").Should(Equal([][]any{{"ag1", "SYNCHRONIZED", int64(1)}}))
	mustExec(t, admins[0], "ALTER AVAILABILITY GROUP [ag1]\n     SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1);")
	mustExec(t, admins[0], "ALTER AVAILABILITY GROUP [ag1] OFFLINE")
	mustExec(t, admins[1], "ALTER AVAILABILITY GROUP ag1 FORCE_FAILOVER_ALLOW_DATA_LOSS;")
	mustExec(t, admins[0], "ALTER AVAILABILITY GROUP [ag1]\n     SET (ROLE = SECONDARY);")
	// The former primary suspends its copy when it hears of the forced failover. One that is resumed before does so all
	// the same.
	g.Eventually(func() any {
		return query(t, admins[0], "SELECT is_suspended FROM sys.dm_hadr_database_replica_states WHERE is_local = 1")
	}, patient, "100ms").Should(Equal([][]any{{true}}))
	mustExec(t, admins[0], "ALTER DATABASE [db1]\n     SET HADR RESUME")
	g.Eventually(func() error {
		_, err := tryQuery(
			admins[1],
			"INSERT INTO db1.dbo.t VALUES (2)",
		) // 983 until the new primary has recovered the database
		return err
	}, patient, "200ms").Should(Succeed())
	g.Eventually(func() any {
		rows, err := tryQuery(admins[0], "SELECT MAX(id) FROM db1.dbo.t")
		if err != nil {
			return err
		}
		return rows
	}, patient, "100ms").Should(Equal([][]any{{int64(2)}}))
}
