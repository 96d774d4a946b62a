// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// LabelDrill is on every ConfigMap of an archive, with a digest of the drill's name: names are longer than labels may
	// be.
	LabelDrill = "geosql.dev/drill-archive"
	// LabelRun is on every ConfigMap of an archive, with a digest of the run's identifier.
	LabelRun = "geosql.dev/drill-archive-run"
	// indexKey and chunkKey are the ConfigMaps' keys.
	indexKey = "index.json"
	chunkKey = "chunk"
)

// DefaultChunk is the size of one ConfigMap's content. A ConfigMap holds at most 1 MiB (Kubernetes, "ConfigMaps",
// Motivation), and a request that carries it in base64 must stay beneath etcd's 1.5 MiB (etcd, "System limits").
const DefaultChunk = 896 << 10

// DefaultTotal is the size of an archive at most: MaxOperations, which take some 300 MiB of memory to judge.
const DefaultTotal = 8 << 20

// maxChunks is into how many pieces an archive is ever cut: tests cut small ones.
const maxChunks = 1024

// MaxOperations is how many operations the histories of an archive of that size hold, with some room for what belongs
// to them.
const MaxOperations = 250_000

// Limits of an archive in bytes.
type Limits struct {
	// Chunk is how much one ConfigMap holds, above 0 and at most 1 MiB.
	Chunk int
	// Total is how much the packed archive may have.
	Total int
}

// DefaultLimits fit every Kubernetes cluster.
func DefaultLimits() Limits { return Limits{Chunk: DefaultChunk, Total: DefaultTotal} }

// TooLargeError says that an archive does not fit its limits.
type TooLargeError struct {
	Run         Run
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf(
		"the archive of %s has %.1f MiB and at most %.1f MiB are kept: let the drill's workload run shorter or slower, or "+
			"with fewer clients",
		e.Run,
		float64(e.Size)/(1<<20),
		float64(e.Limit)/(1<<20),
	)
}

var (
	// ErrNotFound says that there is no archive of the run.
	ErrNotFound = errors.New("there is no archive")
	// ErrWritten says that the run has an archive with other contents. An archive is never changed: judge what Read
	// returns.
	ErrWritten = errors.New("the run's archive is already written, with other contents")
	// ErrDamaged says that an archive cannot be read back as it was written.
	ErrDamaged = errors.New("the archive is damaged")
	// ErrUnreadable says that what was to be written is more than Read takes back, or nothing that it takes back.
	ErrUnreadable = errors.New("it could not be read back")
	// ErrForeign says that something of the archive's name is somebody else's, or of a drill of that name that is gone.
	ErrForeign = errors.New("it does not belong to this drill")
)

// index says what an archive is made of. It is written last: without it there is no archive.
type index struct {
	Format string  `json:"format"`
	Run    Run     `json:"run"`
	Size   int     `json:"size"`
	SHA256 string  `json:"sha256"`
	Chunks []chunk `json:"chunks"`
}

