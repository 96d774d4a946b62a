// SPDX-License-Identifier: Apache-2.0

package sqlerr

var objectFormats = map[int32]string{
	1902: "Cannot create more than one clustered index on %v '%v'. Drop the existing clustered index '%v' before " +
		"creating another.",
	1904: "The %v '%v' on table '%v' has %v columns in the key list. The maximum limit for %v key column list is %v.",
	1911: "Column name '%v' does not exist in the target table or view.",
	1913: "The operation failed because an index or statistics with name '%v' already exists on %v '%v'.",
	1934: "%v failed because the following SET options have incorrect settings: '%v'. Verify that SET options are " +
		"correct for use with %v.",
	1935: "Cannot create index. Object '%v' was created with the following SET options off: '%v'.",
	2705: "Column names in each table must be unique. Column name '%v' in table '%v' is specified more than once.",
	2714: "There is already an object named '%v' in the database.",
	2760: "The specified schema name \"%v\" either does not exist or you do not have permission to use it.",
	2801: "The definition of object '%v' has changed since it was compiled.",
	2809: "The request for %v '%v' failed because '%v' is a %v object.",
	2812: "Could not find stored procedure '%v'.",
	3701: "Cannot %v the %v '%v', because it does not exist or you do not have permission.",
	3703: "Cannot detach the %v '%v' because it is currently in use.",
	3705: "Cannot use DROP %v with '%v' because '%v' is a %v. Use %v.",
	3708: "Cannot %v the %v '%v' because it is a system %v.",
	3723: "An explicit DROP INDEX is not allowed on index '%v'. It is being used for %v constraint enforcement.",
	3724: "Cannot %v the %v '%v' because it is being used for replication.",
	3725: "The constraint '%v' is being referenced by table '%v', foreign key constraint '%v'.",
	3726: "Could not drop object '%v' because it is referenced by a FOREIGN KEY constraint.",
	3727: "Could not drop constraint. See previous errors.",
	3728: "'%v' is not a constraint.",
	3729: "Cannot %v '%v' because it is being referenced by object '%v'.",
	3733: "Constraint '%v' does not belong to table '%v'.",
	4406: "Update or insert of view or function '%v' failed because it contains a derived or constant field.",
	4413: "Could not use view or function '%v' because of binding errors.",
	4508: "Views or functions are not allowed on temporary tables. Table names that begin with '#' denote " +
		"temporary tables.",
	4901: "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition " +
		"specified, or the column being added is an identity or timestamp column; or the table must be empty. Column '%v' " +
		"cannot be added to non-empty table '%v' because it does not satisfy these conditions.",
	4902:  "Cannot find the object \"%v\" because it does not exist or you do not have permissions.",
	4909:  "Cannot alter '%v' because it is not a table.",
	4030:  "The medium on device '%v' expires on %v and cannot be overwritten.",
	4037:  "The user-specified MEDIANAME \"%v\" does not match the MEDIANAME \"%v\" of the device \"%v\".",
	4035:  "Processed %v pages for database '%v', file '%v' on file %v.",
	4038:  "Cannot find file ID %v on device '%v'.",
	4916:  "Could not enable or disable the constraint. See previous errors.",
	4922:  "%v %v failed because one or more objects access this %v.",
	4924:  "%v failed because column '%v' does not exist in table '%v'.",
	4928:  "Cannot alter column '%v' because it is '%v'.",
	4929:  "Cannot alter the %v '%v' because it is being published for replication.",
	5074:  "The %v '%v' is dependent on %v '%v'.",
	8197:  "The object '%v' does not exist or is invalid for this operation.",
	15001: "Object '%v' does not exist or is not a valid object for this operation.",
	15009: "The object '%v' does not exist in database '%v' or is invalid for this operation.",
	15165: "Could not find object '%v' or you do not have permission.",
	15471: "The text for object '%v' is encrypted.",
	15197: "There is no text for object '%v'.",
	15217: "Property cannot be updated or deleted. Property '%v' does not exist for '%v'.",
	15225: "No item by the name of '%v' could be found in the current database '%v', given that @itemtype was " +
		"input as '%v'.",
	15233: "Property cannot be added. Property '%v' already exists for '%v'.",
	15336: "Object '%v' cannot be renamed because the object participates in enforced dependencies.",
	15335: "Error: the new name '%v' is already in use as a %v name and would cause a duplicate that is not permitted.",
}

