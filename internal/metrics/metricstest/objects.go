// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Message is in every message of Objects. It must be in no metric.
const Message = "s3cret"

// Objects are a group over three sites that has failed over, a publication with its subscription, and drills, as they
// are at a time.
func Objects(now time.Time) []client.Object {
	return slices.Concat(system(now), replication(now), drills(now), backups(now))
}

// Authorities are CAs that end in some years.
func Authorities(context.Context) (map[string]time.Time, error) {
	end := time.Now().Add(5 * 365 * 24 * time.Hour)
	return map[string]time.Time{"servers": end, "manager": end}, nil
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

func ready(status metav1.ConditionStatus) v1alpha1.StatusBase {
	return v1alpha1.StatusBase{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: "Example", Message: Message}},
	}
}

func seconds(s float64) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(s * float64(time.Second))}
}

func system(now time.Time) []client.Object {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	micro := func(d time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: now.Add(d)} }
	database := func(state string, send, redo int64, lacks *metav1.Duration) []v1alpha1.ReplicaDatabaseStatus {
		return []v1alpha1.ReplicaDatabaseStatus{
			{
				Name:                  "Content",
				SynchronizationState:  state,
				LogSendQueueKB:        &send,
				RedoQueueKB:           &redo,
				RedoRateKBps:          ptr.To[int64](500),
				LastCommitTime:        at(-time.Second),
				EstimatedDataLoss:     lacks,
				EstimatedRecoveryTime: seconds(float64(redo) / 500),
			},
		}
	}
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: meta("content"),
		Spec: v1alpha1.AvailabilityGroupSpec{
			Objectives: &v1alpha1.Objectives{RPO: seconds(0), RTO: seconds(30), RedoCatchUp: seconds(60),
				BackupRPO: seconds(900)},
		},
		Status: v1alpha1.AvailabilityGroupStatus{
			StatusBase: ready(metav1.ConditionTrue),
			GroupID:    "1",
			Primary:    "tukpub-0",
			Term:       4,
			Restorable: at(-4 * time.Minute),
			Voters: []v1alpha1.VoterStatus{
				{
					Site:   "tukwila",
					Holder: "tukpub-0",
					Term:   4,
					State:  "Held",
				}, {Site: "quincy", Holder: "tukpub-0", Term: 4, State: "Held"}, {Site: "dublin", State: "Unknown"}},
			Replicas: []v1alpha1.ReplicaStatus{
				{
					Server:                "tukpub-0",
					Role:                  "PRIMARY",
					ConnectedState:        "CONNECTED",
					SynchronizationHealth: "HEALTHY",
					ObservedAt:            at(0),
					Databases:             database("SYNCHRONIZED", 0, 0, seconds(0)),
					Promotable: &v1alpha1.Promotability{
						Status:  metav1.ConditionFalse,
						Reason:  "AlreadyPrimary",
						Message: Message,
					},
				},
				{
					Server:                "quisec-0",
					Role:                  "SECONDARY",
					ConnectedState:        "CONNECTED",
					SynchronizationHealth: "HEALTHY",
					ObservedAt:            at(0),
					Databases:             database("SYNCHRONIZED", 64, 4096, seconds(0)),
					Promotable: &v1alpha1.Promotability{
						Status:  metav1.ConditionTrue,
						Reason:  "Synchronized",
						Message: Message,
					},
				},
				{
					Server:                "dubcfg-0",
					Role:                  "Unknown",
					ConnectedState:        "Unknown",
					SynchronizationHealth: "Unknown",
					ObservedAt:            at(-time.Minute),
				},
			},
		}}
	objects := []client.Object{group,
		&v1alpha1.Failover{
			ObjectMeta: meta("content-4"),
			Spec:       v1alpha1.FailoverSpec{Group: "content", Kind: v1alpha1.FailoverFailover},
			Status: v1alpha1.FailoverStatus{
				StatusBase: ready(metav1.ConditionTrue),
				Outcome:    v1alpha1.FailoverSucceeded,
				Cause:      "Automatic",
				Message:    Message,
				Completed:  micro(-time.Hour),
				Timeline: &v1alpha1.FailoverTimeline{
					Suspected: micro(-time.Hour - 9*time.Second),
					Claimed:   micro(-time.Hour - 8*time.Second),
					Fenced:    micro(-time.Hour - 7*time.Second),
					Promoted: micro(
						-time.Hour - 6*time.Second,
					),
					FirstWrite:      micro(-time.Hour - 5*time.Second),
					AllSynchronized: micro(-time.Hour),
				},
			},
		},
		&v1alpha1.Topology{
			ObjectMeta: meta("msdn"),
			Status:     v1alpha1.TopologyStatus{StatusBase: ready(metav1.ConditionTrue)},
		},
		&v1alpha1.Login{ObjectMeta: meta("web"), Status: v1alpha1.LoginStatus{StatusBase: ready(metav1.ConditionUnknown)}},
	}
	for server, site := range map[string]string{"tukpub": "tukwila", "quisec": "quincy", "dubcfg": "dublin"} {
		objects = append(
			objects,
			&v1alpha1.Site{
				ObjectMeta: metav1.ObjectMeta{Name: site},
				Status: v1alpha1.SiteStatus{StatusBase: ready(metav1.ConditionTrue), LastHeartbeat: at(-time.Second),
					RoundTrip: seconds(0.15), CredentialsExpire: at(240 * time.Hour),
					Links: []v1alpha1.SiteLinkStatus{{To: "santa-clara", RoundTrip: seconds(0.019), Server: "web/" + server,
						Peer: "sccsub", Window: new(int64(18 << 20)), Declared: &v1alpha1.DeclaredLink{RoundTrip: seconds(0.019)}}}},
			},
			&v1alpha1.SQLServer{ObjectMeta: meta(server), Spec: v1alpha1.SQLServerSpec{Site: v1alpha1.SiteName(site)},
				Status: v1alpha1.SQLServerStatus{
					StatusBase:         ready(metav1.ConditionTrue),
					CertificateExpires: at(60 * 24 * time.Hour),
					StartTime:          at(-time.Hour),
				}},
		)
	}
	return objects
}

