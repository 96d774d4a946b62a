// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Containers of a server's pod.
const (
	ContainerEngine = "mssql"
	ContainerAgent  = agent.Container
)

const (
	// userID of the image's user mssql, and of the agent, which must be able to end the engine's process.
	userID = 10001
	// gracePeriod is how long the engine may take to write its checkpoint when the pod ends.
	gracePeriod = 60
	// tokenDir is where client libraries look for a pod's token.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenLife is the life of the sidecar's token; the kubelet renews it.
	tokenLife = 3600
	// home of the engine's user, below which it writes.
	home = conf.DataMount
	// containerKeys copies certificate, key and mssql.conf to where the engine owns them.
	containerKeys = "keys"
	// volumeKeys has certificate, key and mssql.conf as they are now, for containerKeys.
	volumeKeys = "geosql-keys"
	// engineTLS is the volume of the copies, engineTLSDir where they are made.
	engineTLS    = "engine-tls"
	engineTLSDir = "/var/run/geosql/engine-tls"
	// trust is the volume of the CAs that the engine trusts, as they are now: they change while pods run.
	trust    = "trust"
	trustDir = "/etc/geosql/trust"
	// volumeConf is the volume of mssql.conf as it is now.
	volumeConf = "conf"
	// mirroringPort is that of the database mirroring endpoint.
	mirroringPort = 5022
	// portElection is the sidecar's port for the sidecars of other servers.
	portElection = "election"
)

var mounts = map[placement.Role]string{
	placement.RoleData:   conf.DataMount,
	placement.RoleLog:    conf.LogMount,
	placement.RoleTempDB: conf.TempDBMount,
	placement.RoleBackup: conf.BackupMount,
	placement.RoleAgent:  agent.StateDir,
}

// volumeOf is the name of a role's volume in the pod; that of the agent's password has been "agent".
func volumeOf(role placement.Role) string {
	if role == placement.RoleAgent {
		return "agent-state"
	}
	return string(role)
}

// podSpec is the pod of a server. terms is the node affinity that follows from its volumes.
func podSpec(d Desired, terms []corev1.NodeSelectorTerm) corev1.PodSpec {
	scheduling := d.scheduling()
	spec := corev1.PodSpec{
		InitContainers:                append([]corev1.Container{keysContainer(d)}, d.shape.InitContainers...),
		Containers:                    append([]corev1.Container{engineContainer(d), agentContainer(d)}, d.shape.Sidecars...),
		Volumes:                       append(podVolumes(d), d.shape.Volumes...),
		ShareProcessNamespace:         ptr.To(true),
		ServiceAccountName:            credentials.OrdersName(d.name()),
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(ptr.Deref(d.pod().TerminationGracePeriodSeconds, gracePeriod)),
		ImagePullSecrets:              d.Server.Spec.ImagePullSecrets,
		Tolerations:                   scheduling.Tolerations,
		PriorityClassName:             scheduling.PriorityClassName,
		TopologySpreadConstraints:     scheduling.TopologySpreadConstraints,
		Affinity:                      affinity(d, terms),
		SecurityContext:               podSecurity(d),
	}
	return spec
}

// podSecurity is the pod's user, the engine's and the agent's alike. What the server declares takes the place of the
// image's ids: those that it leaves out are for the site to choose.
func podSecurity(d Desired) *corev1.PodSecurityContext {
	security := &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](userID), FSGroup: ptr.To[int64](userID)}
	if declared := d.pod().SecurityContext; declared != nil {
		security = declared.DeepCopy()
	}
	security.RunAsNonRoot = ptr.To(true)
	if security.FSGroupChangePolicy == nil {
		// Volumes with many files would otherwise be walked at each start.
		security.FSGroupChangePolicy = ptr.To(corev1.FSGroupChangeOnRootMismatch)
	}
	if security.SeccompProfile == nil {
		security.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	security.Sysctls = append(security.Sysctls, d.buffers...)
	return security
}

