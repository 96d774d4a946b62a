// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql/credentials"
)

// holder is a sidecar that keeps the store "away" of namespace web.
type holder struct {
	*Part
	t         *testing.T
	authority *credentials.Authority
	address   string
	dir       string
	// capacity and free are what its volume says.
	mu             sync.Mutex
	capacity, free int64
}

func newHolder(t *testing.T) *holder {
	t.Helper()
	g := NewWithT(t)
	h := &holder{t: t, dir: t.TempDir(), capacity: 1 << 40, free: 1 << 40}
	var err error
	h.authority, err = credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	h.Part = NewPart(nil, "web", h.dir, slog.New(slog.DiscardHandler))
	h.fileSystem = func(string) (int64, int64, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.capacity, h.free, nil
	}
	h.set([]orders.Store{{Name: "away"}, {Name: "other"}})
	pool := x509.NewCertPool()
	g.Expect(pool.AppendCertsFromPEM(h.authority.PEM())).To(BeTrue())
	certificate, err := tls.LoadX509KeyPair(h.certified("web", "quirep"))
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: pool,
		ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	h.address = server.Listener.Addr().String()
	return h
}

// certified has files of a certificate for a server.
func (h *holder) certified(namespace, server string) (certificate, key string) {
	h.t.Helper()
	data, err := h.authority.Issue(credentials.CertificateNames(namespace, "quirep", nil), time.Now())
	if server != "quirep" {
		data, err = h.authority.Issue([]string{server + "-0", server + "-0." + namespace + ".svc"}, time.Now())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	dir := h.t.TempDir()
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	return filepath.Join(dir, credentials.KeyCertificate), filepath.Join(dir, credentials.KeyPrivateKey)
}

func (h *holder) order(name string) orders.BackupStore {
	return orders.BackupStore{Name: name, Endpoint: "https://" + h.address, Bucket: Bucket, Prefix: "web/" + name,
		Host: "quirep-0", CA: h.authority.PEM()}
}

// open opens a store as a server of a namespace.
func (h *holder) open(as string, edit func(*orders.BackupStore)) *store.Store {
	h.t.Helper()
	o := h.order("away")
	if edit != nil {
		edit(&o)
	}
	certificate, _ := h.certified(as, "tukpub")
	s, err := backups.Open(o, backups.Identity{Namespace: "web", TLSDir: filepath.Dir(certificate)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(s.Close)
	return s
}

// path of an object's file.
func (h *holder) path(key string) string {
	return filepath.Join(h.dir, "stores", "web", "away", objectsDir, key)
}

func written(t *testing.T, bytes int) (file, sum string) {
	t.Helper()
	content := make([]byte, bytes)
	_, _ = rand.Read(content)
	file = filepath.Join(t.TempDir(), "1.bak")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(content)
	return file, hex.EncodeToString(digest[:])
}

func TestObjectsOfAServersStore(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	for _, content := range []string{"one", "two"} {
		g.Expect(s.Put(t.Context(), "web/group/a b&+%/set.json", []byte(content))).To(Succeed())
	}
	g.Expect(s.Put(t.Context(), "web/group/ab/set.json", []byte("other"))).To(Succeed())
	g.Expect(s.Read(t.Context(), "web/group/a b&+%/set.json", 3)).To(BeEquivalentTo("two"))
	_, err := s.Read(t.Context(), "web/none", 10)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = s.Read(t.Context(), "web/group/ab/set.json/x", 10)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	listed, err := s.List(t.Context(), "web/group/a b&+%/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listed).To(HaveLen(1))
	g.Expect(listed[0].Modified).To(BeTemporally("~", time.Now(), time.Minute))
	listed[0].Modified = time.Time{}
	g.Expect(listed).To(Equal([]store.Object{{Key: "web/group/a b&+%/set.json", Bytes: 3}}))
	g.Expect(s.Remove(t.Context(), "web/group/a b&+%/set.json")).To(Succeed())
	g.Expect(s.Remove(t.Context(), "web/group/a b&+%/set.json")).To(Succeed())
	g.Expect(h.path("web/group/a b&+%")).NotTo(BeAnExistingFile(), "folders without an object go")
	g.Expect(s.List(t.Context(), "")).To(HaveLen(1))

	g.Expect(s.PutNew(t.Context(), "web/owner.json", []byte("one"))).To(Succeed())
	g.Expect(s.PutNew(t.Context(), "web/owner.json", []byte("two"))).To(MatchError(store.ErrExists))
	g.Expect(s.Read(t.Context(), "web/owner.json", 3)).To(BeEquivalentTo("one"))
	g.Expect(os.RemoveAll(filepath.Join(h.dir, "stores", "web", "away", objectsDir))).To(Succeed())
	_, err = s.List(t.Context(), "web/")
	g.Expect(err).To(HaveOccurred(), "nobody knows what there was")
	_, err = s.Read(t.Context(), "web/owner.json", 3)
	g.Expect(err).To(And(HaveOccurred(), Not(MatchError(store.ErrNotFound))))
}

// A list of more than one answer has every object once.
func TestAListOfManyObjects(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	var keys []string
	for i := range 1300 {
		key := fmt.Sprintf("web/%d/x-%d/%d.bak", i%7, i%301, i)
		keys = append(keys, key)
		g.Expect(os.MkdirAll(filepath.Dir(h.path(key)), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(h.path(key), nil, 0o600)).To(Succeed())
	}
	listed, err := s.List(t.Context(), "web/")
	g.Expect(err).NotTo(HaveOccurred())
	var got []string
	for _, o := range listed {
		got = append(got, o.Key)
	}
	g.Expect(got).To(ConsistOf(keys))
}

// An upload that was cut off goes on with the parts that are there, and what is there of other bytes is sent again. A
// download does the same, and never ends with other bytes than were stored.
func TestLargeFilesGoOnWhereTheyWereCutOff(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	const size = 50 << 20
	file, sum := written(t, size)
	ctx, cut := context.WithCancel(t.Context())
	g.Expect(s.Upload(ctx, "big/1.bak", file, func(bytes int64) {
		if bytes >= 32<<20 {
			cut()
		}
	})).To(MatchError(context.Canceled))
	g.Expect(s.List(t.Context(), "big/")).To(BeEmpty(), "what is not whole is not there")
	parts := 0
	h.at = func(point string) {
		if point == "part begun" {
			parts++
		}
	}
	h.shelf("away").at = h.at
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, nil)).To(Succeed())
	g.Expect(parts).To(Equal(2), "the third and the fourth")
	bytes, got, err := s.Sum(t.Context(), "big/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeEquivalentTo(size))
	g.Expect(got).To(Equal(sum))
	before, err := os.Stat(h.path("big/1.bak"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, nil)).To(Succeed())
	after, err := os.Stat(h.path("big/1.bak"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.SameFile(before, after)).To(BeTrue(), "it was sent again")
	g.Expect(s.Uploads(t.Context(), "", time.Time{})).To(BeEmpty())

	back := filepath.Join(t.TempDir(), "back.bak")
	ctx, cut = context.WithCancel(t.Context())
	g.Expect(s.Download(ctx, "big/1.bak", back, sum, func(bytes int64) {
		if bytes > 20<<20 {
			cut()
		}
	})).To(MatchError(context.Canceled))
	first := int64(0)
	g.Expect(s.Download(t.Context(), "big/1.bak", back, sum, func(bytes int64) {
		if first == 0 {
			first = bytes
		}
	})).To(Succeed())
	g.Expect(first).To(BeNumerically(">", 20<<20), "it went on")

	v, err := s.Look(t.Context(), "big/1.bak")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Bring(t.Context(), "big/1.bak", filepath.Join(t.TempDir(), "v"), v, nil)).To(Succeed())
	g.Expect(flip(h.path("big/1.bak"), 40<<20)).To(Succeed())
	_, got, err = s.Sum(t.Context(), "big/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).NotTo(Equal(sum), "what is on the disk is read back")
	g.Expect(s.Bring(t.Context(), "big/1.bak", filepath.Join(t.TempDir(), "v"), v, nil)).To(MatchError(store.ErrChanged))
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, nil)).To(Succeed())
	_, got, err = s.Sum(t.Context(), "big/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(sum))
}

// flip flips a bit of a file.
func flip(file string, at int64) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	one := make([]byte, 1)
	_, err = f.ReadAt(one, at)
	one[0] ^= 1
	_, unwritten := f.WriteAt(one, at)
	return errors.Join(err, unwritten, f.Close())
}

// Another file under the key of an upload that was cut off takes its place, also with parts of another size.
func TestAnUploadOfAnotherFileBeginsAnew(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	for _, size := range []int{40 << 20, 33 << 20} {
		file, _ := written(t, size)
		ctx, cut := context.WithCancel(t.Context())
		g.Expect(s.Upload(ctx, "big/1.bak", file, func(int64) { cut() })).NotTo(Succeed())
	}
	file, sum := written(t, 20<<20)
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, nil)).To(Succeed())
	_, got, err := s.Sum(t.Context(), "big/1.bak", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(sum))
	g.Expect(s.Uploads(t.Context(), "big/", time.Time{})).To(BeEmpty())

	// Part 1 of another size.
	q := &request{shelf: h.shelf("away")}
	folder := filepath.Join(uploadsDir, "x")
	g.Expect(q.root.Mkdir(folder, 0o750)).To(Succeed())
	g.Expect(q.root.WriteFile(filepath.Join(folder, uploadParts), nil, 0o600)).To(Succeed())
	g.Expect(q.root.WriteFile(filepath.Join(folder, uploadData), []byte("data"), 0o600)).To(Succeed())
	for number, sum := range map[int]string{1: "a", 2: "b"} {
		g.Expect(q.note(folder, part{Number: number, Bytes: 16, Sum: sum})).To(Succeed())
	}
	g.Expect(q.partSize(folder, 2, 10)).To(BeEquivalentTo(16))
	_, err = q.partSize(folder, 3, 17)
	g.Expect(err).To(MatchError(ContainSubstring("InvalidArgument")))
	g.Expect(q.partSize(folder, 1, 17)).To(BeEquivalentTo(17))
	g.Expect(q.parts(folder)).To(BeEmpty())
	_, err = q.partSize(folder, 2, 17)
	g.Expect(err).To(MatchError(ContainSubstring("InvalidPartOrder")))
}

// A journal whose last line is not whole has the lines before, and takes others.
func TestAJournalOfAPartThatWasCutOff(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.shelf("away")
	g.Expect(s.root.WriteFile(uploadParts, nil, 0o600)).To(Succeed())
	g.Expect(s.note(".", part{Number: 1, Bytes: 16, Sum: "aa"})).To(Succeed())
	g.Expect(s.note(".", part{Number: 2, Bytes: 16, Sum: "bb"})).To(Succeed())
	g.Expect(s.note(".", part{Number: 2, Bytes: 16})).To(Succeed())
	f, err := s.root.OpenFile(uploadParts, os.O_WRONLY|os.O_APPEND, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(f, "\n{\"number\":3,\"by")
	g.Expect(errors.Join(err, f.Close())).To(Succeed())
	g.Expect(s.note(".", part{Number: 4, Bytes: 16, Sum: "dd"})).To(Succeed())
	g.Expect(s.parts(".")).To(And(HaveLen(2), HaveKey(1), HaveKey(4)))
}

// Servers of the namespace alone are answered, within a store that is kept, and nothing leads out of it.
func TestWhoIsAnswered(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	g.Expect(h.open("shop", nil).Put(t.Context(), "a", nil)).To(MatchError(ContainSubstring("servers of namespace web")))
	for _, prefix := range []string{"shop/away", "web/none", "web"} {
		as := h.open("web", func(o *orders.BackupStore) { o.Prefix = prefix })
		g.Expect(as.Put(t.Context(), "a", nil)).To(MatchError(ContainSubstring("is in no store that is kept here")), prefix)
		_, err := as.List(t.Context(), "a/")
		g.Expect(err).To(MatchError(ContainSubstring("is in no store that is kept here")), prefix)
	}
	wrong := h.open("web", func(o *orders.BackupStore) { o.Host = "dublin-0" })
	g.Expect(wrong.Put(t.Context(), "a", nil)).To(MatchError(ContainSubstring("certificate")))
	_, err := backups.Open(h.order("away"), backups.Identity{})
	g.Expect(err).To(HaveOccurred())

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.authority.PEM())
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "quirep-0",
		MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	answer, err := nobody.Get("https://" + h.address + "/stores/?list-type=2&prefix=web/away/")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden))

	certificate, key := h.certified("web", "tukpub")
	pair, err := tls.LoadX509KeyPair(certificate, key)
	g.Expect(err).NotTo(HaveOccurred())
	peer := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "quirep-0",
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, DisableKeepAlives: true}}
	outside := filepath.Join(h.dir, "secret")
	g.Expect(os.WriteFile(outside, []byte("secret"), 0o600)).To(Succeed())
	g.Expect(os.Symlink(outside, h.path("link"))).To(Succeed())
	for _, path := range []string{"..%2f..%2f..%2f..%2fsecret", "%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret", "a//b", "a/./b",
		"link", "a%00b", strings.Repeat("x", 300)} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPost} {
			target := "https://" + h.address + "/stores/web/away/" + path
			if method == http.MethodPost {
				target += "?uploadId=..%2f..%2fx"
			}
			r, err := http.NewRequest(method, target, strings.NewReader("x"))
			g.Expect(err).NotTo(HaveOccurred())
			answer, err := peer.Do(r)
			g.Expect(err).NotTo(HaveOccurred())
			body, err := io.ReadAll(answer.Body)
			g.Expect(errors.Join(err, answer.Body.Close())).To(Succeed())
			g.Expect(string(body)).NotTo(Equal("secret"), "%s %s", method, path)
		}
	}
	g.Expect(os.ReadFile(outside)).To(BeEquivalentTo("secret"))
}

