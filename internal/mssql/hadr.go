// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	mssqldriver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/tsql"
)

// Endpoint is the database mirroring endpoint of an instance.
type Endpoint struct {
	Name string
	// State is STARTED, STOPPED or DISABLED.
	State string
	Role  string
	Port  int
	// Certificate that the endpoint shows.
	Certificate string
}

// Certificate is a certificate in master.
type Certificate struct {
	Name    string
	Expires time.Time
	// DER is the public part.
	DER []byte
	// Login of the user that owns it.
	Login string
	// Thumbprint in hexadecimal digits, by which an encrypted database names it.
	Thumbprint string
	// PrivateKey says that it has its private key, which the master key of master opens.
	PrivateKey bool
}

// Encryptor is what encrypts the encryption key of a database.
type Encryptor struct {
	// Thumbprint in hexadecimal digits.
	Thumbprint string
	// Certificate says that it is a certificate in master; else it is a key that a provider outside has.
	Certificate bool
}

// Database is a user database of an instance.
type Database struct {
	Name string
	// State is state_desc: ONLINE, RESTORING, ...
	State string
	// RecoveryModel is FULL, BULK_LOGGED or SIMPLE.
	RecoveryModel string
	// InGroup says whether it belongs to an availability group.
	InGroup bool
	// LogChain says whether a full backup began its log chain.
	LogChain bool
	// Owner is the login that owns it, empty when it has none here.
	Owner string
	// Collation is empty while the database is not online.
	Collation          string
	CompatibilityLevel int
	// ReadCommittedSnapshot says whether READ COMMITTED reads row versions.
	ReadCommittedSnapshot bool
	// Sessions are how many sessions of users are in it, those of the reader's program aside.
	Sessions int
}

// Mirroring is what an instance has for log between replicas.
type Mirroring struct {
	MasterKey bool
	// Endpoint is nil when there is none.
	Endpoint     *Endpoint
	Certificates map[string]Certificate
	// Users are the users of master that have a login, by name, with the login's name.
	Users map[string]string
	// Connectors are the logins that may connect to the endpoint.
	Connectors map[string]bool
	Databases  map[string]Database
	// Encryptors are those of the databases that have an encryption key, by database.
	Encryptors map[string]Encryptor
	// Groups are the names of the groups of which the instance hosts a replica.
	Groups []string
	// EngineEdition is SERVERPROPERTY('EngineEdition'), 0 when it was not asked.
	EngineEdition int
	// ProductVersion such as 16.0.4135.4.
	ProductVersion string
}

// Values of EngineEdition: Web says Standard's, Developer and Evaluation say Enterprise's.
const (
	EngineEditionStandard   = 2
	EngineEditionEnterprise = 3
	EngineEditionExpress    = 4
)

// ReadMirroring reads what an instance has for log between replicas.
func ReadMirroring(ctx context.Context, q Querier) (Mirroring, error) {
	m := Mirroring{
		Certificates: map[string]Certificate{},
		Users:        map[string]string{},
		Connectors:   map[string]bool{},
		Databases:    map[string]Database{},
		Encryptors:   map[string]Encryptor{},
	}
	err := readAll(ctx, q, "read what the instance has for replicas", []read{
		{tsql.MasterKeyExists(), func(r Row) error { var one int; m.MasterKey = true; return r.Scan(&one) }},
		{tsql.EndpointState(), func(r Row) error {
			var e Endpoint
			var certificate sql.NullString
			err := r.Scan(&e.Name, &e.State, &e.Role, &e.Port, &certificate)
			e.Certificate, m.Endpoint = certificate.String, &e
			return err
		}},
		{tsql.Certificates(), func(r Row) error {
			c, err := scanCertificate(r)
			m.Certificates[c.Name] = c
			return err
		}},
		{tsql.UsersOfLogins(), func(r Row) error {
			var user, login string
			err := r.Scan(&user, &login)
			m.Users[user] = login
			return err
		}},
		{tsql.EndpointConnectors(), func(r Row) error {
			var login string
			err := r.Scan(&login)
			m.Connectors[login] = true
			return err
		}},
		readDatabases(m.Databases),
		readEncryptors(m.Encryptors),
		{tsql.EngineEdition(), func(r Row) error { return r.Scan(&m.EngineEdition) }},
		{tsql.ProductVersion(), func(r Row) error { return r.Scan(&m.ProductVersion) }},
		{tsql.GroupNames(), func(r Row) error {
			var name string
			err := r.Scan(&name)
			m.Groups = append(m.Groups, name)
			return err
		}},
	}...)
	if err != nil {
		return Mirroring{}, err
	}
	return m, nil
}