var sessionFormats = map[int32]string{
	226: "%v statement not allowed within multi-statement transaction.",
	266: "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous " +
		"count = %v, current count = %v.",
	287: "The %v statement is not allowed within a trigger.",
	556: "INSERT EXEC failed because the stored procedure altered the schema of the target table.",
	574: "%v statement cannot be used inside a user transaction.",
	596: "Cannot continue the execution because the session is in the kill state.",
	628: "Cannot issue SAVE TRANSACTION when there is no active transaction.",
	701: "There is insufficient system memory in resource pool '%v' to run this query.",
	1205: "Transaction (Process ID %v) was deadlocked on %v resources with another process and has been chosen as the " +
		"deadlock victim. Rerun the transaction.",
	1222: "Lock request time out period exceeded.",
	2732: "Error number %v is invalid. The number must be from %v through %v and it cannot be 50000.",
	2740: "SET LANGUAGE failed because '%v' is not an official language name or a language alias on this SQL Server.",
	2742: "SET DATEFIRST %v is out of range.",
	2747: "Too many substitution parameters for RAISERROR. Cannot exceed %v substitution parameters.",
	2748: "Cannot specify %v data type (parameter %v) as a substitution parameter.",
	2738: "A table can only have one timestamp column. Because table '%v' already has one, the column '%v' " +
		"cannot be added.",
	2754: "Error severity levels greater than %v can only be specified by members of the sysadmin role, using the " +
		"WITH LOG option.",
	2755: "SET DEADLOCK_PRIORITY option is invalid. Valid options are {HIGH | NORMAL | LOW | %v to %v}.",
	2756: "Invalid value %v for state. Valid range is from %v to 255.",
	3609: "The transaction ended in the trigger. The batch has been aborted.",
	3621: "The statement has been terminated.",
	3902: "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.",
	3903: "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
	3914: "The data type \"%v\" is invalid for transaction names or savepoint names.",
	3915: "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.",
	3916: "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION is used first.",
	3930: "The current transaction cannot be committed and cannot support operations that write to the log file. Roll " +
		"back the transaction.",
	3931: "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire " +
		"transaction.",
	3932: "The save point name \"%v\" that was provided is too long. The maximum allowed length is %v characters.",
	3913: "The TDS reset connection protocol is incorrect: the client asked for a reset that keeps the local " +
		"transaction and for one that does not at the same time.",
	3989: "New request is not allowed to start because it should come with valid transaction descriptor.",
	3997: "A transaction that was started in a MARS batch is still active at the end of the batch. The transaction is " +
		"rolled back.",
	3998: "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.",
	4002: "The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended unexpectedly.",
	5701: "Changed database context to '%v'.",
	5703: "Changed language setting to %v.",
	2759: "CREATE SCHEMA failed due to previous errors.",
	6101: "Session ID %v is not valid.",
	6104: "Cannot use KILL to kill your own process.",
	6106: "Process ID %v is not an active process ID.",
	6107: "Only user processes can be killed.",
	4009: "The incoming tabular data stream (TDS) protocol is incorrect. The TDS headers contained errors.",
	4011: "The incoming tabular data stream (TDS) protocol is incorrect. The multiple active result sets (MARS) TDS " +
		"header contained errors.",
	4013: "The incoming tabular data stream (TDS) protocol is incorrect. The multiple active result sets (MARS) TDS " +
		"header is missing.",
	4022: "Bulk load data was expected but not sent. The batch will be terminated.",
	8003: "The incoming request has too many parameters. The server supports a maximum of %v parameters. Reduce the " +
		"number of parameters and resend the request.",
	8004: "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. The RPC " +
		"name is invalid.",
	8005: "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter " +
		"%v: The parameter name is invalid.",
	8006: "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter " +
		"%v: The parameter status flags are invalid.",
	8047: "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. " +
		"Table-valued parameter %v (\"%v\"), row %v, column %v: Data type %v (user-defined table type) is named with a " +
		"database. Only the schema and the name of the type are allowed.",
	8178:  "The parameterized query '%v' expects the parameter '%v', which was not supplied.",
	8179:  "Could not find prepared statement with handle %v.",
	8180:  "Statement(s) could not be prepared.",
	15664: "Cannot set key '%v' in the session context. The key has been set as read_only for this session.",
	15665: "The value was not set for key '%v' because the total size of keys and values in the session context would " +
		"exceed the 1 MB limit.",
	15666: "Cannot set key '%v' in the session context. The size of the key cannot exceed 256 bytes.",
	16901: "%v: this feature is not supported.",
	16902: "%v: The value of the parameter '%v' is invalid.",
	16909: "%v: the cursor identifier value provided (%v) is not valid.",
	16914: "The %v procedure was called with too many parameters.",
	16929: "The cursor is READ ONLY.",
	16930: "The requested row is not in the fetch buffer.",
	16931: "There are no rows in the current fetch buffer.",
	16937: "A server cursor cannot be opened on the given statement or statements. Use a default result set.",
	16955: "Could not create an acceptable cursor.",
	16960: "You have reached the maximum number of cursors that you may have.",
	17147: "SQL Server is terminating because of a system shutdown.",
	17148: "SQL Server is terminating in response to a 'stop' request.",
}

