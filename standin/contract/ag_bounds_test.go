// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestAGNumbersOutOfBounds: numbers at and beyond what options of groups take
// (docs/t-sql/statements/create-availability-group-transact-sql.md), and addresses of a listener that are in one
// subnet.
func TestAGNumbersOutOfBounds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
	i.name = "AGA"
	g.Expect(i.launch()).To(Succeed())
	db := connection(t, i.open(t, ""))
	const replica = "N'AGA' WITH (ENDPOINT_URL = N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, " +
		"FAILOVER_MODE = EXTERNAL"
	create := func(options, more string) string {
		return "CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL" + options + ") FOR REPLICA ON " + replica + more
	}
	converse(t, db, []say{
		{create(", WRITE_LEASE_VALIDITY = 2147483648", ")"), "!1080/15"},
		{create(", HEALTH_CHECK_TIMEOUT = 4294967296", ")"), "!1080/15"},
		{create("", ", SESSION_TIMEOUT = 2147483648)"), "!1080/15"},
		{
			create("", ") LISTENER N'l' (WITH IP ((N'10.0.0.1', N'255.255.255.0'), (N'10.0.0.2', N'255.255.255.0')))"),
			"!19451/16",
		},
		{"SELECT COUNT(*) FROM sys.availability_groups", "0"},
		{
			create(
				", WRITE_LEASE_VALIDITY = 2147483647, HEALTH_CHECK_TIMEOUT = 4294967295",
				", SESSION_TIMEOUT = 2147483647) LISTENER N'l' (WITH IP ((N'10.0.0.1', N'255.255.255.0'), (N'10.0.1.2', "+
					"N'255.255.255.0')))",
			),
			"ok",
		},
		{
			"SELECT health_check_timeout, (SELECT session_timeout FROM sys.availability_replicas) FROM sys.availability_groups",
			"NULL 2147483647",
		},
		{"SELECT health_check_timeout FROM sys.availability_groups_cluster", "NULL"},
		{
			"SELECT IIF(write_lease_remaining_ticks / 10000000 BETWEEN 2147483000 AND 2147483647, 1, 0) FROM " +
				"sys.dm_hadr_availability_replica_states",
			"1",
		},
		{"ALTER AVAILABILITY GROUP ag MODIFY LISTENER N'l' (ADD IP (N'10.0.1.3', N'255.255.255.0'))", "!19451/16"},
		{"ALTER AVAILABILITY GROUP ag MODIFY LISTENER N'l' (ADD IP (N'10.0.2.3', N'255.255.255.0'))", "ok"},
		{"ALTER AVAILABILITY GROUP ag SET (WRITE_LEASE_VALIDITY = 99999999999)", "!1080/15"},
		{"ALTER AVAILABILITY GROUP ag SET (HEALTH_CHECK_TIMEOUT = 20000)", "ok"},
		{"SELECT health_check_timeout FROM sys.availability_groups", "20000"},
	})
}
