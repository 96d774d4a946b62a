// SPDX-License-Identifier: Apache-2.0

package sqlerr

var loginFormats = map[int32]string{
	229:   "The %v permission was denied on the object '%v', database '%v', schema '%v'.",
	230:   "The %v permission was denied on the column '%v' of the object '%v', database '%v', schema '%v'.",
	262:   "%v permission denied in database '%v'.",
	297:   "The user does not have permission to perform this action.",
	300:   "%v permission was denied on object '%v', database '%v'.",
	916:   "The server principal \"%v\" is not able to access the database \"%v\" under the current security context.",
	3505:  "Only the owner of database \"%v\" or someone with relevant permissions can run the CHECKPOINT statement.",
	4060:  "Cannot open database \"%v\" requested by the login. The login failed.",
	4064:  "Cannot open user default database. Login failed.",
	5812:  "You do not have permission to run the RECONFIGURE statement.",
	8189:  "You do not have permission to run '%v'.",
	15247: "User does not have permission to perform this action.",
	18401: "Login failed for user '%v'. Reason: Server is in script upgrade mode.%v",
	18451: "Login failed for user '%v'. Only administrators may connect at this time.%v",
	18452: "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.%v",
	18456: "Login failed for user '%v'.%v%v",
	18461: "Login failed for user '%v'. Reason: Server is in single user mode. Only one administrator can connect at " +
		"this time.%v",
	18464: "Login failed for user '%v'. Reason: Password change failed. The password does not meet the requirements of " +
		"the password policy because it is too short.%v",
	18466: "Login failed for user '%v'. Reason: Password change failed. The password does not meet the requirements of " +
		"the password policy because it is not complex enough.%v",
	17892: "Logon failed for login '%v' due to trigger execution.%v",
	18470: "Login failed for user '%v'. Reason: The account is disabled.%v",
	18486: "Login failed for user '%v' because the account is currently locked out.%v",
	18487: "Login failed for user '%v'. Reason: The password of the account has expired.%v",
	18488: "Login failed for user '%v'. Reason: The password of the account must be changed.%v",
}