var procedureFormats = map[int32]string{
	119: "Parameter number %v and subsequent parameters must be passed in the form '@name = value' once that form " +
		"has been used.",
	201:  "Procedure or function '%v' expects parameter '%v', which was not supplied.",
	214:  "Procedure expects parameter '%v' of type '%v'.",
	349:  "The procedure \"%v\" has no parameter named \"%v\".",
	8143: "Parameter '%v' was supplied multiple times.",
	8144: "Procedure or function %v has too many arguments specified.",
	8145: "%v is not a parameter for procedure %v.",
	8146: "Procedure %v has no parameters and arguments were supplied.",
	8162: "The formal parameter \"%v\" was not declared as an OUTPUT parameter, but the actual parameter passed in " +
		"requested output.",
	8199:  "In EXECUTE <procname>, procname can only be a literal or variable of type char, varchar, nchar, or nvarchar.",
	14043: "The parameter %v passed to procedure %v cannot be NULL.",
	14126: "You do not have the required permissions to complete the operation.",
	14234: "The specified '%v' is invalid (valid values are returned by %v).",
	14258: "Cannot perform this operation while SQLServerAgent is starting. Try again later.",
	14261: "The specified %v ('%v') already exists.",
	14262: "The specified %v ('%v') does not exist.",
	14270: "Job '%v' is not currently assigned to server '%v'.",
	14294: "Supply either %v or %v to identify the job.",
	15002: "The procedure '%v' cannot be executed within a transaction.",
	15003: "Only members of the %v role can execute this stored procedure.",
	15004: "Name cannot be NULL.",
	15006: "'%v' is not a valid name because it contains invalid characters.",
	15123: "The configuration option '%v' does not exist, or it may be an advanced option.",
	15124: "The configuration option '%v' is not unique.",
	15129: "'%v' is not a valid value for configuration option '%v'.",
	15251: "Invalid '%v' specified. It must be %v.",
	15289: "The procedure cannot be run while a transaction is open. Commit or roll back the transaction and " +
		"execute it again.",
	15457: "Configuration option '%v' changed from %v to %v. Run the RECONFIGURE statement to install.",
	15398: "Only objects in the master database owned by dbo can have the startup setting changed.",
	15399: "Could not change startup option because this option is restricted to objects that have no parameters.",
	15600: "An invalid parameter or option was specified for procedure '%v'.",
}

