// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/stage"
)

// kept is how many rows a table has: each that is written ends another one.
const kept = 7

// write inserts a row into each table, changes one and deletes one, as applications do: where the listener leads, and
// again when that had no answer, until it has one. What was answered must not be lost.
func (w *walk) write(t testing.TB) {
	t.Helper()
	w.row++
	for _, table := range tables {
		batch := fmt.Sprintf("IF NOT EXISTS (SELECT * FROM %s WHERE Id = %d) "+
			"INSERT %[1]s (Id, Body, Note) VALUES (%[2]d, N'row %[2]d', N'note'); "+
			"UPDATE %[1]s SET Body = Body + N'+' WHERE Id = %[2]d / 2; DELETE %[1]s WHERE Id = %[2]d - %[3]d",
			table, w.row, kept)
		NewWithT(t).Eventually(func() error {
			server, err := w.listener(t)
			if err != nil {
				return err
			}
			return w.stage.Try(t, server, published, batch)
		}, patient, 200*time.Millisecond).Should(Succeed(), w.told(t))
	}
}

// listener is the server to which the listener leads; before the group is made that is the publisher.
func (w *walk) listener(t testing.TB) (v1alpha1.ServerName, error) {
	t.Helper()
	if w.manager == nil {
		return publisher, nil
	}
	server, err := w.stage.Leads(t.Context(), stage.Group)
	if err == nil && server == "" {
		err = fmt.Errorf("the listener leads nowhere")
	}
	return server, err
}

// leads shows that the listener leads to the primary, with the published database in the group, and that this has all
// rows that were written.
func (w *walk) leads(t testing.TB) {
	t.Helper()
	var rows []string
	for row := max(1, w.row-kept+1); row <= w.row; row++ {
		rows = append(rows, fmt.Sprint(row))
	}
	NewWithT(t).Eventually(func(g Gomega) {
		server, err := w.listener(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.stage.Query(t, server, "master", "SELECT role_desc FROM "+
			"sys.dm_hadr_availability_replica_states WHERE is_local = 1", 1)).To(Equal([]string{"PRIMARY"}), string(server))
		g.Expect(w.stage.Query(t, server, "master", "SELECT name FROM sys.databases WHERE replica_id IS NOT NULL AND "+
			"name = N'"+published+"'", 1)).To(Equal([]string{published}), string(server))
		for _, table := range tables {
			g.Expect(w.stage.Query(t, server, published, "SELECT Id FROM "+table+" ORDER BY Id", 1)).
				To(Equal(rows), "rows of %s on %s", table, server)
		}
	}, refuted, 200*time.Millisecond).Should(Succeed(), w.told(t))
}

// asks has a person ask the election for something, and waits until it is done.
func (w *walk) asks(t testing.TB, kind v1alpha1.FailoverKind, to v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	f := &v1alpha1.Failover{ObjectMeta: named(""), Spec: v1alpha1.FailoverSpec{Group: stage.Group, Kind: kind, To: to}}
	f.GenerateName = "asked-"
	g.Expect(w.stage.Hub.Client.Create(t.Context(), f)).To(Succeed())
	g.Eventually(func() (string, error) {
		err := w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(f), f)
		return string(f.Status.Outcome), err
	}, patient, 200*time.Millisecond).Should(Equal(string(v1alpha1.FailoverSucceeded)), func() string {
		return fmt.Sprintf("%s to %s: %+v%s", kind, to, f.Status, w.told(t)())
	})
}

// dropGroup drops the group by hand on the primary, whose database goes on alone then. Its sidecar ends that, the
// listener leads nobody there, and what was written before goes on elsewhere when a person asks for it; the copy that
// stands alone goes when that person says so.
func dropGroup(m *manifest, _ []*manifest, _ *rand.Rand) change {
	return change{said: "DROP AVAILABILITY GROUP " + stage.Group + " on " + publisher, carry: func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.LosesVotes(t, publisher, func() {
			w.stage.SQL(t, publisher, "master", "DROP AVAILABILITY GROUP "+stage.Group)
		})
		w.says(t, "AvailabilityGroup "+stage.Group, v1alpha1.ReasonDatabaseOutside, published+" on "+publisher)
		NewWithT(t).Eventually(func() (string, error) {
			server, err := w.stage.Leads(t.Context(), stage.Group)
			return string(server), err
		}, refuted, 200*time.Millisecond).ShouldNot(Equal(publisher), w.told(t))
		w.asks(t, v1alpha1.FailoverFailover, secondary)
		w.write(t)
		for _, database := range m.databases() {
			// The first connections are those of before the engine's end.
			NewWithT(t).Eventually(func() error {
				return w.stage.Try(t, publisher, "master",
					fmt.Sprintf("EXEC sp_removedbreplication N'%s'; DROP DATABASE IF EXISTS %[1]s", database.Name))
			}, refuted, 200*time.Millisecond).Should(Succeed(), w.told(t))
		}
		w.back(t)
	}}
}

// back has the first primary become it again, once it has all.
func (w *walk) back(t testing.TB) {
	t.Helper()
	w.ready(t)
	w.leads(t)
	w.asks(t, v1alpha1.FailoverSwitchover, publisher)
	w.ready(t)
}

// emptyPrimary has the primary come back with new volumes while nobody else answers. Nothing is made there in the place
// of what others have, who go on with it once they are back.
func emptyPrimary(m *manifest, _ []*manifest, _ *rand.Rand) change {
	return change{said: publisher + " comes back with new volumes, alone", carry: func(t testing.TB, w *walk) {
		w.ready(t)
		others := m.partners()
		for _, server := range others {
			w.stage.Kill(t, server)
		}
		w.stage.Empty(t, publisher)
		const found = "SELECT name FROM sys.databases WHERE name = N'" + published + "'"
		NewWithT(t).Eventually(func() error {
			if there := w.stage.Query(t, publisher, "master", found, 1); len(there) > 0 {
				return StopTrying(fmt.Sprintf("%s was made on %s, empty: %v", published, publisher, there))
			}
			c := w.stage.Unready(t)["AvailabilityGroup "+stage.Group]
			if c != nil && c.Reason == v1alpha1.ReasonReplicaNotAnswering && !strings.Contains(c.Message, publisher) {
				return nil
			}
			return fmt.Errorf("the group does not say that %v alone are silent: %v", others, c)
		}, patient, 200*time.Millisecond).Should(Succeed(), w.told(t))
		for _, server := range others {
			w.stage.Launch(t, server)
		}
		if !m.further {
			w.create(t, publisher, further)
			// A copy from when the group had it is of the former one.
			for _, server := range others {
				NewWithT(t).Eventually(func() error {
					return w.stage.Try(t, server, "master", "DROP DATABASE IF EXISTS "+further)
				}, refuted, 200*time.Millisecond).Should(Succeed(), w.told(t))
			}
		}
		w.asks(t, v1alpha1.FailoverFailover, secondary)
		w.write(t)
		w.back(t)
	}}
}
