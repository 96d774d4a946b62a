// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/conf"
)

func TestPodOfAServer(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}
	e := newEnviron(t, declared(s, Surroundings{}))
	decision := must(decide(e.d, e.o))
	pod := podSpec(e.d, decision.Terms)
	engine, sidecar := pod.Containers[0], pod.Containers[1]

	g.Expect(engine.Command).To(Equal([]string{"/opt/mssql/bin/sqlservr"}))
	g.Expect(engine.Args).To(Equal([]string{"-k750", "-T1204", "-T1222"}))
	env := map[string]string{}
	for _, v := range engine.Env {
		env[v.Name] = v.Value
	}
	g.Expect(env).To(HaveKeyWithValue("MSSQL_MEMORY_LIMIT_MB", "3276"))
	g.Expect(env).To(HaveKeyWithValue("MSSQL_PID", "Developer"))
	g.Expect(env).To(HaveKeyWithValue("MSSQL_SA_PASSWORD", ""), "it comes from the Secret")
	g.Expect(*pod.AutomountServiceAccountToken).To(BeFalse())
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	g.Expect(terms[0].MatchExpressions[0].Values).
		To(Equal([]string{"tukwila-worker"}), "the pod goes where all its volumes can live")
	for _, c := range pod.Containers {
		g.Expect(*c.SecurityContext.AllowPrivilegeEscalation).To(BeFalse())
		g.Expect(c.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
		g.Expect(*c.SecurityContext.RunAsNonRoot).To(BeTrue())
	}
	g.Expect(engine.SecurityContext.Capabilities.Add).
		To(ConsistOf(corev1.Capability("NET_BIND_SERVICE")), "the only one that the restricted profile allows")
	g.Expect(sidecar.SecurityContext.Capabilities.Add).To(BeEmpty())
	g.Expect(*sidecar.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
	mounted := map[string]string{}
	for _, m := range engine.VolumeMounts {
		mounted[m.MountPath] = m.Name
	}
	g.Expect(mounted).To(HaveKeyWithValue("/var/opt/mssql", "data"))
	g.Expect(mounted).To(HaveKeyWithValue("/var/opt/mssql-tempdb", "tempdb"))
	g.Expect(mounted).To(HaveKeyWithValue("/var/opt/mssql/mssql.conf", "engine-tls"), "a copy that nobody exchanges")
	g.Expect(mounted).To(HaveKeyWithValue("/etc/geosql/tls", "engine-tls"), "copies that the engine owns")
	g.Expect(sidecar.VolumeMounts).To(ContainElement(And(HaveField("MountPath", "/etc/geosql/conf"),
		HaveField("Name", "conf"), HaveField("ReadOnly", true))), "the folders that the engine maps")
	for _, m := range pod.InitContainers[0].VolumeMounts {
		g.Expect(m.ReadOnly).To(Equal(m.Name != "engine-tls"), "from Secret and ConfigMap to the engine's folder")
	}
	g.Expect(pod.InitContainers[0].Image).To(Equal(sidecar.Image))
	g.Expect(*engine.SecurityContext.RunAsGroup).To(BeEquivalentTo(10001))
	g.Expect(env).To(And(HaveKeyWithValue("HOME", "/var/opt/mssql"),
		HaveKeyWithValue("SSL_CERT_FILE", "/etc/geosql/trust/ca.crt")))
	for _, v := range pod.Volumes {
		if v.Name == "agent" {
			g.Expect(v.Secret.Items).To(HaveLen(1), "the sidecar has its own password alone")
			g.Expect(v.Secret.Items[0].Key).To(Equal("agent-password"))
		}
	}
}

// The kubelet can fail to mount a file of a ConfigMap or Secret while it exchanges the files of that volume, and makes
// the container some 20 s later. A container that is started again in its pod comes at any time, and a new release
// renews the agents just when it writes mssql.conf anew. A folder is mounted as one.
func TestNoFileIsMountedOfAVolumeThatChanges(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	pod := podSpec(e.d, nil)
	changes := map[string]bool{}
	for _, v := range pod.Volumes {
		changes[v.Name] = v.ConfigMap != nil || v.Secret != nil || v.Projected != nil
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, m := range c.VolumeMounts {
			g.Expect(m.SubPath != "" && changes[m.Name]).To(BeFalse(), "%s of %s in %s", m.SubPath, m.Name, c.Name)
		}
	}
}

// Who goes back to an earlier release while a server keeps its pod's template has a pod that this release describes,
// with the images of that one. It knows no other options than these, and copies what the folder of its `--from` has.
func TestAnEarlierReleaseCopiesWhatTheEngineBeginsWith(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	pod := podSpec(e.d, nil)
	keys := pod.InitContainers[0]
	g.Expect(keys.Args).To(Equal([]string{"agent", "copy-keys", "--to=/var/run/geosql/engine-tls"}))
	from := slices.IndexFunc(keys.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == agent.TLSDir })
	g.Expect(from).To(BeNumerically(">=", 0))
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == keys.VolumeMounts[from].Name })
	g.Expect(volume).To(BeNumerically(">=", 0))
	g.Expect(pod.Volumes[volume].Projected).NotTo(BeNil())
	g.Expect(pod.Volumes[volume].Projected.DefaultMode).To(HaveValue(BeEquivalentTo(0o440)))
	named := func(keys ...string) (items []corev1.KeyToPath) {
		for _, key := range keys {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
		return items
	}
	g.Expect(pod.Volumes[volume].Projected.Sources).To(Equal([]corev1.VolumeProjection{
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "tukpub-tls"},
			Items: named("tls.crt", "tls.key", "ca.crt")}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "tukpub-mssql-conf"}, Items: named("mssql.conf")}},
	}), "without one of them the kubelet starts nothing: the engine would begin with defaults")
}

