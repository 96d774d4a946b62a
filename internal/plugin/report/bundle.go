// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/plugin/cli"
)

const (
	// maxBundle bounds the texts of a bundle together, in bytes before they are compressed.
	maxBundle = 96 << 20
	// maxFile bounds each of them.
	maxFile = 4 << 20
)

// bundle collects texts, each cleaned of secrets, and what is missing. It is safe for concurrent use.
type bundle struct {
	redactor *redactor

	mu      sync.Mutex
	files   map[string]string
	size    int
	missing []string
}

func newBundle(r *redactor) *bundle { return &bundle{redactor: r, files: map[string]string{}} }

// learn has a value of a Secret taken out of all that is added from then on.
func (b *bundle) learn(where string, value []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.redactor.learn(where, value)
}

// lacks notes what is not in the bundle, and why.
func (b *bundle) lacks(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = append(b.missing, b.redactor.clean(fmt.Sprintf(format, args...)))
}

// text adds one; of one that is too long the end, which is the newest of a log.
func (b *bundle) text(name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text = b.redactor.clean(text)
	if len(text) > maxFile {
		cut := len(text) - maxFile
		if line := strings.IndexByte(text[cut:], '\n'); line >= 0 {
			cut += line + 1
		}
		b.missing = append(b.missing, fmt.Sprintf("%s: its first %s", name, cli.Bytes(int64(cut))))
		text = text[cut:]
	}
	if b.size+len(text) > maxBundle {
		b.missing = append(b.missing, fmt.Sprintf("%s: the bundle has %s already", name, cli.Bytes(int64(b.size))))
		return
	}
	b.size += len(text)
	b.files[b.redactor.clean(name)] = text
}

// objects adds a list of objects as YAML.
func (b *bundle) objects(name string, list client.ObjectList) {
	items, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
	if err != nil {
		b.lacks("%s: %v", name, err)
		return
	}
	if items["items"] == nil {
		items["items"] = []any{}
	}
	b.mu.Lock()
	cleaned := b.redactor.object(items["items"])
	b.mu.Unlock()
	data, err := yaml.Marshal(cleaned)
	if err != nil {
		b.lacks("%s: %v", name, err)
		return
	}
	b.text(name, string(data))
}

// index says what the bundle has and lacks.
func (b *bundle) index(head string) string {
	var text strings.Builder
	text.WriteString(head)
	text.WriteString("\nNot in this bundle\n")
	for _, m := range slices.Sorted(slices.Values(b.missing)) {
		fmt.Fprintf(&text, "  %s\n", m)
	}
	if len(b.missing) == 0 {
		text.WriteString("  nothing that was asked for\n")
	}
	text.WriteString("\nFiles\n")
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		fmt.Fprintf(&text, "  %s (%s)\n", name, cli.Bytes(int64(len(b.files[name]))))
	}
	return text.String()
}

// write writes the bundle, the index first.
func (b *bundle) write(w io.Writer, head string, at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	add := func(name, text string) error {
		header := &tar.Header{Name: "geosql-report/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: at}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.WriteString(archive, text)
		return err
	}
	if err := add("INDEX.txt", b.redactor.clean(b.index(head))); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		if err := add(name, b.files[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}