func engineContainer(d Desired) corev1.Container {
	c := corev1.Container{
		Name:            ContainerEngine,
		Image:           d.image().use,
		ImagePullPolicy: d.Server.Spec.ImagePullPolicy,
		// Startup options exist as arguments of sqlservr alone, so the image's entry point is left out.
		Command:   []string{"/opt/mssql/bin/sqlservr"},
		Args:      arguments(d),
		Env:       environment(d),
		Resources: d.Server.Spec.Resources,
		Ports: []corev1.ContainerPort{
			{Name: "tds", ContainerPort: 1433, Protocol: corev1.ProtocolTCP},
			{Name: "mirroring", ContainerPort: mirroringPort, Protocol: corev1.ProtocolTCP},
		},
		VolumeMounts: []corev1.VolumeMount{
			confMount(engineTLS),
			{Name: engineTLS, MountPath: conf.TLSDir, ReadOnly: true},
			{Name: trust, MountPath: trustDir, ReadOnly: true},
			{Name: "tmp", MountPath: "/tmp"},
		},
		SecurityContext: engineSecurity(d),
	}
	for _, v := range d.engineVolumes() {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeOf(v.role), MountPath: mountOf(v.role)})
	}
	c.VolumeMounts = append(c.VolumeMounts, d.pod().VolumeMounts...)
	return c
}

// confMount has the engine's mssql.conf at the one place where it looks, which is in the folder of its data: only a
// file can be mounted there. Of a ConfigMap's volume the kubelet can fail to mount one while it exchanges the volume's
// files, and makes the container some 20 s later; so it is one of the copies, which stay until the pod is made anew.
func confMount(volume string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: conf.Path, SubPath: confKey, ReadOnly: true}
}

// arguments of sqlservr: no space between the option and its value
// (docs/database-engine/configure-windows/database-engine-service-startup-options.md).
func arguments(d Desired) []string {
	startup := d.Server.Spec.Startup
	if startup == nil {
		return nil
	}
	var args []string
	if k := startup.CheckpointThrottleMBps; k != nil {
		args = append(args, "-k"+strconv.Itoa(int(*k)))
	}
	flags := slices.Clone(startup.TraceFlags)
	slices.Sort(flags)
	for _, flag := range slices.Compact(flags) {
		args = append(args, "-T"+strconv.Itoa(int(flag)))
	}
	return args
}

// environment of the engine (docs/linux/configure/environment-variables.md).
func environment(d Desired) []corev1.EnvVar {
	env := []corev1.EnvVar{
		// Admission has made sure that the user accepted it.
		{Name: "ACCEPT_EULA", Value: "Y"},
		edition(d),
		{Name: "MSSQL_SA_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: credentials.PasswordsName(d.name())},
			Key:                  credentials.KeySA,
		}}},
		{Name: "MSSQL_ENABLE_HADR", Value: "1"},
		{Name: "MSSQL_AGENT_ENABLED", Value: "true"},
		{Name: "MSSQL_DATA_DIR", Value: conf.DataDir},
		{Name: "MSSQL_LOG_DIR", Value: conf.LogDir},
		{Name: "MSSQL_BACKUP_DIR", Value: conf.BackupDir},
	}
	if collation := d.Server.Spec.Collation; collation != "" {
		env = append(env, corev1.EnvVar{Name: "MSSQL_COLLATION", Value: string(collation)})
	}
	if zone := d.Server.Spec.TimeZone; zone != "" {
		env = append(env, corev1.EnvVar{Name: "TZ", Value: zone})
	}
	env = append(env, lasting()...)
	if limit := d.memoryLimitMB(); limit > 0 {
		env = append(env, corev1.EnvVar{Name: "MSSQL_MEMORY_LIMIT_MB", Value: strconv.FormatInt(limit, 10)})
	}
	return append(env, d.pod().Env...)
}

// productKeyVariable is the engine's variable for edition or product key.
const productKeyVariable = "MSSQL_PID"

// edition of the engine, or its product key, which nobody reads in a pod's specification.
func edition(d Desired) corev1.EnvVar {
	if d.keptEdition != nil {
		return *d.keptEdition
	}
	if d.Server.Spec.ProductKeySecretRef == nil {
		return corev1.EnvVar{Name: productKeyVariable, Value: string(d.Server.Spec.Edition)}
	}
	return corev1.EnvVar{Name: productKeyVariable, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: credentials.ProductKeyName(d.name())},
			Key:                  credentials.KeyProductKey,
		}}}
}

