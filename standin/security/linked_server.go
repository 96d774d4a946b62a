// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// server is a row of sys.servers with its logins.
type server struct {
	ID             int32         `json:"id"`
	Name           string        `json:"name"`
	Product        string        `json:"product"`
	Provider       string        `json:"provider"`
	DataSource     string        `json:"dataSource"`
	Location       string        `json:"location,omitempty"`
	ProviderString string        `json:"providerString,omitempty"`
	Catalog        string        `json:"catalog,omitempty"`
	Linked         bool          `json:"linked"`
	Modified       time.Time     `json:"modified"`
	Options        serverOptions `json:"options"`
	Logins         []linkedLogin `json:"logins,omitempty"`
}

func (s *server) key() int32 { return s.ID }

// serverOptions are what sp_serveroption sets.
type serverOptions struct {
	RPC                  bool   `json:"rpc,omitempty"`
	RPCOut               bool   `json:"rpcOut,omitempty"`
	DataAccess           bool   `json:"dataAccess,omitempty"`
	CollationCompatible  bool   `json:"collationCompatible,omitempty"`
	UseRemoteCollation   bool   `json:"useRemoteCollation,omitempty"`
	CollationName        string `json:"collationName,omitempty"`
	LazySchemaValidation bool   `json:"lazySchemaValidation,omitempty"`
	Promotion            bool   `json:"promotion,omitempty"`
	System               bool   `json:"system,omitempty"`
	Publisher            bool   `json:"publisher,omitempty"`
	Subscriber           bool   `json:"subscriber,omitempty"`
	Distributor          bool   `json:"distributor,omitempty"`
	// ConnectTimeout and QueryTimeout are seconds; 0 is the server's default.
	ConnectTimeout int64 `json:"connectTimeout,omitempty"`
	QueryTimeout   int64 `json:"queryTimeout,omitempty"`
}

// linkedLogin maps a local login (0: all that have no mapping of their own) to a remote one. Password is sealed by the
// service master key.
type linkedLogin struct {
	Local    int32     `json:"local"`
	UseSelf  bool      `json:"useSelf,omitempty"`
	Remote   string    `json:"remote,omitempty"`
	Password []byte    `json:"password,omitempty"`
	Modified time.Time `json:"modified"`
}

// The local server's own row has no document: its name is the instance's.
const (
	localServerID       = 0
	firstServer   int32 = 1
)

func (c *serverCatalog) linkedServer(name string) *server {
	for _, s := range c.servers {
		if strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// mapping is the login mapping that holds for a login: its own, or the one for all.
func (s *server) mapping(login int32) *linkedLogin {
	var all *linkedLogin
	for i := range s.Logins {
		switch s.Logins[i].Local {
		case login:
			return &s.Logins[i]
		case 0:
			all = &s.Logins[i]
		}
	}
	return all
}

func (e *Extension) installProcedures(r *engine.Registry) {
	for name, run := range map[string]func(context.Context, *engine.ProcCall) error{
		"sp_addserver": e.addServer, "sp_addlinkedserver": e.addLinkedServer, "sp_dropserver": e.dropServer,
		"sp_serveroption": e.serverOption, "sp_addlinkedsrvlogin": e.addLinkedLogin, "sp_helpserver": e.helpServer,
		"sp_testlinkedserver": e.testLinkedServer,
	} {
		r.Procedure(engine.Procedure{Name: name, Run: run})
	}
	e.installRoleProcedures(r)
}

// changing reads a server, lets change it and writes it; 15015 when there's none, 15247 without ALTER ANY LINKED
// SERVER.
func (e *Extension) changing(
	ctx context.Context,
	s *engine.Session,
	name, right string,
	change func(*server) error,
) error {
	if !e.mayServer(ctx, s, right) {
		return notPermitted()
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	found := catalog.linkedServer(name)
	if found == nil {
		return failure(15015, 1, name)
	}
	changed := *found
	changed.Logins = append([]linkedLogin{}, found.Logins...)
	changed.Modified = e.now().UTC()
	if err := change(&changed); err != nil {
		return err
	}
	e.remotes.forget(changed.Name)
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableServers, &changed) })
}

func (e *Extension) insertServer(ctx context.Context, s *engine.Session, srv *server) error {
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		id, err := nextID(tx, tableServers, firstServer)
		if err != nil {
			return err
		}
		srv.ID = id
		return put(tx, tableServers, srv)
	})
}

// addServer is sp_addserver: the local server keeps the name that the instance was started with (a host name is
// changed by restarting the instance under it), a remote one is a plain entry.
func (e *Extension) addServer(ctx context.Context, call *engine.ProcCall) error {
	name := call.String("@server")
	if !e.mayServer(ctx, call.Session, "ALTER ANY LINKED SERVER") {
		return notPermitted()
	}
	if strings.EqualFold(call.String("@local"), "local") {
		if strings.EqualFold(name, e.inst.ServerName()) {
			return nil
		}
		return failure(1043, 1, "sp_addserver with another local name than the instance's")
	}
	return e.newServer(ctx, call, &server{Name: name, Product: "SQL Server", Provider: "SQLNCLI", DataSource: name,
		Options: serverOptions{RPC: true, RPCOut: true, UseRemoteCollation: true, Promotion: true}},
		strings.EqualFold(call.String("@duplicate_ok"), "duplicate_OK"))
}