var principalFormats = map[int32]string{
	4606:  "Granted or revoked privilege %v is not compatible with the object.",
	4613:  "Grantor does not have GRANT permission.",
	4621:  "Permissions at the server scope can only be granted when the current database is master.",
	4624:  "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.",
	7437:  "Linked servers cannot be used under impersonation without a mapping for the impersonated login.",
	15021: "Invalid value given for parameter %v. Specify a valid parameter value.",
	15109: "Cannot change the owner of the master, model, tempdb or distribution database.",
	15156: "The password that you specified is too long. The password should have no more than %v characters.",
	33233: "You can only create a user with a password in a contained database.",
	15007: "'%v' is not a valid login or you do not have permission.",
	15008: "User '%v' does not exist in the current database.",
	15014: "The role '%v' does not exist in the current database.",
	15015: "The server '%v' does not exist. Use sp_helpserver to show available servers.",
	15023: "User, group, or role '%v' already exists in the current database.",
	15025: "The server principal '%v' already exists.",
	15028: "The server '%v' already exists.",
	15062: "The guest user cannot be mapped to a login name.",
	15063: "The login already has an account under a different user name.",
	15081: "Membership of the public role cannot be changed.",
	15098: "The name change cannot be performed because the SID of the new name does not match the old SID of " +
		"the principal.",
	15099: "The MUST_CHANGE option cannot be used when CHECK_EXPIRATION is OFF.",
	15110: "The proposed new database owner is already a user or aliased in the database.",
	15116: "Password validation failed. The password does not meet the requirements of the password policy because it " +
		"is too short.",
	15118: "Password validation failed. The password does not meet the requirements of the password policy because it " +
		"is not complex enough.",
	15122: "The CHECK_EXPIRATION option cannot be used when CHECK_POLICY is OFF.",
	15128: "The CHECK_POLICY and CHECK_EXPIRATION options cannot be turned OFF when MUST_CHANGE is ON.",
	15138: "The database principal owns a %v in the database, and cannot be dropped.",
	15141: "The server principal owns a %v and cannot be dropped.",
	15144: "The role has members. It must be empty before it can be dropped.",
	15149: "Principal does not exist or you do not have permission.",
	15150: "Cannot %v the %v '%v'.",
	15151: "Cannot %v the %v '%v', because it does not exist or you do not have permission.",
	15154: "The database principal owns an %v and cannot be dropped.",
	15155: "The server principal owns a %v and cannot be dropped.",
	15159: "Maximum impersonation nesting level exceeded (limit %v).",
	15173: "Server principal '%v' has granted one or more permission(s). Revoke the permission(s) before dropping the " +
		"server principal.",
	15174: "Login '%v' owns one or more database(s). Change the owner of the database(s) before dropping the login.",
	15175: "Login '%v' is aliased or mapped to a user in one or more database(s). Drop the user or alias before " +
		"dropping the login.",
	15185: "There is no remote user '%v' mapped to local user '%v' from the remote server '%v'.",
	15190: "There are still remote logins or linked logins for the server '%v'.",
	15198: "The name supplied (%v) is not a user, role, or aliased login.",
	15199: "The current security context cannot be reverted. Switch to the original database where '%v' was called and " +
		"try it again.",
	15278: "Login '%v' is already mapped to user '%v' in database '%v'.",
	15283: "The name '%v' is too long.",
	15284: "The database principal has granted or denied permissions to objects in the database and cannot be dropped.",
	15345: "An entity of type %v cannot be owned by a role, a group, an approle, or by principals mapped to " +
		"certificates or asymmetric keys.",
	15401: "Windows NT user or group '%v' not found. Check the name again.",
	15402: "'%v' is not a fixed server role.",
	15403: "The server principal \"%v\" does not exist, does not have server access, or you do not have permission.",
	15405: "Cannot use the special principal '%v'.",
	15406: "Cannot execute as the server principal because the principal \"%v\" does not exist, this type of principal " +
		"cannot be impersonated, or you do not have permission.",
	15407: "'%v' is not a valid Windows NT name. Give the complete name: <domain\\username>.",
	15409: "'%v' is not a role.",
	15410: "User or role '%v' does not exist in this database.",
	15411: "Database principal or schema '%v' does not exist in this database.",
	15412: "'%v' is not a known fixed role.",
	15413: "Cannot make a role a member of itself.",
	15419: "Supplied parameter sid should be binary(16).",
	15421: "The database principal owns a database role and cannot be dropped.",
	15425: "No server principal was defined for sid '%v'.",
	15433: "Supplied parameter sid is in use.",
	15434: "Could not drop login '%v' as the user is currently logged in.",
	15510: "Cannot enable a login that has an empty password.",
	15517: "Cannot execute as the database principal because the principal \"%v\" does not exist, this type of " +
		"principal cannot be impersonated, or you do not have permission.",
	15530: "The %v with name \"%v\" already exists.",
	15537: "Login '%v' does not have access to server.",
	15538: "Login '%v' does not have access to database.",
	15589: "Cannot revert the current security context because the cookie is invalid.",
	15590: "Can only use the 'No Revert' or 'Cookie' options with the 'Execute As' statement at the adhoc level or in " +
		"an EXECUTE statement.",
	15591: "The current security context cannot be reverted using this statement. A cookie may or may not be needed " +
		"with 'Revert' statement depending on how the context was set with 'Execute As' statement.",
	7202: "Could not find server '%v' in sys.servers. Verify that the correct server name was specified. If " +
		"necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.",
	7391: "The operation could not be performed because OLE DB provider \"%v\" for linked server \"%v\" was unable to " +
		"begin a distributed transaction.",
	7399: "The OLE DB provider \"%v\" for linked server \"%v\" reported an error. %v",
	7411: "Server '%v' is not configured for %v.",
	7412: "OLE DB provider \"%v\" for linked server \"%v\" returned message \"%v\".",
	7416: "Access to the remote server is denied because no login-mapping exists.",
	18483: "Could not connect to server '%v' because '%v' is not defined as a remote login at the server. Verify that " +
		"you have specified the correct login name.%v",
}

