// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"slices"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// Types of principals, sys.server_principals.type and sys.database_principals.type.
const (
	sqlPrincipal         = "S"
	rolePrincipal        = "R"
	certificatePrincipal = "C"
)

// Well-known server principals. User-made ones begin at firstLogin.
const (
	saID                  = 1
	serverPublicID        = 2
	sysadminID            = 3
	securityadminID       = 4
	serveradminID         = 5
	setupadminID          = 6
	processadminID        = 7
	diskadminID           = 8
	dbcreatorID           = 9
	bulkadminID           = 10
	firstLogin      int32 = 259
)

// login is a server principal: a login or a server role.
type login struct {
	ID       int32     `json:"id"`
	Name     string    `json:"name"`
	SID      []byte    `json:"sid"`
	Type     string    `json:"type"`
	Disabled bool      `json:"disabled,omitempty"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`

	PasswordHash    []byte    `json:"passwordHash,omitempty"`
	PasswordSet     time.Time `json:"passwordSet"`
	CheckPolicy     bool      `json:"checkPolicy,omitempty"`
	CheckExpiration bool      `json:"checkExpiration,omitempty"`
	MustChange      bool      `json:"mustChange,omitempty"`
	DefaultDatabase string    `json:"defaultDatabase,omitempty"`
	DefaultLanguage string    `json:"defaultLanguage,omitempty"`
	// Thumbprint is the certificate's of a certificate login.
	Thumbprint []byte `json:"thumbprint,omitempty"`

	// Granted is true of public once it has what it has from the start, which can be revoked.
	Granted bool `json:"granted,omitempty"`

	// Owner and Fixed are a role's; MemberOf has the roles that the principal is a direct member of.
	Owner    int32   `json:"owner,omitempty"`
	Fixed    bool    `json:"fixed,omitempty"`
	MemberOf []int32 `json:"memberOf,omitempty"`
}

func (l *login) key() int32 { return l.ID }

var fixedServerRoles = []struct {
	id   int32
	name string
}{
	{
		serverPublicID,
		"public",
	}, {sysadminID, "sysadmin"}, {securityadminID, "securityadmin"}, {serveradminID, "serveradmin"},
	{setupadminID, "setupadmin"}, {processadminID, "processadmin"}, {diskadminID, "diskadmin"}, {dbcreatorID, "dbcreator"},
	{bulkadminID, "bulkadmin"},
}

// fixedTime is when the fixed principals were made, as far as views tell.
var fixedTime = time.Date(2003, 4, 8, 9, 10, 35, 0, time.UTC)

func fixedLogins() []document {
	rows := []document{
		&login{ID: saID, Name: "sa", SID: []byte{1}, Type: sqlPrincipal, Created: fixedTime, Modified: fixedTime,
			CheckPolicy: true, DefaultDatabase: "master", DefaultLanguage: "us_english", MemberOf: []int32{sysadminID}},
	}
	for _, r := range fixedServerRoles {
		rows = append(rows, &login{ID: r.id, Name: r.name, SID: []byte{byte(r.id)}, Type: rolePrincipal, Created: fixedTime,
			Modified: fixedTime, Owner: saID, Fixed: r.id != serverPublicID})
	}
	return rows
}

func (c *serverCatalog) login(name string) *login {
	for _, l := range c.logins {
		if strings.EqualFold(l.Name, name) {
			return l
		}
	}
	return nil
}

func (c *serverCatalog) loginByID(id int32) *login {
	for _, l := range c.logins {
		if l.ID == id {
			return l
		}
	}
	return nil
}

func (c *serverCatalog) loginBySID(sid []byte) *login {
	for _, l := range c.logins {
		if len(sid) > 0 && string(l.SID) == string(sid) {
			return l
		}
	}
	return nil
}

// serverRoles are the ids of a principal and all roles it is a member of, directly or not, public among them.
func (c *serverCatalog) serverRoles(id int32) map[int32]bool {
	all := map[int32]bool{serverPublicID: true}
	var add func(id int32)
	add = func(id int32) {
		if all[id] {
			return
		}
		all[id] = true
		if l := c.loginByID(id); l != nil {
			for _, role := range l.MemberOf {
				add(role)
			}
		}
	}
	add(id)
	return all
}

