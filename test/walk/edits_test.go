// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/test/support/stage"
)

// change is what an edit makes of a manifest. What it does beside that is done before the manifest is declared (carry)
// or afterwards.
type change struct {
	// said is "" where there is nothing to change.
	said         string
	carry, after func(t testing.TB, w *walk)
}

// edit changes a manifest, or something by hand.
type edit struct {
	name string
	of   func(m *manifest, past []*manifest, chance *rand.Rand) change
}

// edits that a walk chooses from.
var edits = append(disturbances, []edit{
	{"addArticle", addArticle},
	{"removeArticle", removeArticle},
	{"changeColumns", changeColumns},
	{"subscribe", subscribe},
	{"unsubscribe", unsubscribe},
	{"keepCopy", keepCopy},
	{"changeType", changeType},
	{"renamePublication", renamePublication},
	{"renameRetained", renameRetained},
	{"removePublication", removePublication},
	{"addPublication", addPublication},
	{"addOwnTable", addOwnTable},
	{"putBack", putBack},
	{"addOrRemoveDatabase", addOrRemoveDatabase},
	{"addOrRemoveServer", addOrRemoveServer},
	{"swapSynchronous", swapSynchronous},
	{"addOrRemoveLogin", addOrRemoveLogin},
	{"addOrRemoveOutlet", addOrRemoveOutlet},
}...)

const mergePatch = types.MergePatchType

// said is a change that only the manifest has.
func said(format string, args ...any) change { return change{said: fmt.Sprintf(format, args...)} }

// oneOf returns one of the values, or the zero value when there is none.
func oneOf[T any](chance *rand.Rand, values []T) (one T) {
	if len(values) > 0 {
		one = values[chance.IntN(len(values))]
	}
	return one
}

// those are the names of the publications that fulfil the condition.
func (m *manifest) those(is func(publication) bool) []string {
	return slices.DeleteFunc(m.names(), func(name string) bool { return !is(m.publications[name]) })
}

func subscribed(p publication) bool { return p.subscription != "" }

func addArticle(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, table := oneOf(chance, m.names()), oneOf(chance, m.free())
	if name == "" || table == "" {
		return change{}
	}
	p := m.publications[name]
	p.tables = append(slices.Clone(p.tables), table)
	m.publications[name] = p
	return said("publication %s has %s as well", name, table)
}

func removeArticle(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(func(p publication) bool { return len(p.tables) > 1 }))
	if name == "" {
		return change{}
	}
	p := m.publications[name]
	at := chance.IntN(len(p.tables))
	table := p.tables[at]
	p.tables = slices.Delete(slices.Clone(p.tables), at, at+1)
	m.publications[name] = p
	return said("publication %s has %s no more", name, table)
}

func changeColumns(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.names())
	if name == "" {
		return change{}
	}
	p := m.publications[name]
	table := oneOf(chance, p.tables)
	narrow := slices.DeleteFunc(slices.Clone(p.narrow), func(t string) bool { return t == table })
	if len(narrow) == len(p.narrow) {
		narrow = append(narrow, table)
	}
	p.narrow = narrow
	m.publications[name] = p
	return said("publication %s has the columns Note of all tables but %v", name, narrow)
}

// set gives a publication a subscription of a type, or takes it away.
func (m *manifest) set(name string, to v1alpha1.SubscriptionType) {
	p := m.publications[name]
	p.subscription, p.compares = to, false
	m.publications[name] = p
}

var kinds = []v1alpha1.SubscriptionType{v1alpha1.SubscriptionPull, v1alpha1.SubscriptionPush}

func subscribe(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, to := oneOf(chance, m.those(func(p publication) bool { return p.subscription == "" })), oneOf(chance, kinds)
	if name == "" {
		return change{}
	}
	m.set(name, to)
	return said("%s subscribes to %s, %s", subscriber, name, to)
}

func unsubscribe(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(subscribed))
	if name == "" {
		return change{}
	}
	m.set(name, "")
	return said("%s subscribes to %s no more", subscriber, name)
}

