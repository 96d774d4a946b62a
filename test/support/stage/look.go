// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// File is the path of a file that lives as long as the stage and that a manager's process may write.
func (b *Stage) File(name string) string { return filepath.Join(b.dir, name) }

// Files are those of a name below the servers' folders of snapshots and of mirrors.
func (b *Stage) Files(t testing.TB, name string) (found []string) {
	t.Helper()
	for _, folders := range []map[v1alpha1.ServerName]string{b.snapshots, b.mirrors} {
		for _, folder := range folders {
			err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.Name() == name {
					found = append(found, path)
				}
				return nil // what goes meanwhile is not there
			})
			gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
		}
	}
	return found
}

func (b *Stage) log() string { return b.File("manager.log") }

// Logged is what the managers and the engines said last, and what replicas know of each other, for failures.
func (b *Stage) Logged(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(b.log())
	if err != nil {
		return err.Error()
	}
	all := []string{"the managers:", end(string(content), 4000)}
	for _, server := range Servers {
		all = append(all, fmt.Sprintf("%s:", server), end(b.engines[server].Output(), 1500))
		all = append(all, b.Query(t, server, "master", "SELECT replica_id, is_local, role_desc, connected_state_desc, "+
			"last_connect_error_description FROM sys.dm_hadr_availability_replica_states", 5)...)
	}
	return strings.Join(all, "\n")
}

// end is the last part of a text.
func end(text string, bytes int) string { return text[max(0, len(text)-bytes):] }

// Query returns the rows of a query as sa, a line each; or one line that says why there are none.
func (b *Stage) Query(t testing.TB, server v1alpha1.ServerName, database, text string, columns int) []string {
	t.Helper()
	rows, err := b.rows(t, server, database, text, columns)
	if err != nil {
		return []string{err.Error()}
	}
	return rows
}

func (b *Stage) rows(
	t testing.TB,
	server v1alpha1.ServerName,
	database, text string,
	columns int,
) (rows []string, err error) {
	t.Helper()
	db, err := b.connector.Open(t.Context(), mssql.Target{
		Namespace: Namespace, Server: server, Database: database, Role: credentials.RoleSA})
	if err != nil {
		return nil, err
	}
	err = db.Query(t.Context(), tsql.Statement{Text: text}, func(r mssql.Row) error {
		values, into := make([]any, columns), make([]any, columns)
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		rows = append(rows, fmt.Sprint(values...))
		return nil
	})
	return rows, err
}

// SQL executes a batch as sa.
func (b *Stage) SQL(t testing.TB, server v1alpha1.ServerName, database, text string) {
	t.Helper()
	gomega.NewWithT(t).Expect(b.Try(t, server, database, text)).To(gomega.Succeed())
}

// Try executes a batch as sa and returns why it failed.
func (b *Stage) Try(t testing.TB, server v1alpha1.ServerName, database, text string) error {
	t.Helper()
	db, err := b.connector.Open(t.Context(), mssql.Target{
		Namespace: Namespace, Server: server, Database: database, Role: credentials.RoleSA})
	if err != nil {
		return err
	}
	return db.Exec(t.Context(), tsql.Statement{Text: text})
}

// Unready are the declared objects that are not Ready as they are declared now, or are being deleted, with that
// condition. The key is "Kind name".
func (b *Stage) Unready(t testing.TB) map[string]*metav1.Condition {
	t.Helper()
	unready := map[string]*metav1.Condition{}
	for kind, list := range declaredLists() {
		gomega.NewWithT(t).Expect(b.Hub.Client.List(t.Context(), list, client.InNamespace(Namespace))).To(gomega.Succeed())
		items, err := meta.ExtractList(list)
		gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
		for _, item := range items {
			object := item.(client.Object)
			c := meta.FindStatusCondition(statusOf(item).Conditions, v1alpha1.ConditionReady)
			switch {
			case c == nil || c.ObservedGeneration != object.GetGeneration():
				c = &metav1.Condition{Status: metav1.ConditionUnknown, Reason: "New", Message: "not looked at yet"}
			case c.Status == metav1.ConditionTrue && object.GetDeletionTimestamp() == nil:
				continue
			}
			unready[kind+" "+object.GetName()] = c
		}
	}
	return unready
}

// Waiting is empty when all declared objects are Ready, and says otherwise what is not.
func (b *Stage) Waiting(t testing.TB) string {
	t.Helper()
	return Tell(b.Unready(t))
}

// Tell names objects with the reasons and messages of their conditions, a line each.
func Tell(unready map[string]*metav1.Condition) string {
	var waiting []string
	for name, c := range unready {
		waiting = append(waiting, fmt.Sprintf("%s: %s (%s)", name, c.Reason, c.Message))
	}
	slices.Sort(waiting)
	return strings.Join(waiting, "\n")
}
