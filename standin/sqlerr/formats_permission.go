// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// permissionFormats are messages of GRANT, DENY and REVOKE, of principals and of what shows them.
var permissionFormats = map[int32]string{
	1019: "Invalid column list after the object name in a GRANT, DENY or REVOKE statement.",
	1020: "Lists of sub-entities (such as columns) cannot be specified for entity-level permissions.",
	4610: "Permissions can only be granted or revoked on objects in the current database.",
	4611: "To revoke or deny grantable privileges, specify the CASCADE option.",
	4615: "Invalid column name '%v'.",
	4617: "Cannot grant, deny or revoke permissions to or from special roles.",
	4618: "You do not have permission to use %v in the AS clause.",
	4619: "CREATE DATABASE permission can only be granted in the master database.",
	4620: "All permissions in a GRANT, DENY or REVOKE statement must be of the same scope (server or database).",
	4623: "The ALL permission is deprecated and not available for this class of entity.",
	4627: "Cannot grant, deny, or revoke the CONNECT permission on a database to roles and application roles.",
	15136: "The database principal is set as the execution context of one or more procedures, functions, or event " +
		"notifications and cannot be dropped.",
	15170: "This login is the owner of %v job(s). Delete or reassign these jobs before the login can be dropped.",
	15182: "Access of the guest user to master or tempdb cannot be disabled.",
	15259: "The DEFAULT_SCHEMA clause cannot be used with a Windows group or with principals mapped to certificates or " +
		"asymmetric keys.",
	15291: "Terminating this procedure. The %v name '%v' is absent or invalid.",
	15300: "No recognized letter is contained in the parameter value for General Permission Type (%v). Valid letters " +
		"are in this set: %v.",
	15330: "There are no matching rows on which to report.",
	33016: "The user cannot be remapped to a login. Only users that are mapped to Windows or SQL logins can be remapped.",
	33017: "Cannot remap a user to a login of a different type. A SQL user must be mapped to a SQL login.",
}

func init() {
	maps.Copy(formats, permissionFormats)
	for page, severities := range map[string]map[int32]uint8{
		eventsPage(1000, 1999):   {1019: 15, 1020: 15},
		events4000:               {4610: 16, 4611: 16, 4615: 16, 4617: 16, 4618: 16, 4619: 16, 4620: 16, 4623: 16, 4627: 16},
		eventsPage(15000, 15999): {15259: 16, 15291: 16, 15300: 11, 15330: 11},
		eventsPage(31000, 41399): {33016: 16, 33017: 16},
	} {
		for n, severity := range severities {
			notListed[n] = struct {
				severity uint8
				doc      string
			}{severity, page}
		}
	}
}
