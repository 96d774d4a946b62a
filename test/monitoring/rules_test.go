// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/prometheus"
)

var ruleFiles = []string{"manager.yaml", "agent.yaml"}

// healthy is a system in which all is well, for promtool: a point every minute. "since" is no value but the time
// itself.
var healthy = map[string]string{
	`geosql_manager_leading`: steady("1"),
	`geosql_condition{kind="Site",namespace="",name="tukwila",type="Ready"}`:                         steady("1"),
	`geosql_condition{kind="Site",namespace="",name="tukwila",type="LinkSlowerThanDeclared"}`:        steady("0"),
	`geosql_condition{kind="Site",namespace="",name="tukwila",type="WindowTooSmall"}`:                steady("-1"),
	`geosql_condition{kind="SQLServer",namespace="web",name="tukpub",type="Stalled"}`:                steady("0"),
	`geosql_condition{kind="SQLServer",namespace="web",name="tukpub",type="Ready"}`:                  steady("0"),
	`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="VotesComplete"}`: steady("1"),
	`geosql_sqlserver_certificate_expiry_timestamp_seconds{namespace="web",server="tukpub"}`: steady(
		"7776000",
	),
	`geosql_site_credentials_expiry_timestamp_seconds{site="tukwila"}`: steady(
		"7776000",
	),
	`geosql_availabilitygroup_primaries` + group:                                                             steady("1"),
	`geosql_availabilitygroup_objective_rpo_seconds` + group:                                                 steady("0"),
	`geosql_availabilitygroup_objective_redo_catch_up_seconds` + group:                                       steady("60"),
	`geosql_availabilitygroup_estimated_data_loss_seconds` + group:                                           steady("0"),
	`geosql_availabilitygroup_promotable_replicas` + group:                                                   steady("1"),
	`geosql_availabilitygroup_term` + group:                                                                  steady("4"),
	`geosql_availabilitygroup_database_estimated_recovery_seconds` + with(copyLabels):                        steady("10"),
	`geosql_availabilitygroup_database_suspended` + with(copyLabels):                                         steady("0"),
	`geosql_availabilitygroup_replica_connected{namespace="web",group="content",server="quisec-0"}`:          steady("1"),
	`geosql_availabilitygroup_voter_state{namespace="web",group="content",site="dublin",state="Held"}`:       steady("1"),
	`geosql_availabilitygroup_voter_term{namespace="web",group="content",site="dublin"}`:                     steady("4"),
	`geosql_failover_last_outcome{namespace="web",group="content",outcome="Succeeded",cause=""}`:             steady("1"),
	`geosql_failover_last_completion_timestamp_seconds` + group:                                              steady("60"),
	`geosql_failover_last_lost_databases` + group:                                                            steady("0"),
	`geosql_replication_agent_state{kind="Subscription",name="dublin",agent="Distribution",state="Idle"}`:    steady("1"),
	`geosql_subscription_latency_seconds{namespace="web",subscription="dublin",stage="Overall"}`:             steady("3"),
	`geosql_subscription_latency_token_timestamp_seconds` + subscription:                                     "0+60x100",
	`geosql_subscription_objective_latency_seconds` + subscription:                                           steady("30"),
	`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="BackupObjectiveMet"}`:    steady("1"),
	`geosql_condition{kind="BackupPolicy",namespace="web",name="content",type="Ready"}`:                      steady("1"),
	`geosql_condition{kind="BackupPolicy",namespace="web",name="content",type="RestoreTested"}`:              steady("1"),
	`geosql_condition{kind="BackupStore",namespace="web",name="s3",type="Ready"}`:                            steady("1"),
	`geosql_backup_log_interval_seconds{namespace="web",policy="content"}`:                                   steady("300"),
	`geosql_backup_last_timestamp_seconds{namespace="web",policy="content",database="Content",backup="Log"}`: "0+60x100",
	`geosql_backup_damaged_sets{namespace="web",policy="content",database="Content"}`:                        steady("0"),
	`geosql_backup_store_listed_timestamp_seconds{namespace="web",policy="content",store="s3"}`:              "0+60x100",
	`geosql_drill_verdict{namespace="web",drill="lose-tukwila",verdict="Passed"}`:                            steady("1"),
	`geosql_drill_completion_timestamp_seconds{namespace="web",drill="lose-tukwila"}`:                        steady("60"),
	`geosql_drillschedule_last_verdict{namespace="web",schedule="weekly",verdict="Passed"}`:                  steady("1"),
	`geosql_drillschedule_next_timestamp_seconds` + schedule: steady(
		"604800",
	),
	`geosql_drillschedule_suspended` + schedule: steady("0"),
	`geosql_drillschedule_missed` + schedule:    steady("2"),

	`geosql_agent_engine_state{pod="tukpub-0",state="Ready"}`:                              steady("1"),
	`geosql_agent_engine_state{pod="tukpub-0",state="Frozen"}`:                             steady("0"),
	`geosql_agent_measurement_timestamp_seconds{pod="tukpub-0"}`:                           "0+60x100",
	`geosql_agent_state_writable{pod="tukpub-0",volume="agent"}`:                           steady("1"),
	`geosql_agent_diagnostics_state{pod="tukpub-0",type="instance",component="system"}`:    steady("1"),
	`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="NOTHING"}`:        steady("1"),
	`geosql_agent_log_used_bytes{pod="tukpub-0",database="Content"}`:                       steady("2000000000"),
	`geosql_agent_log_size_bytes{pod="tukpub-0",database="Content"}`:                       steady("4000000000"),
	`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`:                       steady("4000000000"),
	`geosql_agent_volume_capacity_bytes{pod="tukpub-0",volume="data"}`:                     steady("100000000000"),
	`geosql_agent_volume_free_bytes{pod="tukpub-0",volume="data"}`:                         "60000000000-10000000x100",
	`geosql_agent_staging_quota_bytes{pod="quisec-0"}`:                                     steady("100000000000"),
	`geosql_agent_staging_high_watermark_bytes{pod="quisec-0"}`:                            steady("90000000000"),
	`geosql_agent_staging_used_bytes{pod="quisec-0"}`:                                      steady("50000000000"),
	`geosql_agent_staging_blocked_transfers{pod="quisec-0"}`:                               steady("0"),
	`geosql_agent_staging_removed_bytes_total{pod="quisec-0"}`:                             steady("0"),
	`geosql_agent_certificate_expiry_timestamp_seconds{pod="tukpub-0"}`:                    steady("7776000"),
	`geosql_agent_election_voter_reachable{pod="tukpub-0",group="content",voter="dublin"}`: steady("1"),
	`geosql_agent_election_quarantined{pod="tukpub-0",group="content"}`:                    steady("0"),
}

