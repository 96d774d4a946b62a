// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	mssqldriver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

var (
	name   = regexp.MustCompile(`\[([^\]]+)\]`)
	quoted = regexp.MustCompile(`N'([^']*)'`)
)

// execute understands the statements by their text, as an engine does.
func (e *environ) execute(s mssql.Execute) error {
	t, text, engine := e.t, s.Statement.Text, e.servers[s.Server]
	var names, strs []string
	for _, m := range name.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		strs = append(strs, m[1])
	}
	if strings.Contains(text, "AVAILABILITY GROUP [") {
		return e.executeGroup(s, engine, names, strs)
	}
	m := &engine.mirroring
	switch {
	case strings.HasPrefix(text, "DBCC TRACE"):
		if s.Role != credentials.RoleSA {
			return errors.New("2571: no permission to run DBCC TRACEON")
		}
		engine.flag = strings.HasPrefix(text, "DBCC TRACEON (1448")
	case strings.Contains(text, "FROM BINARY"):
		if m.Users[names[1]] == "" {
			return fmt.Errorf("15151: no user %s", names[1])
		}
		m.Certificates[names[0]] = mssql.Certificate{
			Name:    names[0],
			Login:   names[1],
			DER:     []byte(names[0]),
			Expires: e.now.Add(certificateLife),
		}
	case strings.Contains(text, "CREATE CERTIFICATE"):
		if !m.MasterKey {
			return errors.New("15581: no master key")
		}
		m.Certificates[names[0]] = mssql.Certificate{
			Name:    names[0],
			Expires: e.now.Add(certificateLife),
			DER:     []byte(names[0]),
		}
	case strings.Contains(text, "DROP CERTIFICATE"):
		delete(m.Certificates, names[0])
	case strings.Contains(text, "CREATE ENDPOINT"):
		m.Endpoint = &mssql.Endpoint{Name: names[0], State: "STARTED", Port: MirroringPort, Certificate: names[1]}
	case strings.Contains(text, "ALTER ENDPOINT") && strings.Contains(text, "CERTIFICATE"):
		m.Endpoint.Certificate = names[1]
	case strings.Contains(text, "ALTER ENDPOINT"):
		m.Endpoint.State = text[strings.LastIndex(text, "STATE = ")+len("STATE = "):]
	case strings.Contains(text, "CREATE USER"):
		m.Users[names[0]] = names[1]
	case strings.Contains(text, "GRANT CONNECT ON ENDPOINT"):
		m.Connectors[names[1]] = true
	case strings.Contains(text, "DATABASE ["), strings.Contains(text, "DATABASE::"):
		return e.executeDatabase(s, m, names)
	default:
		t.Fatalf("statement %q is not known", text)
	}
	return nil
}

// executeDatabase is execute for statements about a database.
func (e *environ) executeDatabase(s mssql.Execute, m *mssql.Mirroring, names []string) error {
	text := s.Statement.Text
	d, exists := m.Databases[names[0]]
	switch {
	case strings.Contains(text, "CREATE DATABASE"):
		if exists {
			return nil
		}
		d = mssql.Database{Name: names[0], State: "ONLINE", RecoveryModel: "SIMPLE", Owner: s.Role.Login(),
			Collation: "SQL_Latin1_General_CP1_CI_AS", CompatibilityLevel: 160}
		if _, collation, given := strings.Cut(text, " COLLATE "); given {
			d.Collation = collation
		}
	case !exists:
		return fmt.Errorf("911: no database %s", names[0])
	case strings.Contains(text, "SET RECOVERY FULL"):
		d.RecoveryModel = "FULL"
	case strings.HasPrefix(text, "BACKUP DATABASE"):
		if d.Owner != s.Role.Login() && s.Role != credentials.RoleSA {
			return errors.New("262: BACKUP DATABASE permission denied")
		}
		d.LogChain = d.RecoveryModel == "FULL"
	case strings.Contains(text, "COMPATIBILITY_LEVEL"):
		d.CompatibilityLevel = number(text, "LEVEL = ")
	case strings.Contains(text, "READ_COMMITTED_SNAPSHOT"):
		if d.Sessions > 0 {
			return errors.New("5070: the database state cannot be changed while other users are using the database")
		}
		d.ReadCommittedSnapshot = strings.Contains(text, "SNAPSHOT ON")
	case strings.HasPrefix(text, "ALTER AUTHORIZATION") && s.Role == credentials.RoleSA:
		d.Owner = names[1]
	default:
		return fmt.Errorf("statement %q is not known, or not allowed to %s", text, s.Role.Login())
	}
	if d.InGroup && e.group != nil && e.group.primary != s.Server {
		return errors.New("3906: the database is read-only")
	}
	m.Databases[names[0]] = d
	return nil
}