func (e *Extension) newServer(ctx context.Context, call *engine.ProcCall, srv *server, duplicateOK bool) error {
	catalog, err := e.server(ctx, call.Session)
	if err != nil {
		return err
	}
	if catalog.linkedServer(srv.Name) != nil || strings.EqualFold(srv.Name, e.inst.ServerName()) {
		if duplicateOK {
			return nil
		}
		return failure(15028, 1, srv.Name)
	}
	srv.Modified = e.now().UTC()
	err = e.insertServer(ctx, call.Session, srv)
	var taken *sqlerr.Error
	if duplicateOK && errors.As(err, &taken) && taken.Number == 15028 {
		return nil // another session was faster
	}
	return err
}

// addLinkedServer is sp_addlinkedserver for SQL Server. Another product than SQL Server, or a provider that isn't one
// of SQL Server's, is refused.
func (e *Extension) addLinkedServer(ctx context.Context, call *engine.ProcCall) error {
	if !e.mayServer(ctx, call.Session, "ALTER ANY LINKED SERVER") {
		return notPermitted()
	}
	srv := &server{Name: call.String("@server"), Product: call.String("@srvproduct"), Provider: call.String("@provider"),
		DataSource: call.String("@datasrc"), Location: call.String("@location"), ProviderString: call.String("@provstr"),
		Catalog: call.String("@catalog"), Linked: true,
		Options: serverOptions{DataAccess: true, UseRemoteCollation: true, Promotion: true}}
	native := srv.Product == "" && call.IsNull("@srvproduct") ||
		strings.EqualFold(strings.TrimSpace(srv.Product), "SQL Server")
	switch {
	case native && (!call.IsNull("@datasrc") || !call.IsNull("@provstr") || !call.IsNull("@location")) &&
		strings.EqualFold(srv.Product, "SQL Server"):
		return failure(15600, 1, "sp_addlinkedserver")
	case native && call.IsNull("@provider"):
		srv.Product, srv.Provider = "SQL Server", "SQLNCLI"
	case !sqlServerProvider(srv.Provider):
		return failure(1043, 1, "a linked server of another provider than SQL Server's")
	}
	if srv.DataSource == "" {
		srv.DataSource = srv.Name
	}
	if err := e.newServer(ctx, call, srv, false); err != nil {
		return err
	}
	// A new linked server maps all logins to themselves (docs/.../sp-addlinkedserver-transact-sql.md, "Remarks").
	return e.changing(ctx, call.Session, srv.Name, "ALTER ANY LINKED SERVER", func(s *server) error {
		s.Logins = []linkedLogin{{UseSelf: true, Modified: e.now().UTC()}}
		return nil
	})
}

func sqlServerProvider(name string) bool {
	for _, known := range []string{"SQLNCLI", "SQLNCLI10", "SQLNCLI11", "MSOLEDBSQL", "MSOLEDBSQL19", "SQLOLEDB"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// dropServer is sp_dropserver; 15190 while logins are mapped and @droplogins isn't given.
func (e *Extension) dropServer(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	if !e.mayServer(ctx, s, "ALTER ANY LINKED SERVER") {
		return notPermitted()
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	srv := catalog.linkedServer(call.String("@server"))
	if srv == nil {
		return failure(15015, 1, call.String("@server"))
	}
	if err := usedByReplication(srv); err != nil {
		return err
	}
	own := 0
	for _, l := range srv.Logins {
		if l.Local != 0 || !l.UseSelf {
			own++
		}
	}
	if own > 0 && !strings.EqualFold(strings.TrimSpace(call.String("@droplogins")), "droplogins") {
		return failure(15190, 1, srv.Name)
	}
	e.remotes.forget(srv.Name)
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return remove(tx, tableServers, srv.ID) })
}

// usedByReplication is 20582 or 20583 for a server that replication names: its options pub and sub say so
// (docs/relational-databases/system-stored-procedures/sp-dropserver-transact-sql.md, Remarks).
func usedByReplication(srv *server) error {
	number := int32(0)
	switch {
	case srv.Options.Publisher:
		number = 20582
	case srv.Options.Subscriber:
		number = 20583
	default:
		return nil
	}
	used := sqlerr.New(number, 1, srv.Name)
	used.Class = 16 // the messages are informational, what raises them is not
	return used
}

// localLogin is the number of the login that @locallogin names, 0 for all logins that have no mapping of their own
// (NULL).
func (e *Extension) localLogin(ctx context.Context, call *engine.ProcCall) (int32, error) {
	name := call.String("@locallogin")
	if name == "" {
		return 0, nil
	}
	catalog, err := e.server(ctx, call.Session)
	if err != nil {
		return 0, err
	}
	l := catalog.login(name)
	if l == nil {
		return 0, failure(15007, 1, name)
	}
	return l.ID, nil
}

// addLinkedLogin is sp_addlinkedsrvlogin.
func (e *Extension) addLinkedLogin(ctx context.Context, call *engine.ProcCall) error {
	local, err := e.localLogin(ctx, call)
	if err != nil {
		return err
	}
	mapping := linkedLogin{Local: local, UseSelf: !strings.EqualFold(strings.TrimSpace(call.String("@useself")), "false"),
		Modified: e.now().UTC()}
	if !mapping.UseSelf {
		mapping.Remote = call.String("@rmtuser")
		if !call.IsNull("@rmtpassword") {
			mapping.Password = seal(e.smk.key, []byte(call.String("@rmtpassword")))
		}
	}
	return e.changing(ctx, call.Session, call.String("@rmtsrvname"), "ALTER ANY LOGIN", func(s *server) error {
		s.dropLogin(local)
		s.Logins = append(s.Logins, mapping)
		return nil
	})
}

func (s *server) dropLogin(local int32) bool {
	for i := range s.Logins {
		if s.Logins[i].Local == local {
			s.Logins = append(s.Logins[:i], s.Logins[i+1:]...)
			return true
		}
	}
	return false
}
