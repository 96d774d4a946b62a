// SPDX-License-Identifier: Apache-2.0

package security

import (
	"testing"

	. "github.com/onsi/gomega"
)

// catalogs with a login of id 300 and a user of id 5, and the given permission rows.
func serverWith(memberOf []int32, rows ...*permission) *serverCatalog {
	c := &serverCatalog{permissions: rows}
	for _, d := range fixedLogins() {
		c.logins = append(c.logins, d.(*login))
	}
	c.logins = append(c.logins, &login{ID: 300, Name: "l", Type: sqlPrincipal, MemberOf: memberOf})
	return c
}

func databaseWith(memberOf []int32, rows ...*permission) *databaseCatalog {
	c := &databaseCatalog{permissions: rows}
	for _, d := range fixedUsers() {
		c.users = append(c.users, d.(*user))
	}
	c.users = append(c.users, &user{ID: 5, Name: "u", Type: sqlPrincipal, MemberOf: memberOf})
	return c
}

func TestServerPermissionsAreCoveredAndDenied(t *testing.T) {
	server := securable{class: classServer}
	group := securable{class: classGroup, major: 7}
	endpoint := securable{class: classEndpoint, major: 65536}
	row := func(sec securable, name, state string) *permission {
		return &permission{Class: sec.class, Major: sec.major, Grantee: 300, Name: name, State: state}
	}
	for _, c := range []struct {
		name     string
		memberOf []int32
		rows     []*permission
		on       securable
		asked    string
		want     bool
	}{
		{"nothing", nil, nil, server, "VIEW SERVER STATE", false},
		{"everybody sees databases", nil,
			[]*permission{{Class: classServer, Grantee: serverPublicID, Name: "VIEW ANY DATABASE", State: granted}}, server,
			"VIEW ANY DATABASE", true},
		{"until that is revoked", nil, nil, server, "VIEW ANY DATABASE", false},
		{"granted", nil, []*permission{row(server, "VIEW SERVER STATE", granted)}, server, "VIEW SERVER STATE", true},
		{"covered", nil, []*permission{row(server, "VIEW SERVER STATE", granted)}, server, "VIEW SERVER PERFORMANCE STATE",
			true},
		{"not the other way", nil, []*permission{row(server, "VIEW SERVER PERFORMANCE STATE", granted)}, server,
			"VIEW SERVER STATE", false},
		{"control covers all", nil, []*permission{row(server, "CONTROL SERVER", withGrant)}, group, "ALTER", true},
		{"denial wins", nil, []*permission{row(server, "CONTROL SERVER", granted), row(server, "ALTER ANY LOGIN", denied)},
			server, "ALTER ANY LOGIN", false},
		{"a denied cover denies", nil,
			[]*permission{row(server, "CREATE ANY DATABASE", granted), row(server, "ALTER ANY DATABASE", denied)}, server,
			"CREATE ANY DATABASE", false},
		{"role", []int32{securityadminID}, nil, server, "ALTER ANY LOGIN", true},
		{"role's cover", []int32{dbcreatorID}, nil, server, "CREATE ANY DATABASE", true},
		{"sysadmin is never denied", []int32{sysadminID}, []*permission{row(server, "CONTROL SERVER", denied)}, server,
			"SHUTDOWN", true},
		{"group", nil, []*permission{row(group, "CONTROL", granted)}, group, "ALTER", true},
		{"another group", nil, []*permission{row(group, "CONTROL", granted)}, securable{class: classGroup, major: 8}, "ALTER",
			false},
		{"any group", nil, []*permission{row(server, "ALTER ANY AVAILABILITY GROUP", granted)}, group, "ALTER", true},
		{"any group isn't control", nil, []*permission{row(server, "ALTER ANY AVAILABILITY GROUP", granted)}, group,
			"CONTROL", false},
		{"connect on endpoint", nil, []*permission{row(endpoint, "CONNECT", granted)}, endpoint, "CONNECT", true},
		{"no connect on endpoint", nil, nil, endpoint, "CONNECT", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(serverWith(c.memberOf, c.rows...).allowed(300, c.on, c.asked)).To(Equal(c.want))
		})
	}
}

