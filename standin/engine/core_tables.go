// SPDX-License-Identifier: Apache-2.0

package engine

// coreTables are the engine's own internal tables.
var coreTables = []InternalTable{
	{Name: "__catalog", DDL: []string{
		"CREATE TABLE __catalog (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, next_object INTEGER NOT NULL)",
		"INSERT INTO __catalog VALUES (1, 1, 245575913)",
	}},
	{Name: "__schemas", DDL: []string{
		"CREATE TABLE __schemas (id INTEGER PRIMARY KEY, name TEXT NOT NULL, principal INTEGER NOT NULL)",
		"INSERT INTO __schemas VALUES (1,'dbo',1),(2,'guest',2),(3,'INFORMATION_SCHEMA',3),(4,'sys',4)," +
			"(16384,'db_owner',16384),(16385,'db_accessadmin',16385)," +
			"(16386,'db_securityadmin',16386),(16387,'db_ddladmin',16387)," +
			"(16389,'db_backupoperator',16389),(16390,'db_datareader',16390),(16391,'db_datawriter',16391)," +
			"(16392,'db_denydatareader',16392),(16393,'db_denydatawriter',16393)",
	}},
	{Name: "__objects", DDL: []string{
		"CREATE TABLE __objects (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)",
	}},
	{Name: "__identity", DDL: []string{
		"CREATE TABLE __identity (id INTEGER PRIMARY KEY, last INTEGER NOT NULL)",
	}},
	{Name: "__properties", DDL: []string{
		"CREATE TABLE __properties (id INTEGER PRIMARY KEY, class INTEGER NOT NULL, major INTEGER NOT NULL, " +
			"minor INTEGER NOT NULL, name TEXT NOT NULL, value BLOB)",
	}},
}
