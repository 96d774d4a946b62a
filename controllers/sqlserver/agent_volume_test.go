// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// What the agent has promised, and the credentials of the votes, lie on a volume that no other container has, and no
// volume is where the engine's container could look into the agent's.
func TestTheAgentsVolumeIsItsOwn(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	pod := podSpec(e.d, nil)
	at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "tukpub-agent"
	})
	g.Expect(at).To(BeNumerically(">=", 0), "a claim of its own")
	name := pod.Volumes[at].Name
	mounted := func(c corev1.Container) []string {
		var paths []string
		for _, m := range c.VolumeMounts {
			if m.Name == name {
				paths = append(paths, m.MountPath)
			}
		}
		return paths
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Name != ContainerAgent {
			g.Expect(mounted(c)).To(BeEmpty(), c.Name)
			continue
		}
		g.Expect(mounted(c)).To(Equal([]string{agent.StateDir}))
		g.Expect(c.Env).To(ContainElement(corev1.EnvVar{Name: agent.StateDirVariable, Value: agent.StateDir}))
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		g.Expect(agent.StateDir).NotTo(HavePrefix(m.MountPath+"/"), "it is below no folder of the engine's")
	}
	g.Expect(*pod.SecurityContext.RunAsUser).To(BeEquivalentTo(userID), "it must be able to end the engine")
	g.Expect(pod.Containers[1].SecurityContext.RunAsUser).To(BeNil())
}

// The class is the site's, or else that of the data volume, where the pod has to go anyway; the size is small.
func TestClaimOfTheAgentsVolume(t *testing.T) {
	for name, tc := range map[string]struct {
		change      func(d *Desired)
		class, size string
	}{
		"of the data volume": {func(*Desired) {}, "fast", "1Gi"},
		"of the data volume, which has its own": {func(d *Desired) {
			d.Server.Spec.Storage.Data.StorageClassName = ptr.To("capacity")
		}, "capacity", "1Gi"},
		"of the site": {func(d *Desired) { d.Site.Spec.StorageClasses.Agent = "capacity" }, "capacity", "1Gi"},
		"declared": {func(d *Desired) {
			d.Server.Spec.Storage.Agent = &v1alpha1.Volume{Size: resource.MustParse("20Gi"), StorageClassName: ptr.To("archive")}
		}, "archive", "20Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared(server(), Surroundings{})
			tc.change(&d)
			all := d.volumes()
			v := all[len(all)-1]
			g.Expect(v.role).To(Equal(placement.RoleAgent))
			c := claim(d, v, v.class)
			g.Expect(c.Name).To(Equal("tukpub-agent"))
			g.Expect(*c.Spec.StorageClassName).To(Equal(tc.class))
			g.Expect(c.Spec.Resources.Requests.Storage().String()).To(Equal(tc.size))
		})
	}
}

// beforeAgentVolumes is a server that runs as an earlier release has made it.
func beforeAgentVolumes(t *testing.T) *environ {
	t.Helper()
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.d.agentVolumeHeldBack = errors.New("there is none in that release")
	e.o.StatefulSet = nil
	_, _ = e.settle(t, 100)
	e.d.agentVolumeHeldBack = nil
	NewWithT(t).Expect(hasAgentVolume(e.o.Pod.Spec)).To(BeFalse())
	return e
}

// A server that exists gets the volume with the next start that is due anyway: its claim and its template are made, the
// pod goes on, and says what waits. A new image of the sidecar does not wait for it.
func TestServersThatExistAreNotRestartedForTheAgentsVolume(t *testing.T) {
	g := NewWithT(t)
	e := beforeAgentVolumes(t)
	before := e.o.Pod.UID
	p, done := e.settle(t, 1)
	g.Expect(done).To(HaveLen(2), "%q", done)
	g.Expect(e.o.Claims).To(HaveKey(placement.RoleAgent))
	g.Expect(hasAgentVolume(e.o.StatefulSet.Spec.Template.Spec)).To(BeTrue())
	g.Expect(e.o.Pod.UID).To(Equal(before))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(restartPending(p)).To(And(HaveField("Status", metav1.ConditionTrue),
		HaveField("Reason", v1alpha1.ReasonPromisesOnDataVolume)))

	e.d.AgentImage = "geosql:2"
	p, _ = e.settle(t, 1)
	g.Expect(e.o.Pod.UID).To(Equal(before))
	g.Expect(e.o.Pod.Spec.Containers[1].Image).To(Equal("geosql:2"))
	g.Expect(restartPending(p).Reason).To(Equal(v1alpha1.ReasonPromisesOnDataVolume))

	e.startPod()
	p, done = e.settle(t, 1)
	g.Expect(done).To(BeEmpty())
	g.Expect(hasAgentVolume(e.o.Pod.Spec)).To(BeTrue())
	g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))
}