// executeGroup is execute for AVAILABILITY GROUP statements.
func (e *environ) executeGroup(s mssql.Execute, engine *engine, names, strs []string) (err error) {
	text := s.Statement.Text
	if sysadmin := strings.HasPrefix(text, "CREATE") || strings.HasPrefix(text, "DROP") ||
		strings.Contains(text, " JOIN "); sysadmin && s.Role != credentials.RoleSA {
		return errors.New("15247: CREATE, JOIN and DROP AVAILABILITY GROUP take a member of sysadmin")
	}
	switch {
	case strings.HasPrefix(text, "CREATE"):
		return e.create(s, engine, names, strs)
	case strings.HasPrefix(text, "DROP"):
		engine.joined, engine.granted, engine.remembers = false, false, nil
		for n := range engine.mirroring.Databases {
			if e.group != nil && e.group.primary != s.Server {
				delete(engine.mirroring.Databases, n) // who is seeded anew has no copy in the way
			}
		}
		if e.group != nil && e.group.primary == s.Server {
			e.group = nil
		}
		return nil
	case strings.Contains(text, " JOIN "):
		if engine.mirroring.Endpoint == nil {
			return errors.New("35250: the connection to the primary is not active")
		}
		if e.group == nil || e.silent[e.group.primary] || e.group.replicas[host(s.Server)] == nil {
			return errors.New("47106: cannot join")
		}
		engine.joined, engine.id = true, e.group.ids[host(s.Server)]
		e.group.in[host(s.Server)] = true
		return nil
	case strings.Contains(text, "GRANT CREATE ANY DATABASE"):
		if !engine.joined {
			return errors.New("15151: no such group")
		}
		engine.granted = true
		return nil
	}
	c := e.group
	if c == nil || c.primary != s.Server {
		return errors.New("41140: not the primary")
	}
	old := c.voting()
	before := c.clone()
	defer func() {
		if err == nil && strings.Contains(text, "REPLICA") && (!e.agree(old) || !e.agree(c.voting())) {
			*c = *before
			err = fmt.Errorf("41149: no majority of %v and %v agrees on %s", old, c.voting(), text)
		}
	}()
	switch {
	case strings.Contains(text, "ADD REPLICA"):
		if c.replicas[strs[0]] != nil {
			return errors.New("35282: exists")
		}
		if err := c.takes(parseReplica(text, strs[0])); err != nil {
			return err
		}
		c.replicas[strs[0]] = parseReplica(text, strs[0])
		e.nextID++
		c.ids[strs[0]] = e.nextID
		delete(c.in, strs[0])
	case strings.Contains(text, "REMOVE REPLICA"):
		if c.replicas[strs[0]] == nil {
			return errors.New("35283: no such replica")
		}
		delete(c.replicas, strs[0])
		if sync := c.synchronous(); c.required > max(0, sync-1) {
			*c = *before
			return errors.New("35248: required")
		}
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "AVAILABILITY_MODE"):
		mode := parseReplica(text, strs[0]).Mode
		if (mode == "CONFIGURATION_ONLY") != (c.replicas[strs[0]].Mode == "CONFIGURATION_ONLY") {
			return errors.New("47112: a configuration-only replica is not made of one with data, nor the other way")
		}
		if err := c.takes(parseReplica(text, strs[0])); err != nil {
			return err
		}
		if mode == "SYNCHRONOUS_COMMIT" && c.replicas[strs[0]].Mode != mode {
			for _, d := range c.databases {
				l := e.servers[credentials.ServerOf(strs[0])].lag
				l[d] = max(l[d], 2)
			}
		}
		c.replicas[strs[0]].Mode = mode
		if sync := c.synchronous(); c.required > max(0, sync-1) {
			*c = *before
			return errors.New("35248: required")
		}
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "ALLOW_CONNECTIONS"):
		c.replicas[strs[0]].Connections = parseReplica(text, strs[0]).Connections
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "SESSION_TIMEOUT"):
		c.replicas[strs[0]].SessionTimeout = parseReplica(text, strs[0]).SessionTimeout
	case strings.Contains(text, "MODIFY REPLICA") && strings.Contains(text, "SEEDING_MODE"):
		if c.replicas[strs[0]] == nil {
			return errors.New("41190: no such replica")
		}
	case strings.Contains(text, "ADD DATABASE"):
		d := engine.mirroring.Databases[names[1]]
		if d.RecoveryModel != "FULL" || !d.LogChain {
			return errors.New("1475: no full backup")
		}
		d.InGroup = true
		engine.mirroring.Databases[names[1]] = d
		c.databases = append(c.databases, names[1])
	case strings.Contains(text, "REMOVE DATABASE"):
		d := engine.mirroring.Databases[names[1]]
		d.InGroup = false
		engine.mirroring.Databases[names[1]] = d
		c.databases = slices.DeleteFunc(c.databases, func(n string) bool { return n == names[1] })
	case strings.Contains(text, "REQUIRED_SYNCHRONIZED"):
		n := number(text, "TO_COMMIT = ")
		for _, r := range c.replicas {
			if r.Mode == "CONFIGURATION_ONLY" && n > 0 {
				return errors.New("47108: with a configuration-only replica the number must be 0")
			}
		}
		if n > max(0, c.synchronous()-1) {
			return errors.New("35248: required")
		}
		c.required = n
	case strings.Contains(text, "ADD LISTENER"):
		form := strs[1] + "/" + strs[2]
		if n := engine.refuses[form]; n != 0 {
			return mssqldriver.Error{Number: n, Message: fmt.Sprintf("%d: %s is refused", n, form)}
		}
		c.listeners = append(
			c.listeners,
			mssql.GroupListener{Name: strs[0], IP: strs[1], Mask: strs[2], Port: number(text, "PORT = ")})
	case strings.Contains(text, "MODIFY LISTENER"):
		c.listeners[0].Port = number(text, "PORT = ")
	case strings.Contains(text, "REMOVE LISTENER"):
		c.listeners = slices.DeleteFunc(c.listeners, func(l mssql.GroupListener) bool { return l.Name == strs[0] })
	default:
		e.t.Fatalf("statement %q is not known", text)
	}
	e.note()
	return nil
}

