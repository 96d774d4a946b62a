// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

const (
	// soakRounds asks for every fault so many times, soakGoals, where it is not empty, for each client to be served again
	// within the fault's goal, faultNames for some of them (a list with commas); resultsFolder is
	// where the evidence is left.
	soakRounds  = "GEOSQL_SOAK_ROUNDS"
	soakGoals   = "GEOSQL_SOAK_GOALS"
	soakMinutes = "GEOSQL_SOAK_MINUTES"
	faultNames  = "GEOSQL_FAULTS"
	// shortTimings names timings of the matrix's group (soonExpired) in place of the default ones.
	shortTimings  = "GEOSQL_SHORT_TIMINGS"
	resultsFolder = "GEOSQL_TEST_RESULTS"
	// settleWithin bounds the time from the end of a fault until all replicas are synchronized and all clients served: the
	// kubelet starts a container that has ended often up to five minutes later.
	settleWithin = 6 * time.Minute
	// lastFault is how long before the test's own time-out the last fault may begin: it has to be got over and judged.
	lastFault = settleWithin
)

// copySites are the sites whose replicas have data.
var copySites = []string{"tukwila", "quincy"}

// fault is a kind of thing that is done to a group.
type fault struct {
	name string
	// short faults are those of `make e2e`; own ones are done to the group alone, and so beside other tests.
	short, own bool
	// hold is how long it lasts at most before it is taken back. It ends sooner when clients have been served again for
	// a while, unless it is to last.
	hold time.Duration
	// lasting faults are taken back after hold, not before.
	lasting bool
	// ended says that once it has taken effect the former primary acknowledges nothing more; else that is so when its
	// votes have expired.
	ended bool
	// goal is how long a client may go without an acknowledgement; 0: there is none.
	goal   time.Duration
	inject func(m *matrix, f *injected)
}

// judgedGoal is the goal where times are judged, else none: on a machine that is busy with other things they are told
// only.
func judgedGoal(within time.Duration) time.Duration {
	if os.Getenv(soakGoals) == "" {
		return 0
	}
	return within
}

// injected is one fault while it lasts.
type injected struct {
	history.Fault
	// seen is when it was seen to have taken effect.
	seen history.Instant
	// proof looks whether it has taken effect and says how that was seen; empty: not yet.
	proof func(ctx context.Context) (string, error)
	// heal takes it back; nil where there is nothing to take back. It may be called twice.
	heal func()
	// healWhen ends it as soon as it says so.
	healWhen func(ctx context.Context) bool
}

// matrix is a group to which faults are done one after another.
type matrix struct {
	*groupTest
	*recorders
	// shells at every site, and connectors that connect from them.
	shells     map[string]*bed.Shell
	connectors map[string]*mssql.Connector
	faults     []history.Fault
	// terms that began because of faults, expiry of the group's votes.
	terms  []faultTerm
	expiry time.Duration
	// alone returns when what others rely on may be disturbed.
	alone func()
	// site of the primary when the group was last seen synchronized.
	primary string
}

// matrixOf starts clients of a group of two replicas with data and a third that votes.
func matrixOf(t *testing.T, gt *groupTest) *matrix {
	t.Helper()
	m := &matrix{
		groupTest:  gt,
		shells:     map[string]*bed.Shell{},
		connectors: map[string]*mssql.Connector{},
		expiry:     ballot.NewGroup().Expiry,
		alone:      func() {},
	}
	if timings := gt.group.Spec.Timings; timings != nil {
		m.expiry = timings.VoteExpiry.Duration
	}
	for _, site := range gt.b.Sites {
		m.shells[site.Name] = shellAt(t, site, namespace)
		m.connectors[site.Name] = connectorFrom(t, gt.b, m.shells[site.Name])
	}
	m.recorders = startRecorders(t, gt)
	since := history.Now()
	m.settle(t, since)
	return m
}

// soonExpired are the timings that are asked for: "short", the least that leave the API time-out some room at three
// sites that are 150 ms apart, or "least", the least that admission takes; nil for the default ones.
func soonExpired(t *testing.T) *v1alpha1.GroupTimings {
	t.Helper()
	of := func(milliseconds int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(milliseconds) * time.Millisecond}
	}
	switch name := os.Getenv(shortTimings); name {
	case "":
		return nil
	case "short":
		return &v1alpha1.GroupTimings{
			VoteExpiry:    of(4300),
			RenewInterval: of(500),
			APITimeout:    of(600),
			Acknowledge:   of(700),
			AgentRestart:  of(700),
			WriteLease:    of(2000),
		}
	case "least":
		return &v1alpha1.GroupTimings{
			VoteExpiry:    of(2900),
			RenewInterval: of(250),
			APITimeout:    of(250),
			Acknowledge:   of(300),
			AgentRestart:  of(250),
			WriteLease:    of(1000),
		}
	default:
		t.Fatalf("%s=%q: allowed are short and least", shortTimings, name)
		return nil
	}
}

