// SPDX-License-Identifier: Apache-2.0

package sqlerr

var hadrFormats = map[int32]string{
	1407: "The remote copy of database \"%v\" is not related to the local copy of the database.",
	1408: "The remote copy of database \"%v\" is not recovered far enough to join. Restore the missing log records " +
		"with NORECOVERY and try again.",
	1465: "Database \"%v\" is not in full recovery mode on each of the server instances. The full recovery model is " +
		"required to use availability groups. Run ALTER DATABASE ... SET RECOVERY FULL.",
	1466: "Database \"%v\" is read-only on one of the server instances, which is incompatible with participating in " +
		"an availability group.",
	1467: "Database \"%v\" is in emergency or suspect mode on one of the server instances.",
	1468: "The operation cannot be performed on database \"%v\" because it is involved in a database mirroring " +
		"session or an availability group. Remove it from the group first.",
	1475: "Database \"%v\" might contain bulk logged changes that have not been backed up. Take a full backup (BACKUP " +
		"DATABASE) and, if one exists already, a log backup on the primary first.",
	19401: "The READ_ONLY_ROUTING_URL '%v' specified for availability replica '%v' is not valid. It has to be " +
		"TCP://host:port.",
	19402: "A duplicate availability replica '%v' was specified in the READ_ONLY_ROUTING_LIST for availability " +
		"replica '%v'.",
	19403: "The availability replica '%v' specified in the READ_ONLY_ROUTING_LIST for availability replica '%v' does " +
		"not exist in availability group '%v'.",
	19404: "An availability replica '%v' that is specified in the READ_ONLY_ROUTING_LIST for availability replica '%v' " +
		"does not have a value set for READ_ONLY_ROUTING_URL.",
	19407: "The lease of availability group '%v' has expired: nobody has renewed it in time, and the local replica " +
		"gives up its role.",
	19451: "'%v' and '%v' belong to the same subnet; only one IP address per subnet is allowed for a listener.",
	19456: "No address of the availability group listener can be hosted by server '%v'. Name one that the server has, " +
		"or one of a subnet of its.",
	19460: "The listener with DNS name '%v' is configured to use DHCP. Listeners with DHCP do not support static " +
		"IP addresses.",
	19468: "The listener with DNS name '%v' for the availability group '%v' is already listening on the TCP port %v.",
	19469: "The specified listener with DNS name, '%v', does not exist for the availability group '%v'.",
	19477: "The attempt to create the network name and IP address for the listener failed: availability group '%v' " +
		"already has the listener '%v'.",
	19482: "The port number, %v, that is specified is invalid. Valid port numbers range from 1 to 65535, inclusive.",
	19483: "The format for the IP address, '%v', is invalid.",
	19484: "The specified IP address, '%v', is duplicated in the IP address list.",
	19485: "The specified DNS name, '%v', is invalid. The length of the DNS name needs to be between 1 and 63 " +
		"characters, of letters, digits, hyphens and underscores.",
	19497: "The option DISTRIBUTED cannot be combined with other options of an availability group.",
	19498: "AVAILABILITY GROUP ON needs the option DISTRIBUTED.",
	19499: "The listener URL '%v' is not valid. Specify it as TCP://host:port, with the port of the database " +
		"mirroring endpoint.",
	19501: "None of the availability groups specified for the distributed availability group exists on this " +
		"server instance.",
	19502: "The distributed availability group '%v' already has its replica on this server instance.",
	19503: "The local availability group '%v' is the secondary of a distributed availability group already.",
	19504: "The distributed availability group '%v' cannot fail over with FAILOVER. Use " +
		"FORCE_FAILOVER_ALLOW_DATA_LOSS, after SET (ROLE = SECONDARY) at the global primary.",
	19508: "'%v' is not a participant of the distributed availability group '%v'.",
	19509: "Cannot create or join the distributed availability group '%v': an availability group of that name exists " +
		"on this server instance.",
	19511: "Cannot join the distributed availability group '%v': the local availability group '%v' has databases. " +
		"Remove them from it first.",
	19506: "Local availability replica for availability group '%v' has not been granted permission to create " +
		"databases, but has a SEEDING_MODE of AUTOMATIC. Use ALTER AVAILABILITY GROUP ... GRANT CREATE ANY DATABASE.",
	35208: "Availability-group DDL operations are permitted only when you are using the master database. Run the USE " +
		"MASTER command, and retry your availability-group DDL command.",
	35209: "The %v operation failed for availability replica '%v', because the backup priority value is outside the " +
		"valid range of %v to %v.",
	35210: "Failed to modify options for availability replica '%v' in availability group '%v': the group has no " +
		"such replica.",
	35211: "The %v operation is not allowed. The operation attempted to change the configuration of availability " +
		"replica '%v' to asynchronous-commit with automatic failover.",
	35212: "The %v operation is not allowed by the current availability-group configuration. It would exceed the " +
		"maximum of %v synchronous-commit replicas in availability group '%v'.",
	35214: "The %v operation failed for availability replica '%v': the session timeout must be at least %v seconds.",
	35223: "Cannot add %v availability replica(s) to availability group '%v'. The group already contains %v " +
		"replica(s), and the maximum is %v.",
	35224: "Could not process the operation. Always On Availability Groups failed to load the required Windows Server " +
		"Failover Clustering library: CLUSTER_TYPE has to be EXTERNAL or NONE here.",
	35228: "The attempt to set the failure condition level for availability group '%v' failed. The level is outside " +
		"the valid range of %v to %v.",
	35229: "The attempt to set the health check timeout value for availability group '%v' failed. The timeout is less " +
		"than %v milliseconds.",
	35232: "The specified URL '%v' is not valid. Specify the endpoint as TCP://host:port.",
	35234: "Database name '%v' was specified more than once.",
	35235: "Server name '%v' was specified more than once in the replica list.",
	35236: "The ENDPOINT_URL option is not specified for availability replica '%v'.",
	35237: "None of the specified replicas for availability group %v maps to the instance of SQL Server to which you " +
		"are connected. List the local server, as @@SERVERNAME has it.",
	35238: "Database '%v' cannot be added to availability group '%v'. The database does not exist on this instance.",
	35239: "The ALTER DATABASE <database-name> SET HADR SUSPEND (or RESUME) statement failed on database '%v' of " +
		"availability group '%v'. Either the database is not joined, or it is not ready.",
	35240: "Database '%v' cannot be joined to or unjoined from availability group '%v'. This operation is not " +
		"supported on the primary replica of the availability group.",
	35242: "Cannot complete this ALTER DATABASE <database-name> SET HADR operation on database '%v'. The database is " +
		"not joined to an availability group.",
	35244: "Database '%v' cannot be added to availability group '%v'. The database is currently joined to another " +
		"availability group.",
	35248: "The %v operation failed: it requires %v synchronized secondaries to commit, and only %v are possible in " +
		"availability group '%v'.",
	35249: "An attempt to add or join a system database, '%v', to an availability group failed. Specify only user " +
		"databases for this operation.",
	35250: "The connection to the primary replica is not active. The command cannot be processed.",
	35251: "This command can be run only on the primary replica. Connect to the server instance that is hosting the " +
		"primary replica, and retry the command.",
	35252: "The command can only be run on a secondary database. Connect to the correct secondary replica, and retry " +
		"the command.",
	35259: "Database '%v' is already participating in a different availability group.",
	35261: "Attempt to perform an Always On Availability Groups operation on a system database, '%v', failed. System " +
		"databases are not supported by Always On Availability Groups.",
	35280: "Database '%v' cannot be added to availability group '%v'. The database is already joined to the specified " +
		"availability group.",
	35281: "Database '%v' cannot be removed from availability group '%v'. The database is not joined to the specified " +
		"availability group.",
	35282: "Availability replica '%v' cannot be added to availability group '%v'. The availability group already " +
		"contains an availability replica with the specified name.",
	35283: "Availability replica '%v' cannot be removed from availability group '%v'. The availability group does not " +
		"contain an availability replica with the specified name.",
	35284: "Availability replica '%v' cannot be removed from availability group '%v', because this replica is on the " +
		"local instance of SQL Server. Use DROP AVAILABILITY GROUP.",
	35294: "Log backup for database \"%v\" on a secondary replica failed because no synchronization point could be " +
		"established on the primary database. Retry when the primary replica is available and no other backup of " +
		"the log runs.",
	35295: "Log backup for database \"%v\" on a secondary replica failed because the last backup LSN (%v) of the " +
		"primary database is greater than the current local redo LSN (%v). Retry when the log has been redone here.",
	35296: "Log backup for database \"%v\" on a secondary replica failed because the new backup information could not " +
		"be committed on the primary database. See the error logs of both servers, and retry.",
	35297: "Log backup for database \"%v\" on a secondary replica has created its file, but could not ensure that the " +
		"backup point has been committed on the primary. Keep this backup with the other log backups of the database.",
	19512: "The requested operation only applies to distributed availability groups; '%v' is not one.",
	41100: "The availability group '%v' and/or its local availability replica does not exist.",
	41104: "Failover of the availability group '%v' to the local replica failed because the group could not come " +
		"online: too few replicas answered, or the write lease is not valid.",
	41106: "Cannot create an availability replica for availability group '%v'. An availability replica of the " +
		"specified availability group already exists on this instance of SQL Server.",
	41113: "Cannot failover availability group '%v' to this instance of SQL Server. A failover command is already " +
		"pending on the local replica of this availability group.",
	41114: "Cannot create an availability group named '%v' because it already exists in a system table.",
	41122: "Cannot failover availability group '%v' to this instance of SQL Server. The local availability replica is " +
		"already the primary replica of the availability group.",
	41132: "Cannot join database '%v' to availability group '%v'. The specified database does not belong to the " +
		"availability group.",
	41140: "Availability group '%v' cannot process the ALTER AVAILABILITY GROUP command, because the local " +
		"availability replica is not the primary replica. Connect to the server instance that is currently hosting the " +
		"primary replica.",
	41142: "The availability replica for availability group '%v' on this instance of SQL Server cannot become the " +
		"primary replica. One or more databases are not synchronized or have not joined the availability group.",
	41145: "Cannot join database '%v' to availability group '%v'. The database has already joined the availability group.",
	41148: "Cannot add or join database '%v' to availability group '%v'. The database does not exist on this instance " +
		"of SQL Server.",
	41149: "Operation on availability group '%v' has been cancelled or terminated, either because of a connection " +
		"timeout or cancellation by user. It may still take effect; look at the group's state before trying again.",
	41160: "Failed to designate the local availability replica of availability group '%v' as the primary replica. The " +
		"operation encountered SQL Server error %v.",
	41181: "The local availability replica of availability group '%v' did not become primary. The group's state " +
		"changed meanwhile.",
	41190: "Availability group '%v' failed to process the %v %v command. The local availability replica is not in a " +
		"state that could process the command.",
	41197: "The FAILOVER_MODE option has not been specified for the replica '%v'. Reenter the command, specifying a " +
		"failover mode.",
	41198: "The AVAILABILITY_MODE option has not been specified for the replica '%v'. Reenter the command, specifying " +
		"an availability mode.",
	41199: "The specified command is not valid because the Always On Availability Groups %v feature is not supported " +
		"by this edition of SQL Server.",
	47100: "The cluster type of availability group '%v' does not match its primary configuration. Specify the " +
		"primary's CLUSTER_TYPE.",
	47101: "The cluster type of availability group '%v' only supports MANUAL failover mode.",
	47102: "The cluster type of availability group '%v' only supports EXTERNAL failover mode.",
	47103: "The cluster type of availability group '%v' only supports AUTOMATIC and MANUAL failover modes.",
	47104: "This operation cannot be performed on the availability group '%v' because it has EXTERNAL cluster type. " +
		"Use the cluster management tools to perform the operation.",
	47105: "The Always On Availability Groups feature must be enabled for this server instance before you can perform " +
		"availability group operations. Set hadr.hadrenabled (MSSQL_ENABLE_HADR) and restart.",
	47106: "Cannot join availability group '%v'. Download configuration timeout. Please check primary configuration, " +
		"network connectivity and firewall setup, then retry the operation.",
	47107: "The %v operation is not allowed by the current availability group configuration. The availability group " +
		"'%v' only supports one configuration-only replica.",
	47108: "The %v operation is not allowed by the current availability group configuration. The availability group " +
		"'%v' with a configuration-only replica needs exactly two synchronous-commit replicas and " +
		"REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0.",
	47109: "Availability group '%v' cannot failover to this replica. Configuration-only replica cannot become primary.",
	47110: "The '%v' option is not valid for configuration-only replica '%v'.",
	47111: "Local availability replica for availability group '%v' cannot be granted permission to create databases. " +
		"The replica is a configuration-only replica and cannot host databases.",
	47112: "Only SESSION_TIMEOUT can be modified for a configuration-only replica.",
	47113: "The '%v' option of availability replica '%v' cannot be modified.",
	47114: "Configuration-only replica '%v' is not allowed in availability group '%v'. It requires CLUSTER_TYPE " +
		"= EXTERNAL.",
	47115: "The '%v' option is not valid for availability group '%v' with its cluster type.",
	47116: "The external lease cannot be updated: availability group '%v' was created without WRITE_LEASE_VALIDITY.",
	47117: "The '%v' option of availability group '%v' has to be a time above 0 seconds.",
	47118: "The '%v' option of availability group '%v' has to be a time above 0 seconds to update the external lease.",
	47119: "The current write lease of the availability group '%v' is still valid. The lease expiry cannot be set to " +
		"an earlier time than its current value.",
	47120: "The READ_WRITE_ROUTING_URL '%v' specified for availability replica '%v' is not valid. It has to be " +
		"TCP://host:port.",
	47122: "Cannot failover availability group '%v' without a cluster. Only forced failover " +
		"(FORCE_FAILOVER_ALLOW_DATA_LOSS) is supported with CLUSTER_TYPE = NONE.",
}