// An upload that says nothing of what it is to be, since the power went as it was begun, goes; one that cannot be read
// does not keep the others from being listed.
func TestUploadsThatCannotBeReadAreNotListed(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	file, _ := written(t, 40<<20)
	ctx, cut := context.WithCancel(t.Context())
	g.Expect(s.Upload(ctx, "big/1.bak", file, func(int64) { cut() })).NotTo(Succeed())
	root := h.shelf("away").root
	for id, content := range map[string]string{"empty": "", "half": `{"key":"bi`, "zeros": "\x00\x00", "nameless": "{}"} {
		g.Expect(root.Mkdir(filepath.Join(uploadsDir, id), 0o750)).To(Succeed())
		g.Expect(root.WriteFile(filepath.Join(uploadsDir, id, uploadData), nil, 0o640)).To(Succeed())
		g.Expect(root.WriteFile(filepath.Join(uploadsDir, id, uploadAbout), []byte(content), 0o640)).To(Succeed())
	}
	g.Expect(root.MkdirAll(filepath.Join(uploadsDir, "other", uploadAbout), 0o750)).To(Succeed())
	uploads, err := s.Uploads(t.Context(), "big/", time.Time{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(uploads).To(HaveLen(1))
	left, err := os.ReadDir(filepath.Join(h.dir, "stores", "web", "away", uploadsDir))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveLen(2), "the one that goes on, and the one of which nobody knows what it is")
	g.Expect(s.Upload(t.Context(), "big/1.bak", file, nil)).To(Succeed())
}

// Who is refused while they still send reads why, however late: nothing that was sent is lost in a reset.
func TestARefusalReachesWhoStillSends(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	h.set([]orders.Store{{Name: "away", Quota: 1}})
	certificate, err := tls.LoadX509KeyPair(h.certified("web", "tukpub"))
	g.Expect(err).NotTo(HaveOccurred())
	connection, err := tls.Dial("tcp", h.address, &tls.Config{Certificates: []tls.Certificate{certificate},
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) // the holder of this test
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = connection.Close() }()
	const most = 20 << 20
	_, err = fmt.Fprintf(connection, "PUT /stores/web/away/big HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n", most)
	g.Expect(err).NotTo(HaveOccurred())
	part := make([]byte, 1<<20)
	for range most / len(part) {
		_, err = connection.Write(part)
		g.Expect(err).NotTo(HaveOccurred())
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	g.Expect(err).NotTo(HaveOccurred())
	body, err := io.ReadAll(answer.Body)
	g.Expect(errors.Join(err, answer.Body.Close())).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusInsufficientStorage))
	g.Expect(string(body)).To(ContainSubstring("by its quota"))
}