// A pod that no node could take with a further volume is not asked to have one: a node's end would be the server's.
func TestAnAgentsVolumeThatFitsNowhereIsHeldBack(t *testing.T) {
	for name, class := range map[string]string{"its class is not there": "quick", "it is elsewhere": "archive"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := beforeAgentVolumes(t)
			e.d.Site.Spec.StorageClasses.Agent = class
			p, done := e.settle(t, 1)
			g.Expect(done).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
			g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))
			e.o.State = reconcile.Read(&agent.StateStatus{Writable: true})
			g.Expect(promisesCondition(e.d, e.o)).To(HaveValue(And(HaveField("Status", metav1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonAgentVolumeNotPlaced),
				HaveField("Message", And(ContainSubstring(class), ContainSubstring("storageClasses.agent"))))))
			g.Expect(describePlacement(e.d, e.o).Candidates).NotTo(BeEmpty())

			fresh := newEnviron(t, e.d)
			p = plan(fresh.d, fresh.o)
			for len(p.All()) > 0 {
				fresh.do(t, p.All()[0])
				p = plan(fresh.d, fresh.o)
			}
			g.Expect(p.Outcome.Reason).To(Or(Equal(v1alpha1.ReasonStorageClassNotFound),
				Equal(v1alpha1.ReasonNoNodeForVolumes)), "a new server says so instead")
		})
	}
}

// A volume of a class that binds at once is made anywhere: the pod is to have it only once it is known to be where the
// pod can run. Until then the server goes on without.
func TestAnAgentsVolumeThatBindsAtOnceIsAwaited(t *testing.T) {
	for _, mode := range []*storagev1.VolumeBindingMode{nil, ptr.To(storagev1.VolumeBindingImmediate)} {
		g := NewWithT(t)
		e := beforeAgentVolumes(t)
		e.d.Site.Spec.StorageClasses.Agent = "capacity"
		for i := range e.o.Cluster.Classes {
			if c := &e.o.Cluster.Classes[i]; c.Name == "capacity" {
				c.VolumeBindingMode = mode
			}
		}
		before := e.o.StatefulSet.Spec.Template
		held := func(why string) {
			t.Helper()
			p, _ := e.settle(t, 2)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
			g.Expect(e.o.Claims).To(HaveKey(placement.RoleAgent))
			g.Expect(e.o.StatefulSet.Spec.Template).To(Equal(before), "neither volume nor variable, nor where it may run")
			g.Expect(restartPending(p).Status).To(Equal(metav1.ConditionFalse))
			e.o.State = reconcile.Read(&agent.StateStatus{Writable: true})
			g.Expect(promisesCondition(e.d, e.o)).To(HaveValue(And(HaveField("Status", metav1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonAgentVolumeNotPlaced), HaveField("Message", ContainSubstring(why)))))
		}
		held("tukpub-agent of class capacity is not bound")
		g.Expect(*e.o.Claims[placement.RoleAgent].Spec.StorageClassName).To(Equal("capacity"))

		on := func(host string) *corev1.PersistentVolume {
			terms := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}}
			return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: "capacity",
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
		}
		e.o.Bound[placement.RoleAgent] = on("tukwila-worker2")
		held("delete the claim tukpub-agent")
		for i := range e.o.Cluster.Nodes {
			e.o.Cluster.Nodes[i].Spec.Unschedulable = true
		}
		held("delete the claim tukpub-agent")
		for i := range e.o.Cluster.Nodes {
			e.o.Cluster.Nodes[i].Spec.Unschedulable = false
		}

		e.o.Bound[placement.RoleAgent] = on("tukwila-worker")
		_, _ = e.settle(t, 2)
		g.Expect(hasAgentVolume(e.o.StatefulSet.Spec.Template.Spec)).To(BeTrue())
	}
}

func TestWhatIsSaidOfPromises(t *testing.T) {
	own, data := agent.StateStatus{OwnVolume: true, Writable: true}, agent.StateStatus{Writable: true}
	full := agent.StateStatus{OwnVolume: true, Message: "no space left on device"}
	for name, tc := range map[string]struct {
		state   reconcile.Reading[*agent.StateStatus]
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"on its own":  {reconcile.Read(&own), metav1.ConditionTrue, "OnOwnVolume", ""},
		"on the data": {reconcile.Read(&data), metav1.ConditionTrue, "OnDataVolume", "next start"},
		"not writable": {reconcile.Read(&full), metav1.ConditionFalse, "NotWritable",
			"own volume takes no promise: no space"},
		"of another time":   {reconcile.Read[*agent.StateStatus](nil), "", "", ""},
		"it did not answer": {reconcile.NotRead[*agent.StateStatus](errors.New("no answer")), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.o.State = tc.state
			c := promisesCondition(e.d, e.o)
			if tc.reason == "" {
				g.Expect(c).To(BeNil(), "what was said last stands")
				return
			}
			g.Expect(*c).To(And(HaveField("Status", tc.status), HaveField("Reason", tc.reason),
				HaveField("Message", ContainSubstring(tc.message))))
		})
	}
}

// A claim of the agent's alone is no volume of an engine's: the passwords of a server may be made anew beside it.
func TestTheAgentsClaimIsNoEnginesVolume(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.o.Claims[placement.RoleAgent] = &corev1.PersistentVolumeClaim{}
	g.Expect(e.o.volumesExist()).To(BeFalse())
	g.Expect(credentials.Agree(nil, nil, e.o.volumesExist())).NotTo(BeZero())
	e.o.Claims[placement.RoleData] = &corev1.PersistentVolumeClaim{}
	g.Expect(e.o.volumesExist()).To(BeTrue())
}
