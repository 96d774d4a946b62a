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
  env:
  - {name: CAT_MSSQL_X, value: x}
  - {name: MINE, valueFrom: {secretKeyRef: {name: shop-connection, key: password}}}
  volumes:
  - {name: krb, secret: {secretName: krb}}
  - {name: more, persistentVolumeClaim: {claimName: other-data}}
  - {name: pod, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: all, projected: {sources: [{secret: {name: third-tls}}, {configMap: {name: s-tls}}]}}
  - {name: store, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: s-credentials}}}
  volumeMounts: [{name: krb, mountPath: /etc/krb}]
  initContainers: [{name: first, image: i, volumeMounts: [{name: krb, mountPath: /var/opt/mssql}]}]
  sidecars:
  - {name: ship, image: i, env: [{name: TZ, value: Europe/Dublin}], envFrom: [{configMapRef: {name: s-credentials}}], ports: [{containerPort: 9090, name: metrics}], volumeMounts: [{name: backup, mountPath: /b}],
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
		"the time zone":     {`pod: {env: [{name: TZ, value: Europe/Dublin}]}`, "spec.pod.env[0].name", "timeZone"},
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
			shape, errs := podshape.Of(field.NewPath("spec"), "s", &spec, []string{"s", "two"})
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

// Nothing leads to what the operator keeps for a server, this one or another one of the namespace, whatever refers to
// it; and nothing to the identity of the pod's account.
func TestWhatTheOperatorKeepsIsNobodyElses(t *testing.T) {
	const sidecar = "pod: {sidecars: [{name: x, image: i, "
	for name, c := range map[string]struct{ spec, at, says string }{
		"the server's passwords": {"pod: {volumes: [{name: x, secret: {secretName: s-credentials}}]}",
			"spec.pod.volumes[0].secret.secretName", "declare a Login"},
		"another server's key": {"pod: {volumes: [{name: w, emptyDir: {}}, {name: x, secret: {secretName: two-tls}}]}",
			"spec.pod.volumes[1].secret.secretName", "SQLServer two"},
		"what cert-manager has issued": {"pod: {volumes: [{name: x, secret: {secretName: two-certificate}}]}",
			"spec.pod.volumes[0].secret.secretName", "SQLServer two"},
		"a product key": {"pod: {volumes: [{name: x, secret: {secretName: s-product-key}}]}",
			"spec.pod.volumes[0].secret.secretName", "SQLServer s"},
		"orders": {"pod: {volumes: [{name: x, projected: {sources: [{configMap: {name: c}}, {secret: {name: two-agent}}]}}]}",
			"spec.pod.volumes[0].projected.sources[1].secret.name", "SQLServer two"},
		"who reads all sidecars": {"pod: {volumes: [{name: x, secret: {secretName: geosql-agent-reader}}]}",
			"spec.pod.volumes[0].secret.secretName", "are the operator's"},
		"a token": {"pod: {volumes: [{name: x, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}",
			"spec.pod.volumes[0].projected.sources[0].serviceAccountToken", "token"},
		"a certificate for the account": {"pod: {volumes: [{name: x, projected: {sources: [{podCertificate: " +
			"{signerName: a/b, keyType: ED25519}}]}}]}",
			"spec.pod.volumes[0].projected.sources[0].podCertificate", "in its name"},
		"by a driver": {"pod: {volumes: [{name: x, csi: {driver: d, nodePublishSecretRef: {name: s-tls}}}]}",
			"spec.pod.volumes[0].csi.nodePublishSecretRef.name", "SQLServer s"},
		"by an attribute of a driver": {
			"pod: {volumes: [{name: x, csi: {driver: d, volumeAttributes: {secretName: s-tls}}}]}",
			"spec.pod.volumes[0].csi.volumeAttributes.secretName", "SQLServer s"},
		"by an older kind of volume": {"pod: {volumes: [{name: x, azureFile: {secretName: s-tls, shareName: x}}]}",
			"spec.pod.volumes[0].azureFile.secretName", "SQLServer s"},
		"a variable of the engine": {
			"pod: {env: [{name: X, valueFrom: {secretKeyRef: {name: s-credentials, key: sa-password}}}]}",
			"spec.pod.env[0].valueFrom.secretKeyRef.name", "SQLServer s"},
		"a variable of a sidecar": {
			sidecar + "env: [{name: X, valueFrom: {secretKeyRef: {name: two-credentials, key: sa-password}}}]}]}",
			"spec.pod.sidecars[0].env[0].valueFrom.secretKeyRef.name", "SQLServer two"},
		"all variables of a sidecar": {sidecar + "envFrom: [{secretRef: {name: s-credentials}}]}]}",
			"spec.pod.sidecars[0].envFrom[0].secretRef.name", "SQLServer s"},
		"an init container's": {"pod: {initContainers: [{name: x, image: i, envFrom: [{secretRef: {name: s-tls}}]}]}",
			"spec.pod.initContainers[0].envFrom[0].secretRef.name", "SQLServer s"},
		"another server's volume": {"pod: {volumes: [{name: x, persistentVolumeClaim: {claimName: two-data}}]}",
			"spec.pod.volumes[0].persistentVolumeClaim.claimName", "a volume of SQLServer two"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var spec v1alpha1.SQLServerSpec
			g.Expect(yaml.UnmarshalStrict([]byte(c.spec), &spec)).To(Succeed())
			_, errs := podshape.Of(field.NewPath("spec"), "s", &spec, []string{"s", "two"})
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Field).To(Equal(c.at))
			g.Expect(errs[0].Error()).To(ContainSubstring(c.says))
		})
	}
}
