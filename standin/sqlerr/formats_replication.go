// SPDX-License-Identifier: Apache-2.0

package sqlerr

// replicationFormats are the messages of replication's procedures and agents.
var replicationFormats = map[int32]string{
	7139: "Length of LOB data (%v) to be replicated exceeds the configured maximum %v. Use sp_configure to increase " +
		"the option max text repl size, which is 65536 unless set; -1 indicates no limit other than that of the data type.",
	14003: "You must supply a publication name.",
	14005: "Could not drop the publication. A subscription exists to it. Drop the subscriptions first.",
	14012: "The @status parameter value must be either 'active' or 'inactive'.",
	14013: "This database is not enabled for publication. Run sp_replicationdboption with @optname = N'publish'.",
	14014: "The synchronization method (@sync_method) must be '[bcp] native', '[bcp] character', 'concurrent', " +
		"'concurrent_c', 'database snapshot', or 'database snapshot character'.",
	14015: "The replication frequency (@repl_freq) must be either 'continuous' or 'snapshot'.",
	14016: "The publication '%v' already exists.",
	14017: "Invalid @restricted parameter value. Valid options are 'true' or 'false'.",
	14019: "The @operation parameter value must be 'add', 'drop', or 'alter'.",
	14020: "Could not obtain the column ID for the specified column. Schema replication failed.",
	14022: "The specified @property value is invalid.",
	14023: "The type must be one of the documented article types, such as 'logbased', 'proc exec', 'proc schema only', " +
		"'view schema only' or 'func schema only'.",
	14027: "%v does not exist in the current database.",
	14028: "Only user tables, materialized views, and stored procedures can be published as 'logbased' articles.",
	14029: "The vertical partition switch must be either 'true' or 'false'.",
	14030: "The article '%v' exists in publication '%v'.",
	14032: "The value of the '%v' parameter cannot be 'all'. It is reserved by replication stored procedures.",
	14034: "The publication name (@publication) cannot be the keyword 'all'.",
	14040: "The server '%v' is already a Subscriber.",
	14046: "Could not drop article. A subscription exists on it. Drop the subscription first.",
	14048: "The server '%v' is not a Subscriber.",
	14050: "No subscription is on this publication or article.",
	14052: "The @sync_type parameter value must be 'automatic', 'none', 'replication support only', 'initialize with " +
		"backup', or 'initialize from lsn'.",
	14055: "The subscription does not exist.",
	14058: "Cannot create the subscription because the subscription already exists in the subscription database. Only " +
		"one subscription to the same publication is allowed in each subscription database.",
	14061: "The @pre_creation_cmd parameter value must be 'none', 'drop', 'delete', or 'truncate'.",
	14065: "The @status parameter value must be 'initiated', 'active', 'inactive', or 'subscribed'.",
	14066: "The previous status must be 'active', 'inactive', or 'subscribed'.",
	14071: "Could not find the Distributor or the distribution database for the local server. The Distributor may not " +
		"be installed, or the local server may not be configured as a Publisher at the Distributor.",
	14074: "The server '%v' is already listed as a Publisher.",
	14078: "The specified @property value is not a property of publications that can be changed.",
	14080: "The remote server \"%v\" does not exist, or has not been designated as a valid Publisher, or you may not " +
		"have permission to see available Publishers.",
	14088: "The table '%v' must have a primary key to be published using the transaction-based method.",
	14090: "The filter clause of article '%v' must not refer to the dropped column.",
	14097: "The value of the @status parameter must be a combination of 1, 8, 16 and 64, as its page has them.",
	14098: "Cannot drop Distribution Publisher '%v'. The remote Publisher is using '%v' as Distributor. Drop its " +
		"publications first.",
	14099: "The server '%v' is already defined as a Distributor. To reconfigure it, first uninstall the existing " +
		"Distributor with sp_dropdistributor.",
	14101: "The publication '%v' already has a Snapshot Agent defined.",
	14106: "Distribution retention periods must be greater than or equal to 0.",
	14107: "The @max_distretention value must be larger than the @min_distretention value.",
	14109: "The @security_mode parameter value must be 0 (SQL Server Authentication) or 1 (Windows Authentication).",
	14112: "This procedure works for articles of tables only.",
	14114: "The server '%v' is not configured as a Distributor.",
	14115: "The property value must be one of the following: %v.",
	14117: "'%v' is not configured as a distribution database.",
	14119: "Could not add the distribution database '%v'. This distribution database already exists.",
	14120: "Could not drop the distribution database '%v'. It is used by a Publisher; drop the Publisher with " +
		"sp_dropdistpublisher first.",
	14121: "Could not drop the Distributor '%v'. This Distributor has associated distribution databases.",
	14122: "The @article parameter value must be 'all' for immediate_sync publications.",
	14124: "A publication must have at least one article before a subscription to it can be created.",
	14128: "Invalid @subscription_type parameter value. Valid options are 'push' or 'pull'.",
	14135: "There is no subscription on Publisher '%v', publisher database '%v', publication '%v'.",
	14137: "The @value parameter value must be either 'true' or 'false'.",
	14138: "Invalid option name '%v'.",
	14144: "Cannot drop Subscriber '%v'. There are existing subscriptions for it in the publication database '%v'.",
	14148: "Invalid '%v' value. Valid values are 'true' or 'false'.",
	14151: "Replication-%v: agent %v failed. %v",
	14157: "The subscription created by Subscriber '%v' to publication '%v' has expired and has been dropped.",
	14200: "The specified '%v' is invalid.",
	15051: "Cannot rename the table because it is published for replication.",
	18750: "%v: The parameter '%v' is not valid.",
	18752: "Only one Log Reader Agent or log-related procedure (sp_repldone, sp_replcmds, and sp_replshowcmds) can " +
		"connect to a database at a time. If you executed a log-related procedure, drop the connection over which the " +
		"procedure was executed (session %v) or execute sp_replflush over that connection before starting the Log Reader " +
		"Agent or executing another log-related procedure.",
	18757: "Unable to execute procedure. The database is not published. Execute the procedure in a database that is " +
		"published for replication.",
	18765: "The '%v' log sequence number (LSN) that was specified for the replication log scan is invalid.",
	18774: "The stored procedure %v must be executed within a transaction.",
	18781: "The value specified for the @backupdevicetype parameter must be 'logical', 'disk', 'tape' or 'url'.",
	18782: "There is no backup of the publication database on the device; the backup is not one of database '%v'.",
	18786: "The publication does not allow subscriptions to be initialized from a backup. Set " +
		"allow_initialize_from_backup with sp_changepublication.",
	18846: "The distribution database is ahead of the publication database: it has transactions up to log sequence " +
		"number (LSN) {%v:%v:%v}, and the log ends at {%v:%v:%v}. Reinitialize all subscriptions.",
	18855: "Cannot rename the database because it is published, or is a distribution database used by replication.",
	20014: "The schema option value is invalid.",
	20015: "The directory '%v' could not be removed. Look at its rights, and at who has files of it open.",
	20016: "Invalid @subscription_type value. Valid values are 'pull' or 'anonymous'.",
	20017: "The subscription on the Subscriber does not exist.",
	20026: "The publication '%v' does not exist.",
	20027: "The article '%v' does not exist.",
	20028: "The Distributor has not been installed correctly. Could not enable database for publishing.",
	20032: "'%v' is not defined as a Subscriber for '%v'.",
	20034: "Publication '%v' does not allow '%v' subscriptions. Change allow_push or allow_pull with " +
		"sp_changepublication.",
	20036: "The Distributor has not been installed correctly.",
	20050: "The retention period must be a number of hours, 0 or more; 0 is for ever.",
	20054: "Current database is not enabled for publishing.",
	20057: "The profile name '%v' already exists for the specified agent type.",
	20064: "Cannot drop profile. Either it is not defined or it is defined as the default profile.",
	20066: "Profile is not defined.",
	20067: "The parameter name '%v' already exists for the specified profile.",
	20502: "Invalid '%v' value. Valid values are 'read only', 'sync tran', 'queued tran', 'failover', or " +
		"'queued failover'.",
	20522: "The name '%v' does not name a table, or is not valid.",
	20523: "Could not validate the article '%v'. It is not activated.",
	20524: "Table '%v' may be out of synchronization. Rowcounts (actual: %v, expected: %v). Rowcount method %v used (0 " +
		"= Full, 1 = Fast).",
	20525: "Table '%v' might be out of synchronization. Rowcounts (actual: %v, expected: %v). Checksum values (actual: " +
		"%v, expected: %v).",
	20526: "Table '%v' passed rowcount (%v) validation. Rowcount method %v used (0 = Full, 1 = Fast).",
	20527: "Table '%v' passed rowcount (%v) and checksum validation. Checksum is not compared for any text or " +
		"image columns.",
	20554: "The replication agent has not logged a progress message in %v minutes. This might indicate an unresponsive " +
		"agent or high system activity. Verify that records are being replicated to the destination and that connections " +
		"to the Subscriber, Publisher, and Distributor are still active.",
	20574: "Subscriber '%v' subscription to article '%v' in publication '%v' failed data validation.",
	20575: "Subscriber '%v' subscription to article '%v' in publication '%v' passed data validation.",
	20579: "Generated expected rowcount value of %v and expected checksum value of %v for %v.",
	20582: "Cannot drop server '%v' because it is used as a Publisher in replication.",
	20583: "Cannot drop server '%v' because it is used as a Subscriber in replication.",
	20587: "Invalid value for '%v' in stored procedure '%v'.",
	20595: "Skipping error signaled.",
	20598: "The row was not found at the Subscriber when applying the replicated %v command for Table '%v' with " +
		"Primary Key(s): %v",
	20601: "The value specified for the SkipErrors parameter is invalid.",
	20607: "Cannot make the change because a snapshot is already generated. Set @force_invalidate_snapshot to 1 to " +
		"force the change and invalidate the existing snapshot.",
	20608: "Cannot make the change because there are active subscriptions. Set @force_reinit_subscription to 1 to " +
		"force the change and reinitialize the active subscriptions.",
	20686: "Parameter '%v' cannot be NULL or empty when this procedure is run from a '%v' database.",
	20688: "The tracer token ID (%v) could not be found for Publisher %v, database %v, publication %v.",
	21000: "Cannot subscribe to an inactive publication.",
	21007: "Cannot add the remote Distributor. Make sure that the local server is configured as a Publisher at the " +
		"Distributor (sp_adddistpublisher).",
	21022: "Cannot set 'immediate_sync' property to true because the 'independent_agent' property is set to false.",
	21023: "'%v' is no longer supported, or is not supported by this server.",
	21036: "Another %v agent for the subscription or subscriptions is running, or the server is working on a previous " +
		"request by the same agent.",
	21037: "The working directory '%v' is not valid.",
	21038: "The server does not take connections with Windows Authentication. Give it a SQL Server login.",
	21043: "The Distributor is not installed.",
	21045: "Cannot uninstall the Distributor because there are databases enabled for publishing or subscribing.",
	21049: "The login '%v' does not have access permission on publication '%v' because it is not in the publication " +
		"access list.",
	21050: "Only members of the sysadmin fixed server role or db_owner fixed database role can perform this operation.",
	21055: "Invalid value for parameter %v specified for %v.",
	21056: "The subscription to publication '%v' has expired or does not exist.",
	21070: "This subscription does not support automatic reinitialization (subscribed with the 'no sync' option). To " +
		"reinitialize this subscription, you must drop and re-create the subscription.",
	21074: "The subscription(s) have been marked inactive and must be reinitialized. NoSync subscriptions will need to " +
		"be dropped and recreated.",
	21075: "The initial snapshot for publication '%v' is not yet available.",
	21076: "The initial snapshot for article '%v' is not yet available.",
	21089: "Only members of the sysadmin fixed server role can perform this operation.",
	21109: "The parameters @xact_seqno_start and @xact_seqno_end must be identical if @command_id is specified.",
	21110: "@xact_seqno_start and @publisher_database_id must be specified if @command_id is specified.",
	21117: "'%v' is not a valid value for the '%v' parameter. The value must be 0, 1, or 2.",
	21143: "The custom stored procedure schema option is not valid for an article of a snapshot publication.",
	21157: "The snapshot compression option can be enabled only for a publication that has an alternate snapshot folder.",
	21183: "Invalid property name '%v'.",
	21218: "The creation_script property must be set when the schema_option property is 0x0.",
	21219: "The source object must be a stored procedure if it is published as a 'proc schema only' article.",
	21221: "The source object must be a view if it is published as a 'view schema only' article.",
	21222: "The schema options of a procedure, function, synonym or aggregate schema article can be: 0x00000001, " +
		"0x00000020, 0x00001000, 0x00002000, 0x00400000, 0x02000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000 and " +
		"0x80000000.",
	21223: "The @pre_creation_cmd parameter of a schema only article must be 'none' or 'drop'.",
	21224: "'%v' is not a property of schema only articles.",
	21228: "The source object must be a user-defined function if it is published as a 'func schema only' article.",
	21229: "The schema options of a view schema article can be: 0x00000001, 0x00000010, 0x00000020, 0x00000040, " +
		"0x00000100, 0x00001000, 0x00002000, 0x00040000, 0x00100000, 0x00200000, 0x00400000, 0x00800000, 0x01000000, " +
		"0x08000000, 0x40000000 and 0x80000000.",
	21245: "Table '%v' is not part of publication '%v'.",
	21246: "Table '%v' is not part of any publication.",
	21255: "Column '%v' already exists in table '%v'.",
	21264: "Column '%v' cannot be dropped from table '%v' because it is a primary key column.",
	21330: "Failed to create a sub-directory under the replication working directory. (%v)",
	21380: "Cannot add a timestamp column without forcing reinitialization. Drop the article, add the column, and add " +
		"the article again.",
	21397: "The transactions required for synchronizing the nosync subscription created from the specified backup are " +
		"unavailable at the Distributor. Retry the operation again with a more up-to-date log, differential, or full " +
		"database backup.",
	21399: "The transactions required for synchronizing the subscription with the specified log sequence number (LSN) " +
		"are unavailable at the Distributor. Specify a higher LSN.",
	21407: "Cannot create the subscription. If you initialize with a backup or from an LSN, you must subscribe to all " +
		"articles: give @article = N'all'.",
	21482: "%v can only be executed in the \"%v\" database.",
	21484: "The publication '%v' is a snapshot publication. Articles can be validated in transactional publications only.",
	21485: "Tracer tokens cannot be posted for a snapshot publication.",
	21515: "Custom procedures are not scripted: the publication '%v' is a snapshot publication.",
	21541: "Cannot complete ALTER TABLE. Do not disable all triggers of a published table at once; disable each " +
		"trigger with a statement of its own.",
	21867: "ALTER TABLE SWITCH failed: table '%v' belongs to a publication that does not allow partitions to be " +
		"switched (@allow_partition_switch).",
	21544: "Cannot set replicate_ddl: the value must be 1 or 0.",
	21546: "Cannot replicate ALTER TABLE. It has several DROPs, among them one of a column that an article does not " +
		"have. Use a single DROP in each ALTER TABLE.",
	21670: "Could not connect to server '%v'. Please consult the server's administrator.",
	21690: "The subscription database cannot be the publication database: use different databases at the Publisher and " +
		"the Subscriber.",
	21694: "%v cannot be null or empty when %v is set to 0 (SQL Server Authentication). Specify a login.",
	21745: "Cannot generate a filter view or procedure. Verify that the value specified for the @filter_clause " +
		"parameter can be added to the WHERE clause of a SELECT statement.",
	21768: "When executing sp_adddistributor for a remote Distributor, you must use a password. The password specified " +
		"for the @password parameter must be the same when the procedure is executed at the Publisher and at the " +
		"Distributor.",
	21794: "The value specified for the @property parameter is not valid. Valid values are %v.",
	21797: "Cannot create the agent job: '%v' is not a valid Windows login for the agent. Leave it out of %v, so that " +
		"the job runs as the SQL Server Agent service.",
	21798: "The '%v' agent job must be added through '%v' before continuing. See the documentation for '%v'.",
	21799: "The %v agent for Publisher (%v), database (%v), publication (%v) cannot be found. Create the agent with " +
		"the appropriate procedure: sp_addpublication_snapshot, sp_addlogreader_agent, or sp_addqreader_agent.",
	21802: "The agent parameter value '%v' for '%v' must not be above %v.",
	21804: "The value %v specified for @agent_type is not valid. Specify 1 (Snapshot), 2 (Log Reader), 3 " +
		"(Distribution), 4 (Merge) or 9 (Queue Reader).",
	21806: "Invalid @profile_id %v specified for parameter '%v': there is no such profile, or the parameter is " +
		"not supported.",
	21810: "An identity column can be added to a published table only if it is marked NOT FOR REPLICATION.",
	21821: "Specify one and only one of the parameters %v and %v.",
	21831: "The %v already exists. Use '%v' to change any settings or properties.",
	21837: "An agent job for this subscription already exists: '%v'.",
	21859: "Cannot change the subscription property '%v': there is no entry in the MSsubscription_properties table for " +
		"this subscription. Create the pull subscription first.",
	21871: "Publisher '%v' of database '%v' is not redirected.",
	21874: "'%v' must be run in a distribution database; the current database '%v' is none.",
	21875: "The @original_publisher and @publisher_db parameters of '%v' cannot be NULL.",
	21877: "The original publisher '%v' and publisher database '%v' are not known at this Distributor.",
	21879: "Unable to query the redirected server '%v' for original publisher '%v' and publisher database '%v' to " +
		"determine the name of the remote server; error %v, error message '%v'.",
	21880: "The virtual network name '%v' is that of an availability group that does not contain the database of " +
		"original publisher '%v', '%v'.",
	21882: "The database '%v' at the redirected publisher '%v' for original publisher '%v' and database '%v' belongs " +
		"to an availability group; the redirection must name the group's listener.",
	21883: "The query at the redirected publisher '%v' to determine whether there were sysserver entries or whether " +
		"the publisher database '%v' belongs to an availability group failed with error %v: '%v'.",
	21888: "The instance '%v' is not configured for replication.",
	21889: "The SQL Server instance '%v' is not a replication publisher. Run sp_adddistributor on SQL Server instance " +
		"'%v' with distributor '%v' in order to enable the instance to host the publishing database '%v'.",
	21891: "Publisher '%v' is not listed at Distributor '%v'. Run sp_adddistpublisher at Distributor '%v'; '%v' has to " +
		"know the Publisher of database '%v'.",
	21892: "Unable to query the replica hosts of the availability group of '%v'; error %v, error message '%v'.",
	21893: "One or more publisher subscribers (%v) of original publisher '%v' do not appear as linked servers at the " +
		"redirected publisher '%v'.",
	21899: "The query at the redirected publisher '%v' to determine whether there were sysserver entries for the " +
		"subscribers of the original publisher '%v' failed with error %v: '%v'.",
	25023: "A stored procedure with table-valued parameters cannot be published as a '[serializable] proc exec' article.",
}