// asLogin is what the engine wants to know of a login.
func (c *serverCatalog) asLogin(l *login) engine.Login {
	return engine.Login{
		Name:            l.Name,
		SID:             l.SID,
		ID:              l.ID,
		DefaultDatabase: l.DefaultDatabase,
		DefaultLanguage: l.DefaultLanguage,
		Sysadmin:        c.serverRoles(l.ID)[sysadminID],
	}
}

// newSID makes a login's sid of 16 random bytes.
func newSID() []byte {
	sid := make([]byte, 16)
	rand.Read(sid)
	return sid
}

// certificateSID is the sid of a login or user that is mapped to a certificate: S-1-9-1 and the SHA-1 thumbprint, as
// sys.certificates.sid has it.
func certificateSID(thumbprint []byte) []byte {
	sid := []byte{1, 6, 0, 0, 0, 0, 0, 9, 1, 0, 0, 0}
	if len(thumbprint) != sha1.Size {
		sum := sha1.Sum(thumbprint)
		thumbprint = sum[:]
	}
	return append(sid, thumbprint...)
}

func (e *Extension) createLogin(ctx context.Context, s *engine.Session, n *syntax.CreateLogin) error {
	if !e.mayServer(ctx, s, "ALTER ANY LOGIN", "CREATE LOGIN") {
		return notPermitted()
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	if n.Windows {
		return windowsLogin(n.Name)
	}
	if catalog.login(n.Name) != nil {
		return failure(15025, 1, n.Name)
	}
	if err := validPrincipalName(n.Name); err != nil {
		return err
	}
	now := e.now().UTC()
	l := &login{Name: n.Name, Type: sqlPrincipal, Created: now, Modified: now, PasswordSet: now, CheckPolicy: true,
		DefaultDatabase: "master", DefaultLanguage: "us_english"}
	if n.Certificate != "" {
		err = e.certificateLogin(ctx, s, l, n.Certificate, catalog)
	} else {
		err = e.applyCreateOptions(l, n.Options, catalog)
	}
	if err != nil {
		return err
	}
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		if l.ID, err = nextID(tx, tableLogins, firstLogin); err != nil {
			return err
		}
		if err := put(tx, tableLogins, l); err != nil {
			return err
		}
		return grant(tx, tableServerPermissions, &permission{Class: classServer, Grantee: l.ID, Grantor: saID,
			Name: "CONNECT SQL", State: granted})
	})
}

