// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

func TestEstimatesFollowTheDocumentedFormulas(t *testing.T) {
	commit := func(seconds int) *time.Time { return ptr.To(begin.Add(time.Duration(seconds) * time.Second)) }
	for name, tc := range map[string]struct {
		own          mssql.GroupDatabaseState
		seen, leader *mssql.GroupDatabaseState
		loss, redo   *time.Duration
	}{
		"no primary: both unknown": {own: mssql.GroupDatabaseState{LastCommit: commit(0)}},
		"ready for failover": {own: mssql.GroupDatabaseState{LastCommit: commit(0)},
			seen: &mssql.GroupDatabaseState{FailoverReady: true}, leader: &mssql.GroupDatabaseState{LastCommit: commit(9)},
			loss: ptr.To(time.Duration(0))},
		"lagging by its last commit": {own: mssql.GroupDatabaseState{LastCommit: commit(3)},
			seen: &mssql.GroupDatabaseState{}, leader: &mssql.GroupDatabaseState{LastCommit: commit(10)},
			loss: ptr.To(7 * time.Second)},
		"a clock ahead is no loss": {own: mssql.GroupDatabaseState{LastCommit: commit(11)},
			seen: &mssql.GroupDatabaseState{}, leader: &mssql.GroupDatabaseState{LastCommit: commit(10)},
			loss: ptr.To(time.Duration(0))},
		"never committed: unknown": {own: mssql.GroupDatabaseState{}, seen: &mssql.GroupDatabaseState{},
			leader: &mssql.GroupDatabaseState{LastCommit: commit(10)}},
		"redo queue by rate": {own: mssql.GroupDatabaseState{RedoQueueKB: ptr.To[int64](3000),
			RedoRateKBps: ptr.To[int64](2000)}, redo: ptr.To(1500 * time.Millisecond)},
		"an idle rate says nothing": {own: mssql.GroupDatabaseState{RedoQueueKB: ptr.To[int64](3000),
			RedoRateKBps: ptr.To[int64](0)}},
		"an empty queue takes no time": {own: mssql.GroupDatabaseState{RedoQueueKB: ptr.To[int64](0)},
			redo: ptr.To(time.Duration(0))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := describeDatabase(tc.own, tc.seen, tc.leader)
			g.Expect(duration(s.EstimatedDataLoss)).To(Equal(tc.loss))
			g.Expect(duration(s.EstimatedRecoveryTime)).To(Equal(tc.redo))
		})
	}
}

func duration(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}

// What cannot be seen is Unknown, not what it was before.
func TestStatusOfWhatIsSilent(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	whole := e.d.Group.Status
	g.Expect(whole.Primary).To(Equal("tukpub-0"))
	g.Expect(whole.GroupID).To(Equal("6a8b"))
	g.Expect(whole.Listener).To(Equal("content:1433"))
	g.Expect(whole.Synchronized).To(Equal("2 of 2"), "the configuration-only replica holds no data")
	g.Expect(whole.Replicas[1].Databases[0]).To(HaveField("SynchronizationState", "SYNCHRONIZED"))
	g.Expect(whole.Voters).To(HaveEach(HaveField("State", "Held")))

	g.Expect(whole.Replicas[1].Quarantined).To(BeNil())
	apart := e.observe()
	apart.Voters[2].Record.Notes.Apart =
		`[{"server":"quisec-0","term":4,"databases":[{"name":"Content","fromLSN":"7","toLSN":"9"}]}]`
	g.Expect(describe(whole, e.d, apart).Replicas[1].Quarantined).To(Equal(&v1alpha1.Quarantine{Term: 4,
		Databases: []v1alpha1.QuarantinedDatabase{
			{Name: "Content", FromLSN: "7", ToLSN: "9"},
		}}), "one voter's word is enough")

	e.now = e.now.Add(time.Minute)
	e.silent["quisec"], e.cut["quincy"] = true, true
	s := describe(whole, e.d, e.observe())
	g.Expect(s.Primary).To(Equal("tukpub-0"))
	g.Expect(s.Replicas[1].Role).To(Equal("Unknown"))
	g.Expect(s.Synchronized).To(Equal("1 of 2"))
	g.Expect(s.Replicas[1].Databases).
		To(Equal([]v1alpha1.ReplicaDatabaseStatus{{Name: "Content", SynchronizationState: "Unknown",
			LastCommitTime:  whole.Replicas[1].Databases[0].LastCommitTime,
			LastHardenedLSN: whole.Replicas[1].Databases[0].LastHardenedLSN}}))
	g.Expect(s.Replicas[1].Promotable).
		To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", "NotAnswering")))
	g.Expect(s.Replicas[1].ObservedAt).To(Equal(whole.Replicas[1].ObservedAt), "when it last answered stays")
	g.Expect(s.Voters[1]).
		To(Equal(v1alpha1.VoterStatus{Site: "quincy", Holder: "tukpub-0", HolderIdentity: "tukpub-0//", Term: 1,
			State: "Unknown"}))
	g.Expect(fenced(e.d, e.observe()).Status).To(Equal(metav1.ConditionTrue), "two of three voters are a majority")
	g.Expect(degraded(e.d, e.observe())).
		To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("quisec-0"))))

	e.cut["tukwila"] = true
	s = describe(s, e.d, e.observe())
	g.Expect(s.Primary).To(BeEmpty(), "nobody is known to be primary")
	g.Expect(s.GroupID).To(Equal("6a8b"), "the group is not forgotten")
	g.Expect(s.Term).To(Equal(int64(1)))
	g.Expect(fenced(e.d, e.observe()).Status).To(Equal(metav1.ConditionUnknown))

	clear(e.cut)
	clear(e.silent)
	delete(e.leases, "dublin")
	g.Expect(describe(s, e.d, e.observe()).Voters[2]).To(Equal(v1alpha1.VoterStatus{Site: "dublin", State: "Absent"}))
	e.leases["dublin"] = &votes.Record{Term: 7, State: votes.StateHeld, Holder: votes.Holder{Server: "quisec-0"}}
	g.Expect(describe(s, e.d, e.observe()).Term).
		To(Equal(int64(1)), "what one voter alone has granted is not the group's term")
	e.leases["quincy"] = e.leases["dublin"]
	g.Expect(describe(s, e.d, e.observe()).Term).To(Equal(int64(7)))
}

