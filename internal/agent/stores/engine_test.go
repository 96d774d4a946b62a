// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stores_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/agent/stores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/ports"
)

const (
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// told is a Source that a test tells.
type told chan map[string][]byte

func (s told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-s:
			update(data)
		}
	}
}

// certified is a folder with a server's certificate.
func certified(t *testing.T, authority *credentials.Authority, server v1alpha1.ServerName) string {
	t.Helper()
	data, err := authority.Issue(credentials.CertificateNames("web", server, nil), time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	for name, content := range data {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, name), content, 0o600)).To(Succeed())
	}
	return dir
}

// run runs something until the test ends.
func run(t *testing.T, what interface{ Run(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = what.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// keeper is the sidecar of server quirep, which keeps the store "away" below a folder. It says how it is reached.
func keeper(t *testing.T, e *engine.Engine, authority *credentials.Authority, dir string) orders.BackupStore {
	t.Helper()
	g := NewWithT(t)
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Listen, o.Elections, o.Engine = "quirep-0", "web", ports.Address(t), "127.0.0.1:0",
		e.Address
	o.TLSDir, o.StateDir = certified(t, authority, "quirep"), t.TempDir()
	a, err := agent.New(o, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	keeps := make(told, 1)
	order, err := orders.Store{Name: "away"}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	keeps <- map[string][]byte{orders.StoreKey("away"): order}
	part := stores.NewPart(keeps, "web", dir, slog.New(slog.DiscardHandler))
	stores.OnEmptyVolume(part)
	a.Handle(stores.Pattern, part)
	a.Add(part)
	run(t, a)
	g.Eventually(func() any { return part.Status() }, patient, often).Should(HaveLen(1))
	return orders.BackupStore{Name: "away", Endpoint: "https://" + o.Listen, Bucket: stores.Bucket, Prefix: "web/away",
		Host: "quirep-0", CA: authority.PEM()}
}

// Backups of a server are kept on the volume of another, read back from it, sent again where a bit has flipped, and
// restored from it.
func TestBackupsOnTheVolumeOfAnotherServer(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	execute := func(text string) {
		_, err := db.Handle().ExecContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred(), text)
	}
	execute("CREATE DATABASE Content")
	execute("ALTER DATABASE Content SET RECOVERY FULL")
	execute("CREATE TABLE Content.dbo.t (id int PRIMARY KEY)")
	execute("INSERT Content.dbo.t VALUES (7)")
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	volume := t.TempDir()
	away := keeper(t, e, authority, volume)
	who := backups.Identity{Namespace: "web", TLSDir: certified(t, authority, "tukpub")}

	open := func(context.Context) (*mssql.DB, error) { return db, nil }
	engine := backups.Engine{Ask: open, Data: open, Log: open}
	to := make(told, 1)
	part := backups.NewPart(to, "tukpub-0", e.OnDisk(conf.BackupDir), engine, slog.New(slog.DiscardHandler))
	part.Known(who)
	run(t, part)
	policy := orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/tukpub", Checksum: true, Verify: true,
		Full: orders.BackupTimes{Schedule: "0 1 29 2 *"}, AtPrimary: true, Stores: []orders.BackupStore{away}}
	tell := func() {
		data, err := policy.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		to <- map[string][]byte{orders.BackupKey("nightly"): data}
	}
	tell()
	status := func() backups.DatabaseStatus {
		all, _ := part.Status().([]backups.Status)
		if len(all) != 1 || len(all[0].Databases) != 1 {
			return backups.DatabaseStatus{}
		}
		return all[0].Databases[0]
	}
	whole := And(HaveField("Sets", 1), HaveField("Unverified", 0), HaveField("Damaged", 0), HaveField("Waiting", 0))
	g.Eventually(status, patient, often).Should(whole)

	files, err := filepath.Glob(filepath.Join(volume, "stores/web/away/objects/web/server/tukpub/Content/*/*.bak"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(1))
	content, err := os.ReadFile(files[0])
	g.Expect(err).NotTo(HaveOccurred())
	flipped := append([]byte{}, content...)
	flipped[len(flipped)/2] ^= 1
	g.Expect(os.WriteFile(files[0], flipped, 0o600)).To(Succeed())
	policy.Verification = &orders.BackupVerification{Request: "one", Since: time.Now()}
	tell()
	g.Eventually(func() ([]byte, error) { return os.ReadFile(files[0]) }, patient, often).Should(Equal(content),
		"what was read back damaged is sent again")
	g.Eventually(status, patient, often).Should(whole)

	from := make(told, 1)
	restored := restores.NewPart(from, e.OnDisk(conf.BackupDir), engine, slog.New(slog.DiscardHandler))
	restored.Known(who)
	run(t, restored)
	data, err := orders.Restore{Name: "back", UID: "u1", Database: "Copy", Stores: []orders.BackupStore{away},
		Folder: backup.DatabaseFolder("web", "server/tukpub", "Content")}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	from <- map[string][]byte{orders.RestoreKey("back"): data}
	g.Eventually(func() string {
		var id int
		if err := db.Handle().QueryRowContext(t.Context(), "SELECT id FROM Copy.dbo.t").Scan(&id); err != nil {
			return fmt.Sprint(err, restored.Status())
		}
		return fmt.Sprint(id)
	}, patient, often).Should(Equal("7"))
}

// What takes longer than any request to a sidecar may otherwise goes on as long as bytes come.
func TestAnUploadOverASlowLink(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	away := keeper(t, e, authority, t.TempDir())
	away.UploadRate = 64 << 10
	s, err := backups.Open(away, backups.Identity{Namespace: "web", TLSDir: certified(t, authority, "tukpub")})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(file, make([]byte, 64<<10*40), 0o600)).To(Succeed())
	begun := time.Now()
	g.Expect(s.Upload(t.Context(), "web/1.bak", file, nil)).To(Succeed())
	g.Expect(time.Since(begun)).To(BeNumerically(">", 35*time.Second), "it is longer than a request may be")
	bytes, _, err := s.Sum(t.Context(), "web/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeEquivalentTo(64 << 10 * 40))
}
