// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

// oneStore is a topology with a store, to which entries of backupPolicies are added.
const oneStore = topology + `  backupStores:
  - {name: s3, s3: {endpoint: "https://s3.example:9000", bucket: backups, credentialsSecretRef: {name: keys}}}
  backupPolicies:
`

// entry of backupPolicies with its name and what it says else.
func entry(name, says string) string {
	return "  - {name: " + name + ", full: {schedule: 0 1 * * 0}, stores: [s3], retention: {fulls: 2}" + says + "}\n"
}

// backedUp is a topology with entries of backupPolicies.
func backedUp(entries ...string) string {
	return with(oneStore, "NAME", "t") + strings.Join(entries, "")
}

// ofP is the target that another entry may have, too.
const ofP = ", target: {server: p}"

// topologyBackupRefusals are checked like refusals: the backups that a topology declares.
var topologyBackupRefusals = []refusal{
	{"a topology's backups in a store that is not there", "", with(backedUp(entry("all", "")), "stores: [s3]",
		"stores: [s3, s4]"), []string{"spec.backupPolicies[0].stores[1]: Not found", "s4; declared are: s3"}},
	{"a topology's backups of a server that is not there", "", backedUp(entry("x", ", target: {server: nobody}")),
		[]string{"spec.backupPolicies[0].target.server: Not found", "nobody; declared are: d, p"}},
	{"a topology's backups of a group that is not there", "", backedUp(entry("all", ""),
		entry("x", ", target: {availabilityGroup: g}")),
		[]string{"spec.backupPolicies[1].target.availabilityGroup: Not found", "g; declared are: none"}},
	{"a topology's backups at no time", "", with(backedUp(entry("all", "")), "0 1 * * 0", "at night"),
		[]string{"spec.backupPolicies[0].full.schedule", "cron's five fields"}},
	{"a topology's differentials of copies", "", backedUp(entry("all",
		", replica: PreferSecondary, differential: {schedule: 0 2 * * *}")),
		[]string{"spec.backupPolicies[0]", "differential goes with replica Primary"}},
	{"a topology's tests at what it backs up", "", backedUp(entry("all",
		", restoreTest: {schedule: 0 5 * * 0, server: p}")),
		[]string{"spec.backupPolicies[0].restoreTest.server", "it is among what the entry backs up"}},
	{"a topology's tests nowhere", "", backedUp(entry("all", ", restoreTest: {schedule: 0 5 * * 0, server: nobody}")),
		[]string{"spec.backupPolicies[0].restoreTest.server: Not found", "nobody; declared are: d, p"}},
	{"another target in a topology", backedUp(entry("x", ofP)), backedUp(entry("x", ", target: {server: d}")),
		[]string{"spec.backupPolicies[0]", "target is immutable: declare another entry"}},
	{"databases of a whole topology", "", backedUp(entry("all", ", databases: [Content]")),
		[]string{"spec.backupPolicies[0].databases", "databases goes with target"}},
	{"two entries for a whole topology", "", backedUp(entry("all", ""), entry("too", "")),
		[]string{"spec.backupPolicies[1].target: Required", "spec.backupPolicies[0] has none either"}},
	{"two entries for one server", "", backedUp(entry("one", ofP), entry("two", ofP)),
		[]string{"spec.backupPolicies[1].target: Invalid value", "spec.backupPolicies[0] is about it"}},
	{"an entry for nothing", "", with(backedUp(entry("all", "")), "  publications:\n  - {name: pub, publisher: {server: "+
		"p}, database: Content, distributor: dist, articles: [{table: dbo.Article}]}\n", ""),
		[]string{"spec.backupPolicies[0].target: Required", "nothing would be backed up"}},
	{"two entries that make one policy", "", backedUp(entry("all", ""), entry("all-p", ", target: {server: d}")),
		[]string{"spec.backupPolicies[1].name: Invalid value", "makes BackupPolicy all-p, as spec.backupPolicies[0] does"}},
	{"a policy whose name is too long with its target", "", backedUp(entry(strings.Repeat("a", 62), "")),
		[]string{"spec.backupPolicies[0].name: Invalid value", "at most 63 characters"}},
	{"a policy that somebody else has made", with(backupPolicy, "NAME", "all-p"), backedUp(entry("all", "")),
		[]string{"spec.backupPolicies[0].name", "BackupPolicy all-p exists and no Topology declares it",
			"exists with another target, which is immutable"}},
	{"a store that somebody else has made", with(backupStore, "NAME", "s3"), backedUp(entry("all", "")),
		[]string{"spec.backupStores[0].name", "BackupStore s3 exists and no Topology declares it"}},
	{"another bucket in a topology", backedUp(entry("all", "")), with(backedUp(entry("all", "")), "bucket: backups",
		"bucket: other"), []string{"spec.backupStores[0].s3: Invalid value", anotherBucket}},
}

// topologyBackupsMayChange applies what the backups of a topology may become, with stores and targets that it declares
// and that others do.
func topologyBackupsMayChange(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	g := NewWithT(t)
	defer clean(t, hub, cached)
	setUp(t, hub, cached, with(backupStore, "NAME", "other")+"---"+with(server, "NAME", "x"))
	for _, manifest := range []string{
		backedUp(entry("all", "")),
		backedUp(entry("all", ""), entry("p", ofP)),
		backedUp(entry("p", ofP+", databases: [Content]")),
		backedUp(entry("p", "")),
		with(backedUp(entry("all", ""), entry("x", ", target: {server: x}")), "stores: [s3]", "stores: [s3, other]"),
	} {
		g.Expect(apply(t.Context(), hub.Client, parseOne(t, manifest))).To(Succeed(), manifest)
	}
}