// chunk is one piece of the packed archive, with the name of its ConfigMap.
type chunk struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// Reference says where an archive is and what it must sum up to.
type Reference struct {
	// Index is the name of the ConfigMap that lists the others, in the drill's namespace.
	Index string
	// Size in bytes, compressed, and the number of Chunks.
	Size, Chunks int
	// SHA256 of the compressed archive in hexadecimal.
	SHA256 string
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// stem is the beginning of the names of a run's ConfigMaps.
func (r Run) stem() string {
	name := r.Drill
	if len(name) > 200 {
		name = name[:200]
	}
	return name + "-" + sum([]byte(r.Drill + "\x00" + r.ID))[:10]
}

// IndexName is the name of the ConfigMap that lists a run's archive.
func (r Run) IndexName() string { return r.stem() + "-archive" }

func (r Run) labels() map[string]string {
	return map[string]string{LabelDrill: sum([]byte(r.Drill))[:16], LabelRun: sum([]byte(r.ID))[:16]}
}

// cut makes the chunks of a packed archive and their index.
func cut(run Run, packed []byte, size int) (index, [][]byte) {
	ix := index{Format: format, Run: run, Size: len(packed), SHA256: sum(packed)}
	var pieces [][]byte
	for rest := packed; len(rest) > 0; {
		piece := rest[:min(size, len(rest))]
		rest = rest[len(piece):]
		ix.Chunks = append(
			ix.Chunks,
			chunk{
				Name:   fmt.Sprintf("%s-%s-%03d", run.stem(), ix.SHA256[:10], len(ix.Chunks)),
				Size:   len(piece),
				SHA256: sum(piece),
			},
		)
		pieces = append(pieces, piece)
	}
	return ix, pieces
}

func (ix index) reference() Reference {
	return Reference{Index: ix.Run.IndexName(), Size: ix.Size, Chunks: len(ix.Chunks), SHA256: ix.SHA256}
}

// Write keeps an archive in ConfigMaps beside its drill, which owns them: they go when it goes. It can be called again
// after it broke off. The run's archive counts as written once its index is there; then a different one is refused with
// ErrWritten. What Read would not take back is refused with ErrUnreadable, and what is larger than the limits with a
// TooLargeError, before a piece of it is written. The owner must be the API object of a.Run.Drill, of the given
// apiVersion and kind.
func Write(
	ctx context.Context,
	c client.Client,
	owner client.Object,
	apiVersion, kind string,
	a Archive,
	limits Limits,
) (Reference, error) {
	if a.Run.Namespace != owner.GetNamespace() || a.Run.Drill != owner.GetName() || a.Run.UID != string(owner.GetUID()) ||
		a.Run.UID == "" {
		return Reference{}, fmt.Errorf(
			"write the archive of %s: %s/%s with uid %q is not that drill",
			a.Run,
			owner.GetNamespace(),
			owner.GetName(),
			owner.GetUID(),
		)
	}
	packed, err := Pack(a)
	if err != nil {
		return Reference{}, err
	}
	if len(packed) > limits.Total {
		return Reference{}, &TooLargeError{Run: a.Run, Size: len(packed), Limit: limits.Total}
	}
	// All parts together count, those too whose size nobody could know before they were packed.
	if _, err := Unpack(packed); err != nil {
		return Reference{}, fmt.Errorf("write the archive of %s: %w: %w", a.Run, ErrUnreadable, err)
	}
	ix, pieces := cut(a.Run, packed, limits.Chunk)
	old, err := readIndex(ctx, c, a.Run)
	switch {
	case err == nil && old.Run.UID != a.Run.UID:
		return Reference{}, fmt.Errorf("write the archive of %s: ConfigMap %s: %w", a.Run, a.Run.IndexName(), ErrForeign)
	case err == nil && old.SHA256 != ix.SHA256:
		return old.reference(), fmt.Errorf("write the archive of %s: %w", a.Run, ErrWritten)
	case err != nil && !errors.Is(err, ErrNotFound):
		return Reference{}, err
	}
	s := store{
		client: c,
		run:    a.Run,
		owner:  metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()},
	}
	for i, piece := range pieces {
		if err := s.keep(ctx, ix.Chunks[i].Name, chunkKey, piece); err != nil {
			return Reference{}, err
		}
	}
	listing, err := json.Marshal(ix)
	if err != nil {
		return Reference{}, fmt.Errorf("write the archive of %s: %w", a.Run, err)
	}
	if err := s.keep(ctx, a.Run.IndexName(), indexKey, listing); err != nil {
		return Reference{}, err
	}
	return ix.reference(), s.sweep(ctx, ix)
}

// store writes the ConfigMaps of one run.
type store struct {
	client client.Client
	run    Run
	owner  metav1.OwnerReference
}