// keepCopy ends a subscription and begins it again with the tables that are there, since they are equal.
func keepCopy(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(subscribed))
	if name == "" {
		return change{}
	}
	p := m.publications[name]
	p.compares = true
	m.publications[name] = p
	c := said("%s subscribes to %s again and keeps its copy", subscriber, name)
	c.carry = func(t testing.TB, w *walk) {
		without := m.clone()
		without.set(name, "")
		w.ready(t)
		w.arrived(t)
		w.declares(t, without)
		w.ready(t)
	}
	c.after = func(t testing.TB, w *walk) { w.ready(t) }
	return c
}

func changeType(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(subscribed))
	if name == "" {
		return change{}
	}
	to := v1alpha1.SubscriptionPull
	if m.publications[name].subscription == to {
		to = v1alpha1.SubscriptionPush
	}
	p := m.publications[name]
	p.subscription = to
	m.publications[name] = p
	return said("the subscription to %s becomes %s", name, to)
}

// unused is a name that no publication has; one that was used before may come back.
func (m *manifest) unused(chance *rand.Rand) string {
	return oneOf(chance, slices.DeleteFunc([]string{"articles", "stories", "texts"}, func(name string) bool {
		_, is := m.publications[name]
		return is
	}))
}

// rename chooses a publication and gives it another name.
func (m *manifest) rename(chance *rand.Rand, is func(publication) bool) (name, to string) {
	name, to = oneOf(chance, m.those(is)), m.unused(chance)
	if name == "" || to == "" {
		return "", ""
	}
	m.publications[to] = m.publications[name]
	delete(m.publications, name)
	return name, to
}

func renamePublication(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, to := m.rename(chance, func(publication) bool { return true })
	if name == "" {
		return change{}
	}
	return said("publication %s is called %s", name, to)
}

// renameRetained renames what runs on under its former name. A person lets the new subscription take over when its
// condition says what feeds the tables, and then ends the former publication.
func renameRetained(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, to := m.rename(chance, subscribed)
	if name == "" {
		return change{}
	}
	p := m.publications[to]
	p.compares = false
	m.publications[to] = p
	both, retained := m.clone(), m.clone()
	delete(retained.publications, to)
	p.retains = true
	retained.publications[name] = p
	both.publications[name] = publication{tables: p.tables, narrow: p.narrow}
	c := said("publication %s, which is retained, is called %s", name, to)
	c.carry = func(t testing.TB, w *walk) { w.declares(t, retained); w.ready(t) }
	c.after = func(t testing.TB, w *walk) {
		w.says(t, "Subscription "+to, v1alpha1.ReasonSubscriberNotEmpty, name)
		w.adopts(t, to)
		w.ready(t)
		w.once(t)
		w.declares(t, both)
		w.ready(t)
		w.apply(t)
	}
	return c
}

// adopts annotates a Subscription, as its condition says.
func (w *walk) adopts(t testing.TB, name string) {
	t.Helper()
	s := &v1alpha1.Subscription{ObjectMeta: named(name)}
	NewWithT(t).Expect(w.stage.Hub.Client.Patch(t.Context(), s, client.RawPatch(mergePatch,
		[]byte(`{"metadata":{"annotations":{"`+v1alpha1.AdoptAnnotation+`":"true"}}}`)))).To(Succeed())
}

func removePublication(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.names())
	if name == "" {
		return change{}
	}
	delete(m.publications, name)
	return said("publication %s is gone, with its subscription", name)
}

func addPublication(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, table := m.unused(chance), oneOf(chance, m.free())
	if name == "" || table == "" {
		return change{}
	}
	to := oneOf(chance, kinds)
	m.publications[name] = publication{tables: []string{table}, subscription: to}
	return said("publication %s has %s, %s subscribes, %s", name, table, subscriber, to)
}