var databaseFormats = map[int32]string{
	902: "To change the %v, the database must be in state in which a checkpoint can be executed.",
	911: "Database '%v' does not exist. Make sure that the name is entered correctly.",
	921: "Database '%v' has not been recovered yet. Wait and try again.",
	922: "Database '%v' is being recovered. Waiting until recovery is finished.",
	923: "Database '%v' is in restricted mode. Only the database owner and members of the dbcreator and sysadmin " +
		"roles can access it.",
	924: "Database '%v' is already open and can only have one user at a time.",
	926: "Database '%v' cannot be opened. It has been marked SUSPECT by recovery.",
	927: "Database '%v' cannot be opened. It is in the middle of a restore.",
	942: "Database '%v' cannot be opened because it is offline.",
	945: "Database '%v' cannot be opened due to inaccessible files or insufficient memory or disk space. See the SQL " +
		"Server errorlog for details.",
	952: "Database '%v' is in transition. Try the statement later.",
	976: "The target database, '%v', is participating in an availability group and is currently not accessible for " +
		"queries. Either data movement is suspended or the availability replica is not enabled for read access.",
	978: "The target database ('%v') is in an availability group and is currently accessible for connections when " +
		"the application intent is set to read only.",
	979: "The target database ('%v') is in an availability group and currently does not allow read only connections.",
	982: "Unable to access the '%v' database because no online secondary replicas are enabled for read-only access. " +
		"Check the availability group configuration.",
	983: "Unable to access availability database '%v' because the database replica is not in the PRIMARY or " +
		"SECONDARY role. Connections to an availability database is permitted only when the database replica is in the " +
		"PRIMARY or SECONDARY role. Try the operation again later.",
	988: "Unable to access database '%v' because it lacks a quorum of nodes for high availability. Try the operation " +
		"again later.",
	1801: "Database '%v' already exists. Choose a different database name.",
	1802: "CREATE DATABASE failed. Some file names listed could not be created. Check related errors.",
	1807: "Could not obtain exclusive lock on database '%v'. Retry the operation later.",
	1827: "CREATE DATABASE or ALTER DATABASE failed because the resulting cumulative database size would exceed your " +
		"licensed limit of %v MB per %v.",
	1828: "The logical file name \"%v\" is already in use. Choose a different name.",
	1834: "The file '%v' cannot be overwritten. It is being used by database '%v'.",
	3702: "Cannot drop database \"%v\" because it is currently in use.",
	3752: "The database '%v' is currently joined to an availability group. Before you can drop the database, you need " +
		"to remove it from the availability group.",
	3906: "Failed to update database \"%v\" because the database is read-only.",
	5001: "User must be in the master database.",
	5002: "Database '%v' does not exist. Verify the name in sys.databases and try the operation again.",
	5004: "To use ALTER DATABASE, the database must be in a writable state in which a checkpoint can be executed.",
	5011: "User does not have permission to alter database '%v', the database does not exist, or the database is not " +
		"in a state that allows access checks.",
	5014: "The %v '%v' does not exist in database '%v'.",
	5021: "The %v name '%v' has been set.",
	5039: "MODIFY FILE failed. Specified size is less than or equal to current size.",
	5041: "MODIFY FILE failed. File '%v' does not exist.",
	5042: "The %v '%v' cannot be removed because it is not empty.",
	5052: "%v is not permitted while a database is in the %v state.",
	5058: "Option '%v' cannot be set in database '%v'.",
	5061: "ALTER DATABASE failed because a lock could not be placed on database '%v'. Try again later.",
	5063: "Database '%v' is in warm standby. A warm-standby database is read-only.",
	5064: "Changes to the state or options of database '%v' cannot be made at this time. The database is in " +
		"single-user mode, and a user is currently connected to it.",
	5069: "ALTER DATABASE statement failed.",
	5070: "Database state cannot be changed while other users are using the database '%v'.",
	5072: "ALTER DATABASE failed. The default collation of database '%v' cannot be set to %v.",
	5084: "Setting database option %v to %v for database '%v'.",
	5105: "A file activation error occurred. The physical file name '%v' may be incorrect. Diagnose and correct " +
		"additional errors, and retry the operation.",
	5120: "Unable to open the physical file \"%v\". Operating system error %v: \"%v\".",
	5123: "CREATE FILE encountered operating system error %v while attempting to open or create the physical file '%v'.",
	5133: "Directory lookup for the file \"%v\" failed with the operating system error %v.",
	9001: "The log for database '%v' is not available. Check the operating system error log for related error " +
		"messages. Resolve any errors and restart the database.",
	9002:  "The transaction log for database '%v' is full due to '%v' and the holdup lsn is %v.",
	15012: "The device '%v' does not exist. Use sys.backup_devices to show available devices.",
	15026: "Logical device '%v' already exists.",
	15061: "The add device request was denied. A physical device named \"%v\" already exists. Only one backup device " +
		"may refer to any physical device name.",
	15010: "The database '%v' does not exist. Supply a valid database name. To see available databases, use " +
		"sys.databases.",
	15033: "'%v' is not a valid official language name.",
	15069: "One or more users are using the database. The requested operation cannot be completed.",
}

