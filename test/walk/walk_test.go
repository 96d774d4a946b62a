// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

const (
	// soakVariable asks for walks at random as well, and says for how long, such as 15m.
	soakVariable = "GEOSQL_SOAK"
	// seedVariable repeats the walk of a seed that was printed.
	seedVariable = "GEOSQL_SEED"
	// editsVariable takes these edits instead, by name with commas between, one after another; a colon and a number of
	// base 36 after a name choose what they are done to.
	editsVariable = "GEOSQL_EDITS"

	// far is how many edits a walk at random takes.
	far = 20
	// patient is how long a stage may take to be as declared.
	patient = 4 * time.Minute
	// refuted is how long what is Ready may lack rows: until it is looked at again.
	refuted = 45 * time.Second
	// quiet is how long a stage that has come to rest is listened to.
	quiet = 3 * time.Second
	// busy is how often a manager may execute the same statement while the stage is at rest.
	busy = 2
)

// cases are the edits of walks that are worth a walk each time, as editsVariable takes them.
var cases = []string{
	"renameRetained,dropGroup,keepTopology,removeWhileAway:0",
	"addOrRemoveServer,emptyPrimary,swapSynchronous,addOrRemoveServer",
}

// Wherever edits lead, what is Ready receives its rows, nothing is done over and over, and the end is what the last
// manifest makes from nothing.
func TestWalksEndWhereTheirManifestLeads(t *testing.T) {
	if seed := os.Getenv(seedVariable); seed != "" {
		walkFrom(t, seed)
		return
	}
	chosen := cases
	if edits := os.Getenv(editsVariable); edits != "" {
		chosen = []string{edits}
	}
	t.Run("edits", func(t *testing.T) {
		for _, names := range chosen {
			t.Run(names, func(t *testing.T) {
				t.Parallel()
				walked(t, begin(t, first()), script(t, strings.Split(names, ",")))
			})
		}
	})
	soak := os.Getenv(soakVariable)
	if soak == "" {
		return
	}
	soaks, err := time.ParseDuration(soak)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s is how long to walk", soakVariable)
	for until := time.Now().Add(soaks); time.Now().Before(until) && !t.Failed(); {
		walkFrom(t, strconv.FormatUint(rand.Uint64(), 36))
	}
}

// walkFrom takes the walk of a seed, a number of base 36.
func walkFrom(t *testing.T, seed string) {
	t.Helper()
	number, err := strconv.ParseUint(seed, 36, 64)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s is a number of base 36", seedVariable)
	if !t.Run(seed, func(t *testing.T) { walked(t, begin(t, first()), atRandom(number, far)) }) {
		t.Logf("repeat it with %s=%s", seedVariable, seed)
	}
}

// walk is a stage on which a manifest is edited.
type walk struct {
	stage    *stage.Stage
	manager  *stage.Manager
	declared *manifest
	// past are the manifests that were declared before, the oldest first.
	past []*manifest
	// row is the number of the newest row.
	row int
	// delivered are the Subscriptions that have been Ready.
	delivered map[types.UID]bool
	// taken are the steps so far, for failures.
	taken []string
}

func (w *walk) ledger() string { return w.stage.File("ledger") }

// begin starts a stage with a manifest, and all the tables, which have so many rows.
func begin(t testing.TB, m *manifest) *walk {
	t.Helper()
	w := &walk{stage: stage.New(t, subscriber), declared: m, delivered: map[types.UID]bool{}}
	w.create(t, publisher, published)
	w.create(t, publisher, further)
	w.create(t, subscriber, published)
	for _, table := range tables {
		w.stage.SQL(
			t,
			publisher,
			published,
			"CREATE TABLE "+table+" (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL, Note nvarchar(100) NULL)",
		)
	}
	if m.outlet {
		w.fillOutlet(t)
	}
	if m.spare {
		w.stage.AddServer(t, stage.Spare)
	}
	NewWithT(t).Expect(w.stage.Hub.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: named(application + "-password"),
		Data: map[string][]byte{"password": []byte("Long-enough.1")}})).To(Succeed())
	for range 5 {
		w.write(t)
	}
	w.apply(t)
	w.manager = w.stage.StartManager(t, w.ledger())
	t.Logf("%s: begun", time.Now().Format(time.TimeOnly))
	return w
}

