// SPDX-License-Identifier: Apache-2.0

// Package files moves replication snapshots between the sidecars of servers: that of the distributor serves its
// snapshot folder over HTTPS, that of a subscriber keeps a mirror of it. Each engine sees its own files only.
package files

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
)

// Pattern is the path under which a Server answers.
const Pattern = "/snapshots/"

// tree is the folder below the snapshot folder into which SQL Server writes snapshots.
const tree = "unc"

// stampLength is the length of a snapshot folder's name, yyyymmddhhmmss.
const stampLength = 14

// writeTime is how long a chunk of an answer may take on a slow link.
const writeTime = 30 * time.Second

// Listing is a snapshot with its files.
type Listing struct {
	// Folder of the publication as it is on disk, Snapshot the newest one's.
	Folder   string `json:"folder"`
	Snapshot string `json:"snapshot"`
	Files    []File `json:"files"`
}

// File is a file of a snapshot.
type File struct {
	// Path below the snapshot, with slashes.
	Path string `json:"path"`
	// Size in bytes.
	Size int64 `json:"size"`
	// SHA256 in hexadecimal.
	SHA256 string `json:"sha256"`
}

// Server serves the snapshots below a folder to those who have a token for the publication's.
type Server struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	readers []orders.Reader
	sums    map[string]sum
}

// sum is a checksum that was computed for a file of this size and time.
type sum struct {
	size   int64
	time   time.Time
	sha256 string
}

// NewServer serves the snapshot folder dir; it need not exist yet.
func NewServer(dir string, log *slog.Logger) *Server {
	return &Server{dir: dir, log: log, sums: map[string]sum{}}
}

// SetReaders replaces who may read.
func (s *Server) SetReaders(readers []orders.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = readers
}

// ServeHTTP answers GET /snapshots/<folder>?until=<yyyymmddhhmmss> with a Listing, and
// GET /snapshots/<folder>/<snapshot>/<path> with a file, ranges included.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A listing reads every new file for its checksum before its first byte: the server's own limit may be over by then.
	w = &patient{ResponseWriter: w, control: http.NewResponseController(w)}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD are supported", http.StatusMethodNotAllowed)
		return
	}
	folder, rest, _ := strings.Cut(strings.TrimPrefix(path.Clean(r.URL.Path), Pattern), "/")
	if !s.admitted(r, folder) {
		http.Error(w, "no right to read this folder", http.StatusForbidden)
		return
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer root.Close()
	if rest == "" {
		listing, err := s.list(root, folder, r.URL.Query().Get("until"))
		if err != nil {
			s.fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(listing); err != nil {
			s.log.Warn("answer a listing", "error", err)
		}
		return
	}
	s.serveFile(w, r, root, folder, rest)
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
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// admitted compares tokens by their digests, in constant time.
func (s *Server) admitted(r *http.Request, folder string) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	shown := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.readers, func(reader orders.Reader) bool {
		known := sha256.Sum256([]byte(reader.Token))
		return reader.Token != "" && strings.EqualFold(reader.Folder, folder) &&
			subtle.ConstantTimeCompare(shown[:], known[:]) == 1
	})
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

// list is the newest snapshot that began no later than until: one that began later may be being written.
func (s *Server) list(root *os.Root, folder, until string) (*Listing, error) {
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
		if name := e.Name(); e.IsDir() && isStamp(name) && name > newest && (until == "" || name[:stampLength] <= until) {
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
		file, err := s.describe(root, name)
		if err == nil {
			file.Path = strings.TrimPrefix(name, base+"/")
			listing.Files = append(listing.Files, file)
		}
		return err
	})
	return listing, err
}

// forget drops the checksums of a publication's snapshots that are older than the one that is listed: nobody asks for
// them any more, and who does after all has them computed anew.
func (s *Server) forget(folder, newest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.sums, func(name string, _ sum) bool {
		rest, of := strings.CutPrefix(name, folder+"/")
		snapshot, _, _ := strings.Cut(rest, "/")
		return of && snapshot < newest
	})
}

// isStamp tells whether a folder's name begins with a time.
func isStamp(name string) bool {
	return len(name) >= stampLength && strings.Trim(name[:stampLength], "0123456789") == ""
}

// describe computes the checksum of a file, or remembers it.
func (s *Server) describe(root *os.Root, name string) (File, error) {
	file, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	s.mu.Lock()
	known, ok := s.sums[name]
	s.mu.Unlock()
	if ok && known.size == info.Size() && known.time.Equal(info.ModTime()) {
		return File{Size: known.size, SHA256: known.sha256}, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	one := sum{size: info.Size(), time: info.ModTime(), sha256: hex.EncodeToString(hash.Sum(nil))}
	s.mu.Lock()
	s.sums[name] = one
	s.mu.Unlock()
	return File{Size: one.size, SHA256: one.sha256}, nil
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