// takes refuses a replica, or a mode of one, that goes beyond what the engine lets stand beside a configuration-only
// replica.
func (c *configuration) takes(r *mssql.GroupReplica) error {
	modes := map[string]int{r.Mode: 1}
	for server, have := range c.replicas {
		if server != r.Server {
			modes[have.Mode]++
		}
	}
	if modes["CONFIGURATION_ONLY"] > 0 && (modes["SYNCHRONOUS_COMMIT"] > 2 || c.required > 0) {
		return errors.New("47108: two synchronous replicas and a commit rule of 0 go with a configuration-only one")
	}
	return nil
}

func (e *environ) note() {
	synchronous := 0
	for _, r := range e.group.replicas {
		if r.Mode == "SYNCHRONOUS_COMMIT" {
			synchronous++
		}
	}
	e.history = append(e.history, rule{e.group.required, synchronous})
}

var replicaClause = regexp.MustCompile(`N'([^']+)' WITH \(ENDPOINT_URL = N'[^']+', [^\n]*`)

func (e *environ) create(s mssql.Execute, engine *engine, names, _ []string) error {
	text := s.Statement.Text
	if e.group != nil {
		return errors.New("41042: the group exists")
	}
	if e.d.fenced() &&
		!strings.Contains(text, fmt.Sprintf("WRITE_LEASE_VALIDITY = %d", told(e.d, e.observe()).WriteLease/time.Second)) {
		e.t.Fatal("a group with CLUSTER_TYPE EXTERNAL was created without its write lease")
	}
	for _, r := range e.leases {
		if e.d.fenced() && (r.Holder.Server != host(s.Server) || r.Term != 1) {
			e.t.Fatal("the group was created before its first primary held the votes")
		}
	}
	c := &configuration{
		id:       "6a8b",
		replicas: map[string]*mssql.GroupReplica{},
		primary:  s.Server,
		required: number(text, "TO_COMMIT = "),
		ids:      map[string]int{}, in: map[string]bool{},
	}
	for _, m := range replicaClause.FindAllStringSubmatch(text, -1) {
		c.replicas[m[1]] = parseReplica(m[0], m[1])
		e.nextID++
		c.ids[m[1]] = e.nextID
	}
	engine.id = c.ids[host(s.Server)]
	c.in[host(s.Server)] = true
	for _, database := range names[1:] {
		d := engine.mirroring.Databases[database]
		if d.RecoveryModel != "FULL" || !d.LogChain {
			return errors.New("1475: no full backup")
		}
		d.InGroup = true
		engine.mirroring.Databases[database] = d
		c.databases = append(c.databases, database)
	}
	e.group, engine.joined = c, true
	e.note()
	return nil
}