func TestDatabasePermissionsAreCoveredAndDenied(t *testing.T) {
	database := securable{class: classDatabase}
	table := securable{class: classObject, major: 99, schema: 1}
	schema := securable{class: classSchema, major: 1}
	row := func(sec securable, grantee int32, name, state string) *permission {
		return &permission{Class: sec.class, Major: sec.major, Grantee: grantee, Name: name, State: state}
	}
	for _, c := range []struct {
		name     string
		memberOf []int32
		rows     []*permission
		on       securable
		asked    string
		want     bool
	}{
		{"nothing", nil, nil, table, "SELECT", false},
		{"object", nil, []*permission{row(table, 5, "SELECT", granted)}, table, "SELECT", true},
		{"object, other right", nil, []*permission{row(table, 5, "SELECT", granted)}, table, "INSERT", false},
		{"schema", nil, []*permission{row(schema, 5, "SELECT", granted)}, table, "SELECT", true},
		{"database", nil, []*permission{row(database, 5, "SELECT", granted)}, table, "SELECT", true},
		{"denied on the object", nil, []*permission{row(database, 5, "SELECT", granted), row(table, 5, "SELECT", denied)},
			table, "SELECT", false},
		{"public", nil, []*permission{row(table, publicID, "SELECT", granted)}, table, "SELECT", true},
		{"denied to public", nil, []*permission{row(table, 5, "SELECT", granted), row(table, publicID, "SELECT", denied)},
			table, "SELECT", false},
		{"reader", []int32{dbDataReaderID}, nil, table, "SELECT", true},
		{"reader doesn't write", []int32{dbDataReaderID}, nil, table, "INSERT", false},
		{"writer", []int32{dbDataWriterID}, nil, table, "DELETE", true},
		{"writer doesn't read", []int32{dbDataWriterID}, nil, table, "SELECT", false},
		{"deny reader", []int32{dbDataReaderID, dbDenyDataReaderID}, nil, table, "SELECT", false},
		{"owner", []int32{dbOwnerID}, []*permission{row(table, 5, "SELECT", denied)}, table, "SELECT", true},
		{"ddladmin creates tables", []int32{dbDDLAdminID}, nil, database, "CREATE TABLE", true},
		{"ddladmin alters", []int32{dbDDLAdminID}, nil, table, "ALTER", true},
		{"ddladmin grants no users", []int32{dbDDLAdminID}, nil, database, "ALTER ANY USER", false},
		{"backup operator", []int32{dbBackupOperatorID}, nil, database, "BACKUP LOG", true},
		{"alter covers create", nil, []*permission{row(database, 5, "ALTER", granted)}, database, "CREATE TABLE", true},
		{"control covers all", nil, []*permission{row(database, 5, "CONTROL", granted)}, table, "DELETE", true},
		{"taking the database takes no schema", nil, []*permission{row(database, 5, "TAKE OWNERSHIP", granted)}, schema,
			"TAKE OWNERSHIP", false},
		{"taking the schema takes no table", nil, []*permission{row(schema, 5, "TAKE OWNERSHIP", granted)}, table,
			"TAKE OWNERSHIP", false},
		{"control of the schema takes tables", nil, []*permission{row(schema, 5, "CONTROL", granted)}, table,
			"TAKE OWNERSHIP", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(databaseWith(c.memberOf, c.rows...).allowed(5, c.on, c.asked)).To(Equal(c.want))
		})
	}
}

func TestSIDText(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sidText([]byte{1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0})).To(Equal("S-1-5-18"))
	g.Expect(sidText([]byte{1})).To(Equal("0x01"))
	g.Expect(splitName("[a.b].c")).To(Equal([]string{"a.b", "c"}))
	g.Expect(splitName("[a]]b]")).To(Equal([]string{"a]b"}))
}