// addOwnTable publishes a table whose name the subscriber has for rows of its own. They stay until a person takes them
// away.
func addOwnTable(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name, table := m.unused(chance), oneOf(chance, m.free())
	if name == "" || table == "" {
		return change{}
	}
	m.publications[name] = publication{tables: []string{table}, subscription: oneOf(chance, kinds)}
	c := said("publication %s has %s, of which %s has its own", name, table, subscriber)
	c.carry = func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.SQL(t, subscriber, published, "DROP TABLE IF EXISTS "+table)
		w.stage.SQL(t, subscriber, published, "CREATE TABLE "+table+" (Mine int NOT NULL PRIMARY KEY)")
		w.stage.SQL(t, subscriber, published, "INSERT "+table+" (Mine) VALUES (1)")
	}
	c.after = func(t testing.TB, w *walk) {
		w.says(t, "Subscription "+name, v1alpha1.ReasonSubscriberNotEmpty, table)
		NewWithT(t).Expect(w.stage.Query(t, subscriber, published, "SELECT Mine FROM "+table, 1)).To(Equal([]string{"1"}))
		w.stage.SQL(t, subscriber, published, "DROP TABLE "+table)
	}
	return c
}

// putBack declares what was declared before, as who takes an edit back in Git.
func putBack(m *manifest, past []*manifest, chance *rand.Rand) change {
	former := oneOf(chance, past)
	if former == nil {
		return change{}
	}
	now := m.clone()
	*m = *former.clone()
	m.login, m.outlet, m.spare, m.swapped = now.login, now.outlet, now.spare, now.swapped
	return said("publications and databases are as they were: %v", m.names())
}

func addOrRemoveDatabase(m *manifest, _ []*manifest, _ *rand.Rand) change {
	m.further = !m.further
	if m.further {
		return said("the group has %s as well", further)
	}
	return said("the group has %s no more", further)
}

// addOrRemoveServer adds a server with an asynchronous replica. One that leaves the group has nothing of it any more
// before the server goes.
func addOrRemoveServer(m *manifest, _ []*manifest, _ *rand.Rand) change {
	m.spare, m.swapped = !m.spare, false
	if m.spare {
		c := said("there is a server %s, with a replica", stage.Spare)
		c.carry = func(t testing.TB, w *walk) { w.stage.AddServer(t, stage.Spare) }
		c.after = func(t testing.TB, w *walk) { w.ready(t) }
		return c
	}
	c := said("there is no server %s any more, nor its replica", stage.Spare)
	c.after = func(t testing.TB, w *walk) {
		w.ready(t)
		NewWithT(t).Eventually(func() []string {
			return w.stage.Query(t, stage.Spare, "master", "SELECT name FROM sys.availability_groups", 1)
		}, refuted, 200*time.Millisecond).Should(BeEmpty(), w.told(t))
		// Its agent would claim votes by what it was told.
		NewWithT(t).Eventually(func() []string { return w.stage.Orders(t, stage.Spare) }, refuted, 200*time.Millisecond).
			Should(Equal([]string{orders.EndedKey(stage.Group)}), w.told(t))
		w.stage.RemoveServer(t, stage.Spare)
	}
	return c
}

// swapSynchronous makes the asynchronous secondary synchronous and the synchronous one asynchronous, beside a
// configuration-only replica.
func swapSynchronous(m *manifest, _ []*manifest, _ *rand.Rand) change {
	if !m.spare {
		return change{}
	}
	m.swapped = !m.swapped
	synchronous, _ := m.secondaries()
	return said("%s is the synchronous secondary", synchronous)
}

func addOrRemoveLogin(m *manifest, _ []*manifest, _ *rand.Rand) change {
	m.login = !m.login
	if m.login {
		return said("applications have the login %s", application)
	}
	return said("applications have the login %s no more", application)
}

func addOrRemoveOutlet(m *manifest, _ []*manifest, _ *rand.Rand) change {
	m.outlet = !m.outlet
	if m.outlet {
		c := said("%s publishes %s", subscriber, outlet)
		c.carry = func(t testing.TB, w *walk) { w.fillOutlet(t) }
		return c
	}
	return said("%s publishes %s no more", subscriber, outlet)
}
