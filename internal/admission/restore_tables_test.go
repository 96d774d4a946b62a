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
		[]string{"database goes with policy, and is needed there"}},
	{"a store without a path", "", with(restore, "NAME", "r", byPolicy, "store: s3"),
		[]string{"path goes with store, and is needed there"}},
	{"a policy with a path", "", with(restore, "NAME", "r", byPolicy, byPolicy+", path: web/group/content/Content"),
		[]string{"path goes with store, and is needed there"}},
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
	{"a restore to nowhere", "", with(restore, "NAME", "r", "server: x", ""),
		[]string{"spec.target", "name exactly one of server and availabilityGroup"}},
	{"a restore to two", "", with(restore, "NAME", "r", "server: x", "server: x, availabilityGroup: content"),
		[]string{"spec.target", "name exactly one of server and availabilityGroup"}},
	{"a restore over a group's database", with(group, "NAME", "content") + hasContent, with(restore, "NAME", "r",
		"server: x", "availabilityGroup: content", "database: Content", "database: content"),
		[]string{"spec.target.availabilityGroup", "the group has database content already", "target.database"}},
	{"a database from nowhere", "", with(group, "NAME", "g", "{name: Content}", "{name: Content, from: {}}"),
		[]string{"spec.databases[0].from", "restore is needed"}},
	{"a database from two", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {"+byPolicy+", "+byPath+"}}}"),
		[]string{"spec.databases[0].from.restore", "name exactly one of policy"}},
	{"a database from two moments", "", with(group, "NAME", "g", "{name: Content}",
		"{name: Content, from: {restore: {"+byPath+", to: {lsn: '1', time: '2026-03-01T11:59:00Z'}}}}"),
		[]string{"spec.databases[0].from.restore.to", "name one of time, lsn and backup"}},
	{"a server's database from a backup", "", with(server, "NAME", "s") +
		"  databases: [{name: Content, from: {restore: {" + byPath + "}}}]\n",
		[]string{"spec.databases", "from is for databases of a group", "spec.target.server"}},
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