// What others store leaves the volume the room that the server's own backups need, and keeps to the quota.
func TestOthersBackupsLeaveRoomForTheServersOwn(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	state := func() Status {
		h.shelf("away").try(time.Now)
		return h.Status().([]Status)[0]
	}
	g.Expect(state()).To(And(HaveField("Error", ""), HaveField("RoomBytes", int64(1<<40-2*10<<30))))
	volume := func(capacity, free int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.capacity, h.free = capacity, free
	}
	volume(1000<<20, 100<<20+4)
	g.Expect(s.Put(t.Context(), "a", []byte("four"))).To(Succeed())
	g.Expect(s.Put(t.Context(), "a", []byte("fives"))).To(MatchError(ContainSubstring("own backups")))
	g.Expect(s.Read(t.Context(), "a", 9)).To(BeEquivalentTo("four"), "what is there stays")
	file, _ := written(t, 20<<20)
	g.Expect(s.Upload(t.Context(), "big", file, nil)).To(MatchError(ContainSubstring("may take 4 more")))
	g.Expect(s.Put(t.Context(), "set.json", make([]byte, smallMost))).To(Succeed(), "of a set that is all there")
	g.Expect(s.Put(t.Context(), "set.json", make([]byte, smallMost+1))).To(MatchError(ContainSubstring("no room")))
	g.Expect(s.Put(t.Context(), "1.trn", make([]byte, smallMost))).To(MatchError(ContainSubstring("no room")))
	volume(1000<<20, 50<<20+3)
	g.Expect(s.Put(t.Context(), "set.json", []byte("four"))).To(MatchError(ContainSubstring("no room")))
	g.Expect(s.Remove(t.Context(), "set.json")).To(Succeed())
	volume(1000<<20, 100<<20)
	g.Expect(state().Error).To(ContainSubstring("no room"))
	g.Expect(s.Remove(t.Context(), "a")).To(Succeed(), "what frees room is always done")

	volume(1<<40, 1<<40)
	h.set([]orders.Store{{Name: "away", Quota: 36 << 20}, {Name: "other"}})
	g.Expect(s.Upload(t.Context(), "big", file, nil)).To(Succeed())
	g.Expect(state()).To(And(HaveField("Error", ""), HaveField("Bytes", int64(20<<20)), HaveField("RoomBytes",
		int64(16<<20))))
	g.Expect(s.Upload(t.Context(), "more", file, nil)).To(MatchError(ContainSubstring("quota")))
	g.Expect(s.Put(t.Context(), "set.json", []byte("{}"))).To(Succeed())
	h.set([]orders.Store{{Name: "away", Quota: 20 << 20}, {Name: "other"}})
	g.Expect(s.Put(t.Context(), "verified.json", []byte("{}"))).To(Succeed(), "beyond the quota")
	g.Expect(s.Put(t.Context(), "1.trn", []byte("{}"))).To(MatchError(ContainSubstring("quota")))
	h.set([]orders.Store{{Name: "away", Quota: 36 << 20}, {Name: "other"}})
	for _, name := range []string{"set.json", "verified.json"} {
		g.Expect(s.Remove(t.Context(), name)).To(Succeed())
	}
	g.Expect(s.Remove(t.Context(), "big")).To(Succeed())
	g.Expect(s.Upload(t.Context(), "more", file, nil)).To(Succeed(), "it goes on once there is room")
	g.Expect(state().Bytes).To(Equal(int64(20 << 20)))
}

