// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DatabasePermission is a permission on a database as GRANT names it
// (docs/t-sql/statements/grant-database-permissions-transact-sql.md).
// +kubebuilder:validation:Enum=SELECT;INSERT;UPDATE;DELETE;EXECUTE;REFERENCES;ALTER;CONTROL;SHOWPLAN;VIEW DEFINITION;VIEW DATABASE STATE;CREATE TABLE;CREATE VIEW;CREATE PROCEDURE;CREATE FUNCTION;CREATE SCHEMA;ALTER ANY SCHEMA
type DatabasePermission string

// ServerPermission is a permission on the server as GRANT names it
// (docs/t-sql/statements/grant-server-permissions-transact-sql.md). Those by which a login could make itself sysadmin,
// or break what the operator promises, are not among them.
// +kubebuilder:validation:Enum=VIEW SERVER STATE;VIEW SERVER PERFORMANCE STATE;VIEW SERVER SECURITY STATE;VIEW ANY DEFINITION;VIEW ANY DATABASE;VIEW ANY ERROR LOG;CONNECT ANY DATABASE;SELECT ALL USER SECURABLES;ALTER TRACE;ALTER ANY EVENT SESSION;ADMINISTER BULK OPERATIONS;CREATE ANY DATABASE
type ServerPermission string

// ServerRole is a fixed server role
// (docs/relational-databases/security/authentication-access/server-level-roles.md); those between ## are SQL Server
// 2022's and later.
// +kubebuilder:validation:Enum=processadmin;dbcreator;diskadmin;##MS_ServerStateReader##;##MS_ServerPerformanceStateReader##;##MS_ServerSecurityStateReader##;##MS_DefinitionReader##;##MS_SecurityDefinitionReader##;##MS_PerformanceDefinitionReader##;##MS_DatabaseConnector##
type ServerRole string

// ServerRights are what a login may do on each of its servers.
type ServerRights struct {
	// permissions on the server that the login is granted, exactly these beside CONNECT SQL, which each login has.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Permissions []ServerPermission `json:"permissions,omitempty"`
	// roles of the server that the login is a member of, exactly these.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=set
	Roles []ServerRole `json:"roles,omitempty"`
}

// PasswordPolicy says how a login's password is checked (docs/relational-databases/security/password-policy.md).
// +kubebuilder:validation:XValidation:rule="!has(self.expiration) || !self.expiration || !has(self.complexity) || self.complexity",message="expiration goes with complexity (SQL Server refuses CHECK_EXPIRATION without CHECK_POLICY)"
type PasswordPolicy struct {
	// complexity is CHECK_POLICY: eight characters and more, of three kinds of four, without the login's name; true
	// unless given. A change is asked of new passwords alone.
	// +optional
	// +kubebuilder:default=true
	Complexity *bool `json:"complexity,omitempty"`
	// expiration is CHECK_EXPIRATION: a password that is too old lets nobody in until it is changed; false unless given.
	// +optional
	// +kubebuilder:default=false
	Expiration bool `json:"expiration,omitempty"`
}

// RotateAnnotation on a Login asks for a new password where the operator makes it, once: its value is the object's UID,
// a slash and what tells the request from others. One that names another UID, as that of an object which a backup has
// brought back does, asks for nothing. `kubectl geosql login rotate` writes it; on the password's Secret it is the
// request that its password was made for.
const RotateAnnotation = "geosql.dev/rotate"

// RoleName is the name of a database role.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type RoleName string

// ObjectPermission is a permission on a schema, or on an object, as GRANT names it
// (docs/t-sql/statements/grant-schema-permissions-transact-sql.md, grant-object-permissions-transact-sql.md).
// +kubebuilder:validation:Enum=SELECT;INSERT;UPDATE;DELETE;EXECUTE;REFERENCES;VIEW DEFINITION;ALTER
type ObjectPermission string

// UserGrant is what a user may do with a schema, or with one object of it.
type UserGrant struct {
	// schema of the database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schema string `json:"schema"`
	// object of the schema: a table, view, procedure or function. The whole schema unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:default=""
	Object string `json:"object"`
	// permissions that are granted.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Permissions []ObjectPermission `json:"permissions"`
}

// LoginUser is the login's user in one database.
type LoginUser struct {
	// database in which the user is; of a group, one of the group's.
	Database DatabaseName `json:"database"`
	// name of the user, the login's unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!(self in ['dbo', 'guest', 'sys', 'INFORMATION_SCHEMA'])",message="a user of the database's own cannot be declared"
	Name string `json:"name,omitempty"`
	// roles of the database that the user is a member of, exactly these.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Roles []RoleName `json:"roles,omitempty"`
	// permissions on the database that the user is granted, exactly these.
	// +optional
	// +kubebuilder:validation:MaxItems=17
	// +listType=set
	Permissions []DatabasePermission `json:"permissions,omitempty"`
	// grants on schemas and objects. What is taken out of the list is revoked, unless the user had it before it was
	// declared; what else the user may do with schemas and objects is nobody's business here.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=schema
	// +listMapKey=object
	Grants []UserGrant `json:"grants,omitempty"`
}

