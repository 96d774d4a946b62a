// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// start is the end of the baseline of the drills of these tests.
var start = time.Date(2026, 11, 20, 9, 0, 15, 0, time.UTC)

// after is a moment so many seconds after the baseline.
func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func micro(seconds float64) *metav1.MicroTime {
	return ptr.To(metav1.NewMicroTime(after(seconds)))
}

func instant(seconds float64) history.Instant {
	at := after(seconds)
	return history.Instant{Monotonic: at.Sub(start).Nanoseconds() + int64(time.Hour), Wall: at.UnixNano()}
}

// scribe writes a history with made-up times, in the form that a history.Recorder writes.
type scribe struct {
	out    bytes.Buffer
	number int64
}

func (s *scribe) line(kind string, at float64, more map[string]any) {
	i := instant(at)
	l := map[string]any{"k": kind, "t": i.Monotonic, "w": i.Wall}
	for k, v := range more {
		l[k] = v
	}
	data, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	s.out.Write(append(data, '\n'))
}

func begin(run int64, client string) *scribe {
	s := &scribe{}
	s.line(
		"begin",
		-15,
		map[string]any{
			"format": "geosql-history/1",
			"header": history.Header{Run: run, Client: client, Boot: "b", Address: "shop", Database: "shop"},
		},
	)
	return s
}

func (s *scribe) insert(at, took float64, outcome history.Outcome, server string, term int64) history.RowID {
	s.number++
	s.line("invoke", at, map[string]any{"n": s.number, "f": history.Insert})
	s.line(string(outcome), at+took, map[string]any{"n": s.number, "s": server, "c": term << 32})
	return history.RowID{Number: s.number}
}

// fixture is a drill of 100 seconds: the primary's pod is killed at 10 s, clients go without service for about six
// seconds; from 40 s to 60 s a link is slow.
func fixture() (*v1alpha1.Drill, *archive.Archive) { return lasting(85, 0.1) }

// lasting is the fixture with clients that go on until then, with an operation of each every so many seconds.
func lasting(until, every float64) (*v1alpha1.Drill, *archive.Archive) {
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lose-the-primary", UID: "uid-1"},
		Spec:       v1alpha1.DrillSpec{RunID: "2026-11-20", Target: v1alpha1.DrillTarget{AvailabilityGroup: "orders"}},
	}
	a := &archive.Archive{
		Run:       archive.Run{Namespace: "shop", Drill: d.Name, UID: "uid-1", ID: "2026-11-20"},
		Histories: map[string][]byte{},
		Bounds:    archive.Bounds{AcknowledgedAtLeast: 100},
	}
	counts := &v1alpha1.DrillCounts{}
	var rows []history.RowID
	for i, site := range []string{"tukwila", "quincy", "dublin"} {
		s := begin(int64(i+1), site)
		for at := -15.0; at < until; at += every {
			took, outcome, server, term := 0.004+0.002*float64(
				i,
			)+0.0007*float64(
				int(at*10+150)%7,
			), history.OK, "sql-tuk-1-0", int64(
				1,
			)
			switch {
			case at >= 10 && at < 16+0.3*float64(i):
				took, outcome = 1.9, history.Unknown
			case at >= 16:
				server, term = "sql-qui-1-0", 2
			}
			if at >= 40 && at < 60 {
				took += 0.35 + 0.02*float64(int(at*10)%9)
			}
			id := s.insert(at, took, outcome, server, term)
			id.Run = int64(i + 1)
			counts.Attempted++
			if outcome == history.OK {
				counts.Acknowledged++
				rows = append(rows, id)
			} else {
				counts.Unknown++
			}
			at += took
		}
		s.line("end", until, nil)
		a.Histories[site] = s.out.Bytes()
	}
	for i, server := range []string{"sql-tuk-1-0", "sql-qui-1-0", "sql-dub-1-0"} {
		a.Replicas = append(a.Replicas, history.Replica{Server: server, Rows: rows})
		for at := -15.0; at < until; at += 10 * every {
			a.Samples.Replicas = append(a.Samples.Replicas, replica(i, server, at))
		}
	}
	for at := -15.0; at < until; at += 10 * every {
		rtt := 150 * time.Millisecond
		if at >= 40 && at < 60 {
			rtt = 500 * time.Millisecond
		}
		a.Samples.Links = append(
			a.Samples.Links,
			archive.LinkSample{At: after(at), From: "sql-tuk-1-0", To: "sql-dub-1-0", Sent: 5, RTT: &rtt},
		)
	}
	a.Faults = []history.Fault{
		{Name: "kill", Target: "sql-tuk-1-0", Injected: instant(10), Settled: instant(28), Proof: "its container ended"},
		{
			Name:     "slow-link",
			Target:   "sql-tuk-1-0 to sql-dub-1-0",
			Injected: instant(40),
			Healed:   instant(60),
			Settled:  instant(64),
			Proof:    "500 ms",
		},
	}
	d.Status = status(counts)
	d.Status.Ended, d.Status.Completed = micro(until-25), micro(until+10)
	d.Status.Timeline[len(d.Status.Timeline)-1].Time = *micro(until + 10)
	return d, a
}

