// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

const restore = `
apiVersion: geosql.dev/v1alpha1
kind: Restore
metadata: {name: NAME, namespace: web}
spec: {source: {policy: nightly, database: Content}, target: {server: x}}
`

const (
	byPolicy = "policy: nightly, database: Content"
	byPath   = "store: s3, path: web/group/content/Content"
)

// hasContent is the status of a group of which one replica was seen with the database, and one never was.
const hasContent = `status:
  replicas:
  - {server: a-0, role: PRIMARY, databases: [{name: Content, synchronizationState: SYNCHRONIZED}]}
  - {server: b-0, role: Unknown, databases: [{name: Orders, synchronizationState: Unknown}]}
`

// restoreRefusals are about Restores.
var restoreRefusals = []refusal{
	{"a restore of nothing", "", with(restore, "NAME", "r", byPolicy, ""),
		[]string{"spec.source", "name exactly one of policy, with database, and store, with path"}},
	{"a restore of two", "", with(restore, "NAME", "r", byPolicy, byPolicy+", "+byPath),
		[]string{"spec.source", "name exactly one of policy"}},
	{"a policy without a database", "", with(restore, "NAME", "r", ", database: Content", ""),
		[]string{"database is needed with policy"}},
	{"a store without a path", "", with(restore, "NAME", "r", byPolicy, "store: s3"),
		[]string{"path, or files or folder, go with store, and one is needed there"}},
	{"a policy with a path", "", with(restore, "NAME", "r", byPolicy, byPolicy+", path: web/group/content/Content"),
		[]string{"path, or files or folder, go with store, and one is needed there"}},
	{"a path with a database", "", with(restore, "NAME", "r", byPolicy, byPath+", database: Content"),
		[]string{"spec.source", "database goes with policy, or with files or folder"}},
	{"a path with files", "", with(restore, "NAME", "r", byPolicy, byPath+", files: [imports/a.bak]", "server: x",
		"server: x, database: Content"), []string{"spec.source", "path is of backups that the operator's agents took"}},
	{"a zone of the agents' backups", "", with(restore, "NAME", "r", byPolicy, byPath+", timeZone: Europe/Dublin"),
		[]string{"spec.source", "timeZone goes with files or folder: other backups say it"}},
	{"a zone that is none", "", with(restore, "NAME", "r", byPolicy, "store: s3, folder: imports, timeZone: ../etc",
		"server: x", "server: x, database: Content"),
		[]string{"spec.source.timeZone", "timeZone is a name in the tz database"}},
	{"files of an unnamed database", "", with(restore, "NAME", "r", byPolicy, "store: s3, files: [imports/a.bak]"),
		[]string{"target.database is needed with source.files and source.folder"}},
	{"a file out of the prefix", "", with(restore, "NAME", "r", byPolicy, "store: s3, files: [../a.bak]", "server: x",
		"server: x, database: Content"), []string{"spec.source.files[0]", "a key has no slash at either end"}},
	{"a folder from the root", "", with(restore, "NAME", "r", byPolicy, "store: s3, folder: /imports", "server: x",
		"server: x, database: Content"), []string{"spec.source.folder", "a key has no slash at either end"}},
	{"a path with the prefix", "", with(restore, "NAME", "r", byPolicy, "store: s3, path: sql/web/group/content/Content"),
		[]string{"spec.source.path", "path is NAMESPACE/group/NAME/DATABASE"}},
	{"a path that leads elsewhere", "", with(restore, "NAME", "r", byPolicy,
		"store: s3, path: ../group/content/Content"), []string{"spec.source.path", "path is NAMESPACE/group/NAME/DATABASE"}},
	{"a moment and a position", "", with(restore, "NAME", "r", ", target",
		", to: {time: '2026-03-01T11:59:00Z', lsn: '1'}, target"),
		[]string{"spec.to", "name one of time, lsn and backup, or none for the newest point"}},
	{"a moment that is none", "", with(restore, "NAME", "r", ", target", ", to: {time: yesterday}, target"),
		[]string{"spec.to.time"}},
	{"a position in hexadecimal digits", "", with(restore, "NAME", "r", ", target", ", to: {lsn: '0x22'}, target"),
		[]string{"spec.to.lsn", "an LSN has decimal digits alone"}},
	{"a backup that is none", "", with(restore, "NAME", "r", ", target", ", to: {backup: newest}, target"),
		[]string{"spec.to.backup", "a backup's ID is a GUID"}},
	{"a restore into a group that is dropped again", "", with(restore, "NAME", "r", "server: x}",
		"availabilityGroup: content}, discard: true"), []string{"spec: Invalid value", "discard goes with target.server"}},
	{"what makes way and is dropped again", "", with(restore, "NAME", "r", "server: x",
		"server: x, database: Content", "}}", "}, replace: Content, discard: true}"),
		[]string{"spec: Invalid value", "discard goes without replace"}},
	{"a restore to nowhere", "", with(restore, "NAME", "r", "server: x", ""),
		[]string{"spec.target", "name exactly one of server and availabilityGroup"}},
	{"a restore to two", "", with(restore, "NAME", "r", "server: x", "server: x, availabilityGroup: content"),
		[]string{"spec.target", "name exactly one of server and availabilityGroup"}},
	{"a restore over a group's database", with(group, "NAME", "content") + hasContent, with(restore, "NAME", "r",
		"server: x", "availabilityGroup: content", "database: Content", "database: content"),
		[]string{"spec.target.availabilityGroup", "the group has database content already", "target.database"}},
	{"a database that makes way, in other letters", with(group, "NAME", "content") + hasContent, with(restore, "NAME", "r",
		"server: x", "availabilityGroup: content, database: Content", "}}", "}, replace: content}"),
		[]string{"spec", "replace is the name of the database that makes way, typed again", "letter by letter"}},
	{"a database that makes way, named once", "", with(restore, "NAME", "r", "}}", "}, replace: Content}"),
		[]string{"spec", "replace is the name of the database that makes way, typed again: target.database is needed"}},
	{"no name that makes way", "", with(restore, "NAME", "r", "server: x", "server: x, database: Content", "}}",
		"}, replace: ''}"), []string{"spec.replace"}},
	{"a system database that makes way", "", with(restore, "NAME", "r", "server: x", "server: x, database: master", "}}",
		"}, replace: master}"), []string{"spec.replace", "a user database is needed"}},
	{"a database from nowhere", "", with(group, "NAME", "g", "{name: Content}", "{name: Content, from: {}}"),
		[]string{"spec.databases[0].from", "restore is needed"}},
	{"a database from two", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {"+byPolicy+", "+byPath+"}}}"),
		[]string{"spec.databases[0].from.restore", "name exactly one of policy"}},
	{"a database from a policy that says no database", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {policy: nightly}}}"),
		[]string{"spec.databases[0].from.restore", "database goes with policy, and is needed there"}},
	{"a database from a store that says no path", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {store: s3}}}"),
		[]string{"spec.databases[0].from.restore", "path goes with store, and is needed there"}},
	{"a database from two moments", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {"+byPath+", to: {lsn: '1', time: '2026-03-01T11:59:00Z'}}}}"),
		[]string{"spec.databases[0].from.restore.to", "name one of time, lsn and backup"}},
	{"a server's database from nowhere", "", with(server, "NAME", "s") + "  databases: [{name: Content, from: {}}]\n",
		[]string{"spec.databases[0].from", "restore is needed"}},
	{"a server's database from two", "", with(server, "NAME", "s") + "  databases: [{name: Content, from: {restore: {" +
		byPolicy + ", " + byPath + "}}}]\n",
		[]string{"spec.databases[0].from.restore", "name exactly one of policy, with database, and store, with path"}},
	{"a server's database from a store that says no path", "", with(server, "NAME", "s") +
		"  databases: [{name: Content, from: {restore: {store: s3}}}]\n",
		[]string{"spec.databases[0].from.restore", "path goes with store, and is needed there"}},
	{"a server's database from two moments", "", with(server, "NAME", "s") + "  databases: [{name: Content, " +
		"from: {restore: {" + byPath + ", to: {lsn: '1', backup: 6f9619ff-8b86-d011-b42d-00c04fc964ff}}}}]\n",
		[]string{"spec.databases[0].from.restore.to", "name one of time, lsn and backup"}},
	{"a database of a Topology's server from two", "", with(topology, "NAME", "t", "{name: d, site: tukwila}",
		"{name: d, site: tukwila, databases: [{name: Content, from: {restore: {"+byPolicy+", "+byPath+"}}}]}"),
		[]string{"spec.servers[1].databases[0].from.restore", "name exactly one of policy"}},
	{"a restore that becomes another", with(restore, "NAME", "once"),
		with(restore, "NAME", "once", "server: x", "server: other"),
		[]string{"a Restore is carried out once: create another one"}},
	{"a restore beside a group's own copy", with(group, "NAME", "content"), with(restore, "NAME", "r", "server: x",
		"server: a", "database: Content", "database: content"),
		[]string{"spec.target.server", "it is a replica of AvailabilityGroup content, which declares database content"}},
	{"a restore by path beside a group's own copy", with(group, "NAME", "content"), with(restore, "NAME", "r",
		"server: x", "server: b", byPolicy, byPath),
		[]string{"spec.target.server", "it is a replica of AvailabilityGroup content"}},
}
