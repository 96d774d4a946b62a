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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

const (
	// soakVariable asks for walks at random as well, for as long as soaking.
	soakVariable = "GEOSQL_SOAK"
	soaking      = 2 * time.Hour
	// seedVariable repeats the walk of a seed that was printed.
	seedVariable = "GEOSQL_SEED"

	// patient is how long a stage may take to be as declared.
	patient = 2 * time.Minute
	// quiet is how long a stage that has come to rest is listened to.
	quiet = 3 * time.Second
	// busy is how often a manager may execute the same statement while the stage is at rest.
	busy = 2
)

// cases are the seeds of walks that failed once, or that are worth a walk each time: after one came to its end, orders
// of a mirror and the right to read its folder were left.
var cases = []string{"abc"}

// Wherever random edits lead, what is Ready receives its rows, nothing is done over and over, and the end is what the
// last manifest makes from nothing.
func TestWalksEndWhereTheirManifestLeads(t *testing.T) {
	seeds := cases
	if seed := os.Getenv(seedVariable); seed != "" {
		seeds = []string{seed}
	}
	for _, seed := range seeds {
		walkFrom(t, seed, 6)
	}
	if os.Getenv(soakVariable) == "" {
		return
	}
	for until := time.Now().Add(soaking); time.Now().Before(until) && !t.Failed(); {
		walkFrom(t, strconv.FormatUint(rand.Uint64(), 36), 20)
	}
}

// walkFrom takes the walk of a seed, a number of base 36.
func walkFrom(t *testing.T, seed string, steps int) {
	t.Helper()
	number, err := strconv.ParseUint(seed, 36, 64)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s is a number of base 36", seedVariable)
	if !t.Run(seed, func(t *testing.T) { walked(t, number, steps) }) {
		t.Logf("repeat it with %s=%s", seedVariable, seed)
	}
}

// walk is a stage on which a manifest is edited.
type walk struct {
	stage    *stage.Stage
	manager  *stage.Manager
	declared *manifest
	// row is the number of the newest row.
	row int
	// taken are the steps so far, for failures.
	taken []string
}

func (w *walk) ledger() string { return w.stage.File("ledger") }

// begin starts a stage with a manifest, and all the tables, which have so many rows.
func begin(t *testing.T, m *manifest) *walk {
	t.Helper()
	w := &walk{stage: stage.New(t), declared: m}
	for _, database := range []string{published, further} {
		w.stage.SQL(t, publisher, "master", "CREATE DATABASE "+database)
		// The operator's own first backup goes to the folder of a pod.
		w.stage.SQL(t, publisher, "master", "ALTER DATABASE "+database+" SET RECOVERY FULL")
		w.stage.SQL(t, publisher, "master", "BACKUP DATABASE "+database+" TO DISK = N'"+database+".bak'")
	}
	w.stage.SQL(t, subscriber, "master", "CREATE DATABASE "+published)
	for _, table := range tables {
		w.stage.SQL(
			t,
			publisher,
			published,
			"CREATE TABLE "+table+" (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL)",
		)
	}
	for range 5 {
		w.write(t)
	}
	w.apply(t, rand.New(rand.NewPCG(0, 0)))
	w.manager = w.stage.StartManager(t, w.ledger())
	return w
}

// walked edits a manifest step after step, and compares where that led with a stage that never had another manifest.
func walked(t *testing.T, seed uint64, steps int) {
	chance := rand.New(rand.NewPCG(seed, 0))
	w := begin(t, first())
	w.settle(t)
	for range steps {
		w.step(t, chance)
		if chance.IntN(3) > 0 {
			w.settle(t)
		}
	}
	w.settle(t)
	if w.consents(t) != "" {
		t.Logf("not compared, as it waits for a person: %s", w.consents(t))
		return
	}
	straight := begin(t, w.declared)
	straight.settle(t)
	want := straight.stage.State(t)
	NewWithT(t).Eventually(func() []string {
		return slices.DeleteFunc(
			difference(want, w.stage.State(t)),
			func(line string) bool { return slices.Contains(stays, line) },
		)
	}, patient, time.Second).Should(BeEmpty(), w.told(t))
}

