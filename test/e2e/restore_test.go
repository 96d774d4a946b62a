// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// returned are rows with numbers that are written to a group, and are looked for where it is restored.
type returned struct {
	gt *groupTest
	// db is the primary, wherever it is.
	db *mssql.DB
	// store has the backups.
	store   v1alpha1.ObjectName
	written int
	// bytes of each row besides its number.
	bytes int
	// full counts the writes that were refused since the log was full.
	full int
}

// write inserts the next rows into a table of their own.
func (r *returned) write(rows int) {
	r.gt.t.Helper()
	if r.written == 0 {
		write(r.gt.t, r.db, "DROP TABLE IF EXISTS dbo.Returned")
		write(r.gt.t, r.db, "CREATE TABLE dbo.Returned (id int NOT NULL PRIMARY KEY, padding varbinary(max) NULL)")
	}
	for range rows {
		r.written++
		bed.Wait(r.gt.t, fmt.Sprintf("row %d is written", r.written), time.Minute, func(ctx context.Context) (bool, string,
			error) {
			err := r.insert(ctx, r.written)
			return err == nil, fmt.Sprint(err), nil
		})
	}
}

// insert writes a row where it is not there yet: what was sent before may have come through.
func (r *returned) insert(ctx context.Context, id int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	const padding = "CAST(REPLICATE(CAST('x' AS varchar(max)), %d) AS varbinary(max))"
	err := r.db.Exec(ctx, tsql.Statement{Text: fmt.Sprintf("IF NOT EXISTS (SELECT 1 FROM dbo.Returned WHERE id = %d) "+
		"INSERT dbo.Returned VALUES (%d, "+padding+")", id, id, r.bytes)})
	if mssql.HasNumber(err, logFull) {
		r.full++
	}
	return err
}

// logFull is the number of the error with which a write is refused since the log has no room.
const logFull = 9002

// moment is a whole second behind all rows so far, and before all that come: a Restore's time has seconds.
func (r *returned) moment() metav1.Time {
	at := time.Now().Truncate(time.Second).Add(2 * time.Second)
	time.Sleep(time.Until(at.Add(time.Second)))
	return metav1.NewTime(at)
}

// comeBack restores the group's database to a server, by the folder in the bucket alone, and compares the rows.
func (r *returned) comeBack(server *v1alpha1.SQLServer, database string, to *v1alpha1.RestorePoint, rows int) {
	r.gt.t.Helper()
	x := r.begin(v1alpha1.RestoreSpec{Source: r.source(), To: to, Target: v1alpha1.RestoreTarget{
		Server: v1alpha1.ServerName(server.Name), Database: v1alpha1.DatabaseName(database)}})
	r.succeeds(x)
	r.areAt(server, database, rows)
}

// source is the group's database by its folder in the bucket alone.
func (r *returned) source() v1alpha1.RestoreSource {
	return v1alpha1.RestoreSource{Store: r.store, Path: r.gt.folder()}
}

// begin declares a Restore, which goes with the test.
func (r *returned) begin(spec v1alpha1.RestoreSpec) *v1alpha1.Restore {
	t, hub := r.gt.t, r.gt.b.Hub().Client
	t.Helper()
	x := &v1alpha1.Restore{ObjectMeta: fresh("e2e-" + strings.ToLower(string(spec.Target.Database))), Spec: spec}
	NewWithT(t).Expect(hub.Create(t.Context(), x)).To(Succeed())
	t.Cleanup(func() { _ = hub.Delete(context.WithoutCancel(t.Context()), x) })
	return x
}

// succeeds waits until a Restore is over, and fails unless it has done what was asked.
func (r *returned) succeeds(x *v1alpha1.Restore) {
	t := r.gt.t
	t.Helper()
	bed.Wait(t, x.Name+" is over", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		if err := r.gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(x), x); err != nil {
			return false, "", err
		}
		c := meta.FindStatusCondition(x.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return false, "", nil
		}
		text := c.Reason + ": " + c.Message
		if x.Status.Outcome != "" && x.Status.Outcome != v1alpha1.RestoreSucceeded {
			t.Fatalf("%s: %s", x.Status.Outcome, text)
		}
		return x.Status.Phase == v1alpha1.RestoreCompleted, text, nil
	})
	t.Logf("%s was restored at %s in %.0f s: %d sets, %d bytes", x.Status.Database, x.Status.Server,
		x.Status.Finished.Sub(x.CreationTimestamp.Time).Seconds(), x.Status.Sets, x.Status.Bytes)
}

// areAt compares the rows of a server's database with the first that were written, which may still be on their way.
func (r *returned) areAt(server *v1alpha1.SQLServer, database string, rows int) {
	t := r.gt.t
	t.Helper()
	connector := connectorFrom(t, r.gt.b, shellAt(t, r.gt.b.Site("dublin"), namespace))
	defer func() { _ = connector.Close() }() // a database that is in use is not dropped
	db := open(t, connector, server, credentials.RoleSA, database)
	NewWithT(t).Eventually(func() ([]int, error) { return numbers(t, db, "dbo.Returned") }, time.Minute, time.Second).
		Should(Equal(between(1, rows)), "%s at %s", database, server.Name)
}

// between are the numbers from one to another.
func between(first, last int) (ids []int) {
	for id := first; id <= last; id++ {
		ids = append(ids, id)
	}
	return ids
}

// numbers are the ids of a table's rows in their order.
func numbers(t *testing.T, db *mssql.DB, table string) (ids []int, err error) {
	all := tsql.Statement{Text: "SELECT id FROM " + table + " ORDER BY id"}
	err = db.Query(t.Context(), all, func(row mssql.Row) error {
		var id int
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
