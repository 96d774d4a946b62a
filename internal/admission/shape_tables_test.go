// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

// shapeRefusals are checked like refusals: what internal/podshape refuses arrives at its field, from a SQLServer and
// from a Topology, and what the schema refuses never comes so far.
var shapeRefusals = []refusal{
	{"another tuning", "", with(server, "NAME", "s") + "  network: {tuning: Measured}\n",
		[]string{"spec.network.tuning", `supported values: "FromLinks", "None"`}},
	{"a window smaller than TCP's own", "", with(server, "NAME", "s") + "  network: {receiveWindow: 32Ki}\n",
		[]string{"spec.network.receiveWindow", "is 64Ki to 32Mi"}},
	{"a window larger than a buffer", "", with(server, "NAME", "s") + "  network: {receiveWindow: 33Mi}\n",
		[]string{"spec.network.receiveWindow", "is 64Ki to 32Mi"}},
	{"a window of no size", "", with(server, "NAME", "s") + "  network: {receiveWindow: 64KB}\n",
		[]string{"spec.network.receiveWindow", "a quantity is a number"}},
	{"a window without tuning", "", with(server, "NAME", "s") + "  network: {tuning: None, receiveWindow: 64Ki}\n",
		[]string{"spec.network.receiveWindow", "with it, tuning is FromLinks"}},
	{"a container of the operator's name", "",
		with(server, "NAME", "s") + "  pod: {sidecars: [{name: mssql, image: x}]}\n",
		[]string{"spec.pod.sidecars[0].name", "use another name"}},
	{"a field of a container that Kubernetes does not know", "",
		with(server, "NAME", "s") + "  pod: {initContainers: [{name: x, image: x, volumeMount: []}]}\n",
		[]string{"spec.pod.initContainers[0]", "unknown field", "volumeMount"}},
	{"an affinity that is none", "",
		with(server, "NAME", "s") + "  scheduling: {affinity: {nodeAffinity: 5}}\n",
		[]string{"spec.scheduling.affinity", "not what Kubernetes takes here"}},
	{"a variable of the operator", "",
		with(server, "NAME", "s") + "  pod: {env: [{name: ACCEPT_EULA, value: \"N\"}]}\n",
		[]string{"spec.pod.env[0].name", "ACCEPT_EULA is the operator's"}},
	{"two ways to a certificate", "",
		with(server, "NAME", "s") + "  tls: {secretName: mine, issuerRef: {name: corp}}\n",
		[]string{"spec.tls.issuerRef", "a server has one certificate: say secretName or issuerRef"}},
	{"an issuer of no kind of cert-manager's", "",
		with(server, "NAME", "s") + "  tls: {issuerRef: {name: corp, kind: Isuer}}\n",
		[]string{"spec.tls.issuerRef.kind", "Issuer or ClusterIssuer"}},
	{"an issuer without a name", "",
		with(server, "NAME", "s") + "  tls: {issuerRef: {kind: Issuer}}\n",
		[]string{"spec.tls.issuerRef.name", "Required value"}},
	{"the time zone as a variable", "",
		with(server, "NAME", "s") + "  pod: {env: [{name: TZ, value: Europe/Dublin}]}\n",
		[]string{"spec.pod.env[0].name", "timeZone"}},
	{"the passwords of the server", "",
		with(server, "NAME", "s") + "  pod: {volumes: [{name: x, secret: {secretName: s-credentials}}]}\n",
		[]string{"spec.pod.volumes[0].secret.secretName", "SQLServer s"}},
	{"the passwords of another server", with(server, "NAME", "two"),
		with(server, "NAME", "s") +
			"  pod: {sidecars: [{name: x, image: x, envFrom: [{secretRef: {name: two-credentials}}]}]}\n",
		[]string{"spec.pod.sidecars[0].envFrom[0].secretRef.name", "SQLServer two"}},
	{"a token of the pod's account", "",
		with(server, "NAME", "s") +
			"  pod: {volumes: [{name: x, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}\n",
		[]string{"spec.pod.volumes[0].projected.sources[0].serviceAccountToken", "token"}},
	{"a mount over the data", "",
		with(server, "NAME", "s") + "  pod: {volumes: [{name: x, emptyDir: {}}], volumeMounts: [{name: x, " +
			"mountPath: /var/opt/mssql/data}]}\n",
		[]string{"spec.pod.volumeMounts[0].mountPath", "would hide"}},
	{"an anti-affinity of its own", "",
		with(server, "NAME", "s") + "  scheduling: {replicaAntiAffinity: Never}\n",
		[]string{"spec.scheduling.replicaAntiAffinity", `supported values: "Preferred", "Required"`}},
	{"too little time to end", "",
		with(server, "NAME", "s") + "  pod: {terminationGracePeriodSeconds: 1}\n",
		[]string{"spec.pod.terminationGracePeriodSeconds", "greater than or equal to 60"}},
	{"an agent that asks for more than its limit", "",
		with(server, "NAME", "s") + "  agent: {resources: {requests: {cpu: \"2\"}, limits: {cpu: \"1\"}}}\n",
		[]string{"spec.agent.resources.requests[cpu]", "must not exceed the limit"}},
	{"a product key in the open", "",
		with(server, "NAME", "s", "Developer", "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"),
		[]string{"spec.edition", "a product key is a secret", "productKeySecretRef"}},
	{"neither edition nor product key", "",
		with(server, "NAME", "s", "  edition: Developer\n", ""),
		[]string{"spec.edition", "spec.productKeySecretRef"}},
	{"a Topology with a server whose pod breaks a promise", "",
		`
apiVersion: geosql.dev/v1alpha1
kind: Topology
metadata: {name: t, namespace: web}
spec:
  serverDefaults:
    acceptEULA: true
    edition: Developer
    image: engine
    storage: {data: {size: 2Gi}, log: {size: 1Gi}, tempdb: {size: 1Gi}, backup: {size: 1Gi}}
    pod: {volumes: [{name: x, hostPath: {path: /}}]}
  servers: [{name: one, site: tukwila}]
`,
		[]string{"spec.servers[0].pod.volumes[0].hostPath", "a folder of the node"}},
}