var backupFormats = map[int32]string{
	3013: "%v is terminating abnormally.",
	3014: "%v successfully processed %v pages in %v.%v seconds (%v.%v MB/sec).",
	3015: "%v is not supported.",
	3023: "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes on a database " +
		"must be serialized. Reissue the statement after the current backup or file manipulation operation is completed.",
	3024: "You can only perform a full backup of the master database. Use BACKUP DATABASE to back up the entire " +
		"master database.",
	3031: "Option '%v' conflicts with option(s) '%v'. Remove the conflicting option and reissue the statement.",
	3032: "One or more of the options (%v) are not supported for this statement. Review the documentation for " +
		"supported options.",
	3035: "Cannot perform a differential backup for database \"%v\", because a current database backup does not exist. " +
		"Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL option.",
	3041: "BACKUP failed to complete the command %v. Check the backup application log for detailed messages.",
	3059: "This BACKUP or RESTORE command is not supported on a database mirror or secondary replica.",
	3062: "Cannot back up from a secondary replica because it is neither in the SYNCHRONIZING nor in the " +
		"SYNCHRONIZED state.",
	3036: "The database \"%v\" is in warm-standby state (set by executing RESTORE WITH STANDBY) and cannot be backed " +
		"up until the entire restore sequence is completed.",
	3101: "Exclusive access could not be obtained because the database is in use.",
	3102: "%v cannot process database '%v' because it is in use by this session. It is recommended that the master " +
		"database be used when performing this operation.",
	3104: "RESTORE cannot operate on database '%v' because it is configured for database mirroring or has joined an " +
		"availability group. If you intend to restore the database, use ALTER DATABASE to remove mirroring or to remove " +
		"the database from its availability group.",
	3110: "User does not have permission to RESTORE database '%v'.",
	3116: "The supplied backup is not on the same recovery path as the database, and is ineligible for use for an " +
		"online file restore.",
	3117: "The log or differential backup cannot be restored because no files are ready to rollforward.",
	3118: "The database \"%v\" does not exist. RESTORE can only create a database when restoring either a full backup " +
		"or a file backup of the primary file.",
	3119: "Problems were identified while planning for the RESTORE statement. Previous messages provide details.",
	3132: "The media set has %v media families but only %v are provided. All members must be provided.",
	3135: "The backup set in file '%v' was created by %v and cannot be used for this restore operation.",
	3136: "This differential backup cannot be restored because the database has not been restored to the correct " +
		"earlier state.",
	3141: "The database to be restored was named '%v'. Reissue the statement using the WITH REPLACE option to " +
		"overwrite the '%v' database.",
	3142: "File \"%v\" cannot be restored over the existing \"%v\". Reissue the RESTORE statement using WITH REPLACE " +
		"to overwrite pre-existing files, or WITH MOVE to identify an alternate location.",
	3147: "Backup and restore operations are not allowed on database tempdb.",
	3148: "This RESTORE statement is invalid in the current context. The 'Recover Data Only' option is only defined " +
		"for secondary filegroups when the database is in an online state.",
	3154: "The backup set holds a backup of a database other than the existing '%v' database.",
	3156: "File '%v' cannot be restored to '%v'. Use WITH MOVE to identify a valid location for the file.",
	3159: "The tail of the log for the database \"%v\" has not been backed up. Use BACKUP LOG WITH NORECOVERY to back " +
		"up the log if it contains work you do not want to lose. Use the WITH REPLACE or WITH STOPAT clause of the " +
		"RESTORE statement to just overwrite the contents of the log.",
	3170: "The STANDBY filename is invalid.",
	3176: "File '%v' is claimed by '%v'(%v) and '%v'(%v). The WITH MOVE clause can be used to relocate one or more files.",
	3187: "RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum information.",
	3189: "Damage to the backup set was detected.",
	3201: "Cannot open backup device '%v'. Operating system error %v.",
	3202: "Write on \"%v\" failed: %v",
	3203: "Read on \"%v\" failed: %v",
	3205: "Too many backup devices specified for backup or restore; only %v are allowed.",
	3206: "Backup device '%v' does not exist. To view existing backup devices, use the sys.backup_devices catalog view.",
	3211: "%v percent processed.",
	3227: "The backup media on \"%v\" is part of media family %v which has already been processed on \"%v\". Ensure " +
		"that backup devices are correctly specified.",
	3231: "The media loaded on \"%v\" is formatted to support %v media families, but %v media families are expected " +
		"according to the backup device specification.",
	3234: "Logical file '%v' is not part of database '%v'. Use RESTORE FILELISTONLY to list the logical file names.",
	3241: "The media family on device '%v' is incorrectly formed. SQL Server cannot process this media family.",
	3242: "The file on device '%v' is not a valid Microsoft Tape Format backup set.",
	3217: "Invalid value specified for %v parameter.",
	3250: "The value '%v' is not within range for the %v parameter.",
	3253: "The block size parameter must supply a value that is a power of 2.",
	3254: "The volume on device '%v' is empty.",
	3258: "The volume on the device \"%v\" is not part of the media set that is currently being processed. Ensure that " +
		"the backup devices are loaded with the correct media.",
	3262: "The backup set on file %v is valid.",
	4212: "Cannot back up the log of the master database. Use BACKUP DATABASE instead.",
	4214: "BACKUP LOG cannot be performed because there is no current database backup.",
	4208: "The statement %v is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the " +
		"recovery model using ALTER DATABASE.",
	4305: "The log in this backup set begins at LSN %v, which is too recent to apply to the database. An earlier log " +
		"backup that includes LSN %v can be restored.",
	4326: "The log in this backup set terminates at LSN %v, which is too early to apply to the database. A more recent " +
		"log backup that includes LSN %v can be restored.",
	4322: "This backup set contains records that were logged before the designated point in time. The database is " +
		"being left in the restoring state so that more roll forward can be performed.",
	4335: "The specified STOPAT time is too early. All or part of the database is already rolled forward beyond " +
		"that point.",
	4338: "The STOPAT clause specifies a point too early to allow this backup set to be restored. Choose a different " +
		"stop point or use RESTORE DATABASE WITH RECOVERY to recover at the current point.",
	4330: "This backup set cannot be applied because it is on a recovery path that is inconsistent with the database.",
	4333: "The database cannot be recovered because the log was not restored.",
}
