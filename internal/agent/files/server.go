// SPDX-License-Identifier: Apache-2.0

// Package files moves replication snapshots between the sidecars of servers: that of the distributor serves its
// snapshot folder over HTTPS, that of a subscriber keeps a mirror of it. Each engine sees its own files only.
package files

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// Pattern is the path under which a Server answers.
const Pattern = "/snapshots/"

// tree is the folder below the snapshot folder into which SQL Server writes snapshots.
const tree = "unc"

// stampLength is the length of a snapshot folder's name, yyyymmddhhmmss.
const stampLength = 14

// writeTime is how long a chunk of an answer may take on a slow link.
const writeTime = 30 * time.Second

const (
	// maxChunked is the size of a snapshot, in bytes, of which chunks are listed. Those of a larger one would take too
	// much of a sidecar's memory: it is fetched in ranges.
	maxChunked = 256 << 30
	// maxChunks are the chunks of a listing, of which a snapshot of that size has no more unless its content is strange.
	maxChunks = maxChunked >> 20
	// maxListing bounds the JSON of a listing in bytes: a chunk takes 48, a file about 150.
	maxListing = 32 << 20
)

// Server serves the snapshots below a folder to those who have a token for the publication's.
type Server struct {
	dir string
	log *slog.Logger

	index  *transfer.Index
	limits *transfer.Limits
	source *transfer.Source
	packs  *packs
	// chunked is maxChunked; tests have less.
	chunked int64

	mu      sync.Mutex
	readers []orders.Reader
	// told is whether readers are known.
	told bool
}

// NewServer serves the snapshot folder dir; it need not exist yet.
func NewServer(dir string, log *slog.Logger) *Server {
	limits := transfer.NewLimits()
	return &Server{dir: dir, log: log, index: transfer.NewIndex(), limits: limits, source: transfer.NewSource(limits),
		packs: newPacks(filepath.Join(dir, packsFolder)), chunked: maxChunked}
}

// SetReaders replaces who may read, and how much they all get at the same time.
func (s *Server) SetReaders(readers []orders.Reader) {
	var settings []transfer.Settings
	for _, r := range readers {
		settings = append(settings, r.Transfers)
	}
	s.limits.Set(transfer.Strictest(settings))
	s.source.Keep(func(receiver string) bool {
		return slices.ContainsFunc(readers, func(r orders.Reader) bool { return r.Subscription == receiver })
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers, s.told = readers, true
}

// ServeHTTP answers GET /snapshots/<folder>?until=<yyyymmddhhmmss> with a Listing, with chunks where chunks=1 asks for
// them, GET /snapshots/<folder>/<snapshot>/<path> with a file, ranges included, and POST /snapshots/<folder>/<snapshot>
// with the spans of files for which a transfer.Request asks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A listing reads every new file for its checksum before its first byte: the server's own limit may be over by then.
	w = &patient{ResponseWriter: w, control: http.NewResponseController(w)}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		http.Error(w, "only GET, HEAD and POST are supported", http.StatusMethodNotAllowed)
		return
	}
	folder, rest, _ := strings.Cut(strings.TrimPrefix(path.Clean(r.URL.Path), Pattern), "/")
	reader, ok := s.admitted(r, folder)
	if !ok {
		http.Error(w, "no right to read this folder", http.StatusForbidden)
		return
	}
	if !readable(reader, rest) {
		http.Error(w, "no such snapshot: the backup is not known to be whole, or is another one", http.StatusNotFound)
		return
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer root.Close()
	switch {
	case r.Method == http.MethodPost:
		s.serveSpans(w, r, root, reader, folder, rest)
	case rest == "":
		s.serveListing(w, r, root, reader, folder)
	default:
		s.serveFile(w, r, root, folder, rest)
	}
}

func (s *Server) serveListing(
	w http.ResponseWriter,
	r *http.Request,
	root *os.Root,
	reader orders.Reader,
	folder string,
) {
	listing, err := s.list(r.Context(), root, folder, r.URL.Query().Get("until"), reader.Backup)
	if err != nil {
		s.fail(w, err)
		return
	}
	if r.URL.Query().Get("chunks") == "" {
		listing.bare()
	}
	w.Header().Set("Content-Type", "application/json")
	if err := listing.write(w); err != nil {
		s.log.Warn("answer a listing", "error", err)
	}
}

// serveSpans sends spans of a snapshot's files.
func (s *Server) serveSpans(
	w http.ResponseWriter,
	r *http.Request,
	root *os.Root,
	reader orders.Reader,
	folder, snapshot string,
) {
	var asked transfer.Request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, transfer.MaxRequest)).Decode(&asked)
	if err == nil {
		err = asked.Check()
	}
	if err != nil {
		http.Error(w, "this is no request for spans", http.StatusBadRequest)
		return
	}
	actual, err := find(root, folder)
	if err != nil {
		s.fail(w, err)
		return
	}
	base := path.Join(tree, actual, snapshot)
	if snapshot == "" || strings.Contains(snapshot, "/") {
		http.Error(w, "no such snapshot", http.StatusNotFound)
		return
	}
	open := func(name string) (fs.File, error) { return regular(root, path.Join(base, name)) }
	pack := s.pack(root, reader, actual, snapshot)
	if pack != nil {
		defer pack.Leave()
	}
	err = s.source.SendFrom(pack, w, r, reader.Subscription, &asked, open)
	var stale *transfer.StaleError
	if errors.As(err, &stale) {
		s.index.Doubt(path.Join(base, stale.Span.Path), stale.Span)
	}
	if err != nil && r.Context().Err() == nil {
		s.log.Warn("send files of a snapshot", "snapshot", snapshot, "error", err)
	}
}