func replication(now time.Time) []client.Object {
	agent := func(state string) *v1alpha1.AgentStatus {
		return &v1alpha1.AgentStatus{Name: "TUKPUB-0-Content", State: state, Message: Message, Time: &metav1.Time{Time: now},
			LastErrorCode: "20598", LastErrorTime: &metav1.Time{Time: now.Add(-time.Hour)}}
	}
	return []client.Object{
		&v1alpha1.Distributor{
			ObjectMeta: meta("dist"),
			Status: v1alpha1.DistributorStatus{StatusBase: ready(metav1.ConditionTrue),
				Database: &v1alpha1.DatabaseRoom{Used: 4 << 30, Free: ptr.To[int64](16 << 30)}},
		},
		&v1alpha1.Publication{
			ObjectMeta: meta("articles"),
			Status: v1alpha1.PublicationStatus{
				StatusBase: ready(metav1.ConditionTrue),
				LogReader:  agent("InProgress"),
				Snapshot:   agent("Idle"),
				Articles: []v1alpha1.ArticleStatus{
					{Name: "dbo.Article", State: "Published"},
					{Name: "dbo.Author", State: "Published"},
				},
			},
		},
		&v1alpha1.Subscription{
			ObjectMeta: meta("dublin"),
			Spec:       v1alpha1.SubscriptionSpec{Objectives: &v1alpha1.SubscriptionObjectives{Latency: seconds(30)}},
			Status: v1alpha1.SubscriptionStatus{
				StatusBase: ready(metav1.ConditionTrue),
				Phase:      "Active",
				Agent:      agent("InProgress"),
				PendingCommands: ptr.To[int64](
					12,
				),
				EstimatedSeconds: ptr.To[int64](1),
				Latency: &v1alpha1.LatencyStatus{PublisherToDistributorSeconds: ptr.To[int64](1),
					DistributorToSubscriberSeconds: ptr.To[int64](
						2,
					), OverallSeconds: ptr.To[int64](3), PostedAt: &metav1.Time{Time: now.Add(-20 * time.Second)}},
			},
		},
	}
}