func parseReplica(text, server string) *mssql.GroupReplica {
	r := &mssql.GroupReplica{Server: server, Connections: "NO", SessionTimeout: 10 * time.Second}
	for _, mode := range []string{"ASYNCHRONOUS_COMMIT", "CONFIGURATION_ONLY", "SYNCHRONOUS_COMMIT"} {
		if strings.Contains(text, "AVAILABILITY_MODE = "+mode) {
			r.Mode = mode
		}
	}
	if strings.Contains(text, "ALLOW_CONNECTIONS = ALL") {
		r.Connections = "ALL"
	}
	if strings.Contains(text, "SESSION_TIMEOUT = ") {
		r.SessionTimeout = time.Duration(number(text, "SESSION_TIMEOUT = ")) * time.Second
	}
	return r
}

func number(text, after string) int {
	_, rest, _ := strings.Cut(text, after)
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, _ := strconv.Atoi(rest[:end])
	return n
}

func (c *configuration) synchronous() (n int) {
	for _, r := range c.replicas {
		if r.Mode == "SYNCHRONOUS_COMMIT" {
			n++
		}
	}
	return n
}

func (c *configuration) clone() *configuration {
	n := *c
	n.replicas, n.ids, n.in = map[string]*mssql.GroupReplica{}, maps.Clone(c.ids), maps.Clone(c.in)
	for k, r := range c.replicas {
		row := *r
		n.replicas[k] = &row
	}
	return &n
}

// voting are the replicas whose majority agrees, as in the stand-in: those that have joined.
func (c *configuration) voting() map[string]int {
	v := map[string]int{}
	for server, r := range c.replicas {
		if r.Mode != "ASYNCHRONOUS_COMMIT" && (c.in[server] || credentials.ServerOf(server) == c.primary) {
			v[server] = c.ids[server]
		}
	}
	return v
}

// agree says whether a majority of them is connected.
func (e *environ) agree(v map[string]int) bool {
	n := 0
	for server, id := range v {
		s := credentials.ServerOf(server)
		i := e.servers[s]
		if s == e.group.primary || i.joined && i.id == id && !e.silent[s] && !e.cut[homes[s]] && i.deaf == 0 {
			n++
		}
	}
	return e.d.clusterType() == "NONE" || 2*n > len(v)
}