// ReadDatabases reads the user databases of an instance by name.
func ReadDatabases(ctx context.Context, q Querier) (map[string]Database, error) {
	databases := map[string]Database{}
	if err := readAll(ctx, q, "read the user databases", readDatabases(databases)); err != nil {
		return nil, err
	}
	return databases, nil
}

func readDatabases(into map[string]Database) read {
	return read{tsql.DatabaseStates(), func(r Row) error {
		var d Database
		var group mssqldriver.NullUniqueIdentifier
		var chain int
		err := r.Scan(&d.Name, &d.State, &d.RecoveryModel, &group, &chain, &d.Owner, &d.Collation, &d.CompatibilityLevel,
			&d.ReadCommittedSnapshot, &d.Sessions)
		d.InGroup, d.LogChain = group.Valid, chain == 1
		into[d.Name] = d
		return err
	}}
}

// Group is an availability group as one instance knows it.
type Group struct {
	ID          string
	ClusterType string
	// RequiredSynchronizedSecondaries in force.
	RequiredSynchronizedSecondaries int
	// SequenceNumber of the configuration; not a log position.
	SequenceNumber int64
	// Role of the local replica: PRIMARY, SECONDARY, RESOLVING, or empty when it has not joined.
	Role string
	// CommitPending is how long a configuration commit has been waiting for a majority, 0 when none is.
	CommitPending time.Duration
	// Clock is the engine's UTC time at the observation.
	Clock     time.Time
	Replicas  []GroupReplica
	Databases []string
	Listeners []GroupListener
	States    []GroupDatabaseState
	// SeedingFailures by replica and database.
	SeedingFailures []SeedingFailure
	// Seeding are the servers to which a database is being seeded now.
	Seeding []string
	// ReplicaIDs by server, in lower case.
	ReplicaIDs map[string]string
	// Unjoined are the copies of the group's databases that have not joined it.
	Unjoined []Copy
}

// GroupReplica is a replica as one instance knows it: sys.availability_replicas joins what the instance itself has with
// the group's configuration, and what one of the two does not have is empty, such as the mode of a replica that was
// removed, or of all before a restarted instance has read the configuration.
type GroupReplica struct {
	Server, EndpointURL, Mode, Seeding string
	SessionTimeout                     time.Duration
	// Connections is secondary_role_allow_connections_desc: NO, READ_ONLY or ALL.
	Connections string
	Local       bool
	// Role, Connected and Health are empty when the instance does not know them.
	Role, Connected, Health string
}

// GroupListener is a listener object.
type GroupListener struct {
	Name string
	Port int
	// IP and Mask are empty when it has none.
	IP, Mask string
}

// GroupDatabaseState is a row of sys.dm_hadr_database_replica_states. Sizes are KB, rates KB per second; nil is NULL.
type GroupDatabaseState struct {
	Server, Database string
	Local            bool
	// State is SYNCHRONIZED, SYNCHRONIZING, NOT SYNCHRONIZING, REVERTING or INITIALIZING, empty when it is not known.
	State         string
	Suspended     bool
	SuspendReason string
	SendQueueKB   *int64
	RedoQueueKB   *int64
	RedoRateKBps  *int64
	HardenedLSN   string
	RedoneLSN     string
	LastCommit    *time.Time
	FailoverReady bool
}

// SeedingFailure is an automatic seeding that failed.
type SeedingFailure struct{ Server, Database, Reason string }