func drills(now time.Time) []client.Object {
	return []client.Object{
		&v1alpha1.Drill{
			ObjectMeta: meta("lose-tukwila"),
			Status: v1alpha1.DrillStatus{
				StatusBase: ready(metav1.ConditionTrue),
				Phase:      v1alpha1.DrillCompleted,
				Verdict:    v1alpha1.VerdictPassed,
				Message:    Message,
				Completed:  &metav1.MicroTime{Time: now.Add(-time.Hour)},
				Objectives: []v1alpha1.ObjectiveResult{{Name: "lostRows", Verdict: v1alpha1.VerdictPassed, Evidence: Message}},
				Counts:     &v1alpha1.DrillCounts{Attempted: 1000, Acknowledged: 990, Unknown: 10},
				Figures: []v1alpha1.FaultClientFigures{
					{Fault: "site", Client: "dublin", RTO: seconds(9)},
					{Fault: "site", Client: "tukwila", Isolated: true, RTO: seconds(90)},
				},
			},
		},
		&v1alpha1.DrillSchedule{
			ObjectMeta: meta("weekly"),
			Status: v1alpha1.DrillScheduleStatus{StatusBase: ready(metav1.ConditionTrue), LastVerdict: v1alpha1.VerdictPassed,
				LastPassed: &metav1.Time{Time: now.Add(-time.Hour)}, Next: &metav1.Time{Time: now.Add(167 * time.Hour)}},
		},
		&v1alpha1.DrillSchedule{
			ObjectMeta: meta("soak"),
			Status: v1alpha1.DrillScheduleStatus{StatusBase: ready(metav1.ConditionTrue), Repeated: &v1alpha1.RepeatedDrills{
				Made: 4, Passed: 2, Failed: 1, Inconclusive: 1, Told: 3, Lost: 1, LossAtMost: "86.5",
				RTO: &v1alpha1.RepeatedRTO{Drills: 3, Least: *seconds(4), Median: *seconds(6), P95: *seconds(9),
					Most: *seconds(9)}}},
		},
	}
}

func backups(now time.Time) []client.Object {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	return []client.Object{
		&v1alpha1.BackupStore{
			ObjectMeta: meta("s3"),
			Status:     v1alpha1.BackupStoreStatus{StatusBase: ready(metav1.ConditionTrue), Tested: at(-time.Minute)},
		},
		&v1alpha1.BackupPolicy{
			ObjectMeta: meta("content"),
			Spec: v1alpha1.BackupPolicySpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"},
				Log: &v1alpha1.LogBackups{Every: seconds(300)}, Stores: []v1alpha1.ObjectName{"s3"}},
			Status: v1alpha1.BackupPolicyStatus{
				StatusBase: ready(metav1.ConditionTrue),
				Restorable: at(-3 * time.Minute),
				Databases: []v1alpha1.BackedUpDatabase{{Name: "Content", Sets: 40, Bytes: 3 << 30, Waiting: 1,
					WaitingBytes: 1 << 20, LastFull: at(-26 * time.Hour), LastDifferential: at(-2 * time.Hour),
					LastLog: at(-3 * time.Minute), Windows: []v1alpha1.RestorableWindow{{From: *at(-26 * time.Hour),
						To: *at(-3 * time.Minute)}}}},
				Stores: []v1alpha1.BackupPlace{{Name: "s3", Listed: at(-time.Minute), Verified: at(-4 * time.Minute)}},
				RestoreTest: &v1alpha1.RestoreTestStatus{LastPassed: at(-50 * time.Hour),
					Databases: []v1alpha1.TestedDatabase{{Name: "Content", Duration: seconds(900)}}},
			},
		},
	}
}
