// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

// agCluster is three servers whose endpoints know each other.
type agCluster struct {
	t       *testing.T
	servers []*instance
	admins  []*sql.DB
	urls    []string
	// ports are the endpoints' ports.
	ports []int
}

// agLease is the write lease of groups that nobody renews it for, in seconds: longer than any test takes on a busy
// machine.
const agLease = 600

// freePort is a port that nobody listens on now, within LISTENER_PORT's range of 1024 to 32767
// (docs/t-sql/statements/create-endpoint-transact-sql.md). No other test of any process is given it until this one ends,
// those of the operator neither (test/support/ports): who asked for it may listen later, and again.
func freePort(t *testing.T) int {
	t.Helper()
	g := NewWithT(t)
	folder := filepath.Join(os.TempDir(), "geosql-test-ports")
	g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for range 1000 {
		port := 15000 + rand.IntN(17000)
		f, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o644)
		g.Expect(err).NotTo(HaveOccurred())
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
				l.Close()
				t.Cleanup(func() { f.Close() })
				return port
			}
		}
		f.Close()
	}
	g.Expect("a free port").To(BeNil())
	return 0
}

// newAGServers starts three servers with certificate endpoints, each partner's public part on a login with CONNECT.
func newAGServers(t *testing.T) *agCluster {
	t.Helper()
	g := NewWithT(t)
	c := &agCluster{t: t}
	public := make([][]byte, 3)
	for n := range 3 {
		i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
		i.name = fmt.Sprintf("AG%c", 'A'+n)
		g.Expect(i.launch()).To(Succeed())
		admin := i.open(t, "")
		port := freePort(t)
		c.servers, c.admins = append(c.servers, i), append(c.admins, admin)
		c.ports = append(c.ports, port)
		c.urls = append(c.urls, fmt.Sprintf("TCP://127.0.0.1:%d", port))
		mustExec(t, admin, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'")
		mustExec(
			t,
			admin,
			fmt.Sprintf("CREATE CERTIFICATE [%s_cert] WITH SUBJECT = N'%s', EXPIRY_DATE = N'2099-12-31'", i.name, i.name),
		)
		mustExec(
			t,
			admin,
			fmt.Sprintf(
				"CREATE ENDPOINT [Hadr_endpoint] STATE = STARTED AS TCP (LISTENER_PORT = %d, LISTENER_IP = (127.0.0.1)) "+
					"FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE [%s_cert], ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)",
				port,
				i.name,
			),
		)
		public[n] = value(t, admin, fmt.Sprintf("SELECT CERTENCODED(CERT_ID('%s_cert'))", i.name)).([]byte)
	}
	for n := range 3 {
		for m, partner := range c.servers {
			if n == m {
				continue
			}
			mustExec(
				t,
				c.admins[n],
				fmt.Sprintf(
					"CREATE LOGIN [%[1]s_login] WITH PASSWORD = N'P4rtner-Password'; CREATE USER [%[1]s_user] FOR LOGIN [%[1]s_login]",
					partner.name,
				),
			)
			mustExec(
				t,
				c.admins[n],
				fmt.Sprintf(
					"CREATE CERTIFICATE [%[1]s_cert] AUTHORIZATION [%[1]s_user] FROM BINARY = 0x%s",
					partner.name,
					hex.EncodeToString(public[m]),
				),
			)
			mustExec(t, c.admins[n], fmt.Sprintf("GRANT CONNECT ON ENDPOINT::[Hadr_endpoint] TO [%s_login]", partner.name))
		}
	}
	return c
}

// agDatabase makes a database that may be added to a group.
func (c *agCluster) agDatabase(n int, name string) {
	c.t.Helper()
	mustExec(c.t, c.admins[n], "CREATE DATABASE ["+name+"]")
	mustExec(c.t, c.admins[n], "ALTER DATABASE ["+name+"] SET RECOVERY FULL")
	db := c.servers[n].open(c.t, name)
	mustExec(c.t, db, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(50) NULL)")
	db.Close()
	mustExec(c.t, c.admins[n], "BACKUP DATABASE ["+name+"] TO DISK = N'"+name+".bak'")
}

// replica is one replica of CREATE AVAILABILITY GROUP.
func (c *agCluster) replica(n int, mode string) string {
	if mode == "CONFIGURATION_ONLY" {
		return fmt.Sprintf(
			"N'%s' WITH (ENDPOINT_URL = N'%s', AVAILABILITY_MODE = CONFIGURATION_ONLY, SESSION_TIMEOUT = 5)",
			c.servers[n].name,
			c.urls[n],
		)
	}
	return fmt.Sprintf(
		"N'%s' WITH (ENDPOINT_URL = N'%s', AVAILABILITY_MODE = %s, FAILOVER_MODE = EXTERNAL, SEEDING_MODE = AUTOMATIC, "+
			"SESSION_TIMEOUT = 5, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
		c.servers[n].name,
		c.urls[n],
		mode,
	)
}

// newGroup has the group "ag" over three servers with the database "app" on the first; third is the third replica's
// mode.
func newGroup(t *testing.T, third string, lease int) *agCluster {
	t.Helper()
	c := newAGServers(t)
	c.agDatabase(0, "app")
	mustExec(
		t,
		c.admins[0],
		fmt.Sprintf(
			"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = %d) FOR DATABASE [app] "+
				"REPLICA ON %s, %s, %s",
			lease,
			c.replica(0, "SYNCHRONOUS_COMMIT"),
			c.replica(1, "SYNCHRONOUS_COMMIT"),
			c.replica(2, third),
		),
	)
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
		if n == 1 || third != "CONFIGURATION_ONLY" {
			mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
		}
	}
	return c
}

