// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// Well-known database principals. User-made ones begin at firstUser.
const (
	publicID                  = 0
	dboID                     = 1
	guestID                   = 2
	informationSchemaID       = 3
	sysID                     = 4
	firstUser           int32 = 5
	dbOwnerID                 = 16384
	dbAccessAdminID           = 16385
	dbSecurityAdminID         = 16386
	dbDDLAdminID              = 16387
	dbBackupOperatorID        = 16389
	dbDataReaderID            = 16390
	dbDataWriterID            = 16391
	dbDenyDataReaderID        = 16392
	dbDenyDataWriterID        = 16393
)

// user is a database principal: a user or a role.
type user struct {
	ID            int32     `json:"id"`
	Name          string    `json:"name"`
	SID           []byte    `json:"sid,omitempty"`
	Type          string    `json:"type"`
	DefaultSchema string    `json:"defaultSchema,omitempty"`
	Created       time.Time `json:"created"`
	Modified      time.Time `json:"modified"`
	// Authentication is sys.database_principals.authentication_type: 0 none, 1 instance.
	Authentication int8    `json:"authentication,omitempty"`
	Owner          int32   `json:"owner,omitempty"`
	Fixed          bool    `json:"fixed,omitempty"`
	MemberOf       []int32 `json:"memberOf,omitempty"`
}

func (u *user) key() int32 { return u.ID }

func fixedUsers() []document {
	at := fixedTime
	rows := []document{
		&user{
			ID:       publicID,
			Name:     "public",
			SID:      roleSID(publicID),
			Type:     rolePrincipal,
			Created:  at,
			Modified: at,
			Owner:    dboID,
		},
		&user{ID: dboID, Name: "dbo", SID: []byte{1}, Type: sqlPrincipal, DefaultSchema: "dbo", Created: at, Modified: at,
			Authentication: 1, MemberOf: []int32{dbOwnerID}},
		&user{
			ID:            guestID,
			Name:          "guest",
			SID:           []byte{0},
			Type:          sqlPrincipal,
			DefaultSchema: "guest",
			Created:       at,
			Modified:      at,
		},
		&user{ID: informationSchemaID, Name: "INFORMATION_SCHEMA", Type: sqlPrincipal, Created: at, Modified: at},
		&user{ID: sysID, Name: "sys", Type: sqlPrincipal, Created: at, Modified: at},
	}
	for id, name := range map[int32]string{dbOwnerID: "db_owner", dbAccessAdminID: "db_accessadmin",
		dbSecurityAdminID: "db_securityadmin", dbDDLAdminID: "db_ddladmin", dbBackupOperatorID: "db_backupoperator",
		dbDataReaderID: "db_datareader", dbDataWriterID: "db_datawriter", dbDenyDataReaderID: "db_denydatareader",
		dbDenyDataWriterID: "db_denydatawriter"} {
		rows = append(rows, &user{ID: id, Name: name, SID: roleSID(id), Type: rolePrincipal, Created: at, Modified: at,
			Owner: dboID, Fixed: true})
	}
	return rows
}

// roleSID is the sid of a database role: S-1-5-9 ... and its number.
func roleSID(id int32) []byte {
	sid := make([]byte, 28)
	copy(sid, []byte{1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0})
	sid[24], sid[25], sid[26], sid[27] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
	return sid
}

func (c *databaseCatalog) user(name string) *user {
	for _, u := range c.users {
		if strings.EqualFold(u.Name, name) {
			return u
		}
	}
	return nil
}

func (c *databaseCatalog) userByID(id int32) *user {
	for _, u := range c.users {
		if u.ID == id {
			return u
		}
	}
	return nil
}

// userBySID is the user of a login, other than dbo.
func (c *databaseCatalog) userBySID(sid []byte) *user {
	for _, u := range c.users {
		if len(sid) > 0 && u.Type != rolePrincipal && u.ID != dboID && string(u.SID) == string(sid) {
			return u
		}
	}
	return nil
}

// roles are the ids of a principal and all roles it is a member of, directly or not, public among them.
func (c *databaseCatalog) roles(id int32) map[int32]bool {
	all := map[int32]bool{publicID: true}
	var add func(id int32)
	add = func(id int32) {
		if all[id] && id != publicID {
			return
		}
		all[id] = true
		if u := c.userByID(id); u != nil {
			for _, role := range u.MemberOf {
				add(role)
			}
		}
	}
	add(id)
	return all
}