// settle waits until one server is primary, the other a synchronized secondary, the third connected, and every site's
// clients are served.
func (m *matrix) settle(t *testing.T, since history.Instant) history.Instant {
	t.Helper()
	var settled history.Instant
	bed.Wait(t, "all replicas are synchronized", settleWithin, func(ctx context.Context) (bool, string, error) {
		primary, text := m.synchronized(ctx)
		if primary == "" {
			return false, text, nil
		}
		m.primary, settled = primary, history.Now()
		return true, "", nil
	})
	m.waitForAcknowledgements(t, since, settleWithin)
	return settled
}

// synchronized names the site of the primary when all replicas are in order, else it says what is not.
func (m *matrix) synchronized(ctx context.Context) (primary, text string) {
	for _, site := range copySites {
		state, err := m.stateAt(ctx, site)
		if err != nil {
			return "", fmt.Sprintf("%s: %v", site, err)
		}
		if state == nil {
			return "", site + " has no group"
		}
		switch state.Role {
		case "PRIMARY":
			if text := lagging(state); text != "" || primary != "" {
				return "", site + " is PRIMARY: " + text
			}
			primary = site
		case "SECONDARY":
			if !slices.ContainsFunc(
				state.States,
				func(s mssql.GroupDatabaseState) bool { return s.Local && s.State == "SYNCHRONIZED" && !s.Suspended },
			) {
				return "", site + " is a secondary that is not synchronized"
			}
		default:
			return "", site + " is " + state.Role
		}
	}
	if primary == "" {
		return "", "nobody is PRIMARY"
	}
	return primary, ""
}

func lagging(state *mssql.Group) string {
	for _, r := range state.Replicas {
		if r.Connected != "CONNECTED" {
			return r.Server + " is " + r.Connected
		}
	}
	for _, s := range state.States {
		if s.State != "SYNCHRONIZED" {
			return s.Database + " on " + s.Server + " is " + s.State
		}
	}
	return ""
}

// stateAt reads the group's state from a site's server.
func (m *matrix) stateAt(ctx context.Context, site string) (*mssql.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := m.connectors[site].Open(
		ctx,
		mssql.Target{Namespace: namespace, Server: m.server(site), Role: credentials.RoleSA, Database: "master"},
	)
	if err != nil {
		return nil, err
	}
	return mssql.ReadGroup(ctx, db, m.group.Name)
}

// run does one fault: injects it, sees it take effect, holds it, takes it back, and waits until all is well again.
func (m *matrix) run(t *testing.T, f fault) {
	t.Helper()
	within := f.goal
	if within == expired {
		within = m.expiry + afterExpiry
	}
	i := &injected{
		Fault: history.Fault{
			Name:     f.name,
			Target:   string(m.server(m.primary)),
			Injected: history.Now(),
			RTO:      judgedGoal(within),
		},
	}
	healed := false
	heal := func() {
		if i.heal != nil && !healed {
			healed = true
			i.heal()
		}
	}
	defer heal()
	f.inject(m, i)
	bed.Wait(
		t,
		"fault "+f.name+" on "+i.Target+" is seen to have taken effect",
		30*time.Second,
		func(ctx context.Context) (bool, string, error) {
			proof, err := i.proof(ctx)
			i.Proof, i.seen = proof, history.Now()
			return proof != "", "not yet", err
		},
	)
	t.Logf("fault %s on %s: %s", f.name, i.Target, i.Proof)
	// What was sent between the injection and the effect may be the former primary's last acknowledgement: it does not
	// show that the fault was got over.
	ended := i.seen
	if i.heal != nil {
		m.hold(t, f, i)
		heal()
		i.Healed = history.Now()
		ended = i.Healed
	}
	i.Settled = m.settle(t, ended)
	m.faults = append(m.faults, i.Fault)
	m.keepFaults(t)
	m.explainTerms(t, f.name, time.Unix(0, i.Injected.Wall))
	t.Logf(
		"fault %s on %s: over after %.1f s, synchronized %.1f s later, primary at %s",
		f.name,
		i.Target,
		time.Duration(ended.Monotonic-i.Injected.Monotonic).
			Seconds(),
		time.Duration(i.Settled.Monotonic-ended.Monotonic).Seconds(),
		m.primary,
	)
}

// hold waits until the fault may be taken back: when its time is over, when it says so itself, or when clients that it
// does not isolate are served again.
func (m *matrix) hold(t *testing.T, f fault, i *injected) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), f.hold)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if i.healWhen != nil && i.healWhen(ctx) {
			return
		}
		if !f.lasting && i.healWhen == nil && m.served(ctx, f, i) {
			return
		}
	}
}

// served tells whether clients of every site that is not isolated were acknowledged what they sent a second ago or
// later, and after the time in which the former primary could have acknowledged it.
func (m *matrix) served(ctx context.Context, f fault, i *injected) bool {
	since, former := history.Now().Monotonic-int64(time.Second), i.Injected.Monotonic+int64(m.expiry)
	if f.ended {
		former = i.seen.Monotonic
	}
	if since < former {
		return false
	}
	for _, site := range m.b.Sites {
		if slices.Contains(i.Isolated, site.Name) {
			continue
		}
		if ok, _, err := m.acknowledgedSince(ctx, site.Name, history.Instant{Monotonic: since}); err != nil || !ok {
			return false
		}
	}
	return true
}