// A pod that an earlier release has made goes on as it is: its agent and its engine have mssql.conf at the engine's own
// path.
func TestPodsThatMountMssqlConfAsAFileGoOn(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	for _, spec := range []*corev1.PodSpec{&e.o.Pod.Spec, &e.o.StatefulSet.Spec.Template.Spec} {
		file := corev1.VolumeMount{Name: "conf", MountPath: conf.Path, SubPath: "mssql.conf", ReadOnly: true}
		for i := range spec.Containers[:2] {
			mounts := slices.DeleteFunc(spec.Containers[i].VolumeMounts, func(m corev1.VolumeMount) bool {
				return m.MountPath == conf.Path || m.MountPath == conf.Dir
			})
			spec.Containers[i].VolumeMounts = append(mounts, file)
		}
	}
	before := e.o.Pod.UID
	p, done := e.settle(t, 1)
	g.Expect(done).To(HaveLen(1), "%q", done)
	g.Expect(e.o.Pod.UID).To(Equal(before))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))

	e.d.AgentImage = "geosql:2"
	e.settle(t, 1)
	g.Expect(e.o.Pod.UID).To(Equal(before), "its agent is renewed in place")
	g.Expect(e.o.Pod.Spec.Containers[1].Image).To(Equal("geosql:2"))
}

func TestDesireLooksAround(t *testing.T) {
	g := NewWithT(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }
	around := Surroundings{
		Groups: []v1alpha1.AvailabilityGroup{
			{
				ObjectMeta: meta("content"),
				Spec:       v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}},
			},
			{ObjectMeta: meta("other"), Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: "x"}}}},
		},
		Distributors: []v1alpha1.Distributor{{ObjectMeta: meta("main"), Spec: v1alpha1.DistributorSpec{Server: "dist"}}},
		Publications: []v1alpha1.Publication{{ObjectMeta: meta("articles"), Spec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}, Distributor: "main"}}},
		Subscriptions: []v1alpha1.Subscription{{ObjectMeta: meta("dublin"), Spec: v1alpha1.SubscriptionSpec{
			Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}}}},
		Stores: []v1alpha1.BackupStore{
			{ObjectMeta: meta("away"), Spec: v1alpha1.BackupStoreSpec{Volume: &v1alpha1.ServerVolume{Server: "quirep"}}},
			{ObjectMeta: meta("s3"), Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{}}}},
	}
	of := func(name string) Desired {
		s := server()
		s.Name = name
		return declared(s, around)
	}
	tukpub := of("tukpub")
	g.Expect(tukpub.References).To(Equal([]string{"AvailabilityGroup content", "Publication articles"}))
	g.Expect(tukpub.Replicates).To(BeTrue())
	g.Expect(tukpub.certificateNames()).To(ContainElements("content", "content-ro.web.svc"))
	dubsub := of("dubsub")
	g.Expect(dubsub.Distributors).To(Equal([]v1alpha1.ServerName{"dist"}))
	g.Expect(configMap(dubsub).Data["mssql.conf"]).
		To(ContainSubstring("//dist-0/ReplData = /var/opt/mssql-backup/mirror/dist-0"))
	g.Expect(of("dist").References).To(Equal([]string{"Distributor main"}))
	g.Expect(of("quirep").References).To(Equal([]string{"BackupStore away"}), "it is not deleted before the store")
	around.Servers = []v1alpha1.SQLServer{{ObjectMeta: meta("tukpub")}, {ObjectMeta: meta("dist")}}
	g.Expect(of("tukpub").Others).To(Equal([]v1alpha1.ServerName{"dist"}))
	g.Expect(configMap(of("tukpub")).Data["mssql.conf"]).
		To(ContainSubstring("//dist-0/ReplData = /var/opt/mssql-backup/ReplData"))
	lonely := of("lonely")
	g.Expect(lonely.References).To(BeEmpty())
	g.Expect(lonely.Replicates).To(BeFalse())
}

// A server that is to publish in place of a lost publisher takes part in replication after its Subscription has ended
// and before the Publication names it: what the move does next takes the same rights.
func TestDesireKeepsTheRightsOfASuccessor(t *testing.T) {
	g := NewWithT(t)
	replicates := func(approved bool, phase v1alpha1.PublisherMovePhase) bool {
		s := server()
		s.Name = "dubsub"
		return declared(
			s,
			Surroundings{Moves: []v1alpha1.PublisherMove{{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "away"},
				Spec:   v1alpha1.PublisherMoveSpec{Publication: "articles", To: "dubsub", Approved: approved},
				Status: v1alpha1.PublisherMoveStatus{Phase: phase}}}},
		).Replicates
	}
	g.Expect(replicates(true, v1alpha1.MoveSwitching)).To(BeTrue())
	g.Expect(replicates(true, v1alpha1.MovePending)).To(BeTrue())
	g.Expect(replicates(true, v1alpha1.MoveCompleted)).To(BeFalse(), "the Publication names it, or another one again")
	g.Expect(replicates(false, v1alpha1.MoveEstimated)).To(BeFalse(), "nobody has approved anything")
}