// create makes a database that a group may take.
func (w *walk) create(t testing.TB, server v1alpha1.ServerName, database string) {
	t.Helper()
	w.stage.SQL(t, server, "master", "CREATE DATABASE "+database)
	// The operator's own first backup goes to the folder of a pod.
	w.stage.SQL(t, server, "master", "ALTER DATABASE "+database+" SET RECOVERY FULL")
	w.stage.SQL(t, server, "master", "BACKUP DATABASE "+database+" TO DISK = N'"+database+".bak'")
}

// way is what a walk does: the edits in turn, and after which of them it waits until all is as declared.
type way func(yield func(edit func(*manifest, []*manifest) change, waits bool) bool)

// atRandom is the way of a seed: what it does with a manifest depends on that and the seed alone.
func atRandom(seed uint64, steps int) way {
	return func(yield func(func(*manifest, []*manifest) change, bool) bool) {
		chance := rand.New(rand.NewPCG(seed, 0))
		edit := func(m *manifest, past []*manifest) (c change) {
			for c.said == "" {
				c = oneOf(chance, edits).of(m, past, chance)
			}
			return c
		}
		for range steps {
			if !yield(edit, chance.IntN(3) > 0) {
				return
			}
		}
	}
}

// script is the way of edits that were named.
func script(t testing.TB, names []string) way {
	return func(yield func(func(*manifest, []*manifest) change, bool) bool) {
		for _, name := range names {
			name, number, _ := strings.Cut(name, ":")
			seed, _ := strconv.ParseUint(number, 36, 64)
			at := slices.IndexFunc(edits, func(e edit) bool { return e.name == name })
			NewWithT(t).Expect(at).NotTo(Equal(-1), "edit %q of %s", name, editsVariable)
			edit := func(m *manifest, past []*manifest) change {
				return edits[at].of(m, past, rand.New(rand.NewPCG(seed, 0)))
			}
			if !yield(edit, true) {
				return
			}
		}
	}
}

// fillOutlet gives the subscriber a table of its own, to be published.
func (w *walk) fillOutlet(t testing.TB) {
	t.Helper()
	w.stage.SQL(t, subscriber, published,
		"IF OBJECT_ID(N'"+outlet+"') IS NULL CREATE TABLE "+outlet+" (Id int NOT NULL PRIMARY KEY)")
}

// walked edits a manifest step after step, compares where that led with a stage that never had another manifest, and
// shows that its namespace can be deleted.
func walked(t testing.TB, w *walk, steps way) {
	w.settle(t)
	straight := fromNothing(t, steps.end(w.declared))
	defer func() {
		for range straight {
		}
	}()
	settled := true
	for edit, waits := range steps {
		w.step(t, edit)
		if settled = waits; waits {
			w.settle(t)
		}
	}
	if !settled {
		w.settle(t)
	}
	want, ok := <-straight
	NewWithT(t).Expect(ok).To(BeTrue(), "the last manifest is settled from nothing")
	var differs []string
	NewWithT(t).Eventually(func() []string {
		differs = slices.DeleteFunc(difference(want, w.stage.State(t)), func(line string) bool {
			return stays(line) || w.declared.keeps(line)
		})
		return differs
	}, patient, time.Second).Should(BeEmpty(), func() string {
		return strings.Join(differs, "\n") + w.told(t)()
	})
	w.ends(t)
}

// ends shows that the namespace of all that was declared can be deleted, in whatever order that takes its objects.
func (w *walk) ends(t testing.TB) {
	t.Helper()
	now := w.stage.DeleteNamespace(t)
	NewWithT(t).Eventually(func() []corev1.NamespaceCondition {
		web, err := now()
		if apierrors.IsNotFound(err) {
			return nil
		}
		return append(web.Status.Conditions, corev1.NamespaceCondition{Message: fmt.Sprint("it is there: ", err)})
	}, patient, 200*time.Millisecond).Should(BeEmpty(), func() string {
		return strings.Join(w.stage.Objects(t), "\n") + w.told(t)()
	})
}