// A request that comes while as many as can be are answered waits for its turn, and not for ever.
func TestARequestWaitsForItsTurn(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	for range requestsMost {
		h.slots <- struct{}{}
	}
	asked := httptest.NewRequest(http.MethodGet, Pattern, nil)
	turn := make(chan error)
	go func() { turn <- h.slot(asked) }()
	g.Consistently(turn, "100ms").ShouldNot(Receive())
	<-h.slots
	g.Eventually(turn).Should(Receive(BeNil()))
	g.Expect(h.slots).To(HaveLen(requestsMost))

	ctx, gone := context.WithCancel(t.Context())
	gone()
	g.Expect(h.slot(asked.WithContext(ctx))).To(MatchError(ContainSubstring("SlowDown")), "nobody waits for it")
	h.patience = time.Millisecond
	g.Expect(h.slot(asked)).To(MatchError(ContainSubstring("SlowDown")))
}

// A store that is told no more is not answered for, and what it has stays.
func TestAStoreThatIsKeptNoMore(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	g.Expect(s.Put(t.Context(), "a", []byte("one"))).To(Succeed())
	h.set(nil)
	_, err := s.Read(t.Context(), "a", 3)
	g.Expect(err).To(And(HaveOccurred(), Not(MatchError(store.ErrNotFound))))
	g.Expect(h.Status()).To(BeEmpty())
	h.set([]orders.Store{{Name: "away"}, {Name: "../x"}, {Name: ""}})
	g.Expect(s.Read(t.Context(), "a", 3)).To(BeEquivalentTo("one"))
	g.Expect(h.Status()).To(HaveLen(3))
	g.Expect(filepath.Join(h.dir, "stores", "x")).NotTo(BeAnExistingFile())
}