// lasting are the variables that wait for the next start of an engine: a release that adds one restarts none.
func lasting() []corev1.EnvVar {
	return []corev1.EnvVar{
		// An engine without a home writes below / (mssql-docker, issues 732 and 735).
		{Name: "HOME", Value: home},
		// What the engine and SQL Server Agent connect to shows a certificate of the same CA, which no image has: OpenSSL
		// takes this file beside the image's folder.
		{Name: "SSL_CERT_FILE", Value: trustDir + "/" + credentials.KeyCA},
	}
}

// withoutLasting is the template without what waits for the next start of each engine: what is hashed, so that a
// release that brings it restarts nobody.
func withoutLasting(d Desired, spec *corev1.PodSpec) {
	d.withoutBuffers(spec.SecurityContext)
	spec.InitContainers = slices.DeleteFunc(spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == containerKeys
	})
	spec.TerminationGracePeriodSeconds = ptr.To[int64](gracePeriod)
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == engineTLS || v.Name == trust || v.Name == volumeKeys || v.Name == volumeOf(placement.RoleAgent)
	})
	sidecar := &spec.Containers[1]
	sidecar.VolumeMounts = slices.DeleteFunc(sidecar.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == volumeOf(placement.RoleAgent) || m.Name == volumeConf
	})
	sidecar.Env = slices.DeleteFunc(sidecar.Env, func(v corev1.EnvVar) bool { return v.Name == agent.StateDirVariable })
	sidecar.Ports = slices.DeleteFunc(sidecar.Ports, func(p corev1.ContainerPort) bool { return p.Name == portElection })
	engine := &spec.Containers[0]
	engine.VolumeMounts = slices.DeleteFunc(engine.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == trust
	})
	engine.SecurityContext.RunAsGroup = nil
	engine.Env = slices.DeleteFunc(engine.Env, func(v corev1.EnvVar) bool { return slices.Contains(lasting(), v) })
	for i := range engine.VolumeMounts {
		switch m := &engine.VolumeMounts[i]; {
		case m.MountPath == conf.Path:
			*m = confMount(volumeConf)
		case m.Name == engineTLS:
			m.Name = "tls"
		}
	}
}

// keysContainer copies the server's certificate and key before the engine starts: files of a Secret's volume are
// root's, and SQL Server on Linux is documented with a key that is its own, for nobody else to read
// (docs/linux/sql-server-linux-encrypted-connections.md). The engine reads them once, so a renewed certificate comes
// with another pod, as it did; so does another mssql.conf (see confMount). All are in one folder, since the release
// before copies whatever is there: who goes back to it while a server keeps its pod's template has this pod with the
// images of that release, which knows no further option.
func keysContainer(d Desired) corev1.Container {
	return corev1.Container{
		Name:            containerKeys,
		Image:           d.AgentImage,
		ImagePullPolicy: d.agentPullPolicy(),
		Args:            []string{"agent", "copy-keys", "--to=" + engineTLSDir},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("64Mi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeKeys, MountPath: agent.TLSDir, ReadOnly: true},
			{Name: engineTLS, MountPath: engineTLSDir},
		},
		SecurityContext: containerSecurity(true),
	}
}

