// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"time"

	"geosql.dev/operator/internal/tsql"
)

// samples has, for each function of the package that makes a Statement, statements in every form that it can take. A
// family of statements adds its own in a file of its own; TestEveryStatementHasSamples finds what is missing.
var samples = map[string][]tsql.Statement{}

var (
	date  = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	until = tsql.Deadline{Time: date, Ticks: 86_400_000}
	login = tsql.Login{Name: "geosql_agent", SID: make([]byte, 16), Password: "It's-a_secret.7"}
)

func group(t tsql.ClusterType, contained bool, third tsql.AvailabilityMode) tsql.Group {
	return tsql.Group{
		Name: "con]tent", ClusterType: t, Contained: contained, WriteLease: 6 * time.Second,
		RequiredSynchronizedSecondaries: 1,
		Databases:                       []string{"Content", "Or]ders"},
		Replicas: []tsql.Replica{
			{Server: "tukpub-0", EndpointURL: "TCP://tukpub-0:5022", Mode: tsql.SynchronousCommit},
			{
				Server:         "quisec-0",
				EndpointURL:    "TCP://quisec-0:5022",
				Mode:           tsql.AsynchronousCommit,
				Readable:       true,
				ManualSeeding:  true,
				SessionTimeout: 15 * time.Second,
			},
			{Server: "dubcfg-0", EndpointURL: "TCP://dubcfg-0:5022", Mode: third, SessionTimeout: 15 * time.Second},
		},
	}
}

