// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

// ofPrincipal notes the events of logins, users, roles, permissions, certificates and keys.
func (e *eventsOf) ofPrincipal(node ast.Statement) bool {
	switch n := node.(type) {
	case *syntax.CreateLogin:
		return e.atServer("CREATE_LOGIN", "LOGIN", n.Name)
	case *syntax.AlterLogin:
		return e.atServer("ALTER_LOGIN", "LOGIN", n.Name)
	case *syntax.DropLogin:
		return e.atServer("DROP_LOGIN", "LOGIN", n.Name)
	case *syntax.CreateUser:
		return e.inDatabase("CREATE_USER", "SQL USER", n.Name)
	case *syntax.AlterUser:
		return e.inDatabase("ALTER_USER", "SQL USER", n.Name)
	case *syntax.DropUser:
		if n.IfExists && !e.hasPrincipal(n.Name) {
			return true
		}
		return e.inDatabase("DROP_USER", "SQL USER", n.Name)
	case *syntax.CreateRole:
		return e.ofRole("CREATE_", n.Server, n.Name)
	case *syntax.AlterRole:
		return e.ofChangedRole(n)
	case *syntax.DropRole:
		if n.IfExists && !e.hasPrincipal(n.Name) {
			return true
		}
		return e.ofRole("DROP_", n.Server, n.Name)
	case *syntax.PermissionStatement:
		return e.ofPermission(n)
	case *syntax.AlterAuthorization:
		name := ""
		if len(n.On.Name) > 0 {
			name = n.On.Name[len(n.On.Name)-1]
		}
		if belongsToServer(n.On.Class) {
			return e.atServer("ALTER_AUTHORIZATION_SERVER", n.On.Class, name)
		}
		return e.inDatabase("ALTER_AUTHORIZATION_DATABASE", n.On.Class, name)
	case *syntax.CreateCertificate:
		return e.inDatabase("CREATE_CERTIFICATE", "CERTIFICATE", n.Name)
	case *syntax.AlterCertificate:
		return e.inDatabase("ALTER_CERTIFICATE", "CERTIFICATE", n.Name)
	case *syntax.DropCertificate:
		return e.inDatabase("DROP_CERTIFICATE", "CERTIFICATE", n.Name)
	case *syntax.CreateMasterKey:
		return e.inDatabase("CREATE_MASTER_KEY", "MASTER KEY", "")
	case *syntax.AlterMasterKey:
		return e.inDatabase("ALTER_MASTER_KEY", "MASTER KEY", "")
	case *syntax.DropMasterKey:
		return e.inDatabase("DROP_MASTER_KEY", "MASTER KEY", "")
	}
	return false
}

func (e *eventsOf) ofRole(verb string, server bool, name string) bool {
	if server {
		return e.atServer(verb+"SERVER_ROLE", "SERVER ROLE", name)
	}
	return e.inDatabase(verb+"ROLE", "ROLE", name)
}

// ofChangedRole: who joins or leaves a role is the object of an event of its own.
func (e *eventsOf) ofChangedRole(n *syntax.AlterRole) bool {
	member, verb := n.AddMember, "ADD_"
	if n.DropMember != "" {
		member, verb = n.DropMember, "DROP_"
	}
	field := "<RoleName>" + escapeText(n.Name) + "</RoleName>"
	switch {
	case member == "":
		return e.ofRole("ALTER_", n.Server, n.Name)
	case n.Server:
		e.atServer(verb+"SERVER_ROLE_MEMBER", "LOGIN", member)
	default:
		e.inDatabase(verb+"ROLE_MEMBER", "SQL USER", member)
	}
	e.list[len(e.list)-1].fields = field
	return true
}

// hasPrincipal tells whether the current database has a user or role of that name.
func (e *eventsOf) hasPrincipal(name string) bool {
	has := e.s.inst.registry.hasPrincipal
	return has == nil || has(e.s.context(), e.s, e.s.db, name)
}

// belongsToServer tells whether a class of securables is the server's, whose events are the server's, too: those about
// a database are its own.
func belongsToServer(class string) bool {
	switch class {
	case "LOGIN", "SERVER ROLE", "ENDPOINT", "AVAILABILITY GROUP", "SERVER":
		return true
	}
	return false
}

// ofPermission: permissions on the server and what belongs to it are events of the server.
func (e *eventsOf) ofPermission(n *syntax.PermissionStatement) bool {
	var b strings.Builder
	server := n.On == nil && len(n.Permissions) > 0 && e.s.inst.registry.atServer != nil &&
		e.s.inst.registry.atServer(n.Permissions[0].Name)
	class, name := "", ""
	if n.On != nil {
		class = n.On.Class
		server = belongsToServer(class)
		if len(n.On.Name) > 0 {
			name = n.On.Name[len(n.On.Name)-1]
		}
	}
	b.WriteString("<Grantor>" + escapeText(e.s.userText()) + "</Grantor><Permissions>")
	for _, p := range n.Permissions {
		b.WriteString("<Permission>" + strings.ToLower(p.Name) + "</Permission>")
	}
	b.WriteString("</Permissions><Grantees>")
	for _, p := range n.Principals {
		b.WriteString("<Grantee>" + escapeText(p) + "</Grantee>")
	}
	b.WriteString("</Grantees>")
	if server {
		e.atServer(n.Action+"_SERVER", class, name)
	} else {
		e.inDatabase(n.Action+"_DATABASE", class, name)
	}
	e.list[len(e.list)-1].fields = b.String()
	return true
}