func agentContainer(d Desired) corev1.Container {
	probe := func(path string, period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: path, Port: intstr.FromString("agent"), Scheme: corev1.URISchemeHTTPS,
			}},
			PeriodSeconds: period, TimeoutSeconds: 3, FailureThreshold: failures,
		}
	}
	mounts := []corev1.VolumeMount{
		{Name: "tls", MountPath: agent.TLSDir, ReadOnly: true},
		{Name: "agent", MountPath: agent.PasswordDir, ReadOnly: true},
		// Here alone: the engine's container has no part in Kubernetes.
		{Name: "token", MountPath: tokenDir, ReadOnly: true},
		// It says which folders of snapshots there have to be: those of the engine's next start, too, do no harm.
		{Name: volumeConf, MountPath: conf.Dir, ReadOnly: true},
	}
	for _, v := range d.volumes() {
		mounts = append(mounts, corev1.VolumeMount{Name: volumeOf(v.role), MountPath: mountOf(v.role)})
	}
	return corev1.Container{
		Name:            ContainerAgent,
		Image:           d.AgentImage,
		ImagePullPolicy: d.agentPullPolicy(),
		Args:            []string{"agent", "--server-name=" + d.host(), "--namespace=" + d.Server.Namespace},
		Env:             agentEnvironment(d),
		Ports: []corev1.ContainerPort{
			{Name: "agent", ContainerPort: credentials.AgentPort, Protocol: corev1.ProtocolTCP},
			{Name: portElection, ContainerPort: credentials.ElectionPort, Protocol: corev1.ProtocolTCP},
		},
		ReadinessProbe: probe("/readyz", 2, 2),
		// The sidecar's own life, not the engine's: what to do about an engine is the election's decision.
		LivenessProbe: probe("/livez", 10, 6),
		// No CPU limit unless somebody asks for one: a throttled agent misses the write lease. The request is its weight on a
		// node whose processors are full: an agent that is late is taken for one that is gone.
		Resources:       d.Server.Spec.AgentResources(),
		VolumeMounts:    mounts,
		SecurityContext: containerSecurity(true),
	}
}

func agentEnvironment(d Desired) []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: agent.PodUIDVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"},
	}}}
	if slices.ContainsFunc(d.volumes(), isAgents) {
		env = append(env, corev1.EnvVar{Name: agent.StateDirVariable, Value: mountOf(placement.RoleAgent)})
	}
	return env
}

func mountOf(role placement.Role) string { return mounts[role] }

// engineSecurity is the restricted profile, with the one capability that it lets be added: the image's sqlservr has it
// among its file capabilities, and without it the kernel does not execute the file (mssql-docker, issues 769 and 918).
// That image is not known to work with a read-only root file system.
func engineSecurity(d Desired) *corev1.SecurityContext {
	security := containerSecurity(false)
	if d.pod().SecurityContext == nil {
		security.RunAsGroup = ptr.To[int64](userID)
	}
	security.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
	return security
}

// containerSecurity is the restricted profile of the Pod Security Standards.
func containerSecurity(readOnlyRoot bool) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(readOnlyRoot),
		RunAsNonRoot:             ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// tokenVolume is what the API server would mount into every container by itself.
func tokenVolume() corev1.Volume {
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o440),
		Sources: []corev1.VolumeProjection{
			{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Path:              "token",
					ExpirationSeconds: ptr.To[int64](tokenLife),
				},
			},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}

// keysVolume is what containerKeys copies, in one folder.
func keysVolume(d Desired) corev1.Volume {
	// They are named, so that the kubelet starts nothing without one: the engine would begin with defaults.
	named := func(keys ...string) (items []corev1.KeyToPath) {
		for _, key := range keys {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
		return items
	}
	return corev1.Volume{Name: volumeKeys, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o440),
		Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: credentials.CertificateName(d.name())},
				Items:                named(credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA),
			}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: confName(d.Server.Name)},
				Items:                named(confKey),
			}},
		},
	}}}
}

func podVolumes(d Desired) []corev1.Volume {
	secret := func(volume, name string, items ...corev1.KeyToPath) corev1.Volume {
		return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			// Readable by the pod's group alone, which fsGroup makes 10001; the engine refuses keys that others can read.
			SecretName: name, Items: items, DefaultMode: ptr.To[int32](0o440),
		}}}
	}
	volumes := []corev1.Volume{
		{Name: volumeConf, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: confName(d.Server.Name)},
		}}},
		secret("tls", credentials.CertificateName(d.name())),
		secret(trust, credentials.CertificateName(d.name()),
			corev1.KeyToPath{Key: credentials.KeyCA, Path: credentials.KeyCA}),
		secret(
			"agent",
			credentials.PasswordsName(d.name()),
			corev1.KeyToPath{Key: credentials.KeyAgent, Path: credentials.KeyAgent},
		),
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		// In memory: a key is on no disk of the node's.
		{Name: engineTLS, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("1Mi")),
		}}},
		tokenVolume(),
		keysVolume(d),
	}
	for _, v := range d.volumes() {
		volumes = append(volumes, corev1.Volume{Name: volumeOf(v.role), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(d.Server.Name, v.role)},
		}})
	}
	return volumes
}