// LoginSpec declares a SQL login on a server, or on every replica of a group with the same SID.
//
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target",message="target is immutable: declare another Login"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)",message="name is immutable: declare another Login"
type LoginSpec struct {
	// target is the server, or the group on whose replicas the login exists.
	Target ServerOrGroup `json:"target"`
	// name of the login, the object's unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.@-]*$')",message="a login's name begins with a letter or _, and has letters, digits and _ . @ - alone, such as web_reader"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() == 'sa' || self.lowerAscii().startsWith('geosql_'))",message="sa and logins whose name begins with geosql_ are not declared"
	Name string `json:"name,omitempty"`
	// passwordSecretRef names the Secret, in the object's namespace of the hub, with the password; key password unless
	// given. A changed password is taken over on every replica. Left out, the operator makes a password and keeps it in
	// the Secret "<object name>-password"; `kubectl geosql login rotate` has it made anew.
	// +optional
	PasswordSecretRef *SecretReference `json:"passwordSecretRef,omitempty"`
	// passwordPolicy says how the password is checked. Left out, complexity is checked when the login is made, nothing
	// expires, and what somebody changes of that stays.
	// +optional
	PasswordPolicy *PasswordPolicy `json:"passwordPolicy,omitempty"`
	// onServer is what the login may do on the server itself, on each replica of a group: such as VIEW SERVER STATE for
	// what watches it. Left out, that is nobody's business here; an empty one takes everything away.
	// +optional
	OnServer *ServerRights `json:"onServer,omitempty"`
	// users of the login. One that is taken out of the list loses the roles and permissions that were declared for it, and
	// stays in the database: it may own objects.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=database
	Users []LoginUser `json:"users,omitempty"`
	// connectionSecret is the name of the Secret that the operator writes for applications, in the object's namespace of
	// the hub and of every site: "<object name>-connection" unless given. Its keys are type, host, port, username,
	// password, database, ca.crt, and connection strings for ADO.NET (ado), JDBC (jdbc) and go-mssqldb (url). When the
	// name is changed, the Secret of the former name is deleted everywhere.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="a Secret's name has lower-case letters, digits, hyphens and dots alone, and begins and ends with a letter or a digit, such as web-connection"
	ConnectionSecret string `json:"connectionSecret,omitempty"`
	// reclaimPolicy says whether users, login and connection Secret are dropped with this object (Delete) or left (Retain,
	// the default).
	// +optional
	// +kubebuilder:default=Retain
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// suspend has the operator do nothing with the object, its deletion included, until it is false again: it is looked at
	// and reported on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// LoginServerStatus is the login on one server.
type LoginServerStatus struct {
	// server of the login.
	Server string `json:"server"`
	// state is UpToDate, Changing, Conflict or Unknown.
	State string `json:"state"`
}

// LoginUserStatus is a user with what it was granted because it was declared.
type LoginUserStatus struct {
	// database of the user.
	Database DatabaseName `json:"database"`
	// name of the user.
	Name string `json:"name"`
	// roles that were declared for it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Roles []RoleName `json:"roles,omitempty"`
	// permissions on the database that were declared for it.
	// +optional
	// +kubebuilder:validation:MaxItems=17
	// +listType=set
	Permissions []DatabasePermission `json:"permissions,omitempty"`
	// grants on schemas and objects that the operator has given it because they were declared, or is about to give. What
	// it had before it was declared is not among them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Grants []UserGrant `json:"grants,omitempty"`
}

// LoginStatus is the observed state of a Login.
type LoginStatus struct {
	StatusBase `json:",inline"`
	// sid of the login on every server, in hexadecimal as SQL Server writes it.
	// +optional
	SID string `json:"sid,omitempty"`
	// servers on which the login exists or should.
	// +optional
	// +kubebuilder:validation:MaxItems=9
	// +listType=map
	// +listMapKey=server
	Servers []LoginServerStatus `json:"servers,omitempty"`
	// users that are declared, and those that were and still have something of what was granted to them, or may have it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=database
	// +listMapKey=name
	Users []LoginUserStatus `json:"users,omitempty"`
	// connectionSecret that was written.
	// +optional
	ConnectionSecret string `json:"connectionSecret,omitempty"`
	// formerSecrets are names that connectionSecret had before, and under which the operator's Secret is still somewhere
	// or may be.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	FormerSecrets []string `json:"formerSecrets,omitempty"`
	// secretSites are the sites at which a connection Secret of the operator is, or may be.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	SecretSites []SiteName `json:"secretSites,omitempty"`
}

// Login is a SQL login with the same SID on every server that it is for, with its users and what they may do.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=glogin,categories=geosql
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.target.server`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.target.availabilityGroup`
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.connectionSecret`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec.name) || (self.metadata.name.matches('^[a-z][a-z0-9-]*$') && self.metadata.name != 'sa')",message="spec.name is needed: the object's name is no name for a login",fieldPath=".spec.name"
// +kubebuilder:validation:XValidation:rule="has(self.spec.passwordSecretRef) || !has(self.spec.connectionSecret) || self.spec.connectionSecret != self.metadata.name + '-password'",message="spec.connectionSecret is another Secret than the one with the password that the operator makes, <object name>-password",fieldPath=".spec.connectionSecret"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",optionalOldSelf=true,message="metadata.name may have at most 63 characters: it is a label of the connection Secret",fieldPath=".metadata"
type Login struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LoginSpec   `json:"spec"`
	Status LoginStatus `json:"status,omitempty"`
}

// LoginList is a list of Logins.
// +kubebuilder:object:root=true
type LoginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Login `json:"items"`
}

func init() { SchemeBuilder.Register(&Login{}, &LoginList{}) }