// asUser is what the engine wants to know of a user.
func (c *databaseCatalog) asUser(u *user) engine.User {
	schema := u.DefaultSchema
	if schema == "" {
		schema = "dbo"
	}
	return engine.User{
		Name:          u.Name,
		SID:           u.SID,
		ID:            u.ID,
		DefaultSchema: schema,
		Owner:         u.ID == dboID || c.roles(u.ID)[dbOwnerID],
	}
}

// User is the session's user in db: what EXECUTE AS USER said, dbo for a sysadmin or the database's owner, the user of
// the login's sid, or guest where guest may connect; 916 for others.
func (e *Extension) User(ctx context.Context, s *engine.Session, db *engine.Database) (engine.User, error) {
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return engine.User{}, err
	}
	noAccess := failure(916, 1, s.Login().Name, db.Name())
	if x := e.context(s); x != nil && x.user != nil {
		if x.database != db.ID() {
			if !guestMayConnect(catalog, db) {
				return engine.User{}, noAccess
			}
			return catalog.asUser(catalog.userByID(guestID)), nil
		}
		u := catalog.userByID(x.user.ID)
		if u == nil {
			return engine.User{}, failure(15517, 1, x.user.Name)
		}
		return catalog.asUser(u), nil
	}
	l := s.Login()
	if l.Sysadmin || string(db.Info().OwnerSID) == string(l.SID) {
		return engine.DBO, nil
	}
	if u := catalog.userBySID(l.SID); u != nil {
		if !catalog.allowed(u.ID, securable{class: classDatabase}, "CONNECT") {
			return engine.User{}, noAccess
		}
		return catalog.asUser(u), nil
	}
	if guestMayConnect(catalog, db) || e.mayServer(ctx, s, "CONNECT ANY DATABASE") {
		return catalog.asUser(catalog.userByID(guestID)), nil
	}
	return engine.User{}, noAccess
}

// guestMayConnect: guest is enabled in master, tempdb and msdb, elsewhere when CONNECT was granted to it
// (docs/relational-databases/security/authentication-access/principals-database-engine.md).
func guestMayConnect(c *databaseCatalog, db *engine.Database) bool {
	if db.System() && !strings.EqualFold(db.Name(), "model") {
		return true
	}
	return c.allowed(guestID, securable{class: classDatabase}, "CONNECT")
}

func (e *Extension) createUser(ctx context.Context, s *engine.Session, n *syntax.CreateUser) error {
	db := s.CurrentDatabase()
	if !e.mayDatabase(ctx, s, db, "ALTER ANY USER", "CREATE USER") {
		return notPermitted()
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	if strings.EqualFold(n.Name, "guest") {
		return failure(15023, 1, n.Name)
	}
	if catalog.user(n.Name) != nil {
		return failure(15023, 1, n.Name)
	}
	if err := validPrincipalName(n.Name); err != nil {
		return err
	}
	now := e.now().UTC()
	u := &user{Name: n.Name, Type: sqlPrincipal, DefaultSchema: "dbo", Created: now, Modified: now}
	if n.DefaultSchema != nil {
		u.DefaultSchema = *n.DefaultSchema
	}
	switch {
	case n.WithoutLogin:
		u.SID = userSID()
	case n.Certificate != "":
		c := catalog.certificate(n.Certificate)
		if c == nil {
			return failure(15151, 1, "find", "certificate", n.Certificate)
		}
		if n.DefaultSchema != nil {
			return failure(15259, 1)
		}
		u.Type, u.SID, u.DefaultSchema = certificatePrincipal, certificateSID(c.Thumbprint), ""
	default:
		if err := e.mapLogin(ctx, s, u, n.Login, catalog); err != nil {
			return err
		}
	}
	if other := catalog.userBySID(u.SID); other != nil {
		return failure(15063, 1)
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		if u.ID, err = nextUserID(tx); err != nil {
			return err
		}
		if err := put(tx, tableUsers, u); err != nil {
			return err
		}
		return grant(
			tx,
			tablePermissions,
			&permission{Class: classDatabase, Grantee: u.ID, Grantor: dboID, Name: "CONNECT", State: granted},
		)
	})
}

// nextUserID keeps below the numbers of the fixed roles.
func nextUserID(tx *storage.Tx) (int32, error) {
	all, err := readAll[user](tx.Conn(), tableUsers)
	if err != nil {
		return 0, err
	}
	id := firstUser
	for _, u := range all {
		if u.ID < dbOwnerID && u.ID >= id {
			id = u.ID + 1
		}
	}
	return id, nil
}

// userSID is the sid of a user without a login: S-1-9-3 and 16 random bytes.
func userSID() []byte {
	return append([]byte{1, 5, 0, 0, 0, 0, 0, 9, 3, 0, 0, 0}, newSID()...)
}