// windowsLogin refuses a Windows login as an instance on Linux outside a domain does: 15407 for a name without a
// domain, 15401 for an account that can't be found.
func windowsLogin(name string) error {
	if !strings.Contains(name, `\`) && !strings.Contains(name, "@") {
		return failure(15407, 1, name)
	}
	return failure(15401, 1, name)
}

func validPrincipalName(name string) error {
	if strings.Contains(name, `\`) || strings.ContainsRune(name, 0) {
		return failure(15006, 1, name)
	}
	return nil
}

func (e *Extension) certificateLogin(
	ctx context.Context,
	s *engine.Session,
	l *login,
	name string,
	catalog *serverCatalog,
) error {
	certificates, err := e.database(ctx, s, e.master())
	if err != nil {
		return err
	}
	c := certificates.certificate(name)
	if c == nil {
		return failure(15151, 1, "find", "certificate", name)
	}
	l.Type, l.Thumbprint, l.CheckPolicy = certificatePrincipal, c.Thumbprint, false
	l.SID = certificateSID(c.Thumbprint)
	if catalog.loginBySID(l.SID) != nil {
		return failure(15433, 1)
	}
	return nil
}

func (e *Extension) applyCreateOptions(l *login, o syntax.LoginOptions, catalog *serverCatalog) error {
	if o.CheckPolicy != nil {
		l.CheckPolicy = *o.CheckPolicy
	} else if o.PasswordHash != nil {
		l.CheckPolicy = true
	}
	if o.CheckExpiration != nil {
		l.CheckExpiration = *o.CheckExpiration
	}
	if l.CheckExpiration && !l.CheckPolicy {
		return failure(15122, 1)
	}
	l.SID = o.SID
	switch {
	case o.SID == nil:
		l.SID = newSID()
	case len(o.SID) != 16:
		return failure(15419, 1)
	case catalog.loginBySID(o.SID) != nil:
		return failure(15433, 1)
	}
	if err := e.applyPassword(l, o); err != nil {
		return err
	}
	return e.applyDefaults(l, o)
}

// applyPassword sets a new password. Errors by the policy, 15099 for MUST_CHANGE without expiration.
func (e *Extension) applyPassword(l *login, o syntax.LoginOptions) error {
	if o.MustChange && !l.CheckExpiration {
		return failure(15099, 1)
	}
	switch {
	case o.Password != nil:
		if err := checkPassword(l.Name, *o.Password, l.CheckPolicy); err != nil {
			return err
		}
		l.PasswordHash = hashPassword(*o.Password)
	case o.PasswordHash != nil:
		if !validHash(o.PasswordHash) {
			return failure(15021, 2, "PASSWORD")
		}
		l.PasswordHash = o.PasswordHash
	default:
		return nil
	}
	l.PasswordSet, l.MustChange = e.now().UTC(), o.MustChange
	return nil
}

func (e *Extension) applyDefaults(l *login, o syntax.LoginOptions) error {
	if o.Credential != nil {
		return failure(15151, 1, "find", "credential", *o.Credential)
	}
	if o.DefaultDatabase != nil {
		if e.inst.Database(*o.DefaultDatabase) == nil {
			return failure(15010, 1, *o.DefaultDatabase)
		}
		l.DefaultDatabase = *o.DefaultDatabase
	}
	if o.DefaultLanguage != nil {
		language := sqltype.FindLanguage(*o.DefaultLanguage)
		if language == nil {
			return failure(15033, 1, *o.DefaultLanguage)
		}
		l.DefaultLanguage = language.Name
	}
	return nil
}

func (e *Extension) alterLogin(ctx context.Context, s *engine.Session, n *syntax.AlterLogin) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	found := catalog.login(n.Name)
	if found == nil || found.Type == rolePrincipal {
		return failure(15151, 1, "alter", "login", n.Name)
	}
	l := *found
	if err := e.mayAlterLogin(ctx, s, catalog, &l, n); err != nil {
		return err
	}
	l.Modified = e.now().UTC()
	switch {
	case n.Enable:
		if l.Type == sqlPrincipal && len(l.PasswordHash) == 0 {
			return failure(15510, 1)
		}
		l.Disabled = false
	case n.Disable:
		l.Disabled = true
	default:
		if err := e.applyAlterOptions(&l, n.Options, catalog); err != nil {
			return err
		}
	}
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableLogins, &l) })
}

// mayAlterLogin: ALTER ANY LOGIN or ALTER on another, or one's own password with the old one, default database and
// language. A member of sysadmin is changed by those with CONTROL SERVER only.
func (e *Extension) mayAlterLogin(
	ctx context.Context,
	s *engine.Session,
	c *serverCatalog,
	l *login,
	n *syntax.AlterLogin,
) error {
	o := n.Options
	if s.Login().ID == l.ID && !n.Enable && !n.Disable && o.Name == nil && o.CheckPolicy == nil &&
		o.CheckExpiration == nil &&
		!o.Unlock && !o.MustChange &&
		o.PasswordHash == nil {
		if o.Password == nil || o.OldPassword != nil && passwordMatches(*o.OldPassword, l.PasswordHash) {
			return nil
		}
	}
	if e.mayServer(ctx, s, "ALTER ANY LOGIN") ||
		s.Login().ID != l.ID && e.maySecurable(ctx, s, "ALTER", classLogin, l.ID) {
		privileged := c.serverRoles(l.ID)[sysadminID]
		if !privileged || e.mayServer(ctx, s, "CONTROL SERVER") {
			return nil
		}
	}
	return failure(15151, 1, "alter", "login", n.Name)
}

func (e *Extension) applyAlterOptions(l *login, o syntax.LoginOptions, catalog *serverCatalog) error {
	if l.Type != sqlPrincipal &&
		(o.Password != nil || o.PasswordHash != nil || o.CheckPolicy != nil || o.CheckExpiration != nil) {
		return failure(15151, 1, "alter", "login", l.Name)
	}
	if o.Name != nil {
		if other := catalog.login(*o.Name); other != nil && other.ID != l.ID {
			return failure(15025, 1, *o.Name)
		}
		if err := validPrincipalName(*o.Name); err != nil {
			return err
		}
		l.Name = *o.Name
	}
	if o.CheckPolicy != nil {
		l.CheckPolicy = *o.CheckPolicy
		if !l.CheckPolicy {
			if l.MustChange {
				return failure(15128, 1)
			}
			l.CheckExpiration = false
		}
	}
	if o.CheckExpiration != nil {
		if !*o.CheckExpiration && l.MustChange {
			return failure(15128, 1)
		}
		l.CheckExpiration = *o.CheckExpiration
	}
	if l.CheckExpiration && !l.CheckPolicy {
		return failure(15122, 1)
	}
	if o.OldPassword != nil && !passwordMatches(*o.OldPassword, l.PasswordHash) {
		return failure(15151, 1, "alter", "login", l.Name)
	}
	if err := e.applyPassword(l, o); err != nil {
		return err
	}
	return e.applyDefaults(l, o)
}

func (e *Extension) dropLogin(ctx context.Context, s *engine.Session, n *syntax.DropLogin) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	l := catalog.login(n.Name)
	if l == nil || l.Type == rolePrincipal || !e.mayServer(ctx, s, "ALTER ANY LOGIN") {
		return failure(15151, 1, "drop", "login", n.Name)
	}
	if l.ID == saID {
		return failure(15405, 1, n.Name)
	}
	for _, other := range e.inst.Sessions() {
		if other.OriginalLogin().ID == l.ID {
			return failure(15434, 1, n.Name)
		}
	}
	if err := e.ownsNothing(ctx, s, catalog, l); err != nil {
		return err
	}
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		for _, p := range catalog.permissions {
			if p.Grantee == l.ID || p.Class == classLogin && p.Major == l.ID {
				if err := remove(tx, tableServerPermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return remove(tx, tableLogins, l.ID)
	})
}

// ownsNothing refuses to drop a login that owns databases (15174), gave permissions (15173), owns endpoints or server
// roles (15141) or jobs (15170) (docs/t-sql/statements/drop-login-transact-sql.md, Remarks).
func (e *Extension) ownsNothing(ctx context.Context, s *engine.Session, catalog *serverCatalog, l *login) error {
	for _, db := range e.inst.Databases() {
		if string(db.Info().OwnerSID) == string(l.SID) {
			return failure(15174, 1, l.Name)
		}
	}
	for _, p := range catalog.permissions {
		if p.Grantor == l.ID {
			return failure(15173, 1, l.Name)
		}
	}
	for _, ep := range catalog.endpoints {
		if ep.Owner == l.ID {
			return failure(15141, 1, "endpoint")
		}
	}
	if catalog.ownsRole(l) {
		return failure(15141, 1, "server role")
	}
	jobs, err := askedAsSystem(ctx, s, "SELECT COUNT(*) AS n FROM msdb.dbo.sysjobs WHERE owner_sid = @p1", l.SID)
	if err == nil && jobs > 0 {
		err = failure(15170, 1, jobs)
	}
	return err
}

// ownsRole tells whether a principal owns a server role.
func (c *serverCatalog) ownsRole(owner *login) bool {
	return slices.ContainsFunc(c.logins, func(l *login) bool {
		return l.Type == rolePrincipal && !l.Fixed && l.Owner == owner.ID && l.ID != serverPublicID
	})
}

// askedAsSystem is the number that a query has in its column n, whatever s may see.
func askedAsSystem(ctx context.Context, s *engine.Session, query string, params ...any) (n int64, err error) {
	err = s.AsSystem(func() error {
		result, err := s.Query(ctx, query, params...)
		if err == nil {
			n = result.Int(0, "n")
		}
		return err
	})
	return n, err
}
