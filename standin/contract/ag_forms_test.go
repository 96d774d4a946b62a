// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAGForms goes through the documented forms of ALTER AVAILABILITY GROUP
// (docs/t-sql/statements/alter-availability-group-transact-sql.md), what each changes in the views, and what each
// refuses.
func TestAGForms(t *testing.T) {
	g := NewWithT(t)
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
	i.name = "AGA"
	g.Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	replica := func(name string) string {
		return fmt.Sprintf(
			"N'%s' WITH (ENDPOINT_URL = N'TCP://%s:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL)",
			name,
			strings.ToLower(name),
		)
	}
	mustExec(
		t,
		admin,
		"CREATE DATABASE app; ALTER DATABASE app SET RECOVERY FULL; BACKUP DATABASE app TO DISK = N'app.bak'",
	)
	mustExec(
		t,
		admin,
		"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON "+replica("AGA")+", "+replica("AGB"),
	)
	alter := func(text string) string { return "ALTER AVAILABILITY GROUP ag " + text }
	modify := func(option string) string { return alter("MODIFY REPLICA ON N'AGB' WITH (" + option + ")") }
	set := func(option string) string { return alter("SET (" + option + ")") }
	// shown is a column of AGB's row, or, with a dot before it, of the group's.
	shown := func(column string) any {
		if strings.HasPrefix(column, ".") {
			return value(t, admin, "SELECT "+column[1:]+" FROM sys.availability_groups")
		}
		return value(t, admin, "SELECT "+column+" FROM sys.availability_replicas WHERE replica_server_name = 'AGB'")
	}
	// The order matters: some options depend on others.
	for _, c := range []struct {
		text   string
		number int32
		column string
		want   any
	}{
		{text: modify("AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT"), column: "availability_mode_desc",
			want: "ASYNCHRONOUS_COMMIT"},
		{text: set("REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1"), number: 35248},
		{text: modify("AVAILABILITY_MODE = SYNCHRONOUS_COMMIT"), column: "availability_mode", want: int64(1)},
		{text: set("REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1"), column: ".required_synchronized_secondaries_to_commit",
			want: int64(1)},
		{text: modify("AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT"), number: 35248},
		{text: alter("REMOVE REPLICA ON N'AGB'"), number: 35248},
		{text: set("REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0"), column: ".required_synchronized_secondaries_to_commit",
			want: int64(0)},
		{text: set("REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 5"), number: 35248},
		{text: modify("AVAILABILITY_MODE = CONFIGURATION_ONLY"), number: 47113},
		{text: modify("FAILOVER_MODE = MANUAL"), number: 47102},
		{text: modify("FAILOVER_MODE = AUTOMATIC"), number: 47102},
		{text: modify("FAILOVER_MODE = EXTERNAL"), column: "failover_mode_desc", want: "EXTERNAL"},
		{text: modify("SEEDING_MODE = AUTOMATIC"), column: "seeding_mode_desc", want: "AUTOMATIC"},
		{text: modify("SEEDING_MODE = MANUAL"), column: "seeding_mode", want: int64(1)},
		{text: modify("BACKUP_PRIORITY = 101"), number: 35209},
		{text: modify("BACKUP_PRIORITY = 100"), column: "backup_priority", want: int64(100)},
		{text: modify("SESSION_TIMEOUT = 4"), number: 35214},
		{text: modify("SESSION_TIMEOUT = 15"), column: "session_timeout", want: int64(15)},
		{text: modify("SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY)"), column: "secondary_role_allow_connections_desc",
			want: "READ_ONLY"},
		{text: modify("SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_WRITE)"), number: 102},
		{text: modify("PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = (N'AGA'))"), number: 19404},
		{text: modify("SECONDARY_ROLE (READ_ONLY_ROUTING_URL = N'b')"), number: 19401},
		{text: modify("SECONDARY_ROLE (READ_ONLY_ROUTING_URL = N'TCP://b:1433')"), column: "read_only_routing_url",
			want: "TCP://b:1433"},
		{text: modify("PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = (N'AGX'))"), number: 19403},
		{text: modify("PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = (N'AGB'))"),
			column: "(SELECT COUNT(*) FROM sys.availability_read_only_routing_lists)", want: int64(1)},
		{text: modify("PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = NONE)"),
			column: "(SELECT COUNT(*) FROM sys.availability_read_only_routing_lists)", want: int64(0)},
		{text: modify("PRIMARY_ROLE (ALLOW_CONNECTIONS = READ_WRITE)"), column: "primary_role_allow_connections_desc",
			want: "READ_WRITE"},
		{text: modify("PRIMARY_ROLE (READ_WRITE_ROUTING_URL = N'TCP://b:1433')"), column: "read_write_routing_url",
			want: "TCP://b:1433"},
		{text: modify("ENDPOINT_URL = N'b:1'"), number: 35232},
		{text: modify("ENDPOINT_URL = N'TCP://b2:5022'"), column: "endpoint_url", want: "TCP://b2:5022"},
		{text: modify("SESSION_TIMEOUT = 10, BACKUP_PRIORITY = 3"), number: 102},
		{text: alter("MODIFY REPLICA ON N'AGX' WITH (BACKUP_PRIORITY = 3)"), number: 35210},

		{text: set("AUTOMATED_BACKUP_PREFERENCE = PRIMARY"), column: ".automated_backup_preference_desc", want: "primary"},
		{text: set("AUTOMATED_BACKUP_PREFERENCE = SECONDARY_ONLY"), column: ".automated_backup_preference", want: int64(1)},
		{text: set("FAILURE_CONDITION_LEVEL = 6"), number: 35228},
		{text: set("FAILURE_CONDITION_LEVEL = 5"), column: ".failure_condition_level", want: int64(5)},
		{text: set("HEALTH_CHECK_TIMEOUT = 14999"), number: 35229},
		{text: set("HEALTH_CHECK_TIMEOUT = 60000"), column: ".health_check_timeout", want: int64(60000)},
		{text: set("DB_FAILOVER = ON"), column: ".db_failover", want: true},
		{text: set("DB_FAILOVER = OFF"), column: ".db_failover", want: false},
		{text: set("DTC_SUPPORT = PER_DB"), number: 41199},
		{text: set("DTC_SUPPORT = NONE"), column: ".dtc_support", want: false},
		{text: set("CLUSTER_CONNECTION_OPTIONS = N'Encrypt=Strict'"), number: 47115},
		{text: set("CLUSTER_TYPE = NONE"), number: 155},
		{text: set("CONTAINED"), number: 155},
		{text: set("ROLE = PRIMARY"), number: 156},
		{text: set("WRITE_LEASE_VALIDITY = 10"), number: 47116},

		{text: alter("ADD REPLICA ON " + replica("AGB")), number: 35282},
		{text: alter("REMOVE REPLICA ON N'AGX'"), number: 35283},
		{text: alter("REMOVE REPLICA ON N'AGA'"), number: 35284},
		{text: alter("REMOVE DATABASE nowhere"), number: 35281},
		{text: alter("ADD DATABASE nowhere"), number: 35238},
		{text: alter("ADD DATABASE master"), number: 35249},
		{text: alter("ADD LISTENER N'd' (WITH IP ((N'10.0.0.1', N'0.0.0.0')), PORT = 65536)"), number: 19482},
		{text: alter("ADD LISTENER N'd' (WITH DHCP ON (N'10.0.0.0', N'255.0.0.0'))"),
			column: "(SELECT dns_name FROM sys.availability_group_listeners)", want: "d"},
		{text: alter("MODIFY LISTENER N'd' (ADD IP (N'10.0.0.1', N'255.0.0.0'))"), number: 19460},
		{text: alter("REMOVE LISTENER N'd'"), column: "(SELECT COUNT(*) FROM sys.availability_group_listeners)",
			want: int64(0)},
		{text: alter("RESTART LISTENER N'l'"), number: 19469},
		{text: alter("REMOVE LISTENER N'l'"), number: 19469},
		{text: alter("ADD LISTENER N'bad name' (WITH IP ((N'10.0.0.1', N'0.0.0.0')))"), number: 19485},
		{text: alter("ADD LISTENER N'l' (WITH IP ((N'10.0.0.1', N'0.0.0.0')))"),
			column: "(SELECT port FROM sys.availability_group_listeners)", want: int64(1433)},
		{text: alter("MODIFY LISTENER N'l' (PORT = 0)"), number: 19482},
		{text: alter("ADD LISTENER N'm' (WITH IP ((N'10.0.0.2', N'0.0.0.0')))"), number: 19477},
		{text: alter("MODIFY LISTENER N'l' (PORT = 1533)"), column: "(SELECT port FROM sys.availability_group_listeners)",
			want: int64(1533)},
		{text: alter("MODIFY LISTENER N'l' (ADD IP (N'10.0.1.1', N'0.0.0.0'))"),
			column: "(SELECT COUNT(*) FROM sys.availability_group_listener_ip_addresses)", want: int64(2)},
		{text: alter("RESTART LISTENER N'l'"), column: "(SELECT dns_name FROM sys.availability_group_listeners)", want: "l"},
		{text: alter("REMOVE LISTENER N'l'"), column: "(SELECT COUNT(*) FROM sys.availability_group_listeners)",
			want: int64(0)},
		{text: alter("DENY CREATE ANY DATABASE"), column: ".name", want: "ag"},
		{text: alter("GRANT CREATE ANY DATABASE"), column: ".name", want: "ag"},

		// Of several names one that is refused leaves the others as they were.
		{text: alter("ADD REPLICA ON " + replica("AGC") + ", " + replica("AGC")), number: 35282},
		{text: alter("REMOVE REPLICA ON N'AGB', N'AGX'"), number: 35283},
		{text: set("DB_FAILOVER = OFF"), column: "(SELECT COUNT(*) FROM sys.availability_replicas)", want: int64(2)},
		{text: alter("ADD DATABASE app"), column: "(SELECT COUNT(*) FROM sys.availability_databases_cluster)",
			want: int64(1)},
		{text: alter("REMOVE DATABASE app, nowhere"), number: 35281},
		{text: alter("REMOVE DATABASE app, app"), number: 35234},
		{text: set("DB_FAILOVER = OFF"), column: "(SELECT COUNT(*) FROM sys.availability_databases_cluster)", want: int64(1)},
		{text: alter("REMOVE DATABASE app"), column: "(SELECT COUNT(*) FROM sys.availability_databases_cluster)",
			want: int64(0)},

		{text: alter("FAILOVER"), number: 47104},
		{text: alter("FORCE_FAILOVER_ALLOW_DATA_LOSS"), number: 47104},
		{text: "BEGIN TRANSACTION; " + alter("OFFLINE"), number: 226},
		{text: alter("JOIN"), number: 35224},
		{text: "ALTER AVAILABILITY GROUP nowhere FAILOVER", number: 15151},
		{text: "DROP AVAILABILITY GROUP nowhere", number: 15151},
		{text: "USE tempdb; " + alter("OFFLINE"), number: 35208},
		{text: "USE tempdb; DROP AVAILABILITY GROUP ag", number: 35208},
		{text: "USE tempdb; CREATE AVAILABILITY GROUP other WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON " + replica("AGA"),
			number: 35208},

		// A distributed group needs a member here; contained groups are not supported, and say so.
		{text: "CREATE AVAILABILITY GROUP dag WITH (DISTRIBUTED) AVAILABILITY GROUP ON " + member("ag1") + ", " +
			member("ag2"), number: 19501},
		{text: "ALTER AVAILABILITY GROUP dag JOIN AVAILABILITY GROUP ON " + member("ag1") + ", " + member("ag2"),
			number: 19501},
		{text: alter("MODIFY AVAILABILITY GROUP ON N'ag2' WITH (AVAILABILITY_MODE = SYNCHRONOUS_COMMIT)"), number: 19512},
		{text: "CREATE AVAILABILITY GROUP c WITH (CLUSTER_TYPE = EXTERNAL, CONTAINED) FOR REPLICA ON " + replica("AGA"),
			number: 41199},
		{text: "CREATE AVAILABILITY GROUP c WITH (CLUSTER_TYPE = EXTERNAL, CONTAINED, REUSE_SYSTEM_DATABASES) FOR " +
			"REPLICA ON " + replica("AGA"), number: 41199},

		// On a replica that is not primary.
		{text: alter("OFFLINE"), column: "(SELECT role_desc FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1)",
			want: "RESOLVING"},
		{text: alter("REMOVE REPLICA ON N'AGB'"), number: 41140},
		{text: set("DB_FAILOVER = ON"), number: 41140},
		{text: modify("SESSION_TIMEOUT = 20"), number: 41140},
		{text: alter("ADD LISTENER N'l' (WITH IP ((N'10.0.0.1', N'0.0.0.0')))"), number: 41140},
		{text: set("ROLE = SECONDARY"),
			column: "(SELECT role_desc FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1)", want: "SECONDARY"},
	} {
		if c.number != 0 {
			g.Expect(failure(t, admin, c.text).Number).To(Equal(c.number), c.text)
			continue
		}
		mustExec(t, admin, c.text)
		g.Expect(shown(c.column)).To(Equal(c.want), c.text)
	}
	mustExec(t, admin, "DROP AVAILABILITY GROUP ag")
}