// regular opens a file that is one.
func regular(root *os.Root, name string) (fs.File, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no file: %w", name, fs.ErrNotExist), file.Close())
	}
	return file, nil
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, root *os.Root, folder, rest string) {
	actual, err := find(root, folder)
	if err != nil {
		s.fail(w, err)
		return
	}
	file, err := root.Open(path.Join(tree, actual, rest))
	if err != nil {
		s.fail(w, err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.Error(w, "not a file", http.StatusNotFound)
		return
	}
	// It waits for no worker: who asks for a range gives up where nothing comes for 20 s, and it takes little memory.
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// admitted is the reader that asks, by its token; digests are compared, in constant time.
func (s *Server) admitted(r *http.Request, folder string) (orders.Reader, bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return orders.Reader{}, false
	}
	shown := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.readers, func(reader orders.Reader) bool {
		known := sha256.Sum256([]byte(reader.Token))
		return reader.Token != "" && strings.EqualFold(reader.Folder, folder) &&
			subtle.ConstantTimeCompare(shown[:], known[:]) == 1
	})
	if i < 0 {
		return orders.Reader{}, false
	}
	return s.readers[i], true
}

// readable tells that a reader may have what it asks for below its folder: of a backup the one that its order names,
// once that is known to be whole. An engine writes into it before.
func readable(r orders.Reader, rest string) bool {
	snapshot, _, _ := strings.Cut(rest, "/")
	return r.Backup == "" || r.Attempt.Set != "" && (rest == "" || snapshot == r.Backup)
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, "no such snapshot", http.StatusNotFound)
		return
	}
	s.log.Warn("read the snapshot folder", "error", err)
	http.Error(w, "the snapshot folder cannot be read", http.StatusInternalServerError)
}

// find is the folder's name as it is on disk.
func find(root *os.Root, folder string) (string, error) {
	entries, err := fs.ReadDir(root.FS(), tree)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.IsDir() && strings.EqualFold(e.Name(), folder) {
			return e.Name(), nil
		}
	}
	return "", fmt.Errorf("folder %s: %w", folder, fs.ErrNotExist)
}

// list is the newest snapshot that began no later than until: one that began later may be being written. Of backups it
// is the one of the name.
func (s *Server) list(ctx context.Context, root *os.Root, folder, until, backup string) (*Listing, error) {
	actual, err := find(root, folder)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(root.FS(), path.Join(tree, actual))
	if err != nil {
		return nil, err
	}
	newest := ""
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || !isStamp(name) || backup != "" && name != backup {
			continue
		}
		if name > newest && (until == "" || name[:stampLength] <= until) {
			newest = name
		}
	}
	if newest == "" {
		return nil, fmt.Errorf("snapshot of %s until %s: %w", folder, until, fs.ErrNotExist)
	}
	s.forget(path.Join(tree, actual), newest)
	listing := &Listing{Folder: actual, Snapshot: newest, Files: []File{}}
	base := path.Join(tree, actual, newest)
	err = fs.WalkDir(root.FS(), base, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			listing.Files = append(listing.Files, File{Path: strings.TrimPrefix(name, base+"/"), Size: info.Size()})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return listing, s.describe(ctx, root, base, listing)
}

// describe reads the files of a listing that are not known yet. Who asked may be gone before that has ended, and asks
// again: the file that is being read is read to its end, for that.
func (s *Server) describe(ctx context.Context, root *os.Root, base string, listing *Listing) error {
	listing.Chunked = listing.total() <= s.chunked
	whole, chunks := true, 0
	for i, f := range listing.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		open := func(name string) (fs.File, error) { return root.Open(name) }
		file, err := s.index.Describe(context.WithoutCancel(ctx), open, path.Join(base, f.Path), listing.Chunked)
		if err != nil {
			return err
		}
		file.Path = f.Path
		listing.Files[i] = file
		chunks += len(file.Chunks)
		whole = whole && file.Described()
	}
	if !whole || chunks > maxChunks {
		listing.bare()
	}
	return nil
}

// forget drops the checksums of a publication's snapshots that are older than the one that is listed: nobody asks for
// them any more, and who does after all has them computed anew.
func (s *Server) forget(folder, newest string) {
	s.index.Forget(func(name string) bool {
		rest, of := strings.CutPrefix(name, folder+"/")
		snapshot, _, _ := strings.Cut(rest, "/")
		return of && snapshot < newest
	})
	s.warnOf(s.packs.prune(func(of, snapshot string) bool { return of != path.Base(folder) || snapshot >= newest }))
}

// isStamp tells whether a folder's name begins with a time.
func isStamp(name string) bool {
	return len(name) >= stampLength && strings.Trim(name[:stampLength], "0123456789") == ""
}

// patient gives every part of an answer its own time, as long as the reader takes them: the server's own limit, which
// counts from the request, is for short ones.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	// Not every ResponseWriter has deadlines; without one there is nothing to move.
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTime))
	return p.ResponseWriter.Write(b)
}

// Unwrap has http.ResponseController find what is behind.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
