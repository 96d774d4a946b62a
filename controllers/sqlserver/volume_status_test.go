// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const gigabyte = 1 << 30

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// grows is a server whose volume backup is to grow from 50Gi to size, and whose claim says so.
func grows(t *testing.T, size string) *environ {
	t.Helper()
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.o.Claims["backup"] = e.o.Claims["backup"].DeepCopy()
	e.o.Claims["backup"].Status.Capacity = storage("50Gi")
	e.d.Server.Spec.Storage.Backup.Size = resource.MustParse(size)
	e.settle(t, 100)
	e.o.Claims["backup"].Status.Capacity = storage("50Gi")
	return e
}

// A volume grows until its file system has what is asked for, and the condition says so until then.
func TestAVolumeThatGrows(t *testing.T) {
	g := NewWithT(t)
	e := grows(t, "60Gi")
	c := resizingCondition(e.d, e.o)
	g.Expect(c.Status).To(Equal(metav1.ConditionTrue))
	g.Expect(c.Reason).To(Equal(v1alpha1.ReasonVolumesGrowing))
	g.Expect(c.Message).To(ContainSubstring("backup from 50Gi to 60Gi"))
	g.Expect(plan(e.d, e.o).Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), "the server serves meanwhile")
	e.o.Claims["backup"].Status.Conditions = []corev1.PersistentVolumeClaimCondition{
		{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
	g.Expect(resizingCondition(e.d, e.o).Message).To(ContainSubstring("FileSystemResizePending"))
	g.Expect(describeVolumes(nil, e.o)[3]).To(And(HaveField("Role", "backup"), HaveField("Conditions", HaveLen(1))))
	e.o.Claims["backup"].Status = corev1.PersistentVolumeClaimStatus{Capacity: storage("60Gi")}
	g.Expect(resizingCondition(e.d, e.o).Status).To(Equal(metav1.ConditionFalse))
	g.Expect(describeVolumes(nil, e.o)[3].Capacity.String()).To(Equal("60Gi"))
}

// What the storage refuses is for a person, in its own words; the way back is a size that it can give, or the one that
// the volume has.
func TestAVolumeThatTheStorageRefuses(t *testing.T) {
	g := NewWithT(t)
	e := grows(t, "600Gi")
	refused := corev1.PersistentVolumeClaimStatus{Capacity: storage("50Gi"),
		Conditions: []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimControllerResizeError,
			Status: corev1.ConditionTrue, Message: "rpc error: pool is full"}}}
	e.o.Claims["backup"].Status = refused
	p := plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonVolumeCannotGrow))
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("from 50Gi to 600Gi: rpc error: pool is full"),
		ContainSubstring("Set the size back to 50Gi")))
	g.Expect(resizingCondition(e.d, e.o).Reason).To(Equal(v1alpha1.ReasonVolumesNotGrown))

	e.d.Server.Spec.Storage.Backup.Size = resource.MustParse("50Gi")
	p = plan(e.d, e.o)
	g.Expect(p.All()).To(BeEmpty(), "a claim takes nothing that is not above what its volume has")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(resizingCondition(e.d, e.o).Status).To(Equal(metav1.ConditionFalse))

	e.d.Server.Spec.Storage.Backup.Size = resource.MustParse("55Gi")
	e.settle(t, 100)
	size := e.o.Claims["backup"].Spec.Resources.Requests[corev1.ResourceStorage]
	g.Expect(size.String()).To(Equal("55Gi"))

	e = grows(t, "600Gi")
	e.o.Claims["backup"].Status = corev1.PersistentVolumeClaimStatus{Capacity: storage("50Gi"),
		AllocatedResourceStatuses: map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizeInfeasible}}
	g.Expect(plan(e.d, e.o).Outcome.Message).To(ContainSubstring("NodeResizeInfeasible"))
}

// How full a volume is goes to the status when it has changed by a fiftieth, not each time it is asked for.
func TestWhatOfAVolumesUseIsWorthWriting(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	g.Expect(describeVolumes(nil, e.o)[0].Used).To(BeNil(), "nothing is known")
	free := func(gigabytes float64) {
		e.o.Rooms = map[string]agent.VolumeRoom{"data": {CapacityBytes: 100 * gigabyte,
			FreeBytes: int64(gigabytes * gigabyte)}}
	}
	free(60)
	first := describeVolumes(nil, e.o)
	g.Expect(*first[0].Free).To(BeEquivalentTo(60 * gigabyte))
	g.Expect(*first[0].Used).To(BeEquivalentTo(40 * gigabyte))
	for _, near := range []float64{61, 59, 58.1, 61.9} {
		free(near)
		g.Expect(describeVolumes(first, e.o)).To(Equal(first), "%v", near)
	}
	free(58)
	second := describeVolumes(first, e.o)
	g.Expect(*second[0].Free).To(BeEquivalentTo(58 * gigabyte))
	e.o.Rooms = nil
	g.Expect(describeVolumes(second, e.o)).To(Equal(second), "what is not known stays as it was last seen")
}

func TestAVolumeThatFills(t *testing.T) {
	for name, c := range map[string]struct {
		room   agent.VolumeRoom
		was    bool
		reason string
		says   string
	}{
		"half":        {room: agent.VolumeRoom{FreeBytes: 50}, reason: v1alpha1.ReasonEnoughRoom},
		"an eleventh": {room: agent.VolumeRoom{FreeBytes: 11}, reason: v1alpha1.ReasonEnoughRoom},
		"a twelfth": {room: agent.VolumeRoom{FreeBytes: 9}, reason: v1alpha1.ReasonLittleRoom, says: "data has 9 % " +
			"of 100.0 GiB free"},
		"still little": {room: agent.VolumeRoom{FreeBytes: 11}, was: true, reason: v1alpha1.ReasonLittleRoom},
		"again enough": {room: agent.VolumeRoom{FreeBytes: 12}, was: true, reason: v1alpha1.ReasonEnoughRoom},
		"soon": {room: agent.VolumeRoom{FreeBytes: 50, GrowthBytesPerHour: 20}, reason: v1alpha1.ReasonFullSoon,
			says: "none in 3 h"},
		"later": {room: agent.VolumeRoom{FreeBytes: 50, GrowthBytesPerHour: 10}, reason: v1alpha1.ReasonEnoughRoom},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared(server(), Surroundings{})
			if c.was {
				d.Server.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVolumesFilling,
					Status: metav1.ConditionTrue}}
			}
			c.room.CapacityBytes = 100 * gigabyte
			c.room.FreeBytes, c.room.GrowthBytesPerHour = c.room.FreeBytes*gigabyte, c.room.GrowthBytesPerHour*gigabyte
			said := fillingCondition(d, Observed{Rooms: map[string]agent.VolumeRoom{"data": c.room}})
			g.Expect(said.Reason).To(Equal(c.reason))
			g.Expect(said.Status == metav1.ConditionTrue).To(Equal(c.reason != v1alpha1.ReasonEnoughRoom))
			g.Expect(said.Message).To(ContainSubstring(c.says))
		})
	}
	NewWithT(t).Expect(fillingCondition(Desired{}, Observed{})).To(BeNil())
}