// member is one side of a distributed group.
func member(name string) string {
	return fmt.Sprintf(
		"N'%s' WITH (LISTENER_URL = N'TCP://%[1]s:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, "+
			"SEEDING_MODE = AUTOMATIC)",
		name,
	)
}

// TestDataMirroringEndpoint: FOR DATA_MIRRORING, as docs/database-engine/availability-groups/windows has it in
// configure-distributed-availability-groups.md and automatically-initialize-always-on-availability-group.md, is FOR
// DATABASE_MIRRORING.
func TestDataMirroringEndpoint(t *testing.T) {
	t.Parallel()
	i := newInstance(t, "MSSQL_ENABLE_HADR=1")
	db := connection(t, i.open(t, ""))
	mustExec(t, db, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'M4ster-Password'")
	mustExec(t, db, "CREATE CERTIFICATE dbm_certificate WITH SUBJECT = 'dbm'")
	mustExec(t, db, fmt.Sprintf(`CREATE ENDPOINT [aodns-hadr]
    STATE=STARTED
    AS TCP (LISTENER_PORT = %d, LISTENER_IP = (127.0.0.1))
FOR DATA_MIRRORING (
   ROLE = ALL,
   AUTHENTICATION = CERTIFICATE dbm_certificate,
   ENCRYPTION = REQUIRED ALGORITHM AES
)`, freePort(t)))
	converse(t, db, []say{
		{
			"SELECT name, type_desc, state_desc, role_desc FROM sys.database_mirroring_endpoints",
			"aodns-hadr DATABASE_MIRRORING STARTED ALL",
		},
		{"ALTER ENDPOINT [aodns-hadr] FOR DATA_MIRRORING (ROLE = PARTNER)", "ok"},
		{"SELECT role_desc FROM sys.database_mirroring_endpoints", "PARTNER"},
		{"CREATE ENDPOINT other AS TCP (LISTENER_PORT = 5022) FOR DATA_MIRROR (ROLE = ALL)", "!102/15"},
	})
}
