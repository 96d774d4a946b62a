// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import "strings"

// faulty is a drill with one fault.
func faulty(fault string) string { return drill + "  faults: [{name: f, " + fault + "}]\n" }

// changed is a manifest that is applied, and then again with something replaced.
func changed(name, manifest, was, now string, messages ...string) refusal {
	return refusal{name, manifest, with(manifest, was, now), messages}
}

// two is a group of two replicas of the clusterType None, which needs no third vote.
var two = with(group, "NAME", "g", "  - {server: c, availabilityMode: ConfigurationOnly}\n", "") +
	"  clusterType: None\n  failoverPolicy: Manual\n"

// three is a group of three replicas with data.
var three = with(group, "NAME", "g", "ConfigurationOnly", "SynchronousCommit")

// schemaRefusals break the rules of the schemas that compare fields, and are checked like refusals.
var schemaRefusals = []refusal{
	// Servers.
	{"a server without a site", "", with(server, "NAME", "s", "  site: tukwila\n", ""), []string{"spec.site is required"}},
	{"a server without an edition", "", with(server, "NAME", "s", "  edition: Developer\n", ""),
		[]string{"spec.edition is required: Evaluation, Developer, Express"}},
	{"a server without an image", "", with(server, "NAME", "s", "  image: engine\n", ""),
		[]string{"spec.image is required"}},
	{"a limit in a wrong unit", "", with(server, "NAME", "s") + "  resources: {limits: {memory: 8GB}}\n",
		[]string{"spec.resources.limits: Invalid value", "5Gi, not 5GB"}},
	{"the agent's volume in a wrong unit", "", with(server, "NAME", "s", "backup: {size: 1Gi}",
		"backup: {size: 1Gi}, agent: {size: 1GB}"), []string{"spec.storage.agent.size: Invalid value", "5Gi, not 5GB"}},
	{"a size in a wrong unit in a topology", "", with(topology, "NAME", "t", "{size: 2Gi}", "{size: 2GB}"),
		[]string{"spec.serverDefaults.storage.data.size: Invalid value", "5Gi, not 5GB"}},
	// Groups.
	{"a group with a name of 61 letters", "", with(group, "NAME", strings.Repeat("g", 61)),
		[]string{"metadata.name may have at most 60 characters"}},
	{"a group of a topology with a name of 61 letters", "", with(topology, "NAME", "t") + "  availabilityGroups:\n" +
		"  - {name: " + strings.Repeat("g", 61) + ", initialPrimary: p, replicas: [{server: p, availabilityMode: " +
		"SynchronousCommit}]}\n", []string{"spec.availabilityGroups[0].name", "name may have at most 60 characters"}},
	{"two replicas without data", "", with(group, "NAME", "g", "  initialPrimary",
		"  - {server: d, availabilityMode: ConfigurationOnly}\n  initialPrimary"),
		[]string{"at most one replica may be ConfigurationOnly"}},
	{"a vote without data beside three", "", with(three, "  initialPrimary", "  - {server: d, availabilityMode: "+
		"ConfigurationOnly}\n  initialPrimary"), []string{"goes with exactly two SynchronousCommit replicas (error 47108)"}},
	{"one synchronous replica", "", with(group, "NAME", "g", "b, availabilityMode: SynchronousCommit",
		"b, availabilityMode: AsynchronousCommit", "  - {server: c, availabilityMode: ConfigurationOnly}\n", ""),
		[]string{"at least two SynchronousCommit replicas and a ConfigurationOnly one, or three"}},
	{"a vote without data where nobody votes", "", with(group, "NAME", "g") +
		"  clusterType: None\n  failoverPolicy: Manual\n", []string{"needs clusterType External (error 47114)"}},
	{"as many that must commit as there are", "", three + "  requiredSynchronizedSecondaries: 3\n",
		[]string{"must be less than the number of SynchronousCommit replicas"}},
	{"a secondary that must commit with two copies", "", with(group, "NAME", "g") +
		"  requiredSynchronizedSecondaries: 1\n", []string{"must be 0 with a ConfigurationOnly replica"}},
	changed("another clusterType", two, "clusterType: None", "clusterType: External", "clusterType is immutable"),
	changed("another acknowledge", three+"  timings: {acknowledge: 1500ms}\n", "1500ms", "1400ms",
		"timings are immutable except failover and offline"),
	changed("another overrun", three+"  timings: {overrun: 1s}\n", "overrun: 1s", "overrun: 500ms",
		"timings are immutable except failover and offline"),
	{"an objective in words", "", three + "  objectives: {rto: 3 minutes}\n",
		[]string{"spec.objectives.rto", "rto is a duration, written like 500ms, 90s or 1h30m"}},
	{"an objective that no backups can meet", "", three + "  objectives: {backupRPO: 30s}\n",
		[]string{"spec.objectives.backupRPO", "backupRPO must be between 2m and 8760h"}},
	{"timings in words", "", three + "  timings: {voteExpiry: 20 s}\n",
		[]string{"spec.timings.voteExpiry", "voteExpiry is a duration, written like"}},
	// Replication.
	changed("a profile for another agent", with(profile, "NAME", "p", "AGENT", "Snapshot"), "Snapshot", "LogReader",
		"agent is immutable"),
	{"commits of a log reader", "", with(profile, "NAME", "p", "AGENT", "LogReader, commitBatchSize: 5"),
		[]string{"are for the Distribution agent"}},
	{"a log read by a distribution agent", "", with(profile, "NAME", "p", "AGENT", "Distribution, readBatchSize: 5"),
		[]string{"are for the LogReader agent"}},
	{"bulk copies of a log reader", "", with(profile, "NAME", "p", "AGENT", "LogReader, maxBcpThreads: 2"),
		[]string{"maxBcpThreads for the Snapshot agent"}},
	{"bulk copies of a distribution agent", "", with(profile, "NAME", "p", "AGENT", "Distribution, maxBcpThreads: 2"),
		[]string{"spec.maxBcpThreads", "has no effect for the Distribution agent", "one thread applies each"}},
	changed("bulk copies that come later", with(profile, "NAME", "p", "AGENT", "Distribution"), "Distribution",
		"Distribution, maxBcpThreads: 2", "has no effect for the Distribution agent"),
	{"bulk copies of a distribution agent of a topology", "", with(topology, "NAME", "t") +
		"  agentProfiles: [{name: p, agent: Distribution, maxBcpThreads: 2}]\n",
		[]string{"spec.agentProfiles[0].maxBcpThreads", "has no effect for the Distribution agent"}},
	{"batches of a snapshot agent", "", with(profile, "NAME", "p", "AGENT", "Snapshot, bcpBatchSize: 500"),
		[]string{"spec.bcpBatchSize", "has no effect for the Snapshot agent", "in batches of 1000",
			"give it to a profile for the Distribution agent"}},
	changed("batches that come later", with(profile, "NAME", "p", "AGENT", "Snapshot"), "Snapshot",
		"Snapshot, bcpBatchSize: 500", "has no effect for the Snapshot agent"),
	{"batches of a snapshot agent of a topology", "", with(topology, "NAME", "t") +
		"  agentProfiles: [{name: p, agent: Snapshot, bcpBatchSize: 500}]\n",
		[]string{"spec.agentProfiles[0].bcpBatchSize", "has no effect for the Snapshot agent"}},
	{"packets larger than TLS has", "", with(profile, "NAME", "p", "AGENT", "Distribution, packetSize: 16384"),
		[]string{"spec.packetSize", "packetSize is 512 to 16383", "connect with TLS, whatever encryptionLevel says"}},
	{"large packets of a level that the servers overrule", "", with(profile, "NAME", "p", "AGENT",
		"LogReader, encryptionLevel: 0, packetSize: 32767"), []string{"spec.packetSize", "packetSize is 512 to 16383"}},
	changed("larger packets that come later", with(profile, "NAME", "p", "AGENT", "Snapshot, packetSize: 16383"), "16383",
		"32767", "packetSize is 512 to 16383"),
	{"large packets of a profile of a topology", "", with(topology, "NAME", "t") +
		"  agentProfiles: [{name: p, agent: Distribution, packetSize: 32767}]\n",
		[]string{"spec.agentProfiles[0].packetSize", "packetSize is 512 to 16383"}},
	{"a history that no log reader has", "", with(profile, "NAME", "p", "AGENT", "LogReader, historyVerboseLevel: 3"),
		[]string{"spec.historyVerboseLevel", "historyVerboseLevel is 0 to 2 for the LogReader agent"}},
	changed("such a history that comes later", with(profile, "NAME", "p", "AGENT", "LogReader, historyVerboseLevel: 2"),
		"Level: 2", "Level: 3", "historyVerboseLevel is 0 to 2 for the LogReader agent"),
	{"such a history of a profile of a topology", "", with(topology, "NAME", "t") +
		"  agentProfiles: [{name: p, agent: LogReader, historyVerboseLevel: 3}]\n",
		[]string{"spec.agentProfiles[0].historyVerboseLevel", "historyVerboseLevel is 0 to 2 for the LogReader agent"}},
	changed("another publisher", with(publication, "NAME", "p"), "availabilityGroup: content", "availabilityGroup: other",
		"publisher is immutable"),
	changed("another published database", with(publication, "NAME", "p"), "database: Content", "database: Other",
		"database is immutable"),
	changed("another distributor", with(publication, "NAME", "p"), "distributor: main", "distributor: other",
		"distributor is immutable"),
	changed("other schema options", with(publication, "NAME", "p"), "  distributor",
		"  schemaOptions: Publishable\n  distributor", "schemaOptions is immutable"),
	changed("another type", with(publication, "NAME", "p"), "  distributor",
		"  type: Snapshot\n  schedule: 0 3 * * *\n  distributor", "type is immutable"),
	changed("a type taken back", with(publication, "NAME", "p", "  distributor",
		"  type: Snapshot\n  schedule: 0 3 * * *\n  distributor"), "type: Snapshot\n  schedule: 0 3 * * *", "suspend: false",
		"type is immutable"),
	changed("another publication", with(subscription, "NAME", "s"), "publication: articles", "publication: other",
		"publication is immutable"),
	changed("another subscriber", with(subscription, "NAME", "s"), "server: sub", "server: other",
		"subscriber is immutable"),
	changed("another subscription database", with(subscription, "NAME", "s"), "database: Content", "database: Other",
		"database is immutable"),
	{"a group that receives", "", with(subscription, "NAME", "s", "{server: sub}", "{availabilityGroup: content}"),
		[]string{"spec.subscriber.availabilityGroup", "as subscriber.server"}},
	{"a group of a topology that receives", "", with(topology, "NAME", "t") + "  subscriptions:\n" +
		"  - {name: s, publication: pub, subscriber: {availabilityGroup: g}, database: Content}\n",
		[]string{"spec.subscriptions[0].subscriber.availabilityGroup", "as subscriber.server"}},
	changed("a move to another server", with(publisherMove, "NAME", "m"), "to: sub", "to: other", "to is immutable"),
	changed("a move of another publication", with(publisherMove, "NAME", "m"), "articles", "others",
		"publication is immutable"),
	changed("a move to another distributor", with(publisherMove, "NAME", "m", "to: sub", "to: sub, distributor: d"),
		"distributor: d", "distributor: e", "distributor is immutable"),
	changed("a move with a distributor of late", with(publisherMove, "NAME", "m"), "to: sub", "to: sub, distributor: e",
		"distributor is immutable"),
	changed("an approval taken back", with(publisherMove, "NAME", "m", "to: sub", "to: sub, approved: true"),
		", approved: true", ", approved: false", "an approval cannot be taken back"),
	// Logins.
	{"a login whose name is none", "", with(login, "NAME", "l.ogin"), []string{"spec.name is needed"}},
	{"a password that expires and is not checked", "", with(login, "NAME", "l", "spec: {",
		"spec: {passwordPolicy: {complexity: false, expiration: true}, "), []string{"expiration goes with complexity"}},
	{"a connection Secret that is the password's", "", with(login, "NAME", "l", "passwordSecretRef: {name: p}",
		"connectionSecret: l-password"), []string{"spec.connectionSecret is another Secret than the one with the password"}},
	changed("another target", with(login, "NAME", "l"), "{server: a}", "{server: b}", "target is immutable"),
	changed("another name", with(login, "NAME", "l", "spec: {", "spec: {name: one, "), "name: one", "name: two",
		"name is immutable"),
	// Failovers.
	{"a pause of one replica", "", with(failover, "NAME", "f", "kind: Switchover", "kind: Pause"),
		[]string{"Pause and Resume concern the whole group: leave to out"}},
	// Drills.
	{"a drill with a name of 41 letters", "", with(drill, "{name: one", "{name: "+strings.Repeat("d", 41)),
		[]string{"metadata.name may have at most 40 characters"}},
	{"a drill without a run", "", with(drill, "  runID: \"1\"\n", ""), []string{"spec.runID is required", "2026-03-01"}},
	{"a fault that comes again, nobody says how often", "", faulty("kind: PodKill, where: {role: Primary}, every: 10s"),
		[]string{"every goes with times"}},
	{"a switchover of one place", "", faulty("kind: Switchover, where: {role: Primary}"), []string{"leave where out"}},
	{"a kill that lasts", "", faulty("kind: PodKill, where: {role: Primary}, duration: 5s"),
		[]string{"leave duration out"}},
	{"a kill of a link", "", faulty("kind: PodKill, where: {role: Primary}, peer: {server: a}"),
		[]string{"peer goes with Network and Partition alone"}},
	{"a kill in one direction", "", faulty("kind: PodKill, where: {role: Primary}, direction: To"),
		[]string{"direction goes with Network and Partition alone"}},
	{"a network fault without what becomes of the link", "",
		faulty("kind: Network, where: {role: Primary}, duration: 5s"),
		[]string{"network goes with kind Network, and is needed there"}},
	{"a kill with a load", "", faulty("kind: PodKill, where: {role: Primary}, cpu: {}"),
		[]string{"cpu goes with kind CPUStress"}},
	{"memory that is not said", "", faulty("kind: MemoryStress, where: {role: Primary}, duration: 5s"),
		[]string{"memory goes with kind MemoryStress, and is needed there"}},
	{"a disk that is not said", "", faulty("kind: DiskDelay, where: {role: Primary}, duration: 5s"),
		[]string{"disk goes with kind DiskDelay, and is needed there"}},
	{"a clock that is right", "", faulty("kind: ClockOffset, where: {role: Primary}, duration: 5s"),
		[]string{"clockOffset goes with kind ClockOffset, and is needed there"}},
	{"a literal fault without an object", "", faulty("kind: ChaosMesh"),
		[]string{"chaosMesh goes with kind ChaosMesh, and is needed there"}},
	{"a kill that moves the primary", "", faulty("kind: PodKill, where: {role: Primary}, to: a"),
		[]string{"to goes with Switchover and Failover alone"}},
	{"a switchover that may lose", "", faulty("kind: Switchover, allowDataLoss: true"),
		[]string{"allowDataLoss goes with kind Failover alone"}},
	{"jitter of nothing", "",
		faulty("kind: Network, where: {role: Primary}, duration: 5s, network: {loss: 5, jitter: 1s}"),
		[]string{"jitter goes with latency"}},
	{"a place that is two", "", faulty("kind: PodKill, where: {role: Primary, server: a}"),
		[]string{"name exactly one of server, site and role"}},
	{"a schedule with a name of 27 letters", "", with(repeat, "{name: drawn", "{name: "+strings.Repeat("d", 27)),
		[]string{"metadata.name may have at most 26 characters"}},
	{"repeated drills in a time zone", "", with(repeat, "  repeat:", "  timeZone: Etc/UTC\n  repeat:"),
		[]string{"timeZone goes with schedule"}},
	// Sites.
	{"load balancers of another exposure", "",
		with(site, "NAME", "s") + "  exposure: {type: NodePort, loadBalancer: {class: example.com/nlb}}\n",
		[]string{"spec.exposure", "loadBalancer is for type LoadBalancer"}},
	{"a class of load balancers that is none", "",
		with(site, "NAME", "s") + "  exposure: {type: LoadBalancer, loadBalancer: {class: an nlb}}\n",
		[]string{"spec.exposure.loadBalancer.class", "such as service.k8s.aws/nlb"}},
	{"a range of load balancers that is none", "",
		with(site, "NAME", "s") + "  exposure: {type: LoadBalancer, loadBalancer: {sourceRanges: [10.102.0.7/16]}}\n",
		[]string{"spec.exposure.loadBalancer.sourceRanges", "CIDR notation"}},
	{"an annotation of load balancers that is none", "",
		with(site, "NAME", "s") + "  exposure: {type: LoadBalancer, loadBalancer: {annotations: {an nlb: 'true'}}}\n",
		[]string{"spec.exposure.loadBalancer.annotations", "name part must consist of"}},
	{"an annotation of load balancers that is the operator's", "",
		with(site, "NAME", "s") +
			"  exposure: {type: LoadBalancer, loadBalancer: {annotations: {geosql.dev/resolved: x}}}\n",
		[]string{"spec.exposure.loadBalancer.annotations[geosql.dev/resolved]", "use one of your own"}},
	{"a link of so many hours", "", with(site, "NAME", "s") + "  links: [{to: other, roundTrip: fast}]\n",
		[]string{"spec.links[0].roundTrip", "roundTrip is a duration, written like"}},
	{"an API server without TLS", "", with(site, "NAME", "s") + "  apiServer: http://tukwila:6443\n",
		[]string{"spec.apiServer", "begins with https://, such as"}},
	{"more streams than a sidecar has memory for", "", with(site, "NAME", "s") + "  transfers: {workers: 9}\n",
		[]string{"spec.transfers.workers", "workers is 1 to 8"}},
	{"no streams", "", with(site, "NAME", "s") + "  transfers: {workers: 0}\n",
		[]string{"spec.transfers.workers", "workers is 1 to 8"}},
	{"a rate at which nothing comes", "", with(site, "NAME", "s") + "  transfers: {maxRate: 512kbit}\n",
		[]string{"spec.transfers.maxRate", "1Mbit at least, such as 200Mbit"}},
	{"a rate below the least", "", with(site, "NAME", "s") + "  transfers: {maxRate: 0.5Mbit}\n",
		[]string{"spec.transfers.maxRate", "1Mbit at least, such as 200Mbit"}},
	{"a staging quota below the least", "", with(site, "NAME", "s") + "  transfers: {stagingQuota: 500Mi}\n",
		[]string{"spec.transfers.stagingQuota", "stagingQuota must be at least 1Gi"}},
	{"watermarks of no quota", "", with(site, "NAME", "s") + "  transfers: {stagingHighWatermark: 80}\n",
		[]string{"spec.transfers.stagingQuota", "are parts of stagingQuota, which is not given"}},
	{"a low watermark at the high one", "", with(site, "NAME", "s") +
		"  transfers: {stagingQuota: 9Gi, stagingHighWatermark: 80, stagingLowWatermark: 80}\n",
		[]string{"spec.transfers.stagingLowWatermark", "must be below stagingHighWatermark (90 unless given)"}},
	{"a high watermark below the low one that is not given", "", with(site, "NAME", "s") +
		"  transfers: {stagingQuota: 9Gi, stagingHighWatermark: 50}\n",
		[]string{"spec.transfers.stagingLowWatermark", "stagingLowWatermark (60 unless given) must be below"}},
	{"a high watermark above the quota", "", with(site, "NAME", "s") +
		"  transfers: {stagingQuota: 9Gi, stagingHighWatermark: 101}\n",
		[]string{"spec.transfers.stagingHighWatermark", "is 2 to 100, in percent of stagingQuota"}},
	{"a low watermark of nothing", "", with(site, "NAME", "s") +
		"  transfers: {stagingQuota: 9Gi, stagingLowWatermark: 0}\n",
		[]string{"spec.transfers.stagingLowWatermark", "is 1 to 99, in percent of stagingQuota"}},
	{"a way to compress that there is not", "", with(site, "NAME", "s") + "  transfers: {compression: gzip}\n",
		[]string{"spec.transfers.compression", `supported values: "Auto", "Always", "Never"`}},
}
