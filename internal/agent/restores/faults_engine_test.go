// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/tsql"
)

// behindTheLook restores the same database by hand, into simple recovery, behind the look for one: the
// engine itself would restore over that.
func behindTheLook(t *testing.T, s *target, b *taken) {
	g := NewWithT(t)
	o := orders.Restore{Name: "over", UID: "uid-over", Stores: []orders.BackupStore{b.store()}, Folder: folder,
		Database: "over"}
	full := b.of(backup.Full)
	dir := filepath.Join(s.OnDisk(conf.BackupDir), restoresDir, o.UID, "0")
	var once sync.Once
	s.at = func(_ context.Context, point string) {
		if !strings.HasPrefix(point, "before: restore set 1") {
			return
		}
		once.Do(func() {
			form := tsql.RestoreForm{}
			for _, f := range full.Files {
				form.Files = append(form.Files, filepath.Join(dir, f.Name))
			}
			for i, f := range full.DatabaseFiles {
				form.Moves = append(form.Moves, tsql.FileMove{Name: f.Name, To: fmt.Sprintf("%s/theirs-%d", conf.DataDir, i)})
			}
			for _, statement := range []tsql.Statement{tsql.RestoreDatabase("over", form), tsql.RecoverDatabase("over")} {
				g.Expect(s.sa.Exec(t.Context(), statement)).To(Succeed())
			}
			execute(t, s.sa, "ALTER DATABASE [over] SET RECOVERY SIMPLE")
			execute(t, s.sa, "ALTER AUTHORIZATION ON DATABASE::[over] TO geosql_agent")
			execute(t, s.sa, "INSERT [over].dbo.t VALUES (999)")
		})
	}
	defer func() { s.at = func(context.Context, string) {} }()
	s.tell(o)
	result := s.ended("over").Result
	g.Expect(s.rows("over")).To(Equal([]int{999}), "%+v", result)
	g.Expect(result.Outcome).To(Equal(Refused))
	g.Expect(result.Reason).To(Equal(v1alpha1.ReasonDatabaseExists))
}