// stays are what ends with the distributor, not with the last subscription: the login of its agents; and the Secrets of
// sidecars that are told nothing any more.
var stays = []string{
	"+ " + subscriber + " sys.server_principals: geosql_replication_mainSQL_LOGIN0",
	"+ *v1.Secret dist-agent map[app.kubernetes.io/managed-by:geosql-operator geosql.dev/hub-namespace:web " +
		"geosql.dev/server:dist] []",
	"+ *v1.Secret dubsub-agent map[app.kubernetes.io/managed-by:geosql-operator geosql.dev/hub-namespace:web " +
		"geosql.dev/server:dubsub] []",
}

// step takes one edit, and writes rows before and after.
func (w *walk) step(t *testing.T, chance *rand.Rand) {
	t.Helper()
	w.write(t)
	said := ""
	for said == "" {
		said = oneOf(chance, edits)(t, w, chance)
	}
	w.taken = append(w.taken, said)
	t.Log(said)
	w.apply(t, chance)
	w.write(t)
}

// write inserts a row into each table, changes one and deletes one, as applications do.
func (w *walk) write(t *testing.T) {
	t.Helper()
	w.row++
	for _, table := range tables {
		w.stage.SQL(t, publisher, published, fmt.Sprintf("INSERT %s (Id, Body) VALUES (%d, N'row %d'); "+
			"UPDATE %[1]s SET Body = Body + N'+' WHERE Id = %[2]d / 2; DELETE %[1]s WHERE Id = %[2]d - 7", table, w.row, w.row))
	}
}

// apply declares the manifest as kubectl apply --prune does; what is declared no more is deleted in any order.
func (w *walk) apply(t *testing.T, chance *rand.Rand) {
	t.Helper()
	g := NewWithT(t)
	wanted := w.declared.objects()
	var gone []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.PublicationList{}, &v1alpha1.SubscriptionList{}} {
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
func (w *walk) declare(t *testing.T, object client.Object) {
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
	case *v1alpha1.AvailabilityGroup:
		there.(*v1alpha1.AvailabilityGroup).Spec.Databases = wanted.Spec.Databases
	case *v1alpha1.Publication:
		there.(*v1alpha1.Publication).Spec.Articles = wanted.Spec.Articles
	case *v1alpha1.Subscription:
		there.(*v1alpha1.Subscription).Spec.Type = wanted.Spec.Type
	}
}

// asks are the reasons with which something waits until a person has said what to do.
var asks = []string{}

// consents are what waits for a person's word.
func (w *walk) consents(t *testing.T) string {
	t.Helper()
	unready := w.stage.Unready(t)
	maps.DeleteFunc(unready, func(_ string, c *metav1.Condition) bool { return !slices.Contains(asks, c.Reason) })
	return strings.Join(slices.Sorted(maps.Keys(unready)), ", ")
}

// settle waits until all that is declared is Ready, or waits for a person, and shows that it is so and stays so.
func (w *walk) settle(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() string {
		unready := w.stage.Unready(t)
		maps.DeleteFunc(unready, func(_ string, c *metav1.Condition) bool { return slices.Contains(asks, c.Reason) })
		return stage.Tell(unready)
	}, patient, 200*time.Millisecond).Should(BeEmpty(), w.told(t))
	w.arrived(t)
	w.rests(t)
}

// arrived shows that each Ready subscription's tables have the publisher's rows.
func (w *walk) arrived(t *testing.T) {
	t.Helper()
	unready := w.stage.Unready(t)
	for _, name := range w.declared.names() {
		p := w.declared.publications[name]
		if _, is := unready["Subscription "+name]; is || p.subscription == "" {
			continue
		}
		for _, table := range p.tables {
			rows := func(server v1alpha1.ServerName) []string {
				return w.stage.Query(t, server, published, "SELECT Id, Body FROM "+table+" ORDER BY Id", 2)
			}
			NewWithT(t).Eventually(func() []string { return rows(subscriber) }, 30*time.Second, 200*time.Millisecond).
				Should(Equal(rows(publisher)), func() string { return "rows of " + table + w.told(t)() })
		}
	}
}

// rests shows that a manager with nothing to do does nothing: it does not execute the same statement again and again.
func (w *walk) rests(t *testing.T) {
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
func (w *walk) told(t *testing.T) func() string {
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