// keep creates an immutable ConfigMap. One that is there already must be ours and the same: chunks are named by the
// content of their archive.
func (s store) keep(ctx context.Context, name, key string, content []byte) error {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.run.Namespace,
			Name:            name,
			Labels:          s.run.labels(),
			OwnerReferences: []metav1.OwnerReference{s.owner},
		},
		BinaryData: map[string][]byte{key: content},
		Immutable:  ptr.To(true),
	}
	err := s.client.Create(ctx, m)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("write ConfigMap %s of the archive of %s: %w", name, s.run, err)
		}
		return nil
	}
	var there corev1.ConfigMap
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(m), &there); err != nil {
		return fmt.Errorf("look at ConfigMap %s of the archive of %s: %w", name, s.run, err)
	}
	if !ownedBy(&there, s.run.UID) || !bytes.Equal(there.BinaryData[key], content) {
		return fmt.Errorf("write ConfigMap %s of the archive of %s: one of that name is there: %w", name, s.run, ErrForeign)
	}
	return nil
}

// ownedBy tells whether a ConfigMap has that drill as its owner, and nobody else: only what the manager has written for
// the drill does, unless somebody who may write ConfigMaps says so on purpose.
func ownedBy(m *corev1.ConfigMap, uid string) bool {
	return uid != "" && len(m.OwnerReferences) == 1 && m.OwnerReferences[0].Kind == "Drill" &&
		string(m.OwnerReferences[0].UID) == uid
}

// sweep deletes the chunks of attempts of the same run that broke off, which differ in content and so in name.
func (s store) sweep(ctx context.Context, ix index) error {
	var all corev1.ConfigMapList
	if err := s.client.List(ctx, &all, client.InNamespace(s.run.Namespace),
		client.MatchingLabels(s.run.labels())); err != nil {
		return fmt.Errorf("list the ConfigMaps of the archive of %s: %w", s.run, err)
	}
	keep := map[string]bool{s.run.IndexName(): true}
	for _, c := range ix.Chunks {
		keep[c.Name] = true
	}
	for i := range all.Items {
		m := &all.Items[i]
		if keep[m.Name] || !ownedBy(m, s.run.UID) {
			continue
		}
		if err := s.client.Delete(ctx, m, client.Preconditions{UID: &m.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s, left by a broken-off archive of %s: %w", m.Name, s.run, err)
		}
	}
	return nil
}

// Delete removes a run's archive, the index first: what is left after it broke off is no archive, and Delete can be
// called again. Only ConfigMaps that the run's drill owns are touched.
func Delete(ctx context.Context, c client.Client, run Run) error {
	var all corev1.ConfigMapList
	if err := c.List(ctx, &all, client.InNamespace(run.Namespace), client.MatchingLabels(run.labels())); err != nil {
		return fmt.Errorf("list the ConfigMaps of the archive of %s: %w", run, err)
	}
	if at := slices.IndexFunc(all.Items, func(m corev1.ConfigMap) bool { return m.Name == run.IndexName() }); at > 0 {
		all.Items[0], all.Items[at] = all.Items[at], all.Items[0]
	}
	for i := range all.Items {
		m := &all.Items[i]
		if !ownedBy(m, run.UID) {
			continue
		}
		if err := c.Delete(ctx, m, client.Preconditions{UID: &m.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s of the archive of %s: %w", m.Name, run, err)
		}
	}
	return nil
}

// Written says whether a run has an archive. It returns ErrForeign, wrapped, when an earlier drill of that name wrote
// it.
func Written(ctx context.Context, c client.Reader, run Run) (bool, error) {
	ix, err := readIndex(ctx, c, run)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case ix.Run.UID != run.UID:
		return false, fmt.Errorf(
			"read the archive of %s: index %s is of an earlier drill of that name: %w",
			run,
			run.IndexName(),
			ErrForeign,
		)
	}
	return true, nil
}

func readIndex(ctx context.Context, c client.Reader, run Run) (index, error) {
	var m corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.IndexName()}, &m); err != nil {
		if apierrors.IsNotFound(err) {
			return index{}, fmt.Errorf("read the archive of %s: %w", run, ErrNotFound)
		}
		return index{}, fmt.Errorf("read the archive of %s: %w", run, err)
	}
	var ix index
	if err := json.Unmarshal(m.BinaryData[indexKey], &ix); err != nil {
		return index{}, fmt.Errorf("read the archive of %s: its index %s: %w: %w", run, m.Name, ErrDamaged, err)
	}
	if ix.Format != format {
		return index{}, fmt.Errorf(
			"read the archive of %s: its format is %q, and this version reads %s",
			run,
			ix.Format,
			format,
		)
	}
	if ix.Run.Namespace != run.Namespace || ix.Run.Drill != run.Drill || ix.Run.ID != run.ID {
		return index{}, fmt.Errorf("read the archive of %s: index %s is of %s: %w", run, m.Name, ix.Run, ErrForeign)
	}
	if !ownedBy(&m, ix.Run.UID) {
		return index{}, fmt.Errorf("read the archive of %s: index %s is not the drill's own: %w", run, m.Name, ErrForeign)
	}
	if ix.Size > DefaultTotal || len(ix.Chunks) > maxChunks {
		return index{}, fmt.Errorf("read the archive of %s: its index %s speaks of %d bytes in %d pieces, more than are "+
			"ever kept: %w", run, m.Name, ix.Size, len(ix.Chunks), ErrDamaged)
	}
	return ix, nil
}

