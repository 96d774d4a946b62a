// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
)

// told are orders that change.
type told chan map[string][]byte

func (o told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-o:
			update(data)
		}
	}
}

// The folder for a backup is made, those of backups before it go, and all goes with the end of the order; snapshots and
// folders of others stay. A subscriber's mirror of it goes with its own order.
func TestBackupsComeAndGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir, mirrors := t.TempDir(), t.TempDir()
	source := make(told)
	part := files.NewPart(source, "web", dir, mirrors, slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(ended, patient).Should(Receive()) })
	state := func() (states []files.State) {
		for _, s := range part.Status().([]files.Status) {
			states = append(states, s.State)
		}
		return states
	}
	say := func(r orders.Reader, m orders.Mirror) {
		r.Subscription, r.Folder, r.Token = "dublin_backup", "dublin_backup", token
		reader, err := r.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		m.Subscription, m.Folder, m.Host = "other_backup", "other_backup", "tukpub-0"
		mirror, err := m.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		source <- map[string][]byte{orders.ReaderKey("dublin_backup"): reader, orders.MirrorKey("other_backup"): mirror}
	}
	own, snapshot := filepath.Join(dir, "unc", "dublin_backup"), filepath.Join(dir, "unc", folder, "20261120100000")
	mirrored := filepath.Join(mirrors, "tukpub-0", "unc", "other_backup")
	g.Expect(os.MkdirAll(snapshot, 0o755)).To(Succeed())
	g.Expect(os.MkdirAll(filepath.Join(mirrored, "20261120100000"), 0o755)).To(Succeed())

	say(orders.Reader{Backup: "20261120100000"}, orders.Mirror{})
	g.Eventually(state, patient).Should(ConsistOf(files.Waiting, files.Made))
	g.Expect(filepath.Join(own, "20261120100000")).To(BeADirectory())
	g.Expect(os.WriteFile(filepath.Join(own, "20261120100000", "full.bak"), []byte("old"), 0o600)).To(Succeed())
	say(orders.Reader{Backup: "20261120110000"}, orders.Mirror{})
	g.Eventually(filepath.Join(own, "20261120100000"), patient).ShouldNot(BeADirectory())
	g.Expect(filepath.Join(own, "20261120110000")).To(BeADirectory())
	g.Expect(mirrored).To(BeADirectory(), "that of one that goes on")

	say(orders.Reader{Ended: true}, orders.Mirror{Ended: true})
	g.Eventually(state, patient).Should(ConsistOf(files.Removed, files.Removed))
	g.Expect(own).NotTo(BeADirectory())
	g.Expect(mirrored).NotTo(BeADirectory())
	g.Expect(snapshot).To(BeADirectory())
}

// A backup is served once its order names its set, and no other folder beside it: an engine writes into it before. What
// the sidecar says of the folder has the bytes that are there.
func TestABackupIsServedOnceItIsWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSite(t)
	const old, stamp, newer = "20261120090000", "20261120100000", "20261120110000"
	for _, name := range []string{old, stamp, newer} {
		s.snapshot(t, name, map[string][]byte{"full.bak": noise(1000)})
	}
	order := s.order
	order.Generation = "2026-11-20T11:00:00"
	reader := orders.Reader{Subscription: "dublin", Folder: folder, Token: token, Backup: stamp}
	s.server.SetReaders([]orders.Reader{reader})
	m := s.keep(t, order)
	g.Eventually(state(m), patient).Should(Equal(files.Failing))
	g.Expect(s.mirrored(stamp, "full.bak")).NotTo(BeAnExistingFile())

	reader.Attempt.Set = "6f9619ff"
	s.server.SetReaders([]orders.Reader{reader})
	g.Eventually(state(m), patient).Should(Equal(files.Verified))
	g.Expect(m.Statuses()[0].Snapshot).To(Equal(stamp))
	g.Expect(s.mirrored(newer, "full.bak")).NotTo(BeAnExistingFile())
	get := func(path string) int {
		request := httptest.NewRequest(http.MethodGet, files.Pattern+path, nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		s.server.ServeHTTP(answer, request)
		return answer.Code
	}
	g.Expect(get(folder + "/" + stamp + "/full.bak")).To(Equal(http.StatusOK))
	g.Expect(get(folder + "/" + newer + "/full.bak")).To(Equal(http.StatusNotFound))
	reader.Attempt.Set = ""
	s.server.SetReaders([]orders.Reader{reader})
	g.Expect(get(folder + "/" + stamp + "/full.bak")).To(Equal(http.StatusNotFound))
	g.Expect(get(folder)).To(Equal(http.StatusNotFound))
}

// The status of a backup's folder has the bytes that an engine has written there, and a folder that went is made anew.
func TestTheFolderForABackupSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	source := make(told)
	part := files.NewPart(source, "web", dir, t.TempDir(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(ended, patient).Should(Receive()) })
	r := orders.Reader{Subscription: "dublin_backup", Folder: "dublin_backup", Token: token, Backup: "20261120100000"}
	text, err := r.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	source <- map[string][]byte{orders.ReaderKey("dublin_backup"): text}
	type said struct {
		state files.State
		total int64
	}
	status := func() (all []said) {
		for _, s := range part.Status().([]files.Status) {
			all = append(all, said{s.State, s.Total})
		}
		return all
	}
	own := filepath.Join(dir, "unc", "dublin_backup", "20261120100000")
	g.Eventually(status, patient).Should(Equal([]said{{files.Made, 0}}))
	g.Expect(os.WriteFile(filepath.Join(own, "full.bak"), []byte("half"), 0o600)).To(Succeed())
	g.Expect(status()).To(Equal([]said{{files.Made, 4}}))
	g.Expect(os.RemoveAll(own)).To(Succeed())
	g.Eventually(status, patient).Should(Equal([]said{{files.Made, 0}}))
	g.Expect(own).To(BeADirectory())
}

// Orders whose names would leave the folder remove and make nothing.
func TestNamesOfBackupsStayWithinTheFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	dir := filepath.Join(root, "snapshots")
	beside := filepath.Join(root, "beside")
	g.Expect(os.MkdirAll(beside, 0o755)).To(Succeed())
	source := make(told)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	part := files.NewPart(source, "web", dir, filepath.Join(root, "mirrors"), quiet)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(ended, patient).Should(Receive()) })
	data := map[string][]byte{}
	for name, r := range map[string]orders.Reader{
		"a": {Folder: "../../beside", Ended: true}, "b": {Folder: "..", Ended: true},
		"c": {Folder: "x", Backup: "../../../beside"}, "d": {Folder: "", Ended: true},
	} {
		r.Subscription = name
		text, err := r.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		data[orders.ReaderKey(name)] = text
	}
	source <- data
	g.Eventually(func() (states []files.State) {
		for _, s := range part.Status().([]files.Status) {
			states = append(states, s.State)
		}
		return states
	}, patient).Should(HaveEach(files.Failing))
	g.Expect(beside).To(BeADirectory())
	g.Expect(filepath.Join(dir, "unc")).NotTo(BeADirectory())
}