// copies are the sites whose replicas have to have every acknowledged row: all when they are synchronized, else the
// primary's alone. One that is on its way back lacks rows that nobody has lost.
func (m *matrix) copies(t *testing.T) []string {
	t.Helper()
	var missing string
	err := wait.PollUntilContextTimeout(
		t.Context(),
		time.Second,
		settleWithin,
		true,
		func(ctx context.Context) (bool, error) {
			var primary string
			primary, missing = m.synchronized(ctx)
			return primary != "", nil
		},
	)
	if err == nil {
		return copySites
	}
	t.Logf("rows are read at the primary alone: %s", missing)
	return slices.DeleteFunc(slices.Clone(copySites), func(site string) bool {
		state, err := m.stateAt(t.Context(), site)
		return err != nil || state == nil || state.Role != "PRIMARY"
	})
}

// judge gathers the evidence and fails the test unless the verdict is Passed.
func (m *matrix) judge(t *testing.T) history.Verdict {
	t.Helper()
	folder := resultsOf(t)
	e := m.histories(t, folder)
	e.Replicas = m.rows(t, folder, m.copies(t))
	e.Faults, e.AcknowledgedAtLeast = m.faults, 100*len(m.faults)
	verdict := history.Check(e)
	var text strings.Builder
	if err := verdict.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, o := range verdict.Overlaps {
		fmt.Fprintln(&text, o.Message)
	}
	writeTerms(&text, m.terms)
	t.Logf("\n%s", text.String())
	m.keepFaults(t)
	whole, err := json.MarshalIndent(verdict, "", "  ")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	keep(t, folder, "verdict.json", whole)
	keep(t, folder, "verdict.txt", []byte(text.String()))
	return verdict
}

func (m *matrix) keepFaults(t *testing.T) {
	t.Helper()
	faults, err := json.Marshal(m.faults)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	keep(t, resultsOf(t), "faults.json", faults)
}

// resultsOf is a folder of the test's own in the folder for results, empty when none was named.
func resultsOf(t *testing.T) string {
	t.Helper()
	parent := os.Getenv(resultsFolder)
	if parent == "" {
		return ""
	}
	folder := filepath.Join(parent, strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatalf("folder for the results: %v", err)
	}
	return folder
}

// plan is which faults are done in what order, and until when a new one may begin.
func plan(t *testing.T) (faults []fault, until time.Time) {
	t.Helper()
	rounds, minutes := number(t, soakRounds, 0), number(t, soakMinutes, 60)
	names := strings.FieldsFunc(os.Getenv(faultNames), func(r rune) bool { return r == ',' })
	for _, name := range names {
		if !slices.ContainsFunc(faultKinds, func(f fault) bool { return f.name == name }) {
			t.Fatalf("%s: there is no fault %q", faultNames, name)
		}
	}
	for range max(rounds, 1) {
		for _, f := range faultKinds {
			if len(names) > 0 && !slices.Contains(names, f.name) || len(names) == 0 && rounds == 0 && !f.short {
				continue
			}
			faults = append(faults, f)
		}
	}
	until = time.Now().Add(time.Duration(minutes) * time.Minute)
	// A test binary that runs into its own time-out takes nothing back.
	if deadline, limited := t.Deadline(); limited && deadline.Add(-lastFault).Before(until) {
		until = deadline.Add(-lastFault)
	}
	return faults, until
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is no number", variable, text)
	}
	return n
}

// Faults are done to a group while clients at every site write through its listener. No acknowledged row is lost, none
// is there twice, both copies are equal, no two servers acknowledged in overlapping terms, registers are linearizable,
// and every fault was seen to take effect and was got over.
func TestFaultMatrix(t *testing.T) {
	turn := groupB.Disturbs(t, 6, 150)
	gt := inTurn(t, groupB)
	faults, until := plan(t)
	m := matrixOf(t, gt)
	m.alone = sync.OnceFunc(func() {
		turn.Alone()
		gt.b.ResetWan(t)
	})
	m.runAll(t, faults, until)
}

// runAll does the faults and judges.
func (m *matrix) runAll(t *testing.T, faults []fault, until time.Time) {
	t.Helper()
	m.judged(t, func() {
		for _, f := range faults {
			if time.Now().After(until) {
				t.Logf("the time is over: %d of %d faults were done", len(m.faults), len(faults))
				return
			}
			if !f.own {
				m.alone()
			}
			m.run(t, f)
		}
	})
}

// judged does something to the group and judges. What was gathered until something was not got over is worth a verdict,
// too.
func (m *matrix) judged(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		if verdict := m.judge(t); verdict.Result != history.Passed {
			t.Errorf("the verdict is %s: %s", verdict.Result, strings.Join(verdict.Reasons, "; "))
		}
	}()
	do()
}