// A declared rate is kept.
func TestUploadsToAServerKeepTheirRate(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", func(o *orders.BackupStore) { o.UploadRate = 1 << 20 })
	file, _ := written(t, 2<<20)
	begin := time.Now()
	g.Expect(s.Upload(t.Context(), "slow/1.bak", file, nil)).To(Succeed())
	g.Expect(time.Since(begin)).To(BeNumerically(">", 1800*time.Millisecond))
}

// What is of another version of an object's bytes says nothing of it.
func TestATagIsThatOfTheBytesThatAreThere(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	s := h.open("web", nil)
	g.Expect(s.Put(t.Context(), "a", []byte("one"))).To(Succeed())
	known, err := s.Look(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(known.Tag).To(HaveLen(32))
	later := time.Now().Add(time.Second)
	g.Expect(os.Chtimes(h.path("a"), later, later)).To(Succeed())
	other, err := s.Look(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Tag).To(HavePrefix("unknown-"))
}

// Whoever asks for the status does not wait for a volume that does not answer.
func TestAVolumeThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	asked, hangs := make(chan struct{}, 2), make(chan struct{})
	h.fileSystem = func(string) (int64, int64, error) {
		asked <- struct{}{}
		<-hangs
		return 1 << 40, 1 << 40, nil
	}
	tried := make(chan struct{})
	go func() { defer close(tried); h.shelf("away").try(time.Now) }()
	<-asked
	g.Expect(h.Status().([]Status)[0].Tried.IsZero()).To(BeTrue())
	close(hangs)
	<-tried
	g.Expect(h.Status().([]Status)[0].Tried.IsZero()).To(BeFalse())
}
