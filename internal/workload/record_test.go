// SPDX-License-Identifier: Apache-2.0

//go:build integration

package workload_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/support/engine"
)

// recording is an engine with clients that record what they do to it.
type recording struct {
	*engine.Engine
	options workload.RecordOptions
	done    chan error
	db      *mssql.DB
}

func startRecording(t *testing.T, ctx context.Context) *recording {
	t.Helper()
	g := NewWithT(t)
	r := &recording{Engine: engine.Start(t, "web", "tukpub"), done: make(chan error, 1)}
	folder := t.TempDir()
	for name, data := range map[string][]byte{credentials.KeySA: r.Access.Passwords[credentials.KeySA],
		credentials.KeyCA: r.Access.CA} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
	}
	r.options = workload.RecordOptions{
		Client:    "test",
		Folder:    t.TempDir(),
		Workers:   3,
		Rate:      50,
		Registers: 2,
		Timeout:   time.Second,
		Options:   workload.Options{Server: "tukpub", Address: r.Address, Database: "Content", Credentials: folder},
	}
	master, err := r.Connector(t).Open(ctx, r.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(master.Exec(ctx, tsql.CreateDatabase("Content"))).To(Succeed())
	for range 2 {
		g.Expect(workload.PrepareRecording(ctx, r.options)).To(Succeed(), "also when all is there")
	}
	r.db, err = r.Connector(t).
		Open(ctx, mssql.Target{Namespace: "web", Server: "tukpub", Database: "Content", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	go func() { r.done <- workload.Record(ctx, r.options) }()
	return r
}

// runs are the histories so far.
func (r *recording) runs(g Gomega) []history.Run {
	var packed bytes.Buffer
	g.Expect(history.Export(r.options.Folder, &packed)).To(Succeed())
	runs, err := history.Load(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	return runs
}

func (r *recording) count(g Gomega, outcome history.Outcome) int {
	n := 0
	for _, run := range r.runs(g) {
		for _, o := range run.Operations {
			if o.Outcome == outcome && o.Completed != (history.Instant{}) {
				n++
			}
		}
	}
	return n
}

// check reads the rows and judges.
func (r *recording) check(t *testing.T, ctx context.Context, faults ...history.Fault) history.Verdict {
	t.Helper()
	replica, err := workload.Recorded(ctx, r.options.Options, workload.Wants{}, 0)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return history.Check(history.Evidence{Runs: r.runs(NewWithT(t)), Replicas: []history.Replica{replica}, Faults: faults})
}

// Clients work while their engine is frozen, thawed, killed and started again; what they recorded agrees with what is
// there, and a row that is taken away, doubled or invented is found.
func TestRecord(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := startRecording(t, ctx)
	reach := func(outcome history.Outcome, n int) {
		t.Helper()
		g.Eventually(func() int { return r.count(g, outcome) }, time.Minute, 50*time.Millisecond).
			Should(BeNumerically(">=", n))
	}
	reach(history.OK, 30)
	frozen := history.Fault{
		Name:     "freeze",
		Target:   "tukpub-0",
		Injected: history.Now(),
		Proof:    "all its threads are stopped",
	}
	r.Freeze()
	reach(history.Unknown, 3)
	r.Thaw()
	frozen.Healed, frozen.Settled = history.Now(), history.Now()
	reach(history.OK, r.count(g, history.OK)+30)
	killed := history.Fault{Name: "kill", Target: "tukpub-0", Injected: history.Now(), Proof: "the process has ended"}
	r.Kill(t)
	reach(history.Fail, 3)
	r.Launch(t)
	killed.Settled = history.Now()
	reach(history.OK, r.count(g, history.OK)+30)
	g.Expect(workload.Stop(ctx, r.options.Folder)).To(Succeed())
	g.Eventually(r.done, time.Minute).Should(Receive(BeNil()))
	g.Expect(workload.Record(ctx, r.options)).To(Succeed(), "what was stopped does not begin again")
	g.Expect(r.runs(g)).To(HaveLen(3))
	for _, run := range r.runs(g) {
		g.Expect(run.Loop).To(Equal(history.Open))
		late, sent := time.Duration(0), run.Operations[0].Invoked.Monotonic
		for i, o := range run.Operations {
			late = max(late, o.Late)
			g.Expect(o.Invoked.Monotonic-int64(o.Late)).To(Equal(sent+int64(i)*int64(run.Every)-int64(run.Operations[0].Late)),
				"operation %d is due by the schedule, whatever became of those before", o.Number)
		}
		g.Expect(late).To(BeNumerically(">", 900*time.Millisecond), "what an unanswered operation held up is late")
	}

	v := r.check(t, ctx, frozen, killed)
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
	g.Expect(v.Counts.Acknowledged).To(BeNumerically(">=", 50))
	g.Expect(v.Registers.Operations).To(BeNumerically(">", 0))
	g.Expect(*v.Faults[0].Clients[0].RTO).To(BeNumerically(">=", 900*time.Millisecond), "an operation's time-out at least")

	exec := func(text string) {
		t.Helper()
		_, err := r.db.Handle().ExecContext(ctx, text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	exec(
		"INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) SELECT TOP (1) Run, Op, Server, 0, " +
			"WrittenAt FROM dbo.Recorded",
	)
	exec("INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) VALUES (1, 1, N'x', 0, SYSUTCDATETIME())")
	v = r.check(t, ctx, frozen, killed)
	g.Expect(v.Counts).To(And(HaveField("Duplicated", 1), HaveField("Phantom", 1), HaveField("Lost", 0)))
	acked := v.Counts.Acknowledged
	exec("DELETE FROM dbo.Register WHERE Id = 1")
	v = r.check(t, ctx, frozen, killed)
	g.Expect(v.Contents.Wrong()).To(ContainSubstring("dbo.Register of tukpub-0: register 1 is not there"))
	exec("DELETE FROM dbo.Recorded")
	v = r.check(t, ctx, frozen, killed)
	g.Expect(v.Result).To(Equal(history.Failed))
	g.Expect(v.Counts.Lost).To(Equal(acked))
}

// The commands hand the evidence from one to the other by files, and the last one fails unless all is well.
func TestHistoryCommands(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(folder, history.Header{Run: 7, Client: "tukwila", Boot: "b"})
	g.Expect(err).NotTo(HaveOccurred())
	o, err := r.Invoke(history.Insert, 0, 0)
	g.Expect(err).NotTo(HaveOccurred())
	o.Outcome = history.OK
	g.Expect(r.Complete(o)).To(Succeed())
	g.Expect(r.End()).To(Succeed())
	run := func(arguments ...string) (string, error) {
		var out bytes.Buffer
		command := workload.NewHistoryCommand()
		command.SetArgs(arguments)
		command.SetOut(&out)
		command.SetErr(&bytes.Buffer{})
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	packed, err := run("fetch", "--folder", folder)
	g.Expect(err).NotTo(HaveOccurred())
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	histories := file("histories.gz", packed)
	all, none := file("a.json", `{"server":"a-0","rows":[{"run":7,"op":1}]}`), file("b.json", `{"server":"b-0","rows":[]}`)
	out, err := run("check", "--history", histories, "--rows", all)
	g.Expect(err).NotTo(HaveOccurred())
	var v history.Verdict
	g.Expect(json.Unmarshal([]byte(out), &v)).To(Succeed())
	g.Expect(v.Counts.Acknowledged).To(Equal(1))
	_, err = run("check", "--history", histories, "--rows", all, "--rows", none)
	g.Expect(err).To(MatchError("the verdict is Failed"))
	out, err = run("check", "--history", histories, "--rows", all, "--table", "--acknowledged-at-least", "2")
	g.Expect(err).To(MatchError("the verdict is Inconclusive"))
	g.Expect(out).To(HavePrefix("verdict Inconclusive\n"))
}

func TestRecordingsThatAreRefused(t *testing.T) {
	sound := workload.RecordOptions{Client: "x", Folder: t.TempDir(), Workers: 1, Rate: 1, Timeout: time.Second}
	for name, change := range map[string]func(*workload.RecordOptions){
		"no name":           func(o *workload.RecordOptions) { o.Client = "" },
		"no name of a file": func(o *workload.RecordOptions) { o.Client = "../x" },
		"no worker":         func(o *workload.RecordOptions) { o.Workers = 0 },
		"negative rate":     func(o *workload.RecordOptions) { o.Rate = -1 },
		"negative thinking": func(o *workload.RecordOptions) { o.ThinkTime = -1 },
		"unknown profile":   func(o *workload.RecordOptions) { o.Profile = "bank" },
		"too many users":    func(o *workload.RecordOptions) { o.Workers = 201 },
		"no first list":     func(o *workload.RecordOptions) { o.Profile = workload.Append },
		"large article": func(o *workload.RecordOptions) {
			o.Payload = workload.Payload{Table: tsql.ArticlePayload,
				Bytes: 1025}
		},
		"foreign table":  func(o *workload.RecordOptions) { o.Payload = workload.Payload{Table: "dbo.Book", Bytes: 100} },
		"no time":        func(o *workload.RecordOptions) { o.Timeout = 0 },
		"many registers": func(o *workload.RecordOptions) { o.Registers = 101 },
	} {
		o := sound
		change(&o)
		NewWithT(t).Expect(workload.Record(t.Context(), o)).NotTo(Succeed(), name)
	}
}

// afar is an address of the engine with that much more delay on each way.
func (r *recording) afar(t *testing.T, delay time.Duration) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	pass := func(from, to net.Conn) {
		defer func() { _ = from.Close(); _ = to.Close() }()
		chunk := make([]byte, 64<<10)
		for {
			n, err := from.Read(chunk)
			if err != nil {
				return
			}
			time.Sleep(delay)
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", r.Address)
			if err != nil {
				_ = near.Close()
				continue
			}
			go pass(near, far)
			go pass(far, near)
		}
	}()
	return listener.Addr().String()
}

// A client that is far away, and is told that its schedule has to fit, keeps one that it can keep.
func TestAScheduleFitsTheDistance(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := startRecording(t, ctx)
	const delay = 40 * time.Millisecond
	for _, fits := range []bool{true, false} {
		far := recording{options: r.options}
		far.options.Folder, far.options.Workers = t.TempDir(), 1
		far.options.Address, far.options.Fits = r.afar(t, delay), fits
		working, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- workload.Record(working, far.options) }()
		g.Eventually(func() int { return far.count(g, history.OK) }, time.Minute, 50*time.Millisecond).
			Should(BeNumerically(">=", 5))
		stop()
		g.Expect(<-done).To(Succeed())
		run := far.runs(g)[0]
		if !fits {
			g.Expect(run.Every).To(Equal(20 * time.Millisecond))
			continue
		}
		g.Expect(run.Every).To(BeNumerically(">=", 3*2*delay))
		late := 0
		for _, o := range run.Operations {
			if o.Late >= run.Every {
				late++
			}
		}
		g.Expect(late).To(BeNumerically("<=", len(run.Operations)/2), "it keeps up")
	}
	cancel()
	g.Expect(<-r.done).To(Succeed())
}