// stays is what ends with the distributor, not with the last publication or subscription: its agents' logins, and that
// it knows its publishers, and they it; and the Secrets of sidecars that are told nothing any more. A group's servers
// keep the login and the certificate of one that has left it: the controller of servers, of which a stage has none,
// takes them away. The job that looks for expired subscriptions stays where a server has published, and a secondary's
// copy of a database that has left the group.
func stays(line string) bool {
	for _, part := range []string{
		" sys.server_principals: geosql_replication_main", " sys.servers: repl_distributor",
		" sys.server_principals: geosql_partner_" + stage.Spare, " sys.certificates: geosql_" + stage.Spare + "_",
		" dbo.sysjobs: Expired subscription clean up", " dbo.sysjobsteps: 1Run agent.TSQL",
		" sys.databases: " + further + "RESTORING",
		"*v1.Secret dist-agent ", stage.Far + " *v1.Secret dubsub-agent ",
	} {
		if strings.HasPrefix(line, "+ ") && strings.Contains(line, part) {
			return true
		}
	}
	return strings.Contains(line, " dist sys.servers: ")
}

// keeps is how a copy that was kept differs from one that a snapshot has made: by its registration, and in that nobody
// mirrors the snapshot.
func (m *manifest) keeps(line string) bool {
	return slices.ContainsFunc(m.those(func(p publication) bool { return p.compares }), func(name string) bool {
		return strings.Contains(line, " dbo.syssubscriptions: "+subscriber+"-0"+published) ||
			strings.HasSuffix(line, " has reader."+name) || strings.HasSuffix(line, " has mirror."+name)
	})
}

// step takes one edit, and writes rows before and after.
func (w *walk) step(t testing.TB, edit func(*manifest, []*manifest) change) {
	t.Helper()
	w.write(t)
	before := w.declared.clone()
	c := edit(w.declared, w.past)
	w.past = append(w.past, before)
	w.taken = append(w.taken, c.said)
	t.Logf("%s: %s", time.Now().Format(time.TimeOnly), c.said)
	if c.carry != nil {
		c.carry(t, w)
	}
	w.apply(t)
	if c.after != nil {
		c.after(t, w)
	}
	w.write(t)
}

// apply declares the manifest as kubectl apply --prune does; what is declared no more is deleted in any order.
func (w *walk) apply(t testing.TB) {
	t.Helper()
	w.declares(t, w.declared)
}

func (w *walk) declares(t testing.TB, m *manifest) {
	t.Helper()
	g := NewWithT(t)
	wanted := m.objects()
	var gone []client.Object
	for _, list := range []client.ObjectList{
		&v1alpha1.PublicationList{}, &v1alpha1.SubscriptionList{}, &v1alpha1.LoginList{},
	} {
		g.Expect(w.stage.Hub.Client.List(t.Context(), list, client.InNamespace(stage.Namespace))).To(Succeed())
		items, err := meta.ExtractList(list)
		g.Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			object := item.(client.Object)
			if !slices.ContainsFunc(wanted, func(o client.Object) bool {
				return fmt.Sprintf("%T", o) == fmt.Sprintf("%T", object) && o.GetName() == object.GetName()
			}) {
				gone = append(gone, object)
			}
		}
	}
	chance := rand.New(rand.NewPCG(uint64(len(w.taken)), 0))
	chance.Shuffle(len(gone), func(i, j int) { gone[i], gone[j] = gone[j], gone[i] })
	for _, object := range gone {
		g.Expect(client.IgnoreNotFound(w.stage.Hub.Client.Delete(t.Context(), object))).To(Succeed())
	}
	for _, object := range wanted {
		w.declare(t, object)
	}
}

// declare makes an object, or gives it the spec that is wanted. One that is being deleted is awaited: an apply of a
// person is repeated until then.
func (w *walk) declare(t testing.TB, object client.Object) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() error {
		err := w.stage.Hub.Client.Create(t.Context(), object.DeepCopyObject().(client.Object))
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		there := object.DeepCopyObject().(client.Object)
		if err := w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), there); err != nil {
			return err
		}
		if there.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%T %s is still being deleted", object, object.GetName())
		}
		before := there.DeepCopyObject()
		adopt(there, object)
		if equality.Semantic.DeepEqual(before, there) {
			return nil
		}
		return w.stage.Hub.Client.Update(t.Context(), there)
	}, patient, 200*time.Millisecond).Should(Succeed(), w.told(t))
}