// restart starts a killed or stopped server again.
func (c *agCluster) restart(n int) {
	c.t.Helper()
	NewWithT(c.t).Expect(c.servers[n].launch()).To(Succeed())
	c.admins[n] = c.servers[n].open(c.t, "")
}

// role is the local replica's role.
func (c *agCluster) role(n int) func() (any, error) {
	return func() (any, error) {
		rows, err := tryQuery(c.admins[n], "SELECT role_desc FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1")
		if err != nil || len(rows) != 1 {
			return nil, fmt.Errorf("%d rows: %w", len(rows), err)
		}
		return rows[0][0], nil
	}
}

// state is the state of server n's copy of app as server p sees it.
func (c *agCluster) state(p, n int) func() (string, error) {
	return func() (string, error) {
		rows, err := tryQuery(c.admins[p], `SELECT s.synchronization_state_desc FROM sys.dm_hadr_database_replica_states s
			JOIN sys.availability_replicas r ON r.replica_id = s.replica_id WHERE r.replica_server_name = @p1`, c.servers[n].name)
		if err != nil || len(rows) != 1 {
			return "", fmt.Errorf("%d rows: %w", len(rows), err)
		}
		return rows[0][0].(string), nil
	}
}

func (c *agCluster) synchronized(p int, others ...int) {
	c.t.Helper()
	g := NewWithT(c.t)
	for _, n := range others {
		g.Eventually(c.state(p, n), patient, "50ms").Should(Equal("SYNCHRONIZED"), c.servers[n].name)
	}
}

// asManager runs a statement with the cluster manager's session key.
func (c *agCluster) asManager(n int, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	conn, err := c.admins[n].Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx,
		"EXEC sys.sp_set_session_context @key = N'external_cluster', @value = N'yes'"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, text)
	return err
}

// promote makes server n primary as a cluster manager does.
func (c *agCluster) promote(n int) {
	c.t.Helper()
	g := NewWithT(c.t)
	mustExec(c.t, c.admins[n], fmt.Sprintf("ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = %d)", agLease))
	g.Expect(c.asManager(n, "ALTER AVAILABILITY GROUP [ag] FAILOVER")).To(Succeed())
	g.Eventually(c.role(n), patient, "20ms").Should(Equal("PRIMARY"))
}

// insert writes a row to app at server n.
func (c *agCluster) insert(ctx context.Context, n, id int) error {
	db, err := sql.Open("sqlserver", c.servers[n].dsn(c.servers[n].user, c.servers[n].password, "app", nil))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "INSERT INTO dbo.t (id, v) VALUES (@p1, @p2)", id, strings.Repeat("x", 20))
	return err
}

// ids are the rows of app at server n.
func (c *agCluster) ids(n int) func() ([]int64, error) {
	return func() ([]int64, error) {
		db, err := sql.Open("sqlserver", c.servers[n].dsn(c.servers[n].user, c.servers[n].password, "app", nil))
		if err != nil {
			return nil, err
		}
		defer db.Close()
		rows, err := tryQuery(db, "SELECT id FROM dbo.t ORDER BY id")
		if err != nil {
			return nil, err
		}
		out := []int64{}
		for _, r := range rows {
			out = append(out, r[0].(int64))
		}
		return out, nil
	}
}
