// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// The sets of a database whose name begins with a dot are there after a restart of the agent.
func TestSetsOfADottedDatabase(t *testing.T) {
	for _, name := range []string{".archive", ".gone-archive"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), setsDir)
			l := &local{dir: dir}
			d := taken("one", backup.Log, time.Minute, "10", "20")
			d.Database = name
			at := filepath.Join(dir, newPrefix+"x")
			g.Expect(os.MkdirAll(at, 0o750)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(at, "1.bak"), []byte("a"), 0o600)).To(Succeed())
			g.Expect(l.add(at, d)).To(Succeed())
			file := l.path(Own{Description: d}, "1.bak")
			g.Expect(file).To(BeAnExistingFile())

			again := &local{dir: dir}
			g.Expect(again.load()).To(Succeed())
			g.Expect(file).To(BeAnExistingFile(), "load removed a set that nobody has")
			g.Expect(again.all("web", "group/content")).To(HaveLen(1))
			gone := filepath.Join(dir, gonePrefix+"two")
			g.Expect(os.Mkdir(gone, 0o750)).To(Succeed())
			g.Expect((&local{dir: dir}).load()).To(Succeed())
			g.Expect(gone).NotTo(BeADirectory(), "what is left of a set that was removed goes")
		})
	}
}
