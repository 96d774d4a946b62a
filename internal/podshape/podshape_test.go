// SPDX-License-Identifier: Apache-2.0

package podshape_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/podshape"
)

// What would break a promise of the operator is refused at its field, with the reason; all else is let be.
func TestWhatAPodIsLetBe(t *testing.T) {
	const volume, container = "pod: {volumes: [{name: x, emptyDir: {}}]", "pod: {sidecars: [{name: x, image: i"
	for name, c := range map[string]struct{ spec, at, says string }{
		"nothing": {spec: "{}"},
		"everything": {spec: `
inheritedMetadata: {labels: {team: db}, annotations: {example.com/cost: "7"}}
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: r}}
scheduling:
  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
pod:
  metadata: {annotations: {linkerd.io/inject: disabled}}
  env: [{name: TZ, value: Europe/Dublin}, {name: CAT_MSSQL_X, value: x}]
  volumes: [{name: krb, secret: {secretName: krb}}, {name: more, persistentVolumeClaim: {claimName: other-data}}]
  volumeMounts: [{name: krb, mountPath: /etc/krb}]
  initContainers: [{name: first, image: i, volumeMounts: [{name: krb, mountPath: /var/opt/mssql}]}]
  sidecars:
  - {name: ship, image: i, ports: [{containerPort: 9090, name: metrics}], volumeMounts: [{name: backup, mountPath: /b}],
     securityContext: {runAsUser: 1000, capabilities: {add: [NET_BIND_SERVICE]}}}
  securityContext: {runAsUser: 1000660000, fsGroup: 1000660000}
`},
		"a label of the operator": {"inheritedMetadata: {labels: {geosql.dev/server: x}}",
			"spec.inheritedMetadata.labels[geosql.dev/server]", "finds its objects"},
		"another one": {"pod: {metadata: {labels: {app.kubernetes.io/managed-by: x}}}",
			"spec.pod.metadata.labels[app.kubernetes.io/managed-by]", "finds its objects"},
		"an annotation of the operator": {"serviceAccount: {annotations: {geosql.dev/applied: x}}",
			"spec.serviceAccount.annotations[geosql.dev/applied]", "finds its objects"},
		"no label": {"inheritedMetadata: {labels: {a b: x}}", "spec.inheritedMetadata.labels", "name part"},
		"a typing error": {`pod: {sidecars: [{name: x, image: i, volumeMount: []}]}`, "spec.pod.sidecars[0]",
			`unknown field "volumeMount"`},
		"another type": {`pod: {volumes: [{name: 5}]}`, "spec.pod.volumes[0]", "not what Kubernetes takes here"},
		"an affinity that is none": {`scheduling: {affinity: {nodeAffinity: {required: []}}}`, "spec.scheduling.affinity",
			`unknown field "nodeAffinity.required"`},
		"an affinity without terms": {
			`scheduling: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}`,
			"spec.scheduling.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "one term"},
		"a spread without a key": {`scheduling: {topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}`,
			"spec.scheduling.topologySpreadConstraints[0].topologyKey", "topology.kubernetes.io/zone"},
		"a spread of nothing": {`scheduling: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}`,
			"spec.scheduling.topologySpreadConstraints[0].maxSkew", "1 or more"},
		"a variable of SQL Server": {`pod: {env: [{name: MSSQL_PID, value: Express}]}`,
			"spec.pod.env[0].name", "mssqlConf"},
		"the licence": {`pod: {env: [{name: A}, {name: ACCEPT_EULA, value: "N"}]}`,
			"spec.pod.env[1].name", "is the operator's"},
		"the engine's home": {`pod: {env: [{name: HOME, value: /}]}`, "spec.pod.env[0].name", "is the operator's"},
		"no variable":       {`pod: {env: [{name: "a b"}]}`, "spec.pod.env[0].name", ""},
		"a volume of the operator": {`pod: {volumes: [{name: agent-state, emptyDir: {}}]}`,
			"spec.pod.volumes[0].name", "another name"},
		"one that may come": {`pod: {volumes: [{name: geosql-x, emptyDir: {}}]}`,
			"spec.pod.volumes[0].name", "later release"},
		"a volume twice": {`pod: {volumes: [{name: x, emptyDir: {}}, {name: x, emptyDir: {}}]}`,
			"spec.pod.volumes[1].name", ""},
		"a folder of the node": {`pod: {volumes: [{name: x, hostPath: {path: /}}]}`,
			"spec.pod.volumes[0].hostPath", "folder of the node"},
		"the agent's own volume": {`pod: {volumes: [{name: x, persistentVolumeClaim: {claimName: s-agent}}]}`,
			"spec.pod.volumes[0].persistentVolumeClaim.claimName", "the server's own volumes"},
		"a mount of nothing": {`pod: {volumeMounts: [{name: x, mountPath: /x}]}`,
			"spec.pod.volumeMounts[0].name", "pod.volumes"},
		"a mount of the agent's in the engine": {`pod: {volumeMounts: [{name: agent-state, mountPath: /x}]}`,
			"spec.pod.volumeMounts[0].name", "pod.volumes"},
		"over the data": {volume + ", volumeMounts: [{name: x, mountPath: /var/opt/mssql/secrets}]}",
			"spec.pod.volumeMounts[0].mountPath", "would hide"},
		"above the data": {volume + ", volumeMounts: [{name: x, mountPath: /var/opt}]}",
			"spec.pod.volumeMounts[0].mountPath", "would hide"},
		"over everything": {volume + ", volumeMounts: [{name: x, mountPath: /}]}",
			"spec.pod.volumeMounts[0].mountPath", "would hide"},
		"by a way round": {volume + ", volumeMounts: [{name: x, mountPath: /etc/../opt/mssql/bin/}]}",
			"spec.pod.volumeMounts[0].mountPath", "would hide"},
		"over the keys": {volume + ", volumeMounts: [{name: x, mountPath: /etc/geosql/tls}]}",
			"spec.pod.volumeMounts[0].mountPath", "would hide"},
		"beside the data": {spec: volume + ", volumeMounts: [{name: x, mountPath: /var/opt/mssql-more}]}"},
		"the engine's name": {"pod: {initContainers: [{name: mssql, image: i}]}",
			"spec.pod.initContainers[0].name", "another name"},
		"a name twice": {"pod: {initContainers: [{name: x, image: i}], sidecars: [{name: x, image: i}]}",
			"spec.pod.sidecars[0].name", ""},
		"no image": {"pod: {sidecars: [{name: x}]}", "spec.pod.sidecars[0].image", "image"},
		"a probe": {container + ", readinessProbe: {exec: {command: [x]}}}]}",
			"spec.pod.sidecars[0].readinessProbe", "ready when its engine is"},
		"the engine's port": {container + ", ports: [{containerPort: 1433}]}]}", "spec.pod.sidecars[0].ports[0]", "1433"},
		"the agent's port": {container + ", ports: [{containerPort: 9, name: agent}]}]}",
			"spec.pod.sidecars[0].ports[0]", "8443"},
		"the data to write": {container + ", volumeMounts: [{name: data, mountPath: /d}]}]}",
			"spec.pod.sidecars[0].volumeMounts[0].readOnly", "must be true"},
		"the data to read": {spec: container + ", volumeMounts: [{name: data, mountPath: /d, readOnly: true}]}]}"},
		"the agent's token": {container + ", volumeMounts: [{name: token, mountPath: /d}]}]}",
			"spec.pod.sidecars[0].volumeMounts[0].name", "operator's containers alone"},
		"the agent's state": {container + ", volumeMounts: [{name: agent-state, mountPath: /d, readOnly: true}]}]}",
			"spec.pod.sidecars[0].volumeMounts[0].name", "operator's containers alone"},
		"a volume of nobody": {container + ", volumeMounts: [{name: z, mountPath: /d}]}]}",
			"spec.pod.sidecars[0].volumeMounts[0].name", "pod.volumes"},
		"privileged": {container + ", securityContext: {privileged: true}}]}",
			"spec.pod.sidecars[0].securityContext.privileged", "restricted profile"},
		"as root": {container + ", securityContext: {runAsUser: 0}}]}",
			"spec.pod.sidecars[0].securityContext.runAsUser", "restricted profile"},
		"with a capability": {container + ", securityContext: {capabilities: {add: [SYS_PTRACE]}}}]}",
			"spec.pod.sidecars[0].securityContext.capabilities.add", "restricted profile"},
		"with escalation": {container + ", securityContext: {allowPrivilegeEscalation: true}}]}",
			"spec.pod.sidecars[0].securityContext.allowPrivilegeEscalation", "restricted profile"},
		"a pod as root": {"pod: {securityContext: {runAsUser: 0}}", "spec.pod.securityContext.runAsUser", "root"},
		"a pod that may be": {"pod: {securityContext: {runAsNonRoot: false}}",
			"spec.pod.securityContext.runAsNonRoot", "root"},
		"unconfined": {"pod: {securityContext: {seccompProfile: {type: Unconfined}}}",
			"spec.pod.securityContext.seccompProfile.type", "restricted"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var spec v1alpha1.SQLServerSpec
			g.Expect(yaml.UnmarshalStrict([]byte(c.spec), &spec)).To(Succeed())
			shape, errs := podshape.Of(field.NewPath("spec"), "s", &spec)
			if c.at == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal(c.at))
			g.Expect(errs[0].Error()).To(ContainSubstring(c.says))
			g.Expect(shape).To(Equal(podshape.Shape{}), "nothing of it is used")
		})
	}
}