// adopt gives an object the spec of another of its kind, as far as walks change it.
func adopt(there, wanted client.Object) {
	switch wanted := wanted.(type) {
	case *v1alpha1.Topology:
		there.(*v1alpha1.Topology).Spec = wanted.Spec
	case *v1alpha1.AvailabilityGroup:
		there.(*v1alpha1.AvailabilityGroup).Spec.Databases = wanted.Spec.Databases
		there.(*v1alpha1.AvailabilityGroup).Spec.Replicas = wanted.Spec.Replicas
	case *v1alpha1.Publication:
		there.(*v1alpha1.Publication).Spec.Articles = wanted.Spec.Articles
		there.(*v1alpha1.Publication).Spec.ReclaimPolicy = wanted.Spec.ReclaimPolicy
	case *v1alpha1.Subscription:
		there.(*v1alpha1.Subscription).Spec.Type = wanted.Spec.Type
		there.(*v1alpha1.Subscription).Spec.ReclaimPolicy = wanted.Spec.ReclaimPolicy
	}
}

// settle waits until all that is declared is Ready, and shows that it is so and stays so.
func (w *walk) settle(t testing.TB) {
	t.Helper()
	var took []string
	for _, look := range []struct {
		what string
		at   func(testing.TB)
	}{
		{"ready", w.ready}, {"arrived", w.arrived}, {"ready", w.ready}, {"once", w.once}, {"open", w.open},
		{"leads", w.leads}, {"rests", w.rests},
	} {
		since := time.Now()
		look.at(t)
		took = append(took, fmt.Sprintf("%s %.1f s", look.what, time.Since(since).Seconds()))
	}
	t.Logf("%s: settled: %s", time.Now().Format(time.TimeOnly), strings.Join(took, ", "))
}

// ready waits until all that is declared is Ready, and what is declared no more is gone. Where a new Subscription finds
// tables that a former one has left, a person lets it replace them; where one has delivered before, that is a fault.
// Where a database comes back to the group, a person gives up the copies of before.
func (w *walk) ready(t testing.TB) {
	t.Helper()
	former := true
	NewWithT(t).Eventually(func() string {
		unready := w.stage.Unready(t)
		c := unready["AvailabilityGroup "+stage.Group]
		if former && c != nil && c.Reason == v1alpha1.ReasonDatabaseOutside &&
			!strings.Contains(c.Message, published+" on ") {
			former = false
			w.givesUp(t)
		}
		for _, name := range w.declared.names() {
			c := unready["Subscription "+name]
			if c != nil && c.Reason == v1alpha1.ReasonSubscriberNotEmpty && !w.delivered[w.subscription(t, name)] {
				w.adopts(t, name)
			}
		}
		return stage.Tell(unready)
	}, patient, 200*time.Millisecond).Should(BeEmpty(), w.told(t))
	for _, name := range w.declared.names() {
		w.delivered[w.subscription(t, name)] = true
	}
}

// givesUp drops the secondaries' copies of the database that the group has at times, which it had before.
func (w *walk) givesUp(t testing.TB) {
	t.Helper()
	for _, server := range w.declared.partners() {
		w.stage.SQL(t, server, "master", "IF EXISTS (SELECT * FROM sys.databases WHERE name = N'"+further+
			"' AND state_desc = N'RESTORING' AND replica_id IS NULL) DROP DATABASE "+further)
	}
}

// subscription is the UID of a Subscription, "" without one.
func (w *walk) subscription(t testing.TB, name string) types.UID {
	t.Helper()
	s := &v1alpha1.Subscription{ObjectMeta: named(name)}
	NewWithT(t).Expect(client.IgnoreNotFound(w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))).
		To(Succeed())
	return s.UID
}

// says waits until an object's condition Ready has a reason, with a part of its message.
func (w *walk) says(t testing.TB, object, reason, part string) {
	t.Helper()
	NewWithT(t).Eventually(func() string {
		c := w.stage.Unready(t)[object]
		if c == nil {
			return "Ready"
		}
		return c.Reason + ": " + c.Message
	}, patient, 200*time.Millisecond).
		Should(And(HavePrefix(reason+":"), ContainSubstring(part)), func() string { return object + w.told(t)() })
}