// replica is what was seen of one replica.
func replica(i int, server string, at float64) archive.ReplicaSample {
	s := archive.ReplicaSample{
		At:              after(at),
		Server:          server,
		Role:            "SECONDARY",
		Synchronization: "SYNCHRONIZED",
		SendQueueKB:     ptr.To(int64(3 * i)),
		RedoQueueKB:     ptr.To(int64(5 + 2*i)),
	}
	primary := 0
	if at >= 15 {
		primary = 1
	}
	if i == primary {
		s.Role = "PRIMARY"
	}
	if i != primary && at >= 10 && at < 15 {
		s.Role, s.Synchronization = "RESOLVING", "NOT SYNCHRONIZING"
	}
	if i == 0 && at >= 10 && at < 18 {
		s.Role, s.Synchronization, s.SendQueueKB, s.RedoQueueKB = "", "", nil, nil
	}
	if i == 0 && at >= 18 && at < 28 {
		s.Synchronization, s.RedoQueueKB = "SYNCHRONIZING", ptr.To(int64(2000-200*(at-18)))
	}
	if i == 2 && at >= 40 && at < 64 {
		s.SendQueueKB = ptr.To(int64(80 * max(0, min(at-40, 4*(64-at)))))
	}
	return s
}

func status(counts *v1alpha1.DrillCounts) v1alpha1.DrillStatus {
	rto := func(ms int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(ms)*time.Millisecond + 471*time.Microsecond}
	}
	s := v1alpha1.DrillStatus{
		RunID: "2026-11-20", Phase: v1alpha1.DrillCompleted, Verdict: v1alpha1.VerdictPassed, Reason: "ObjectivesMet",
		Message: "every objective was met",
		Group:   "orders", Database: "shop", Accepted: micro(-40), Baseline: micro(-15), Started: micro(0), Ended: micro(60),
		Completed: micro(95), Counts: counts,
		Objectives: []v1alpha1.ObjectiveResult{
			{
				Name:     "lostRows",
				Verdict:  v1alpha1.VerdictPassed,
				Goal:     "0",
				Measured: "0",
				Evidence: "3 replicas compared with the histories of 3 clients",
			},
			{
				Name:     "rto",
				Verdict:  v1alpha1.VerdictPassed,
				Goal:     "10s",
				Measured: "6.604s",
				Evidence: "the longest of 6: fault kill, clients at dublin",
			},
			{Name: "redoCatchUp", Verdict: v1alpha1.VerdictPassed, Goal: "1m", Measured: "18s", Evidence: "fault kill",
				Bound: &metav1.Duration{Duration: 1500 * time.Millisecond}},
			{
				Name:     "consistency",
				Verdict:  v1alpha1.VerdictPassed,
				Goal:     "consistent",
				Measured: "consistent",
				Evidence: "no row twice, none that nobody wrote, equal copies, terms apart",
			},
		},
		Faults: []v1alpha1.FaultStatus{
			{
				Name:     "kill",
				Kind:     v1alpha1.FaultPodKill,
				State:    v1alpha1.FaultRemoved,
				Targets:  []string{"sql-tuk-1-0"},
				Injected: micro(10),
				Removed:  micro(10.2),
				Bounds:   &v1alpha1.FaultBounds{StillThere: micro(9.1), GoneBy: micro(12.3)},
				Settled:  micro(28),
				Effect: &v1alpha1.FaultEffect{
					Status: metav1.ConditionTrue,
					Asked:  "the pod is deleted without grace",
					Seen:   "pod UID 7c… was replaced by 9d…",
				},
			},
			{
				Name:     "slow-link",
				Kind:     v1alpha1.FaultNetwork,
				State:    v1alpha1.FaultRemoved,
				Targets:  []string{"sql-tuk-1-0", "sql-dub-1-0"},
				Injected: micro(40),
				Removed:  micro(60),
				Settled:  micro(64),
				Effect: &v1alpha1.FaultEffect{
					Status: metav1.ConditionTrue,
					Asked:  "latency 350ms",
					Seen:   "the connect time rose by 350 ms",
					Before: []v1alpha1.ProbeFigures{
						{From: "sql-tuk-1-0", To: "sql-dub-1-0", Attempts: 5, Connect: rto(150), Slowest: rto(153)},
					},
					During: []v1alpha1.ProbeFigures{
						{From: "sql-tuk-1-0", To: "sql-dub-1-0", Attempts: 5, Failures: 1, Connect: rto(500), Slowest: rto(1507)},
					},
					After: []v1alpha1.ProbeFigures{
						{From: "sql-tuk-1-0", To: "sql-dub-1-0", Attempts: 5, Connect: rto(150), Slowest: rto(151)},
					},
				},
			},
		},
		Archive: &v1alpha1.DrillArchive{
			Name:   "lose-the-primary-0123456789-archive",
			Chunks: 1,
			Bytes:  12345,
			SHA256: "feedbeef",
		},
		Versions: []v1alpha1.DrillVersion{
			{
				Component: "sql-tuk-1",
				Site:      "tukwila",
				Version:   "Microsoft SQL Server 2022 (RTM) - 16.0.4000.0",
				Image:     "mcr.microsoft.com/mssql/server:2022-latest",
				Digest:    "sha256:0f0f",
			},
		},
	}
	for i, site := range []string{"tukwila", "quincy", "dublin"} {
		s.Undisturbed = append(s.Undisturbed, v1alpha1.UndisturbedFigures{Client: site, Longest: rto(231), Bound: rto(7),
			Stall: rto(12)})
		s.Figures = append(
			s.Figures,
			v1alpha1.FaultClientFigures{Fault: "kill", Client: site, RTO: rto(6000 + 300*i), Usual: rto(106), Stall: rto(8)},
			v1alpha1.FaultClientFigures{
				Fault:    "slow-link",
				Client:   site,
				RTO:      rto(620),
				Usual:    rto(106),
				Stall:    rto(520),
				Isolated: i == 2,
			},
		)
	}
	for _, e := range []struct {
		at                    float64
		event, fault, message string
	}{
		{0, "BaselineMeasured", "", "28 writes per second"}, {10, "Injected", "kill", "pod sql-tuk-1-0 deleted"},
		{13.1, "Suspected", "kill", "sql-tuk-1-0 was silent"},
		{13.4, "Fenced", "kill", ""}, {14.8, "Promoted", "kill", "sql-qui-1-0"}, {16, "FirstWrite", "kill", "sql-qui-1-0"},
		{28, "AllSynchronized", "kill", ""},
		{40, "Injected", "slow-link", ""}, {60, "Removed", "slow-link", ""}, {95, "Judged", "", ""},
	} {
		s.Timeline = append(
			s.Timeline,
			v1alpha1.DrillEvent{Time: *micro(e.at), Event: e.event, Fault: e.fault, Message: e.message},
		)
	}
	return s
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(html.UnescapeString(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