// Status is all that tells of servers that were replicas and may have the group: none is left out, however many are
// declared.
func TestStatusKeepsFormerReplicas(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	former := []string{}
	for i := range 30 {
		name := fmt.Sprintf("former%d-0", i)
		former = append(former, name)
		e.d.Sites = maps.Clone(e.d.Sites)
		e.d.Sites[credentials.ServerOf(name)] = "dublin"
		e.d.Group.Status.Replicas = append(e.d.Group.Status.Replicas, v1alpha1.ReplicaStatus{Server: name})
		if i != 8 && i != 29 {
			continue
		}
		s := describe(e.d.Group.Status, e.d, e.observe())
		var names []string
		for _, r := range s.Replicas {
			names = append(names, r.Server)
		}
		g.Expect(names).To(ContainElements(former))
		g.Expect(len(names)).To(BeNumerically("<=", maxReplicas))
	}
}

// A full log at the primary is said with what keeps it, and one at a secondary is not the group's.
func TestLogRoomOfThePrimary(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared())
	e.settle(everything)
	o := e.observe()
	at := func(server v1alpha1.ServerName, change func(*Instance)) metav1.Condition {
		i := o.Instances[server]
		i.Logs, i.LogsErr = map[string]mssql.LogSize{
			"Content": {TotalKB: 100, UsedKB: 99, GrowKB: ptr.To[int64](1000)},
			"Other":   {UsedKB: 10, TotalKB: 10, GrowKB: ptr.To[int64](0)},
		}, nil
		change(&i)
		o.Instances[server] = i
		return logRoom(e.d, o)
	}
	like := func(status metav1.ConditionStatus, reason, message string) types.GomegaMatcher {
		return And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))
	}
	full := func(i *Instance) {
		i.Logs["Content"] = mssql.LogSize{TotalKB: 1000, UsedKB: 990, GrowKB: ptr.To[int64](0), Wait: "LOG_BACKUP"}
	}
	g.Expect(at("tukpub", func(*Instance) {})).
		To(like(metav1.ConditionTrue, "LogHasRoom", "have room"), "a database of no group is not the group's")
	g.Expect(at("quisec", full)).To(like(metav1.ConditionTrue, "LogHasRoom", "have room"))
	g.Expect(at("tukpub", full)).
		To(like(metav1.ConditionFalse, "LogFull", "tukpub-0: Content (990 KB used, room for 10 KB more, kept by LOG_BACKUP)"))
	g.Expect(at("tukpub", func(i *Instance) { i.Logs["Content"] = mssql.LogSize{TotalKB: 1000, UsedKB: 1000} })).
		To(like(metav1.ConditionTrue, "LogHasRoom", ""), "what is not known is not full")
	g.Expect(at("tukpub", func(i *Instance) { i.Logs, i.LogsErr = nil, errors.New("refused") })).
		To(like(metav1.ConditionUnknown, "LogNotMeasured", "refused"))
	e.silent["tukpub"] = true
	o = e.observe()
	g.Expect(logRoom(e.d, o)).To(like(metav1.ConditionUnknown, "PrimaryUnknown", ""))
}