// open shows that applications may log in where a Login is declared, and read.
func (w *walk) open(t testing.TB) {
	t.Helper()
	if !w.declared.login {
		return
	}
	NewWithT(t).Eventually(func() []string {
		return append(w.stage.Query(t, subscriber, "master", "SELECT p.state_desc, p.permission_name, l.is_disabled "+
			"FROM sys.server_principals l LEFT JOIN sys.server_permissions p ON p.grantee_principal_id = l.principal_id "+
			"WHERE l.name = N'"+application+"' ORDER BY p.permission_name", 3),
			w.stage.Query(t, subscriber, published, "SELECT p.state_desc, p.permission_name "+
				"FROM sys.database_principals u JOIN sys.database_permissions p ON p.grantee_principal_id = u.principal_id "+
				"WHERE u.name = N'"+application+"' AND p.class = 0 ORDER BY p.permission_name", 2)...)
	}, patient, time.Second).
		Should(Equal([]string{"GRANTCONNECT SQL0", "GRANTCONNECT", "GRANTSELECT"}), w.told(t))
}

// arrived shows that each subscription's tables have the publisher's rows, and that none is Ready for long without.
func (w *walk) arrived(t testing.TB) {
	t.Helper()
	for _, name := range w.declared.those(subscribed) {
		p := w.declared.publications[name]
		for _, table := range p.tables {
			columns, many := "Id, Body, Note", 3
			if slices.Contains(p.narrow, table) {
				columns, many = "Id, Body", 2
			}
			query := "SELECT " + columns + " FROM " + table + " ORDER BY Id"
			rows := func(server v1alpha1.ServerName) string {
				return strings.Join(w.stage.Query(t, server, published, query, many), ", ")
			}
			var since time.Time
			NewWithT(t).Eventually(func() error {
				has, wanted := rows(subscriber), rows(publisher)
				switch c := w.stage.Unready(t)["Subscription "+name]; {
				case has == wanted:
					return nil
				case c != nil:
					since = time.Time{}
				case since.IsZero():
					since = time.Now()
				case time.Since(since) > refuted:
					return StopTrying(fmt.Sprintf("%s is Ready, but %s has %s, not %s", name, table, has, wanted))
				}
				return fmt.Errorf("%s has %s, not %s", table, has, wanted)
			}, patient, 200*time.Millisecond).Should(Succeed(), w.told(t))
		}
	}
}

// once shows that no table of the subscriber is fed by two subscriptions.
func (w *walk) once(t testing.TB) {
	t.Helper()
	NewWithT(t).Eventually(func() []string {
		twice := w.stage.Query(t, publisher, published, "SELECT a.dest_table, COUNT(*) FROM dbo.syssubscriptions s "+
			"JOIN dbo.sysarticles a ON a.artid = s.artid WHERE s.dest_db = N'"+published+"' AND s.srvname <> N'' "+
			"GROUP BY a.dest_table HAVING COUNT(*) > 1", 2)
		// Replication makes these tables when they are first needed.
		return slices.DeleteFunc(twice, func(row string) bool { return strings.Contains(row, "Invalid object name") })
	}, 30*time.Second, 500*time.Millisecond).Should(BeEmpty(), w.told(t))
}

// rests shows that a manager with nothing to do does nothing: it does not execute the same statement again and again.
func (w *walk) rests(t testing.TB) {
	t.Helper()
	g := NewWithT(t)
	before, err := os.ReadFile(w.ledger())
	g.Expect(err).NotTo(HaveOccurred())
	g.Consistently(func() map[string]int {
		after, err := os.ReadFile(w.ledger())
		g.Expect(err).NotTo(HaveOccurred())
		often := map[string]int{}
		for line := range strings.Lines(string(after[len(before):])) {
			often[line]++
		}
		maps.DeleteFunc(often, func(_ string, times int) bool { return times <= busy })
		return often
	}, quiet, 500*time.Millisecond).Should(BeEmpty(), w.told(t))
}

// told is where the walk has led, for failures.
func (w *walk) told(t testing.TB) func() string {
	return func() string {
		return fmt.Sprintf("\nafter: %s\n%s\n%s", strings.Join(w.taken, "; "), w.stage.Waiting(t), w.stage.Logged(t))
	}
}

// difference are the lines that only one of two has, marked with - and +.
func difference(want, got []string) []string {
	var d []string
	for _, l := range want {
		if !slices.Contains(got, l) {
			d = append(d, "- "+l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			d = append(d, "+ "+l)
		}
	}
	return d
}