// ReadGroup reads a group; nil when the instance has none of that name.
func ReadGroup(ctx context.Context, q Querier, name string) (*Group, error) {
	var g Group
	exists := false
	err := readAll(ctx, q, "read the state of group "+name, []read{
		{tsql.GroupState(name), func(r Row) error { exists = true; return g.scan(r) }},
		{tsql.GroupReplicas(name), g.scanReplica},
		{tsql.GroupDatabases(name), g.scanDatabase},
		{tsql.GroupListeners(name), func(r Row) error {
			var l GroupListener
			var port sql.NullInt64
			var ip, mask sql.NullString
			err := r.Scan(&l.Name, &port, &ip, &mask)
			l.Port, l.IP, l.Mask = int(port.Int64), ip.String, mask.String
			g.Listeners = append(g.Listeners, l)
			return err
		}},
		{tsql.GroupDatabaseStates(name), g.scanState},
		{tsql.Seedings(name), g.scanSeeding},
		{tsql.UnjoinedCopies(name), g.scanUnjoined},
		{tsql.ReplicaIDs(name), g.scanReplicaID},
	}...)
	if err != nil || !exists {
		return nil, err
	}
	return &g, nil
}

func (g *Group) scan(r Row) error {
	var id mssqldriver.UniqueIdentifier
	var required, sequence sql.NullInt64
	var clusterType sql.NullString
	var commit sql.NullTime
	if err := r.Scan(&id, &clusterType, &required, &sequence, &g.Role, &commit, &g.Clock); err != nil {
		return err
	}
	g.ClusterType = clusterType.String
	g.ID, g.RequiredSynchronizedSecondaries, g.SequenceNumber = id.String(), int(required.Int64), sequence.Int64
	if commit.Valid {
		g.CommitPending = max(g.Clock.Sub(commit.Time), time.Nanosecond)
	}
	return nil
}

func (g *Group) scanDatabase(r Row) error {
	var database sql.NullString
	if err := r.Scan(&database); err != nil {
		return err
	}
	if database.Valid {
		g.Databases = append(g.Databases, database.String)
	}
	return nil
}

func (g *Group) scanReplica(r Row) error {
	p := GroupReplica{}
	var timeout sql.NullInt64
	var server, url, mode, seeding, connections, role, connected, health sql.NullString
	var local sql.NullBool
	if err := r.Scan(&server, &url, &mode, &seeding, &timeout, &connections, &local, &role, &connected,
		&health); err != nil {
		return err
	}
	if !server.Valid {
		// Metadata of a replica that the configuration does not have: there is nobody to speak of.
		return nil
	}
	p.Server, p.EndpointURL, p.Mode, p.Connections = server.String, url.String, mode.String, connections.String
	p.SessionTimeout, p.Local = time.Duration(timeout.Int64)*time.Second, local.Bool
	p.Seeding, p.Role, p.Connected, p.Health = seeding.String, role.String, connected.String, health.String
	g.Replicas = append(g.Replicas, p)
	return nil
}

func (g *Group) scanSeeding(r Row) error {
	var f SeedingFailure
	var state, reason sql.NullString
	if err := r.Scan(&f.Server, &f.Database, &state, &reason); err != nil {
		return err
	}
	if f.Reason = reason.String; state.String == "FAILED" {
		g.SeedingFailures = append(g.SeedingFailures, f)
	} else {
		g.Seeding = append(g.Seeding, f.Server)
	}
	return nil
}

func (g *Group) scanState(r Row) error {
	var s GroupDatabaseState
	var send, redo, rate sql.NullInt64
	var server, database, state, reason, hardened, redone sql.NullString
	var local, suspended, ready sql.NullBool
	var commit sql.NullTime
	if err := r.Scan(&server, &database, &local, &state, &suspended, &reason, &send, &redo, &rate,
		&hardened, &redone, &commit, &ready); err != nil {
		return err
	}
	if !server.Valid || !database.Valid {
		return nil
	}
	s.Server, s.Database, s.State, s.SuspendReason = server.String, database.String, state.String, reason.String
	s.Local, s.Suspended, s.FailoverReady = local.Bool, suspended.Bool, ready.Bool
	s.SendQueueKB, s.RedoQueueKB, s.RedoRateKBps = known(send), known(redo), known(rate)
	s.HardenedLSN, s.RedoneLSN = hardened.String, redone.String
	if commit.Valid {
		s.LastCommit = &commit.Time
	}
	g.States = append(g.States, s)
	return nil
}

func known(n sql.NullInt64) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.Int64
}

// Replica is the replica of a server, nil when the group has none there. Names are compared without case.
func (g *Group) Replica(server string) *GroupReplica {
	for i := range g.Replicas {
		if strings.EqualFold(g.Replicas[i].Server, server) {
			return &g.Replicas[i]
		}
	}
	return nil
}
