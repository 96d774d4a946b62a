// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

// allowed is a group that may be drilled, with its servers.
var allowed = with(
	server,
	"NAME",
	"a",
) + "---" + with(
	server,
	"NAME",
	"b",
) + "---" + with(
	server,
	"NAME",
	"c",
) + "---" +
	with(
		group,
		"NAME",
		"content",
		"{name: content, namespace: web}",
		"{name: content, namespace: web, labels: {geosql.dev/drills: allowed}}",
	)

const drill = `
apiVersion: geosql.dev/v1alpha1
kind: Drill
metadata: {name: one, namespace: web}
spec:
  runID: "1"
  target: {availabilityGroup: content}
`

// repeat draws drills.
const repeat = `
apiVersion: geosql.dev/v1alpha1
kind: DrillSchedule
metadata: {name: drawn, namespace: web}
spec:
  repeat: {times: 9, seed: 1, pause: 10s}
  template:
    spec:
      runID: x
      target: {availabilityGroup: content}
      faults: [{name: kill, kind: PodKill, where: {role: Primary}}]
`

func init() {
	refusals = append(
		refusals,
		refusal{
			"drill of a group without the label",
			with(server, "NAME", "a") + "---" + with(group, "NAME", "content"),
			drill,
			[]string{"spec.target.availabilityGroup", "does not allow drills", "geosql.dev/drills=allowed"},
		},
		refusal{
			"drill without a target",
			"",
			with(drill, "target: {availabilityGroup: content}", "target: {}"),
			[]string{"name exactly one of availabilityGroup, subscription and topology"},
		},
		refusal{
			"fault without a place",
			allowed,
			drill + "  faults: [{name: kill, kind: PodKill}]\n",
			[]string{"spec.faults[0]", "where is needed"},
		},
		refusal{
			"fault that lasts without a duration",
			allowed,
			drill + "  faults: [{name: cut, kind: Partition, where: {role: Primary}}]\n",
			[]string{"spec.faults[0]", "duration is needed"},
		},
		refusal{
			"network fault that does nothing",
			allowed,
			drill + "  faults: [{name: slow, kind: Network, duration: 10s, where: {role: Primary}, network: {}}]\n",
			[]string{"name at least one of latency"},
		},
		refusal{
			"fault on a server that is none of the target's",
			allowed,
			drill + "  faults: [{name: kill, kind: PodKill, where: {server: stranger}}]\n",
			[]string{"spec.faults[0].where.server", "those are a, b, c"},
		},
		refusal{
			"fault at a site without servers",
			allowed,
			drill + "  faults: [{name: cut, kind: Partition, duration: 10s, where: {site: dublin}}]\n",
			[]string{"spec.faults[0].where.site", "strike nothing"},
		},
		refusal{
			"role that the target does not have",
			allowed,
			drill + "  faults: [{name: kill, kind: PodKill, where: {role: Distributor}}]\n",
			[]string{"spec.faults[0].where.role", "no subscription"},
		},
		refusal{
			"link with one end",
			allowed,
			drill + "  faults: [{name: cut, kind: Partition, duration: 10s, where: {server: a}, peer: {server: a}}]\n",
			[]string{"spec.faults[0].peer", "two ends"},
		},
		refusal{
			"switchover to a stranger",
			allowed,
			drill + "  faults: [{name: move, kind: Switchover, to: stranger}]\n",
			[]string{"spec.faults[0].to", "no replica"},
		},
		refusal{
			"fault that is done several times at once",
			allowed,
			drill + "  faults: [{name: move, kind: Switchover, times: 3}]\n",
			[]string{"spec.faults[0].every", "times is 3"},
		},
		refusal{
			"fault that overlaps itself",
			allowed,
			drill + "  faults: [{name: cut, kind: Partition, duration: 10s, every: 5s, times: 2, where: {server: a}}]\n",
			[]string{"spec.faults[0].every", "longer than duration"},
		},
		refusal{
			"faults beyond the time limit",
			allowed,
			drill + "  timeLimit: 1m\n  faults: [{name: kill, kind: PodKill, at: 2m, where: {role: Primary}}]\n",
			[]string{"spec.timeLimit", "give more time"},
		},
		refusal{
			"database that the target does not have",
			allowed,
			drill + "  workload: {database: Elsewhere}\n",
			[]string{"spec.workload.database", "Content"},
		},
		refusal{
			"arrival where nothing arrives",
			allowed,
			drill + "  objectives: {arrivalP50: 1s}\n",
			[]string{"spec.objectives.arrivalP50", "no subscription"},
		},
		refusal{
			"clients that the fault takes away",
			allowed,
			drill + "  workload: {sites: [tukwila]}\n  faults: [{name: cut, kind: Partition, duration: 10s, where: {site: " +
				"tukwila}}]\n",
			[]string{"spec.workload.sites", "name a site that no fault takes away"},
		},
		refusal{
			"users and stages",
			allowed,
			drill + "  workload: {users: 2, stages: [{users: 10, duration: 10s}]}\n",
			[]string{"spec.workload", "users and stages exclude each other"},
		},
		refusal{
			"thinking and a rate",
			allowed,
			drill + "  workload: {thinkTime: 1s, rowsPerSecond: 2}\n",
			[]string{"spec.workload", "thinkTime and rowsPerSecond exclude each other"},
		},
		refusal{
			"profile that there is not",
			allowed,
			drill + "  workload: {profile: bank}\n",
			[]string{"spec.workload.profile", "bookstore"},
		},
		refusal{
			"characters beyond an article",
			allowed,
			drill + "  workload: {row: {type: Char, bytes: 1025}}\n",
			[]string{"spec.workload.row", "at most 1024"},
		},
		refusal{
			"stages beyond the time limit",
			allowed,
			drill + "  timeLimit: 1m\n  workload: {stages: [{users: 10, duration: 2m}]}\n",
			[]string{"spec.timeLimit", "give more time"},
		},
		refusal{
			"histories that no archive keeps",
			allowed,
			drill + "  timeLimit: 48h\n  workload: {duration: 36h}\n",
			[]string{"spec.workload", "operations", "thinkTime of at least"},
		},
		refusal{
			"literal fault that never ends",
			allowed,
			drill + "  faults: [{name: own, kind: ChaosMesh, chaosMesh: {site: tukwila, kind: NetworkChaos, spec: {action: " +
				"delay, selector: {}}}}]\n",
			[]string{"spec.faults[0].chaosMesh.spec.duration", "ends by itself"},
		},
		refusal{
			"literal fault in a foreign namespace",
			allowed,
			drill + "  faults: [{name: own, kind: ChaosMesh, chaosMesh: {site: tukwila, kind: NetworkChaos, spec: {action: " +
				"delay, duration: 5s, selector: {namespaces: [kube-system]}}}}]\n",
			[]string{"spec.faults[0].chaosMesh.spec.selector.namespaces", "selector.namespaces may not be set"},
		},
		refusal{
			"literal fault with a field that is not permitted",
			allowed,
			drill + "  faults: [{name: own, kind: ChaosMesh, chaosMesh: {site: tukwila, kind: StressChaos, spec: {mode: all, " +
				"duration: 5s, selector: {}, stressngStressors: --hdd 1}}}]\n",
			[]string{"spec.faults[0].chaosMesh.spec.stressngStressors", "allowed are", "stressors.cpu.workers"},
		},
		refusal{
			"spec of a run that is over, without a new runID",
			allowed + "---" + drill + "status: {runID: \"1\", phase: Completed, verdict: Passed}\n",
			drill + "  objectives: {lostRows: 5}\n",
			[]string{"spec.runID", "change runID"},
		},
		refusal{
			"runID of an earlier run",
			allowed + "---" + with(
				drill,
				`runID: "1"`,
				`runID: "2"`,
			) + "status: {runID: \"2\", phase: Completed, verdict: Passed, history: [{runID: \"1\", verdict: Failed}]}\n",
			drill,
			[]string{"spec.runID", "never used"},
		},
		refusal{"spec of a run that is under way", allowed + "---" + drill + "status: {runID: \"1\", phase: Running}\n",
			with(drill, `runID: "1"`, `runID: "2"`), []string{"phase Running", "spec.abort"}},
		refusal{"schedule of four fields", allowed, `
apiVersion: geosql.dev/v1alpha1
kind: DrillSchedule
metadata: {name: weekly, namespace: web}
spec: {schedule: "0 3 * *", template: {spec: {runID: x, target: {availabilityGroup: content}}}}
`, []string{"spec.schedule", "five fields"}},
		refusal{"schedule in a zone that is none", allowed, `
apiVersion: geosql.dev/v1alpha1
kind: DrillSchedule
metadata: {name: weekly, namespace: web}
spec: {schedule: "0 3 * * 0", timeZone: Nowhere/Town, template: {spec: {runID: x,
    target: {availabilityGroup: content}}}}
`, []string{"spec.timeZone", "tz database"}},
		refusal{"service that has to hold for longer than clients are there", allowed,
			drill + "  recovery: 10s\n  objectives: {served: {for: 11s}}\n",
			[]string{"spec.objectives.served.for", "recovery is 10s"}},
		refusal{"service that holds for no time", allowed, drill + "  objectives: {served: {for: 0s}}\n",
			[]string{"for must be between 1s and 10m"}},
		refusal{"service of more than all", allowed, drill + "  objectives: {served: {percent: 101}}\n",
			[]string{"spec.objectives.served.percent", "100"}},
		refusal{"schedule by the clock and one after another", allowed,
			with(repeat, "repeat:", "schedule: \"0 3 * * 0\"\n  repeat:"), []string{"exactly one of schedule and repeat"}},
		refusal{"drills that are drawn, with a history limit", allowed,
			with(repeat, "repeat:", "passedHistoryLimit: 3\n  repeat:"), []string{"with repeat every drill is kept"}},
		refusal{"too many drills", allowed, with(repeat, "times: 9", "times: 201"), []string{"spec.repeat.times", "200"}},
		refusal{"nothing to draw from", allowed,
			with(repeat, "faults: [{name: kill, kind: PodKill, where: {role: Primary}}]", "faults: []"),
			[]string{"spec.template.spec.faults", "nothing to draw from"}},
		refusal{"a fault to draw that has its time", allowed, with(repeat, "kind: PodKill", "kind: PodKill, at: 5s"),
			[]string{"spec.template.spec.faults[0].at", "is drawn"}},
		refusal{"a drawn drill without enough time", allowed, with(repeat, "pause: 10s", "pause: 1h"),
			[]string{"spec.repeat", "spec.template.spec.timeLimit", "give more time"}},
		refusal{"drills that are drawn otherwise when some were made", allowed + "---" + repeat +
			"status: {repeated: {seed: 1, made: 2, passed: 2, failed: 0, inconclusive: 0, told: 2, lost: 0}}\n",
			with(repeat, "seed: 1", "seed: 2"), []string{"Make another DrillSchedule"}},
		refusal{"another template when some were made", allowed + "---" + repeat +
			"status: {repeated: {seed: 1, made: 2, passed: 2, failed: 0, inconclusive: 0, told: 2, lost: 0}}\n",
			with(repeat, "kind: PodKill", "kind: ContainerKill"), []string{"Make another DrillSchedule"}},
		refusal{"schedule on a group without the label", with(server, "NAME", "a") + "---" + with(group, "NAME", "content"), `
apiVersion: geosql.dev/v1alpha1
kind: DrillSchedule
metadata: {name: weekly, namespace: web}
spec: {schedule: "0 3 * * 0", template: {spec: {runID: x, target: {availabilityGroup: content}}}}
`, []string{"spec.template.spec.target.availabilityGroup", "does not allow drills"}},
	)
}
