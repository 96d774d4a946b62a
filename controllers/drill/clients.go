// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/workload"
)

const (
	// clientContainer is the container of a client's pod.
	clientContainer = "clients"
	// clientUser is the image's user.
	clientUser = 65532
	// registers that clients write and read beside the rows.
	registers = 4
)

// clientsName is the name of the pods of clients, and of their Secrets and login.
func clientsName(d *v1alpha1.Drill) string { return d.Name + "-clients" }

// loginName of the clients at the engine.
func loginName(d *v1alpha1.Drill) string { return "drill_" + d.Name }

// connectionSecret is what the clients' Login writes at every site.
func connectionSecret(d *v1alpha1.Drill) string { return clientsName(d) + "-connection" }

// login of the clients: the same on every replica. The drill's finalizer deletes it; it names no owner, whose deletion
// by the garbage collector would keep the login.
func login(d *v1alpha1.Drill, s *v1alpha1.DrillStatus, t *target) *v1alpha1.Login {
	on := v1alpha1.ServerOrGroup{AvailabilityGroup: v1alpha1.ObjectName(s.Group)}
	if s.Group == "" {
		on = v1alpha1.ServerOrGroup{Server: t.publisher}
	}
	return &v1alpha1.Login{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Login"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace,
			Name:      clientsName(d),
			Labels:    drill.Labels(d.Namespace, d.Name, s.RunID),
		},
		Spec: v1alpha1.LoginSpec{
			Target: on, Name: loginName(d), PasswordSecretRef: &v1alpha1.SecretReference{Name: clientsName(d), Key: "password"},
			Users: []v1alpha1.LoginUser{
				{Database: v1alpha1.DatabaseName(s.Database), Roles: []v1alpha1.RoleName{"db_owner"}},
			},
			ReclaimPolicy: v1alpha1.ReclaimDelete,
		},
	}
}

// secret with the clients' password, in the hub.
func secret(d *v1alpha1.Drill, s *v1alpha1.DrillStatus, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            clientsName(d),
			Labels:          drill.Labels(d.Namespace, d.Name, s.RunID),
			OwnerReferences: owned(d),
		},
		StringData: map[string]string{"password": password},
	}
}

func owned(d *v1alpha1.Drill) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Drill", Name: d.Name, UID: d.UID}}
}

// clientPod has the clients of a site. Its histories live as long as the pod, whatever becomes of its container.
func clientPod(
	d *v1alpha1.Drill,
	s *v1alpha1.DrillStatus,
	t *target,
	site v1alpha1.SiteName,
	image string,
) *corev1.Pod {
	arguments := []string{
		"workload",
		"record",
		"--client",
		string(site),
		"--server",
		string(t.publisher),
		"--address",
		t.address,
		"--database",
		s.Database,
		"--registers",
		strconv.Itoa(registers),
		"--operation-timeout",
		operationTimeout(d).String(),
		"--timeout",
		(drill.TimeLimit(d.Spec) + time.Minute).String(),
		"--stay",
	}
	arguments = append(arguments, load(d.Spec.Workload, t.payload(d.Spec.Workload))...)
	if profile(d) == workload.Append {
		arguments = append(arguments, "--lists-from", strconv.FormatInt(listsFrom(s), 10))
	}
	if s.Group != "" {
		arguments = append(arguments, "--listener-certificate")
	}
	labels := drill.Labels(d.Namespace, d.Name, s.RunID)
	labels[v1alpha1.LabelSite] = string(site)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: clientsName(d), Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			RestartPolicy:                corev1.RestartPolicyOnFailure,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				RunAsUser:      ptr.To[int64](clientUser),
				FSGroup:        ptr.To[int64](clientUser),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			TerminationGracePeriodSeconds: ptr.To[int64](5),
			// Not on the node of a server of the group, where another will do: what strikes the node would strike them too.
			Affinity: &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
						Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname,
							LabelSelector: &metav1.LabelSelector{
								MatchExpressions: []metav1.LabelSelectorRequirement{
									{Key: v1alpha1.LabelServer, Operator: metav1.LabelSelectorOpExists},
								},
							}}}},
				},
			},
			Containers: []corev1.Container{{
				Name: clientContainer, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: arguments,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{
						corev1.ResourceCPU:    resource.MustParse("20m"),
						corev1.ResourceMemory: resource.MustParse("32Mi"),
					},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem:   ptr.To(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "credentials", MountPath: "/credentials", ReadOnly: true},
					{Name: "histories", MountPath: "/histories"},
				},
			}},
			Volumes: []corev1.Volume{
				{
					Name: "credentials",
					VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: connectionSecret(d), DefaultMode: ptr.To[int32](0o440)},
					},
				},
				{Name: "histories", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

func operationTimeout(d *v1alpha1.Drill) time.Duration {
	if t := d.Spec.Workload.OperationTimeout; t != nil {
		return t.Duration
	}
	return 2 * time.Second
}

// profile of the clients' load.
func profile(d *v1alpha1.Drill) workload.Profile {
	if d.Spec.Workload.Profile == "" {
		return workload.Insert
	}
	return workload.Profile(d.Spec.Workload.Profile)
}

// load is what the clients are told to do.
func load(w v1alpha1.DrillWorkload, p workload.Payload) []string {
	var arguments []string
	if w.Profile != "" && w.Profile != v1alpha1.ProfileInsert {
		arguments = append(arguments, "--profile", string(w.Profile))
	}
	if len(w.Stages) > 0 {
		var stages workload.Stages
		for _, s := range w.Stages {
			stages = append(stages, workload.Stage{Users: int(s.Users), Lasts: s.Duration.Duration})
		}
		arguments = append(arguments, "--stages", stages.String())
	} else {
		arguments = append(arguments, "--workers", strconv.Itoa(int(drill.Users(w, 0))))
	}
	if think, thinks := drill.ThinkTime(w); thinks {
		arguments = append(arguments, "--rate", "0", "--think-time", think.String())
	} else {
		arguments = append(arguments, "--rate", strconv.Itoa(int(drill.RowsPerSecond(w))))
		if w.RowsPerSecond == 0 {
			arguments = append(arguments, "--fits")
		}
	}
	if p.Table != "" {
		arguments = append(arguments, "--payload-table", string(p.Table), "--payload-bytes", strconv.Itoa(p.Bytes))
	}
	return arguments
}

func orDefault[N int32 | int64](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// clientStatus of a site in a status; it is added when there is none.
func clientStatus(s *v1alpha1.DrillStatus, site string) *v1alpha1.DrillClient {
	for i := range s.Clients {
		if s.Clients[i].Site == site {
			return &s.Clients[i]
		}
	}
	s.Clients = append(s.Clients, v1alpha1.DrillClient{Site: site})
	return &s.Clients[len(s.Clients)-1]
}

func describeTarget(s v1alpha1.DrillStatus) string {
	if s.Subscription != "" {
		return "Subscription " + s.Subscription
	}
	return fmt.Sprintf("AvailabilityGroup %s", s.Group)
}
