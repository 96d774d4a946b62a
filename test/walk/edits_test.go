// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"geosql.dev/operator/api/v1alpha1"
)

// edit changes the manifest, or something by hand, and says what; it says nothing where it has nothing to change.
type edit func(t *testing.T, w *walk, chance *rand.Rand) string

// edits that a walk chooses from.
var edits = []edit{
	addArticle, removeArticle, subscribe, unsubscribe, changeType, renamePublication, removePublication, addPublication,
	addOrRemoveDatabase, killManager, restartEngine, deleteLogReader, stopDistributionAgent, deleteDistributionAgent,
}

// oneOf returns one of the values, or the zero value when there is none.
func oneOf[T any](chance *rand.Rand, values []T) (one T) {
	if len(values) > 0 {
		one = values[chance.IntN(len(values))]
	}
	return one
}

// those are the names of the publications that fulfil the condition.
func (w *walk) those(is func(publication) bool) []string {
	return slices.DeleteFunc(w.declared.names(), func(name string) bool { return !is(w.declared.publications[name]) })
}

func addArticle(_ *testing.T, w *walk, chance *rand.Rand) string {
	name, table := oneOf(chance, w.declared.names()), oneOf(chance, w.declared.free())
	if name == "" || table == "" {
		return ""
	}
	p := w.declared.publications[name]
	p.tables = append(slices.Clone(p.tables), table)
	w.declared.publications[name] = p
	return fmt.Sprintf("publication %s has %s as well", name, table)
}

func removeArticle(_ *testing.T, w *walk, chance *rand.Rand) string {
	name := oneOf(chance, w.those(func(p publication) bool { return len(p.tables) > 1 }))
	if name == "" {
		return ""
	}
	p := w.declared.publications[name]
	at := chance.IntN(len(p.tables))
	table := p.tables[at]
	p.tables = slices.Delete(slices.Clone(p.tables), at, at+1)
	w.declared.publications[name] = p
	return fmt.Sprintf("publication %s has %s no more", name, table)
}

// set gives a publication a subscription of a type, or takes it away.
func (w *walk) set(name string, to v1alpha1.SubscriptionType) {
	p := w.declared.publications[name]
	p.subscription = to
	w.declared.publications[name] = p
}

var types = []v1alpha1.SubscriptionType{v1alpha1.SubscriptionPull, v1alpha1.SubscriptionPush}

func subscribe(_ *testing.T, w *walk, chance *rand.Rand) string {
	name, to := oneOf(chance, w.those(func(p publication) bool { return p.subscription == "" })), oneOf(chance, types)
	if name == "" {
		return ""
	}
	w.set(name, to)
	return fmt.Sprintf("%s subscribes to %s, %s", subscriber, name, to)
}

func unsubscribe(_ *testing.T, w *walk, chance *rand.Rand) string {
	name := oneOf(chance, w.those(func(p publication) bool { return p.subscription != "" }))
	if name == "" {
		return ""
	}
	w.set(name, "")
	return fmt.Sprintf("%s subscribes to %s no more", subscriber, name)
}

func changeType(_ *testing.T, w *walk, chance *rand.Rand) string {
	name := oneOf(chance, w.those(func(p publication) bool { return p.subscription != "" }))
	if name == "" {
		return ""
	}
	to := v1alpha1.SubscriptionPull
	if w.declared.publications[name].subscription == to {
		to = v1alpha1.SubscriptionPush
	}
	w.set(name, to)
	return fmt.Sprintf("the subscription to %s becomes %s", name, to)
}

// unused is a name that no publication has; one that was used before may come back.
func (w *walk) unused(chance *rand.Rand) string {
	return oneOf(chance, slices.DeleteFunc([]string{"articles", "stories", "texts"}, func(name string) bool {
		_, is := w.declared.publications[name]
		return is
	}))
}

func renamePublication(_ *testing.T, w *walk, chance *rand.Rand) string {
	name, to := oneOf(chance, w.declared.names()), w.unused(chance)
	if name == "" || to == "" {
		return ""
	}
	w.declared.publications[to] = w.declared.publications[name]
	delete(w.declared.publications, name)
	return fmt.Sprintf("publication %s is called %s", name, to)
}

func removePublication(_ *testing.T, w *walk, chance *rand.Rand) string {
	name := oneOf(chance, w.declared.names())
	if name == "" {
		return ""
	}
	delete(w.declared.publications, name)
	return fmt.Sprintf("publication %s is gone, with its subscription", name)
}

func addPublication(_ *testing.T, w *walk, chance *rand.Rand) string {
	name, table := w.unused(chance), oneOf(chance, w.declared.free())
	if name == "" || table == "" {
		return ""
	}
	to := oneOf(chance, types)
	w.declared.publications[name] = publication{tables: []string{table}, subscription: to}
	return fmt.Sprintf("publication %s has %s, %s subscribes, %s", name, table, subscriber, to)
}

func addOrRemoveDatabase(_ *testing.T, w *walk, _ *rand.Rand) string {
	w.declared.further = !w.declared.further
	if w.declared.further {
		return "the group has " + further + " as well"
	}
	return "the group has " + further + " no more"
}

func killManager(t *testing.T, w *walk, _ *rand.Rand) string {
	w.manager.Kill()
	w.manager = w.stage.StartManager(t, w.ledger())
	return "the manager was killed and started again"
}

func restartEngine(t *testing.T, w *walk, chance *rand.Rand) string {
	server := oneOf(chance, []v1alpha1.ServerName{distributor, subscriber, "quisec"})
	w.stage.Restart(t, server)
	return fmt.Sprintf("the engine of %s was killed and started again", server)
}

// jobs of a subsystem on a server, as Transact-SQL selects their names.
func (w *walk) jobs(t *testing.T, server v1alpha1.ServerName, subsystem string) []string {
	return w.stage.Query(
		t,
		server,
		"msdb",
		"SELECT j.name FROM dbo.sysjobs j JOIN dbo.sysjobsteps s ON s.job_id = j.job_id "+
			"WHERE s.subsystem = N'"+subsystem+"'",
		1,
	)
}

// byHand executes one statement about each job of a subsystem on the servers.
func (w *walk) byHand(t *testing.T, procedure, subsystem string, servers ...v1alpha1.ServerName) string {
	var done []string
	for _, server := range servers {
		for _, job := range w.jobs(t, server, subsystem) {
			w.stage.SQL(t, server, "msdb", "EXEC dbo."+procedure+" @job_name = N'"+strings.ReplaceAll(job, "'", "''")+"'")
			done = append(done, fmt.Sprintf("%s of %s", job, server))
		}
	}
	if len(done) == 0 {
		return ""
	}
	return fmt.Sprintf("%s by hand: %s", procedure, strings.Join(done, ", "))
}

func deleteLogReader(t *testing.T, w *walk, _ *rand.Rand) string {
	return w.byHand(t, "sp_delete_job", "LogReader", distributor)
}

func stopDistributionAgent(t *testing.T, w *walk, _ *rand.Rand) string {
	return w.byHand(t, "sp_stop_job", "Distribution", distributor, subscriber)
}

func deleteDistributionAgent(t *testing.T, w *walk, _ *rand.Rand) string {
	return w.byHand(t, "sp_delete_job", "Distribution", distributor, subscriber)
}
