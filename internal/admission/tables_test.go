// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import "strings"

// refusal is a manifest that must be refused, after setup has been applied, with the fragments in its message.
type refusal struct {
	name     string
	setup    string
	manifest string
	messages []string
}

// refusals are checked at a real API server: schema, CEL rules and webhooks together.
var refusals = []refusal{
	// Names and requirements of a server.
	{"a server name over 13 characters", "", with(server, "NAME", "fourteen-chars"),
		[]string{"metadata: Invalid value", "metadata.name may have at most 13 characters: SQL Server's limit"}},
	{"a server name that begins with a digit", "", with(server, "NAME", "1server"), []string{"must begin with a letter"}},
	{
		"no licence accepted",
		"",
		with(server, "NAME", "s", "acceptEULA: true", "acceptEULA: false"),
		[]string{"spec.acceptEULA: Invalid value", "spec.acceptEULA must be true"},
	},
	{
		"an unknown edition",
		"",
		with(server, "NAME", "s", "Developer", "Gratis"),
		[]string{"spec.edition", "edition is Evaluation, Developer, Express"},
	},
	{
		"a volume missing",
		"",
		with(server, "NAME", "s", ", backup: {size: 1Gi}", ""),
		[]string{"spec.storage needs the volumes data, log, tempdb and backup"},
	},
	{
		"a volume without size",
		"",
		with(server, "NAME", "s", "backup: {size: 1Gi}", "backup: {size: 0}"),
		[]string{"spec.storage.backup.size", "greater than 0"},
	},
	{
		"a shrunk volume",
		with(server, "NAME", "shrinks"),
		with(server, "NAME", "shrinks", "data: {size: 2Gi}", "data: {size: 1Gi}"),
		[]string{"spec.storage.data.size", "a volume cannot shrink: 2Gi or more"},
	},
	{"another class", with(server, "NAME", "moves", "log: {size: 1Gi}", "log: {size: 1Gi, storageClassName: fast}"),
		with(server, "NAME", "moves", "log: {size: 1Gi}", "log: {size: 1Gi, storageClassName: slow}"),
		[]string{"spec.storage.log.storageClassName", "cannot change from fast"}},
	{
		"another site",
		with(server, "NAME", "wanders"),
		with(server, "NAME", "wanders", "site: tukwila", "site: quincy"),
		[]string{"spec.site: Invalid value", "spec.site is immutable"},
	},
	{"a managed setting", "", with(server, "NAME", "s") + "  mssqlConf: {network.tlscert: /tmp/x}\n",
		[]string{"spec.mssqlConf[network.tlscert]", "the operator manages this setting", "network.tlskey"}},
	{
		"a setting without a section",
		"",
		with(server, "NAME", "s") + "  mssqlConf: {tcpport: \"1\"}\n",
		[]string{`"section.key"`},
	},
	{"a container too small for the engine", "", with(server, "NAME", "s") + "  resources: {limits: {memory: 128Mi}}\n",
		[]string{"spec.resources.limits.memory", "at least 2000M", "does not start"}},
	{
		"an engine with too little memory",
		"",
		with(server, "NAME", "s") + "  memory: 100Mi\n",
		[]string{"spec.memory", "at least 1600M"},
	},
	{
		"requests above limits",
		"",
		with(server, "NAME", "s") + "  resources: {requests: {cpu: \"2\"}, limits: {cpu: \"1\"}}\n",
		[]string{"spec.resources.requests[cpu]", "must not exceed the limit"},
	},
	{
		"another class for a volume that named none",
		with(site, "NAME", "tukwila") + "  storageClasses: {data: fast}\n---" + with(server, "NAME", "kept"),
		with(
			server,
			"NAME",
			"kept",
			"data: {size: 2Gi}",
			"data: {size: 2Gi, storageClassName: capacity}",
		),
		[]string{"spec.storage.data.storageClassName", "cannot change from fast"},
	},
	{
		"more memory than the container has",
		"",
		with(server, "NAME", "s") + "  memory: 4Gi\n  resources: {limits: {memory: 2Gi}}\n",
		[]string{"spec.memory", "resources.limits.memory (2Gi)"},
	},
	{"a size in a wrong unit", "", with(server, "NAME", "s", "data: {size: 2Gi}", "data: {size: 5GB}"),
		[]string{"spec.storage.data.size: Invalid value", "powers of 1024", "5Gi, not 5GB"}},
	{"memory in a wrong unit", "", with(server, "NAME", "s") + "  memory: 5gb\n",
		[]string{"spec.memory: Invalid value", "powers of 1024", "5Gi, not 5GB"}},
	// Groups.
	{
		"two synchronous replicas without a third vote",
		"",
		with(group, "NAME", "g", "  - {server: c, availabilityMode: ConfigurationOnly}\n", ""),
		[]string{
			"two synchronous replicas need a third vote: add a third SynchronousCommit replica or one that is ConfigurationOnly",
		},
	},
	{
		"an initial primary without data",
		"",
		with(group, "NAME", "g", "initialPrimary: a", "initialPrimary: c"),
		[]string{"initialPrimary must be one of the synchronous replicas"},
	},
	{
		"a replica twice",
		"",
		with(group, "NAME", "g", "server: b", "server: a"),
		[]string{"duplicate entries for key", "a"},
	},
	{
		"an even number of voters",
		"",
		with(group, "NAME", "g") + "  voters: [tukwila, quincy]\n",
		[]string{"voters must be an odd number of sites"},
	},
	{
		"automatic failover without a witness",
		"",
		with(group, "NAME", "g") + "  voters: [tukwila]\n  failoverPolicy: Automatic\n",
		[]string{"at least three voters"},
	},
	{
		"automatic failover of a group without a fence",
		"",
		with(
			group,
			"NAME",
			"g",
			"  - {server: c, availabilityMode: ConfigurationOnly}\n",
			"",
		) + "  clusterType: None\n  voters: [tukwila, quincy, dublin]\n  failoverPolicy: Automatic\n",
		[]string{"clusterType None has no fence: failoverPolicy must be Manual"},
	},
	{
		"a lost site as a further voter",
		lostSite + "---" + made,
		with(group, "NAME", "g") + "  voters: [tukwila, quincy, blueridge]\n",
		[]string{"spec.voters[2]", "does not vote yet, and is declared lost"},
	},
	{
		"a write lease that outlives the votes",
		"",
		with(group, "NAME", "g") + "  timings: {voteExpiry: 8s}\n",
		[]string{"spec.timings.voteExpiry", "must be at least 9.1s: acknowledge (1.5s) + writeLease (6s) + overrun (1s)"},
	},
	{
		"a write lease that an engine may end too late",
		"",
		with(group, "NAME", "g") + "  timings: {overrun: 5s}\n",
		[]string{"spec.timings.voteExpiry", "must be at least 13.2s", "overrun (5s)"},
	},
	{
		"an overrun of more than a minute",
		"",
		with(group, "NAME", "g") + "  timings: {overrun: 2m, voteExpiry: 4m}\n",
		[]string{"spec.timings.overrun", "must be at most 1m0s"},
	},
	{
		"a write lease that ends between two renewals",
		"",
		with(group, "NAME", "g") + "  timings: {agentRestart: 4s}\n",
		[]string{"spec.timings.writeLease", "must be more than 6.5s: renewInterval (1s)", "agentRestart (4s)"},
	},
	{
		"a write lease of half a second",
		"",
		with(group, "NAME", "g") + "  timings: {writeLease: 5500ms}\n",
		[]string{"spec.timings.writeLease", "whole seconds"},
	},
	{
		"renewals without a pause",
		"",
		with(group, "NAME", "g") + "  timings: {renewInterval: 10ms}\n",
		[]string{"spec.timings.renewInterval", "at least 250ms"},
	},
	{
		"a failover that may take an hour",
		"",
		with(group, "NAME", "g") + "  timings: {failover: 1h}\n",
		[]string{"spec.timings.failover", "at most 5m"},
	},
	{
		"an OFFLINE that may take an hour",
		"",
		with(group, "NAME", "g") + "  timings: {offline: 1h}\n",
		[]string{"spec.timings.offline", "at most 5m"},
	},
	{
		"votes that expire in an hour",
		"",
		with(group, "NAME", "g") + "  timings: {voteExpiry: 1h}\n",
		[]string{"spec.timings.voteExpiry", "at most 5m"},
	},
	{
		"other timings of a group that is declared",
		with(group, "NAME", "timed") + "  timings: {voteExpiry: 12s}\n",
		with(group, "NAME", "timed") + "  timings: {voteExpiry: 20s}\n",
		[]string{"timings are immutable except failover and offline"},
	},
	{
		"timings for a group that began without",
		with(group, "NAME", "plain"),
		with(group, "NAME", "plain") + "  timings: {voteExpiry: 20s}\n",
		[]string{"timings are immutable except failover and offline"},
	},
	{
		"timings of a group without votes",
		"",
		with(
			group,
			"NAME",
			"g",
			"  - {server: c, availabilityMode: ConfigurationOnly}\n",
			"",
		) + "  clusterType: None\n  failoverPolicy: Manual\n  timings: {voteExpiry: 12s}\n",
		[]string{"clusterType None has no votes"},
	},
	{
		"a system database",
		"",
		with(group, "NAME", "g", "[Content]", "[Master]"),
		[]string{"a user database is needed, not one of master, model, msdb, tempdb"},
	},
	{
		"a configuration-only replica that is to have data",
		with(group, "NAME", "cfg"),
		with(
			group,
			"NAME",
			"cfg",
			"{server: c, availabilityMode: ConfigurationOnly}",
			"{server: c, availabilityMode: SynchronousCommit}",
		),
		[]string{"declare another server with the other availabilityMode in its place"},
	},
	{
		"another initial primary",
		with(group, "NAME", "fixed"),
		with(group, "NAME", "fixed", "initialPrimary: a", "initialPrimary: b"),
		[]string{"initialPrimary is immutable"},
	},
	{
		"a listener that is another's",
		with(group, "NAME", "first"),
		with(group, "NAME", "second", "[Content]", "[Other]") + "  listener: {name: first}\n",
		[]string{"spec.listener.name", "AvailabilityGroup first has first"},
	},
	{
		"a listener whose address is none",
		"",
		with(group, "NAME", "g") + "  listener: {ip: 10.0.0.300}\n",
		[]string{"spec.listener.ip", "must be an IPv4 address"},
	},
	{
		"a listener with an address of IPv6",
		"",
		with(group, "NAME", "g") + "  listener: {ip: 'fd00::9'}\n",
		[]string{"spec.listener.ip", "must be an IPv4 address"},
	},
	{
		"a group whose name is no Service's",
		"",
		with(group, "NAME", "2026.content"),
		[]string{"spec.listener.name", "begin it with a letter"},
	},
	{
		"a contained group",
		"",
		with(group, "NAME", "open") + "  contained: true\n",
		[]string{"contained groups are not supported yet: leave contained out"},
	},
	{
		"a listener that is a server's",
		with(server, "NAME", "plain"),
		with(group, "NAME", "g") + "  listener: {name: plain-0}\n",
		[]string{"SQLServer plain has the Service plain-0"},
	},
	{
		"a database in two groups",
		with(group, "NAME", "has"),
		with(group, "NAME", "wants"),
		[]string{"spec.databases[0]", "AvailabilityGroup has, which server a hosts too"},
	},
	// Failovers.
	{"a switchover to nobody", "", with(failover, "NAME", "f", ", to: b", ""), []string{"to is needed"}},
	{
		"a switchover that may lose data",
		"",
		with(failover, "NAME", "f", "to: b", "to: b, allowDataLoss: true"),
		[]string{"allowDataLoss goes with kind Failover alone"},
	},
	{
		"a switchover with a fenced holder",
		"",
		with(failover, "NAME", "f", "to: b", "to: b, fencedHolder: a-0/p/e/n"),
		[]string{"fencedHolder goes with kind Failover alone"},
	},
	{
		"a failover that may lose data, of no term",
		"",
		with(failover, "NAME", "f", "Switchover, to: b", "Failover, to: b, allowDataLoss: true"),
		[]string{"expectedTerm is needed with allowDataLoss and with fencedHolder"},
	},
	{
		"a failover over a fenced holder, of no term",
		"",
		with(failover, "NAME", "f", "Switchover, to: b", "Failover, fencedHolder: a-0/p/e/n"),
		[]string{"expectedTerm is needed with allowDataLoss and with fencedHolder"},
	},
	{
		"a pause of one server",
		"",
		with(failover, "NAME", "f", "Switchover", "Pause"),
		[]string{"Pause and Resume concern the whole group"},
	},
	{
		"a switchover of one database",
		"",
		with(failover, "NAME", "f", "to: b", "to: b, databases: [Content]"),
		[]string{"databases go with kind Reseed alone"},
	},
	{
		"a failover of another kind",
		"",
		with(failover, "NAME", "f", "Switchover", "Sideways"),
		[]string{"spec.kind", `supported values: "Switchover", "Failover", "Pause", "Resume", "Rejoin", "Reseed"`},
	},
	{
		"a failover that waits for days",
		"",
		with(failover, "NAME", "f", "to: b", "to: b, expires: 48h"),
		[]string{"expires must be between 10s and 24h"},
	},
	{
		"a failover that becomes another",
		with(failover, "NAME", "once"),
		with(failover, "NAME", "once", "to: b", "to: a"),
		[]string{"a Failover is carried out once: create another one"},
	},
	{
		"a failover to a stranger",
		with(group, "NAME", "content"),
		with(failover, "NAME", "f", "to: b", "to: x"),
		[]string{"spec.to", "x is no replica of group content; its replicas are a, b, c"},
	},
	{
		"a failover to a replica without data",
		with(group, "NAME", "content"),
		with(failover, "NAME", "f", "to: b", "to: c"),
		[]string{"spec.to", "it holds no databases"},
	},
	{
		"a failover without data loss to an asynchronous replica",
		with(
			group,
			"NAME",
			"content",
			"{server: c, availabilityMode: ConfigurationOnly}",
			"{server: c, availabilityMode: SynchronousCommit}\n  - {server: d, availabilityMode: AsynchronousCommit}",
		),
		with(
			failover,
			"NAME",
			"f",
			"Switchover, to: b",
			"Failover, to: d",
		),
		[]string{"spec.to", "may lack acknowledged writes", "allowDataLoss"},
	},
	{
		"a failover of a group without a fence",
		with(
			group,
			"NAME",
			"content",
			"  - {server: c, availabilityMode: ConfigurationOnly}\n",
			"",
		) + "  clusterType: None\n  failoverPolicy: Manual\n",
		with(failover, "NAME", "f"),
		[]string{"spec.group", "has no votes and no fence"},
	},
	{
		"a fenced holder that is none",
		with(group, "NAME", "content"),
		with(failover, "NAME", "f", "Switchover, to: b", "Failover, expectedTerm: 1, fencedHolder: a-0"),
		[]string{"spec.fencedHolder", "--confirm-fenced"},
	},
	{
		"a fenced holder that is a stranger",
		with(group, "NAME", "content"),
		with(failover, "NAME", "f", "Switchover, to: b", "Failover, expectedTerm: 1, fencedHolder: x-0/p/e/n"),
		[]string{"spec.fencedHolder", "x-0 is no replica"},
	},
	// Sites.
	{
		"an exposure that is not supported",
		"",
		with(site, "NAME", "s") + "  exposure: {type: LoadBalancer}\n",
		[]string{"spec.exposure.type", `supported values: "FlatNetwork", "NodePort"`},
	},
	{
		"two Sites with one kubeconfig",
		with(site, "NAME", "one"),
		with(site, "NAME", "two", "kubeconfigSecretRef: {name: two}", "kubeconfigSecretRef: {name: one}"),
		[]string{"Site one uses it"},
	},
	{
		"two hubs",
		with(site, "NAME", "hub", "  kubeconfigSecretRef: {name: hub}\n", ""),
		with(site, "NAME", "hubtoo", "  kubeconfigSecretRef: {name: hubtoo}\n", ""),
		[]string{"that is Site hub already"},
	},
	{
		"a hub that becomes another cluster",
		with(site, "NAME", "hub", "  kubeconfigSecretRef: {name: hub}\n", ""),
		with(site, "NAME", "hub"),
		[]string{"cannot turn from the hub into another cluster"},
	},
	{
		"a link to itself",
		"",
		with(site, "NAME", "self") + "  links: [{to: self}]\n",
		[]string{"a link leads to another site"},
	},
	{
		"a namespace with servers taken out",
		with(site, "NAME", "tukwila", "[web]", "[web, other]") + "---" + with(server, "NAME", "stays"),
		with(
			site,
			"NAME",
			"tukwila",
			"[web]",
			"[other]",
		),
		[]string{"spec.allowedNamespaces", "web/stays; delete them first"},
	},
	{"a namespace with votes taken out", with(site, "NAME", "dublin", "[web]", "[web, other]") + "---" + made,
		with(
			site,
			"NAME",
			"dublin",
			"[web]",
			"[other]",
		), []string{"spec.allowedNamespaces", "web/g; name another site in their spec.voters first"}},
	// Owners.
	{"a server of a kept manifest", "", with(server, "NAME", "kept", "namespace: web}", "namespace: web, "+deadOwner+"}"),
		[]string{"metadata.ownerReferences[0]", "Topology t with UID 1", "take ownerReferences out of the manifest"}},
	{
		"a kept manifest of a server that is there",
		with(server, "NAME", "there"),
		with(server, "NAME", "there", "namespace: web}", "namespace: web, "+deadOwner+"}"),
		[]string{"metadata.ownerReferences[0]"},
	},
	{
		"a login with an owner",
		"",
		with(login, "NAME", "owned", "namespace: web}", "namespace: web, "+deadOwner+"}"),
		[]string{"metadata.ownerReferences[0]"},
	},
	// Topologies.
	{
		"a server that lacks an image",
		"",
		with(topology, "NAME", "t", "    image: engine\n", ""),
		[]string{"spec.servers[0].image", "say it here or in serverDefaults"},
	},
	{
		"a server that lacks a volume",
		"",
		with(topology, "NAME", "t", ", backup: {size: 1Gi}", ""),
		[]string{"spec.servers[1].storage.backup.size"},
	},
	{
		"a server twice",
		"",
		with(topology, "NAME", "t", "{name: d, site", "{name: p, site"),
		[]string{"duplicate entries for key"},
	},
	{
		"a reference to nothing",
		"",
		with(topology, "NAME", "t", "{name: dist, server: d}", "{name: dist, server: nobody}"),
		[]string{"spec.distributors[0].server", "nobody; declared are: d, p"},
	},
	{
		"a publication through nothing",
		"",
		with(topology, "NAME", "t", "distributor: dist", "distributor: none"),
		[]string{"spec.publications[0].distributor", "declared are: dist"},
	},
	{
		"a server of another topology",
		with(topology, "NAME", "first"),
		with(topology, "NAME", "second"),
		[]string{"spec.servers[0].name", "Topology first declares the SQLServer of this name"},
	},
	{
		"a server that somebody declared",
		with(server, "NAME", "p"),
		with(topology, "NAME", "t"),
		[]string{"SQLServer p exists and no Topology declares it", "geosql.dev/adopt"},
	},
	{
		"a topology whose name is no label",
		"",
		with(topology, "NAME", strings.Repeat("t", 64)),
		[]string{"metadata.name may have at most 63 characters"},
	},
	{
		"a login whose name is no label",
		"",
		with(login, "NAME", strings.Repeat("l", 64)),
		[]string{"metadata.name may have at most 63 characters"},
	},
	{
		"a volume shrunk in a topology",
		with(topology, "NAME", "t"),
		with(topology, "NAME", "t", "data: {size: 2Gi}", "data: {size: 1Gi}"),
		[]string{"spec.servers[0].storage.data.size", "cannot shrink"},
	},
	{
		"a server moved in a topology",
		with(topology, "NAME", "t"),
		with(topology, "NAME", "t", "{name: d, site: tukwila}", "{name: d, site: dublin}"),
		[]string{"spec.servers[1].site", "immutable"},
	},
}