// Read restores a run's archive and checks every piece of it. With no UID in the run, whichever drill of that name
// wrote it will do. It returns ErrNotFound, ErrDamaged or ErrForeign, wrapped.
func Read(ctx context.Context, c client.Reader, run Run) (Archive, error) {
	ix, err := readIndex(ctx, c, run)
	if err != nil {
		return Archive{}, err
	}
	if run.UID != "" && ix.Run.UID != run.UID {
		return Archive{}, fmt.Errorf(
			"read the archive of %s: index %s is of an earlier drill of that name: %w",
			run,
			run.IndexName(),
			ErrForeign,
		)
	}
	var packed []byte
	for _, part := range ix.Chunks {
		var m corev1.ConfigMap
		if err := c.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: part.Name}, &m); err != nil {
			if apierrors.IsNotFound(err) {
				return Archive{}, fmt.Errorf("read the archive of %s: ConfigMap %s is gone: %w", run, part.Name, ErrDamaged)
			}
			return Archive{}, fmt.Errorf("read ConfigMap %s of the archive of %s: %w", part.Name, run, err)
		}
		if !ownedBy(&m, ix.Run.UID) {
			return Archive{}, fmt.Errorf("read the archive of %s: ConfigMap %s is not the drill's own: %w",
				run, part.Name, ErrForeign)
		}
		content := m.BinaryData[chunkKey]
		if len(packed)+len(content) > ix.Size {
			return Archive{}, fmt.Errorf("read the archive of %s: its pieces are more than the whole: %w", run, ErrDamaged)
		}
		if len(content) != part.Size || sum(content) != part.SHA256 {
			return Archive{}, fmt.Errorf(
				"read the archive of %s: ConfigMap %s (%d bytes) does not hold what was written (%d bytes): %w",
				run,
				part.Name,
				len(content),
				part.Size,
				ErrDamaged,
			)
		}
		packed = append(packed, content...)
	}
	if len(packed) != ix.Size || sum(packed) != ix.SHA256 {
		return Archive{}, fmt.Errorf("read the archive of %s: its pieces do not make the whole: %w", run, ErrDamaged)
	}
	a, err := Unpack(packed)
	if err != nil {
		return Archive{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if a.Run != ix.Run {
		return Archive{}, fmt.Errorf("read the archive of %s: what it holds is of %s: %w", run, a.Run, ErrForeign)
	}
	return a, nil
}
