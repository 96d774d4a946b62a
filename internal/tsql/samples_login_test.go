// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	add("LoginState", tsql.LoginState("app", "It's-a_secret.7"))
	add("LoginPermissions", tsql.LoginPermissions("app"))
	add("LoginRoles", tsql.LoginRoles("app"))
	add("SetPasswordPolicy", tsql.SetPasswordPolicy("app", tsql.PasswordPolicy{}))
	add("SetPasswordPolicy", tsql.SetPasswordPolicy("app", tsql.PasswordPolicy{Unchecked: true}))
	add("SetPasswordPolicy", tsql.SetPasswordPolicy("app", tsql.PasswordPolicy{Expires: true}))
	schema, object := tsql.Securable{Schema: "sal]es"}, tsql.Securable{Schema: "dbo", Object: "Article"}
	add("GrantOn", tsql.GrantOn("SELECT", schema, "app"))
	add("GrantOn", tsql.GrantOn("VIEW DEFINITION", object, "app"))
	add("RevokeOn", tsql.RevokeOn("SELECT", schema, "app"))
	add("RevokeOn", tsql.RevokeOn("VIEW DEFINITION", object, "app"))
	add("UserGrants", tsql.UserGrants("app"))
	add("SecurableExists", tsql.SecurableExists(object))
	add("UnlockLogin", tsql.UnlockLogin(tsql.Login{Name: "app", Password: "It's-a_secret.7"}))
	add("SetDefaultDatabase", tsql.SetDefaultDatabase("app", "master"))
	add("DisableLogin", tsql.DisableLogin("app"))
	add("UserOwns", tsql.UserOwns("app"))
	add("LoginOwns", tsql.LoginOwns("app"))
	add("UserState", tsql.UserState("app"))
	add("UserRoles", tsql.UserRoles("app"))
	add("UserPermissions", tsql.UserPermissions("app"))
	add("MapUser", tsql.MapUser("ap]p", "app"))
	add("DropRoleMember", tsql.DropRoleMember("db_datareader", "app"))
	add("RevokeDatabasePermission", tsql.RevokeDatabasePermission("VIEW DEFINITION", "app"))
}