var certificateFormats = map[int32]string{
	7860: "An endpoint's transport or content cannot be changed through the ALTER ENDPOINT statement. Use DROP " +
		"ENDPOINT and execute the CREATE ENDPOINT statement to make these changes.",
	7871: "The clause \"%v\" is not valid for this endpoint type on this instance.",
	7887: "The IPv4 or IPv6 address specified is not supported. Only addresses that are in the numeric, canonical " +
		"form are supported for listening.",
	15508: "An error occurred while generating a key needed by this operation.",
	28022: "The certificate used by this endpoint's peer is not yet valid. Use a certificate with a start date " +
		"in the past.",
	28023: "The certificate used by this endpoint's peer has expired. Use a certificate with an expiry date in " +
		"the future.",
	28034: "Connection handshake failed. The login '%v' does not have CONNECT permission on the endpoint. State %v.",
	28035: "Connection handshake failed. The certificate used by the peer is invalid: %v. State %v.",
	7810:  "The value '%v' is not within range for the '%v' parameter.",
	7862: "An endpoint of the requested type already exists. Only one endpoint of this type is supported. Use ALTER " +
		"ENDPOINT or DROP the existing endpoint and execute the CREATE ENDPOINT statement.",
	7863: "The endpoint was not changed. The ALTER ENDPOINT statement did not contain any values to modify or update.",
	7940: "System databases master, model, msdb, and tempdb cannot be detached.",
	7873: "The endpoint \"%v\" is a built-in endpoint and cannot be dropped. Use the protocol configuration utilities " +
		"to ADD or DROP Transact-SQL endpoints.",
	7874: "An endpoint already exists with the bindings specified. Only one endpoint supported for a specific " +
		"binding. Use ALTER ENDPOINT or DROP the existing endpoint and execute the CREATE ENDPOINT statement.",
	7804: "%v and %v can not share the same value.",
	7878: "This \"%v ENDPOINT\" statement is not supported on this edition of SQL Server.",
	15208: "The certificate, asymmetric key, or private key file is not valid or does not exist; or you do not have " +
		"permissions for it.",
	15212: "Invalid certificate subject. The certificate subject must have between 1 and %v characters.",
	15213: "Warning: The certificate you created has an invalid validity period; its expiration date precedes its " +
		"start date.",
	15214: "Warning: The certificate you created is expired.",
	15215: "Warning: The certificate you created is not yet valid; its start date is in the future.",
	15232: "A certificate with name '%v' already exists or this certificate already has been added to the database.",
	15240: "Cannot write into file '%v'. Verify that you have write permissions, that the file path is valid, and that " +
		"the file does not already exist.",
	15246: "Cannot dump the private key of certificate '%v' because the private key cannot be found.",
	15297: "The certificate, asymmetric key, or private key data is invalid.",
	15315: "The key '%v' is not open. Please open the key before using it.",
	15317: "The master key file does not exist or has invalid format.",
	15329: "The current master key cannot be decrypted. If this is a database master key, you should attempt to open " +
		"it in the session before performing this operation.",
	15352: "The %v cannot be dropped because one or more entities are either signed or encrypted using it.",
	15464: "Unsupported private key format or key length.",
	15465: "The private key password is invalid.",
	15466: "An error occurred during decryption.",
	15474: "Invalid private key. The private key does not match the public key of the %v.",
	15507: "A key required by this operation appears to be corrupted.",
	15556: "Cannot decrypt or encrypt using the specified %v, either because it has no private key or because the " +
		"password provided for the private key is incorrect.",
	15563: "The %v has no private key set for it.",
	15578: "There is already a master key in the database. Please drop it before performing this statement.",
	15580: "Cannot drop %v because %v '%v' is encrypted by it.",
	15581: "Please create a master key in the database or open the master key in the session before performing " +
		"this operation.",
	28055: "The certificate '%v' is not valid for endpoint authentication. The certificate must have a private key " +
		"encrypted with the database master key and current UTC date has to be between the certificate start date and the " +
		"certificate expiration date.",
}
