// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

const backupStore = `
apiVersion: geosql.dev/v1alpha1
kind: BackupStore
metadata: {name: NAME, namespace: web}
spec:
  s3: {endpoint: "https://s3.example:9000", bucket: backups, prefix: sql/live, credentialsSecretRef: {name: keys}}
`

const backupPolicy = `
apiVersion: geosql.dev/v1alpha1
kind: BackupPolicy
metadata: {name: NAME, namespace: web}
spec:
  target: {availabilityGroup: content}
  full: {schedule: 0 1 * * 0}
`

const oneBackup = `
apiVersion: geosql.dev/v1alpha1
kind: Backup
metadata: {name: NAME, namespace: web}
spec: {policy: content, copyOnly: true}
`

// anotherBucket is how a store refuses to become another.
const anotherBucket = "endpoint, bucket and prefix are immutable"

// backupRefusals are checked like refusals: where backups are kept, and when they are taken.
var backupRefusals = []refusal{
	{"another endpoint", with(backupStore, "NAME", "s"), with(backupStore, "NAME", "s", "s3.example", "s4.example"),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"another bucket", with(backupStore, "NAME", "s"), with(backupStore, "NAME", "s", "bucket: backups", "bucket: other"),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"another prefix", with(backupStore, "NAME", "s"), with(backupStore, "NAME", "s", "sql/live", "sql/test"),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"a prefix that is taken away", with(backupStore, "NAME", "s"),
		with(backupStore, "NAME", "s", "prefix: sql/live, ", ""),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"a prefix that is made empty", with(backupStore, "NAME", "s"), with(backupStore, "NAME", "s", "sql/live", `""`),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"a prefix that comes later", with(backupStore, "NAME", "s", "prefix: sql/live, ", ""), with(backupStore, "NAME", "s"),
		[]string{"spec.s3: Invalid value", anotherBucket}},
	{"an endpoint without TLS", "", with(backupStore, "NAME", "s", "https://", "http://"),
		[]string{"spec.s3.endpoint", "an endpoint is https://host"}},
	{"credentials in an endpoint", "", with(backupStore, "NAME", "s", "https://", "https://key:secret@"),
		[]string{"spec.s3.endpoint", "credentials belong in credentialsSecretRef"}},
	{"a prefix that leads elsewhere", "", with(backupStore, "NAME", "s", "sql/live", "sql/../other"),
		[]string{"spec.s3.prefix", "a prefix is parts of letters"}},
	{"uploads that take for ever", "", with(backupStore, "NAME", "s") + "  uploadRate: 1Ki\n",
		[]string{"spec.uploadRate", "uploadRate must be at least 64Ki"}},

	{"another target", with(backupPolicy, "NAME", "p"), with(backupPolicy, "NAME", "p", "content", "orders"),
		[]string{"spec.target: Invalid value", "target is immutable: declare another BackupPolicy"}},
	{"a server in place of a group", with(backupPolicy, "NAME", "p"),
		with(backupPolicy, "NAME", "p", "availabilityGroup: content", "server: a"),
		[]string{"spec.target: Invalid value", "target is immutable: declare another BackupPolicy"}},
	{"no target", "", with(backupPolicy, "NAME", "p", "  target: {availabilityGroup: content}\n", ""),
		[]string{"spec.target", "spec.target is required: server or availabilityGroup"}},
	{"two targets", "", with(backupPolicy, "NAME", "p", "content}", "content, server: a}"),
		[]string{"spec.target", "exactly one of server and availabilityGroup"}},
	{"differentials of copies", "", with(backupPolicy, "NAME", "p") +
		"  replica: PreferSecondary\n  differential: {schedule: 0 2 * * *}\n",
		[]string{"spec: Invalid value", "differential goes with replica Primary"}},
	{"a retention of nothing", "", with(backupPolicy, "NAME", "p") + "  retention: {}\n",
		[]string{"spec.retention", "give age, fulls or both"}},
	{"an age of no unit", "", with(backupPolicy, "NAME", "p") + "  retention: {age: 14d}\n",
		[]string{"spec.retention.age", "a duration is written like 12h"}},
	{"a log each second", "", with(backupPolicy, "NAME", "p") + "  log: {every: 1s}\n",
		[]string{"spec.log.every", "every must be between 1m and 24h"}},
	{"backups at no time", "", with(backupPolicy, "NAME", "p", "0 1 * * 0", "at night"),
		[]string{"spec.full.schedule", "cron's five fields"}},
	{"backups of no zone", "", with(backupPolicy, "NAME", "p", "0 1 * * 0", "0 1 * * 0, timeZone: Nowhere/Town"),
		[]string{"spec.full.timeZone", "tz database"}},
	{"differentials at no time", "", with(backupPolicy, "NAME", "p") + "  differential: {schedule: 0 1}\n",
		[]string{"spec.differential.schedule", "cron's five fields"}},
	{"a transfer between two steps", "", with(backupPolicy, "NAME", "p") + "  maxTransferSize: 65537\n",
		[]string{"spec.maxTransferSize", "multiple of 65536"}},

	{"tests of backups that no store has", "", with(backupPolicy, "NAME", "p") +
		"  restoreTest: {schedule: 0 5 * * 0, server: x}\n", []string{"spec: Invalid value", "restoreTest needs a store"}},
	{"tests at the server that is backed up", "", with(backupPolicy, "NAME", "p", "availabilityGroup: content",
		"server: x") + "  stores: [s]\n  restoreTest: {schedule: 0 5 * * 0, server: x}\n",
		[]string{"spec: Invalid value", "restoreTest.server is another server than the policy's target"}},
	{"tests at no time", "", with(backupPolicy, "NAME", "p") +
		"  stores: [s]\n  restoreTest: {schedule: weekly, server: x}\n",
		[]string{"spec.restoreTest.schedule", "cron's five fields"}},
	{"tests in no zone", "", with(backupPolicy, "NAME", "p") +
		"  stores: [s]\n  restoreTest: {schedule: 0 5 * * 0, timeZone: Nowhere/Town, server: x}\n",
		[]string{"spec.restoreTest.timeZone", "tz database"}},
	{"tests at a replica", with(group, "NAME", "content"), with(backupPolicy, "NAME", "p") +
		"  stores: [s]\n  restoreTest: {schedule: 0 5 * * 0, server: a}\n",
		[]string{"spec.restoreTest.server", "it is a replica of AvailabilityGroup content"}},
	{"no record of tests", "", with(backupPolicy, "NAME", "p") +
		"  stores: [s]\n  restoreTest: {schedule: 0 5 * * 0, server: x, historyLimit: 101}\n",
		[]string{"spec.restoreTest.historyLimit", "less than or equal to 100"}},

	{"another policy of a backup", with(oneBackup, "NAME", "b"), with(oneBackup, "NAME", "b", "content", "other"),
		[]string{"spec: Invalid value", "spec is immutable: a Backup is taken once"}},
	{"a differential copy", "", with(oneBackup, "NAME", "b", "copyOnly: true", "copyOnly: true, type: Differential"),
		[]string{"copyOnly goes with type Full"}},
	{"a record of no database", "", with(oneBackup, "NAME", "b", "copyOnly: true",
		`record: {set: 6f, finished: "2026-03-01T01:00:00Z"}`),
		[]string{"spec: Invalid value", "record goes with the one database that the set is of"}},
}

// backupsMayChange applies what a store and a policy may become: everything but what says where backups are.
func backupsMayChange(t *testing.T, hub *apiserver.Server, cached client.Reader) {
	g := NewWithT(t)
	defer clean(t, hub, cached)
	bare := with(backupStore, "NAME", "bare", "prefix: sql/live, ", "")
	for _, manifest := range []string{with(backupStore, "NAME", "s"),
		with(backupStore, "NAME", "s", "{name: keys}", "{name: others}") + "  uploadRate: 20Mi\n",
		bare, with(bare, "bucket: backups", `bucket: backups, prefix: ""`), bare,
		with(backupPolicy, "NAME", "p"),
		with(backupPolicy, "NAME", "p", "0 1 * * 0", "0 2 * * 0") + "  log: {mode: None}\n  stores: [s, bare]\n",
		with(backupPolicy, "NAME", "p") + "  differential: {schedule: 0 2 * * *}\n  retention: {fulls: 2}\n"} {
		g.Expect(apply(t.Context(), hub.Client, parseOne(t, manifest))).To(Succeed(), manifest)
	}
}