func init() {
	empty := group(tsql.ClusterExternal, false, tsql.SynchronousCommit)
	empty.Databases = nil
	basic := group(tsql.ClusterExternal, false, tsql.ConfigurationOnly)
	basic.Basic, basic.Databases = true, basic.Databases[:1]
	add("CreateGroup", tsql.CreateGroup(group(tsql.ClusterExternal, false, tsql.ConfigurationOnly)),
		tsql.CreateGroup(group(tsql.ClusterNone, true, tsql.SynchronousCommit)), tsql.CreateGroup(empty),
		tsql.CreateGroup(basic))
	add("JoinGroup", tsql.JoinGroup("content", tsql.ClusterExternal), tsql.JoinGroup("content", tsql.ClusterNone))
	add("GrantCreateAnyDatabase", tsql.GrantCreateAnyDatabase("content"))
	for _, r := range group(tsql.ClusterExternal, false, tsql.ConfigurationOnly).Replicas {
		add("AddReplica", tsql.AddReplica("content", r, tsql.ClusterExternal))
	}
	add("RemoveReplica", tsql.RemoveReplica("content", "quisec-0"))
	add(
		"SetReplicaMode",
		tsql.SetReplicaMode("content", "quisec-0", tsql.AsynchronousCommit),
		tsql.SetReplicaMode("content", "quisec-0", tsql.SynchronousCommit),
	)
	add(
		"SetReplicaReadable",
		tsql.SetReplicaReadable("content", "quisec-0", true),
		tsql.SetReplicaReadable("content", "quisec-0", false),
	)
	add("SetReplicaSessionTimeout", tsql.SetReplicaSessionTimeout("content", "quisec-0", 15*time.Second))
	add(
		"SetReplicaSeeding",
		tsql.SetReplicaSeeding("content", "quisec-0", true),
		tsql.SetReplicaSeeding("content", "quisec-0", false),
	)
	add("AddGroupDatabase", tsql.AddGroupDatabase("content", "Content"))
	add("RemoveGroupDatabase", tsql.RemoveGroupDatabase("content", "Content"))
	add("SetRequiredSynchronizedSecondaries", tsql.SetRequiredSynchronizedSecondaries("content", 1))
	add("AddListener", tsql.AddListener("content", "content", "10.96.0.7", "255.255.255.255", 1433))
	add("SetListenerPort", tsql.SetListenerPort("content", "content", 1500))
	add("RemoveListener", tsql.RemoveListener("content", "content"))
	add("DropGroup", tsql.DropGroup("content"))

	add("RenewWriteLease", tsql.RenewWriteLease("content", 6*time.Second, until))
	add("LeaseLeft", tsql.LeaseLeft("content"))
	add("SetExternalCluster", tsql.SetExternalCluster())
	add("Failover", tsql.Failover("content", until))
	add("ForceFailover", tsql.ForceFailover("content", until))
	add("MeasuredReplicas", tsql.MeasuredReplicas())
	add("MeasuredCopies", tsql.MeasuredCopies())
	add("MeasuredDatabases", tsql.MeasuredDatabases())
	add("LogSizes", tsql.LogSizes())
	add("LogGrowth", tsql.LogGrowth())
	add("ServerDiagnostics", tsql.ServerDiagnostics())
	add("DatabaseExists", tsql.DatabaseExists("Content"))
	add("DatabaseCopy", tsql.DatabaseCopy("content", "Content"))
	add("DropDatabase", tsql.DropDatabase("Content"))
	add("TakeOffline", tsql.TakeOffline("content"))
	add("SetRoleSecondary", tsql.SetRoleSecondary("content", until))

	add("CreateMasterKey", tsql.CreateMasterKey(login.Password))
	add(
		"CreateSelfSignedCertificate",
		tsql.CreateSelfSignedCertificate("geosql_tukpub_1", "geosql endpoint of tukpub-0", date, date.AddDate(2, 0, 0)),
	)
	add("ReadCertificate", tsql.ReadCertificate("geosql_tukpub_1"))
	add(
		"CreatePartnerCertificate",
		tsql.CreatePartnerCertificate("geosql_quisec_1", "geosql_partner_quisec", []byte{0x30, 0x82}),
	)
	add("EncryptedDatabases", tsql.EncryptedDatabases())
	add("ReadKey", tsql.ReadKey([]byte{0xA1, 0xB2}, "It's-a_secret.7"))
	add("CreateKey", tsql.CreateKey(tsql.KeyForm{Name: "sales]key", Thumbprint: []byte{0xA1, 0xB2},
		DER: []byte{0x30, 0x82}, PrivateKey: []byte{0x1E, 0xF1}, Password: "It's-a_secret.7"}))
	add("RevokeConnectOnEndpoint",
		tsql.RevokeConnectOnEndpoint(tsql.MirroringEndpoint, "geosql_partner_quisec", "quisec-0"))
	add("DropPartnerCertificate", tsql.DropPartnerCertificate("geosql_quisec_1", "quisec-0"))
	add("DropPartnerUser", tsql.DropPartnerUser("geosql_partner_quisec", "quisec-0"))
	add("DropPartnerLogin", tsql.DropPartnerLogin("geosql_partner_quisec", "quisec-0"))
	add("KnownReplicas", tsql.KnownReplicas())
	add("DropCertificate", tsql.DropCertificate("geosql_quisec_1"))
	add("CreateUserForLogin", tsql.CreateUserForLogin("geosql_partner_quisec", "geosql_partner_quisec"))
	add("CreateMirroringEndpoint", tsql.CreateMirroringEndpoint(5022, "geosql_tukpub_1", tsql.EndpointRoleAll),
		tsql.CreateMirroringEndpoint(5022, "geosql_tukpub_1", tsql.EndpointRoleWitness))
	add("StartEndpoint", tsql.StartEndpoint(tsql.MirroringEndpoint))
	add("RestartEndpoint", tsql.RestartEndpoint(tsql.MirroringEndpoint))
	add("SetEndpointCertificate", tsql.SetEndpointCertificate(tsql.MirroringEndpoint, "geosql_tukpub_2"))
	add("GrantConnectOnEndpoint", tsql.GrantConnectOnEndpoint(tsql.MirroringEndpoint, "geosql_partner_quisec"))

	add("CreateDatabase", tsql.CreateDatabase("Con'tent"))
	add("CreateDatabaseWith", tsql.CreateDatabaseWith("Content", "Latin1_General_100_CI_AS_SC_UTF8"))
	add("SetCompatibilityLevel", tsql.SetCompatibilityLevel("Content", 160))
	add("SetReadCommittedSnapshot",
		tsql.SetReadCommittedSnapshot("Content", true), tsql.SetReadCommittedSnapshot("Content", false))
	add("SetDatabaseOwner", tsql.SetDatabaseOwner("Content", "shop"))
	add("SetRecoveryFull", tsql.SetRecoveryFull("Content"))
	add("BackupDatabaseFull", tsql.BackupDatabaseFull("Content", "/var/opt/mssql-backup/Content-first.bak"))
	add("SetHADROff", tsql.SetHADROff("Content"))
	add("SetHADRResume", tsql.SetHADRResume("Content"))

	add("CreateLogin", tsql.CreateLogin(login))
	add("AlterLoginPassword", tsql.AlterLoginPassword(login))
	add("EnableLogin", tsql.EnableLogin(login.Name))
	add("DropLogin", tsql.DropLogin(login.Name))
	for _, p := range []tsql.ServerPermission{
		tsql.ViewServerState, tsql.ViewServerPerformanceState, tsql.ViewAnyDefinition, tsql.ViewAnyDatabase, tsql.ConnectSQL,
		tsql.ConnectAnyDatabase, tsql.CreateAnyDatabase, tsql.AlterAnyDatabase, tsql.AlterAnyAvailabilityGroup,
		tsql.AlterAnyConnection,
		tsql.CreateAvailabilityGroup, tsql.AlterAnyEndpoint, tsql.CreateEndpoint, tsql.AlterAnyLogin,
		tsql.AlterAnyLinkedServer,
		tsql.AlterServerState, tsql.AlterSettings, tsql.ControlServer,
	} {
		add("GrantServerPermission", tsql.GrantServerPermission(p, login.Name))
		add("RevokeServerPermission", tsql.RevokeServerPermission(p, login.Name))
	}
	add("AddServerRoleMember", tsql.AddServerRoleMember("sysadmin", login.Name))
	add("DropServerRoleMember", tsql.DropServerRoleMember("sysadmin", login.Name))
	add("CreateUser", tsql.CreateUser("geosql_agent", "geosql_agent"))
	add("AddRoleMember", tsql.AddRoleMember("db_owner", "geosql_agent"))
	for _, p := range []tsql.DatabasePermission{tsql.PermissionCreateCertificate, tsql.PermissionControl,
		tsql.PermissionViewDefinition} {
		add("GrantDatabasePermission", tsql.GrantDatabasePermission(p, "geosql_agent"))
	}
	add("GrantImpersonateLogin", tsql.GrantImpersonateLogin("sa", "geosql_agent"))
	add("MoveTempDBFile", tsql.MoveTempDBFile("tempdev", "/var/opt/mssql-tempdb/tempdb.mdf"))
	add("AddTempDBFile", tsql.AddTempDBFile("tempdev2", "/var/opt/mssql-tempdb/tempdb2.ndf", 8, 64))

	add("EndpointState", tsql.EndpointState())
	add("Certificates", tsql.Certificates())
	add("UsersOfLogins", tsql.UsersOfLogins())
	add("EndpointConnectors", tsql.EndpointConnectors())
	both, err := tsql.Together("read a group", tsql.GroupState("content"), tsql.GroupDatabases("content"))
	if err != nil {
		panic(err)
	}
	add("Together", both)
	add("MasterKeyExists", tsql.MasterKeyExists())
	add("DatabaseStates", tsql.DatabaseStates())
	add("GroupState", tsql.GroupState("content"))
	add("GroupReplicas", tsql.GroupReplicas("content"))
	add("GroupDatabases", tsql.GroupDatabases("content"))
	add("GroupListeners", tsql.GroupListeners("content"))
	add("GroupDatabaseStates", tsql.GroupDatabaseStates("content"))
	add("Seedings", tsql.Seedings("content"))
	add("ReplicaIDs", tsql.ReplicaIDs("content"))
	add("UnjoinedCopies", tsql.UnjoinedCopies("content"))
	add("HolderState", tsql.HolderState("content"))
	add("SessionsSince", tsql.SessionsSince("content", 11, 50))
	add("EndSessionSince", tsql.EndSessionSince("content", 11, 57))
	add("RefusedWriters", tsql.RefusedWriters("content", 12, 50))
	add("EndRefusedWriter", tsql.EndRefusedWriter("content", 12, 57))
	add("EndLoginSession", tsql.EndLoginSession("geosql_replication_main", 57))
	add("CheckDatabase", tsql.CheckDatabase("Content"))
	add("TaskProgress", tsql.TaskProgress("BACKUP DATABASE", "geosql-operator"))
	add("LoginSessions", tsql.LoginSessions("geosql_replication_main"))
	add("StandingDatabases", tsql.StandingDatabases("content"))
	add("SeedingsHere", tsql.SeedingsHere("content"))
	add("Instance", tsql.Instance())
	add("Alive", tsql.Alive())
	add("Clock", tsql.Clock())
	add("ServerLogins", tsql.ServerLogins())
	add("ServerPermissions", tsql.ServerPermissions())
	add("ServerRoleMembers", tsql.ServerRoleMembers())
	add("GroupNames", tsql.GroupNames())
	add("TempDBFiles", tsql.TempDBFiles())
}

func add(function string, s ...tsql.Statement) { samples[function] = append(samples[function], s...) }