func (e *Extension) mapLogin(
	ctx context.Context,
	s *engine.Session,
	u *user,
	name string,
	catalog *databaseCatalog,
) error {
	logins, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	l := logins.login(name)
	if l == nil || l.Type == rolePrincipal {
		return failure(15007, 1, name)
	}
	if l.ID == saID {
		return failure(15405, 1, name)
	}
	db := s.CurrentDatabase()
	if string(db.Info().OwnerSID) == string(l.SID) {
		return failure(15063, 1)
	}
	u.Type, u.SID, u.Authentication = l.Type, l.SID, 1
	return nil
}

func (e *Extension) alterUser(ctx context.Context, s *engine.Session, n *syntax.AlterUser) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	found := catalog.user(n.Name)
	if found == nil || found.Type == rolePrincipal || !e.mayAlterUser(ctx, s, db, found, n) {
		return failure(15151, 1, "alter", "user", n.Name)
	}
	if found.ID < firstUser {
		return failure(15150, 1, "alter", "user", n.Name)
	}
	u := *found
	u.Modified = e.now().UTC()
	if n.NewName != nil {
		if other := catalog.user(*n.NewName); other != nil && other.ID != u.ID {
			return failure(15023, 1, *n.NewName)
		}
		if err := validPrincipalName(*n.NewName); err != nil {
			return err
		}
		u.Name = *n.NewName
	}
	if n.DefaultSchema != nil {
		if u.Type == certificatePrincipal {
			return failure(15259, 1)
		}
		u.DefaultSchema = *n.DefaultSchema
	}
	if n.Login != nil {
		if !e.mayDatabase(ctx, s, db, "CONTROL") {
			return notPermitted()
		}
		if u.Type != sqlPrincipal || u.Authentication == 0 {
			return failure(33016, 1)
		}
		if err := e.mapLogin(ctx, s, &u, *n.Login, catalog); err != nil {
			return err
		}
		if u.Type != found.Type {
			return failure(33017, 1)
		}
		if other := catalog.userBySID(u.SID); other != nil && other.ID != u.ID {
			return failure(15063, 1)
		}
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableUsers, &u) })
}

// mayAlterUser: ALTER on the user, or its own default schema (docs/t-sql/statements/alter-user-transact-sql.md,
// Permissions).
func (e *Extension) mayAlterUser(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	u *user,
	n *syntax.AlterUser,
) bool {
	if self, err := s.User(ctx, db); err == nil && self.ID == u.ID && n.NewName == nil && n.Login == nil {
		return true
	}
	return e.mayDatabase(ctx, s, db, "ALTER ANY USER")
}

func (e *Extension) dropUser(ctx context.Context, s *engine.Session, n *syntax.DropUser) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	u := catalog.user(n.Name)
	if u == nil && n.IfExists {
		return nil
	}
	if u == nil || u.Type == rolePrincipal || !e.mayDatabase(ctx, s, db, "ALTER ANY USER") {
		return failure(15151, 1, "drop", "user", n.Name)
	}
	if u.ID < firstUser {
		return failure(15150, 1, "drop", "user", n.Name)
	}
	return e.dropPrincipal(ctx, s, db, catalog, u)
}

// dropPrincipal drops a user or role that owns nothing.
func (e *Extension) dropPrincipal(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	c *databaseCatalog,
	u *user,
) error {
	for _, other := range c.users {
		if other.Type == rolePrincipal && other.Owner == u.ID {
			return failure(15421, 1)
		}
	}
	for _, cert := range c.certificates {
		if cert.Owner == u.ID {
			return failure(15138, 1, "certificate")
		}
	}
	for _, p := range c.permissions {
		if p.Grantor == u.ID {
			return failure(15284, 1)
		}
	}
	owns, err := e.ownsSchema(ctx, s, db, u.ID)
	if err != nil {
		return err
	}
	if owns {
		return failure(15138, 1, "schema")
	}
	modules, err := askedAsSystem(
		ctx,
		s,
		"SELECT COUNT(*) AS n FROM sys.sql_modules WHERE execute_as_principal_id = @p1",
		int64(u.ID),
	)
	if err != nil {
		return err
	}
	if modules > 0 {
		return failure(15136, 1)
	}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		for _, p := range c.permissions {
			if p.Grantee == u.ID || p.Class == classPrincipal && p.Major == u.ID {
				if err := remove(tx, tablePermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return remove(tx, tableUsers, u.ID)
	})
}