const (
	group        = `{namespace="web",group="content"}`
	subscription = `{namespace="web",subscription="dublin"}`
	schedule     = `{namespace="web",schedule="weekly"}`
	copyLabels   = `namespace="web",group="content",server="quisec-0",database="Content"`
	// trouble begins after an hour; half an hour later every alert has had its time.
	before, after = "1h4m", "1h36m"
)

func with(labels string) string { return "{" + labels + "}" }

// steady is one value all the time, turned is another one from the moment on at which trouble begins.
func steady(value string) string { return value + "+0x100" }
func turned(from, to string) string {
	return from + "+0x64 " + to + "+0x35"
}

// cases are troubles by the alert that is to tell of them, as changes of what is healthy; "" takes a series away.
var cases = map[string][]map[string]string{
	"GeoSQLManagerAbsent": {
		{`geosql_manager_leading`: "1+0x64"},
		{`geosql_manager_leading`: turned("1", "0")},
	},
	"GeoSQLSiteNotAnswering": {
		{`geosql_condition{kind="Site",namespace="",name="tukwila",type="Ready"}`: turned("1", "-1")},
	},
	"GeoSQLObjectStalled": {
		{`geosql_condition{kind="SQLServer",namespace="web",name="tukpub",type="Stalled"}`: turned("0", "1")},
	},
	"GeoSQLCleanupFailed": {
		{`geosql_condition{kind="Distributor",namespace="web",name="main",type="CleanedUp"}`: turned("1", "0")},
	},
	"GeoSQLCertificateNearExpiry": {
		{
			`geosql_sqlserver_certificate_expiry_timestamp_seconds{namespace="web",server="tukpub"}`: turned(
				"7776000",
				"2592000",
			),
		},
	},
	"GeoSQLVolumeFilling": {
		{`geosql_agent_volume_free_bytes{pod="tukpub-0",volume="data"}`: turned("60000000000", "9000000000")},
		{`geosql_agent_volume_free_bytes{pod="tukpub-0",volume="data"}`: "60000000000+0x64 59000000000-1000000000x35"},
	},
	"GeoSQLStagingAboveHighWatermark": {
		{`geosql_agent_staging_used_bytes{pod="quisec-0"}`: turned("50000000000", "90000000001")},
	},
	"GeoSQLStagingCleaned": {
		{`geosql_agent_staging_removed_bytes_total{pod="quisec-0"}`: turned("0", "30000000000")},
	},
	"GeoSQLStagingBlocked": {
		{`geosql_agent_staging_blocked_transfers{pod="quisec-0"}`: turned("0", "1")},
	},
	"GeoSQLVolumeFull": {
		{`geosql_agent_volume_free_bytes{pod="tukpub-0",volume="data"}`: turned("60000000000", "1000000000")},
	},
	"GeoSQLAuthorityNearExpiry": {
		{`geosql_ca_expiry_timestamp_seconds{ca="servers"}`: turned("31536000", "7776000")},
	},
	"GeoSQLSiteTokenNotRenewed": {
		{`geosql_condition{kind="Site",namespace="",name="tukwila",type="TokenRenewed"}`: turned("1", "0")},
	},
	"GeoSQLLinkSlowerThanDeclared": {
		{`geosql_condition{kind="Site",namespace="",name="tukwila",type="LinkSlowerThanDeclared"}`: turned("0", "1")},
	},
	"GeoSQLWindowTooSmall": {
		{`geosql_condition{kind="Site",namespace="",name="tukwila",type="WindowTooSmall"}`: turned("0", "1")},
	},
	"GeoSQLSiteCredentialsNearExpiry": {
		{`geosql_site_credentials_expiry_timestamp_seconds{site="tukwila"}`: turned("7776000", "259200")},
	},
	"GeoSQLBackupObjectiveMissed": {
		{`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="BackupObjectiveMet"}`: turned("1",
			"0")},
		{`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="BackupObjectiveMet"}`: turned("1",
			"-1")},
	},
	"GeoSQLBackupLate": {
		{`geosql_backup_last_timestamp_seconds{namespace="web",policy="content",database="Content",backup="Log"}`: "0+60x64 " +
			"3840+0x35"},
		{`geosql_backup_log_interval_seconds{namespace="web",policy="content"}`: steady("600"),
			`geosql_backup_last_timestamp_seconds{namespace="web",policy="content",database="Other",backup="Log"}`: "3840+0x100"},
	},
	"GeoSQLBackupNotReady": {
		{`geosql_condition{kind="BackupPolicy",namespace="web",name="content",type="Ready"}`: turned("1", "0")},
		{`geosql_condition{kind="BackupPolicy",namespace="web",name="content",type="Ready"}`: turned("1", "-1")},
	},
	"GeoSQLBackupDamaged": {
		{`geosql_backup_damaged_sets{namespace="web",policy="content",database="Content"}`: turned("0", "1")},
	},
	"GeoSQLRestoreTestFailed": {
		{`geosql_condition{kind="BackupPolicy",namespace="web",name="content",type="RestoreTested"}`: turned("1", "0")},
	},
	"GeoSQLBackupStoreUnreachable": {
		{`geosql_condition{kind="BackupStore",namespace="web",name="s3",type="Ready"}`: turned("1", "-1")},
		{`geosql_backup_store_listed_timestamp_seconds{namespace="web",policy="content",store="s3"}`: "0+60x64 3840+0x35"},
	},
	"GeoSQLLogWaitsForBackup": {
		{
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="NOTHING"}`:    "1+0x64",
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="LOG_BACKUP"}`: "_x65 1+0x35",
			`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`:                   turned("4000000000", "1900000000"),
		},
	},
	"GeoSQLGroupWithoutPrimary": {{`geosql_availabilitygroup_primaries` + group: turned("1", "0")}},
	"GeoSQLRPOAtRisk": {
		{`geosql_availabilitygroup_estimated_data_loss_seconds` + group: turned("0", "2")},
		{`geosql_availabilitygroup_estimated_data_loss_seconds` + group: "0+0x64"},
		{`geosql_availabilitygroup_promotable_replicas` + group: turned("1", "0")},
		{
			`geosql_availabilitygroup_objective_rpo_seconds` + group:       steady("10"),
			`geosql_availabilitygroup_estimated_data_loss_seconds` + group: turned("9", "11"),
		},
	},
	"GeoSQLRedoDebtAboveObjective": {
		{`geosql_availabilitygroup_database_estimated_recovery_seconds` + with(copyLabels): turned("10", "61")},
	},
	"GeoSQLDataMovementSuspended": {{`geosql_availabilitygroup_database_suspended` + with(copyLabels): turned("0", "1")}},
	"GeoSQLReplicaDisconnected": {
		{`geosql_availabilitygroup_replica_connected{namespace="web",group="content",server="quisec-0"}`: turned("1", "0")},
	},
	"GeoSQLVoterIsolated": {
		{`geosql_availabilitygroup_voter_state{namespace="web",group="content",site="dublin",state="Held"}`: "1+0x64",
			`geosql_availabilitygroup_voter_state{namespace="web",group="content",site="dublin",state="Unknown"}`: "_x65 1+0x35"},
		{`geosql_availabilitygroup_term` + group: turned("4", "5")},
	},
	"GeoSQLVotesLost": {
		{`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="VotesComplete"}`: turned("1", "0")},
	},
	"GeoSQLFailoverNotSucceeded": {
		{`geosql_failover_last_outcome{namespace="web",group="content",outcome="Failed",cause="Automatic"}`: "_x65 1+0x35",
			`geosql_failover_last_completion_timestamp_seconds` + group: turned("60", "7200")},
	},
	"GeoSQLAcknowledgedWritesLost": {{`geosql_failover_last_lost_databases` + group: turned("0", "1")}},
	"GeoSQLReplicationAgentFailed": {
		{
			`geosql_replication_agent_state{kind="Subscription",name="dublin",agent="Distribution",state="Failed"}`: "_x65 1+0x35",
		},
		{
			`geosql_replication_agent_state{kind="Subscription",name="dublin",agent="Distribution",state="Failed"}`: "_x65" +
				strings.Repeat(
					" 1 1 stale stale",
					9,
				),
			`geosql_replication_agent_state{kind="Subscription",name="dublin",agent="Distribution",state="Retrying"}`: "_x65" +
				strings.Repeat(
					" stale stale 1 1",
					9,
				),
		},
	},
	"GeoSQLReplicationLatencyAboveObjective": {
		{`geosql_subscription_latency_seconds{namespace="web",subscription="dublin",stage="Overall"}`: turned("3", "31")},
		{`geosql_subscription_latency_token_timestamp_seconds` + subscription: "0+60x64 3840+0x35"},
	},
	"GeoSQLDrillNotPassed": {
		{
			`geosql_drill_verdict{namespace="web",drill="lose-tukwila",verdict="Passed"}`:       "1+0x64",
			`geosql_drill_verdict{namespace="web",drill="lose-tukwila",verdict="Inconclusive"}`: "_x65 1+0x35",
		},
		{
			`geosql_drill_verdict{namespace="web",drill="other",verdict="Failed"}`:     "_x65 1+0x35",
			`geosql_drill_completion_timestamp_seconds{namespace="web",drill="other"}`: "_x65 7200+0x35",
		},
	},
	"GeoSQLScheduledDrillNotPassed": {
		{`geosql_drillschedule_last_verdict{namespace="web",schedule="weekly",verdict="Failed"}`: "_x65 1+0x35"},
	},
	"GeoSQLDrillOverdue": {{`geosql_drillschedule_next_timestamp_seconds` + schedule: steady("3000")}},
	"GeoSQLDrillNotBegun": {
		{`geosql_drill_phase{namespace="web",drill="weekly-202611220300",phase="Pending"}`: "_x65 1+0x35"},
	},
	"GeoSQLDrillMissed": {{`geosql_drillschedule_missed` + schedule: turned("2", "3")}},

	"GeoSQLEngineNotAnswering": {
		{
			`geosql_agent_engine_state{pod="tukpub-0",state="Frozen"}`: turned("0", "1"),
			`geosql_agent_engine_state{pod="tukpub-0",state="Ready"}`:  turned("1", "0"),
		},
	},
	"GeoSQLPromisesNotWritable": {{`geosql_agent_state_writable{pod="tukpub-0",volume="agent"}`: turned("1", "0")}},
	"GeoSQLEngineComponentInError": {
		{`geosql_agent_diagnostics_state{pod="tukpub-0",type="instance",component="system"}`: turned("1", "3")},
	},
	"GeoSQLEngineNotMeasured": {{`geosql_agent_measurement_timestamp_seconds{pod="tukpub-0"}`: "0+60x64"}},
	"GeoSQLLogNotTruncating": {
		{
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="NOTHING"}`:    "1+0x64",
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="LOG_BACKUP"}`: "_x65 1+0x35",
			`geosql_agent_log_used_bytes{pod="tukpub-0",database="Content"}`: turned(
				"2500000000",
				"3500000000",
			),
		},
		{
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="NOTHING"}`:     "1+0x64",
			`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="REPLICATION"}`: "_x65 1+0x35",
			`geosql_agent_log_used_bytes{pod="tukpub-0",database="Content"}`: turned(
				"1500000000",
				"2500000000",
			),
		},
	},
	"GeoSQLLogFull": {
		{`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`: turned("4000000000", "0")},
		{`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`: turned("4000000000", "30000000")},
	},
	"GeoSQLAgentCertificateNearExpiry": {
		{`geosql_agent_certificate_expiry_timestamp_seconds{pod="tukpub-0"}`: turned("7776000", "604800")},
	},
	"GeoSQLVoterNotReached": {
		{`geosql_agent_election_voter_reachable{pod="tukpub-0",group="content",voter="dublin"}`: turned("1", "0")},
	},
	"GeoSQLReplicaQuarantined": {
		{`geosql_agent_election_quarantined{pod="tukpub-0",group="content"}`: turned("0", "1")},
	},
}

// quiet are changes of which no alert may tell.
var quiet = map[string]map[string]string{
	"all is well": {},
	"a voter that the manager cannot see, to it alone": {
		`geosql_condition{kind="AvailabilityGroup",namespace="web",name="content",type="VotesComplete"}`: turned("1", "-1"),
	},
	"a suspended schedule is never overdue": {
		`geosql_drillschedule_next_timestamp_seconds` + schedule: steady("3000"),
		`geosql_drillschedule_suspended` + schedule:              steady("1"),
	},
	"a drill that is stalled": {
		`geosql_condition{kind="Drill",namespace="web",name="old",type="Stalled"}`: steady("1"),
	},
	"a drill that failed two days ago": {
		`geosql_drill_verdict{namespace="web",drill="old",verdict="Failed"}`:     steady("1"),
		`geosql_drill_completion_timestamp_seconds{namespace="web",drill="old"}`: steady("-172800"),
	},
	"a log that is full and about to be truncated": {
		`geosql_agent_log_used_bytes{pod="tukpub-0",database="Content"}`: turned("2000000000", "3900000000"),
	},
	"a volume that takes a backup": {
		`geosql_agent_volume_free_bytes{pod="tukpub-0",volume="data"}`: turned("60000000000", "20000000000"),
	},
	"a log whose room is not known": {
		`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`: "",
	},
	"a log with a thirtieth of its room left": {
		`geosql_agent_log_room_bytes{pod="tukpub-0",database="Content"}`: turned("4000000000", "70000000"),
	},
	"a log that waits for the next backup": {
		`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="LOG_BACKUP"}`: steady("1"),
	},
	"a log backup that takes a while": {
		`geosql_backup_last_timestamp_seconds{namespace="web",policy="content",database="Content",backup="Log"}`: "-700+60x100",
	},
	"a small log that is full": {
		`geosql_agent_log_reuse_wait{pod="tukpub-0",database="Content",wait="LOG_BACKUP"}`: steady("1"),
		`geosql_agent_log_used_bytes{pod="tukpub-0",database="Content"}`:                   steady("4000000"),
		`geosql_agent_log_size_bytes{pod="tukpub-0",database="Content"}`:                   steady("4194304"),
	},
	"a group without objectives": {
		`geosql_availabilitygroup_objective_rpo_seconds` + group:           "",
		`geosql_availabilitygroup_objective_redo_catch_up_seconds` + group: "",
		`geosql_availabilitygroup_promotable_replicas` + group:             steady("0"),
		`geosql_availabilitygroup_estimated_data_loss_seconds` + group:     steady("100"),
	},
	"a subscription without objectives": {
		`geosql_subscription_objective_latency_seconds` + subscription:                               "",
		`geosql_subscription_latency_seconds{namespace="web",subscription="dublin",stage="Overall"}`: steady("1000"),
	},
	"a loss that is known and within what is allowed": {
		`geosql_availabilitygroup_objective_rpo_seconds` + group:       steady("10"),
		`geosql_availabilitygroup_estimated_data_loss_seconds` + group: steady("9"),
		`geosql_availabilitygroup_promotable_replicas` + group:         steady("0"),
	},
	"mirrors at the high watermark": {
		`geosql_agent_staging_used_bytes{pod="quisec-0"}`: steady("90000000000"),
	},
	"an engine that starts": {
		`geosql_agent_engine_state{pod="tukpub-0",state="Starting"}`: steady("1"),
		`geosql_agent_engine_state{pod="tukpub-0",state="Ready"}`:    steady("0"),
	},
}

type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

type expectation struct {
	Expr    string   `json:"expr"`
	Time    string   `json:"eval_time"`
	Samples []sample `json:"exp_samples,omitempty"`
}

type scenario struct {
	Name     string        `json:"name"`
	Interval string        `json:"interval"`
	Series   []series      `json:"input_series"`
	Exprs    []expectation `json:"promql_expr_test"`
}

func scene(name string, changes map[string]string, alert string) scenario {
	all := maps.Clone(healthy)
	maps.Copy(all, changes)
	s := scenario{Name: name, Interval: "1m"}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != "" {
			s.Series = append(s.Series, series{key, all[key]})
		}
	}
	const firing = `count by (alertname) (ALERTS{alertstate="firing"})`
	s.Exprs = []expectation{{Expr: firing, Time: before}, {Expr: firing, Time: after}}
	if alert != "" {
		s.Exprs[1].Samples = []sample{{`{alertname="` + alert + `"}`, 1}}
	}
	return s
}

// Every alert fires for its trouble, and for no other; none fires while all is well.
func TestAlerts(t *testing.T) {
	promtool := prometheus.Program(t, "promtool")
	g := NewWithT(t)
	folder, err := filepath.Abs("../../charts/geosql-operator/rules")
	g.Expect(err).NotTo(HaveOccurred())
	var file struct {
		RuleFiles []string   `json:"rule_files"`
		Interval  string     `json:"evaluation_interval"`
		Tests     []scenario `json:"tests"`
	}
	file.Interval = "2m"
	var declared []string
	for _, name := range ruleFiles {
		path := filepath.Join(folder, name)
		file.RuleFiles = append(file.RuleFiles, path)
		output, err := exec.Command(promtool, "check", "rules", path).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
		for _, rule := range rulesOf(g, path) {
			declared = append(declared, rule.Alert)
			g.Expect(rule.Labels["severity"]).To(BeElementOf("critical", "warning"), rule.Alert)
			g.Expect(rule.Annotations).To(And(HaveKey("summary"), HaveKey("description")), rule.Alert)
		}
	}
	g.Expect(slices.Collect(maps.Keys(cases))).To(ConsistOf(declared), "each alert has its trouble")
	for _, alert := range declared {
		for i, changes := range cases[alert] {
			file.Tests = append(file.Tests, scene(alert+" "+string(rune('1'+i)), changes, alert))
		}
	}
	for name, changes := range quiet {
		file.Tests = append(file.Tests, scene(name, changes, ""))
	}
	text, err := yaml.Marshal(file)
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "tests.yaml")
	g.Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	output, err := exec.Command(promtool, "test", "rules", path).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), strings.ReplaceAll(string(output), path, "tests.yaml"))
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rulesOf(g *WithT, path string) []rule {
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	g.Expect(yaml.Unmarshal(text, &file)).To(Succeed())
	var all []rule
	for _, one := range file.Groups {
		all = append(all, one.Rules...)
	}
	return all
}
