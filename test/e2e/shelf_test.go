// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/test/e2e/bed"
)

// shelf is where the objects of a store lie as files: by their keys below a folder of a pod.
type shelf struct {
	shell *bed.Shell
	root  string
}

// sets are those of a database's folder, each as its object describes it.
func (s shelf) sets(t *testing.T, folder string) (all []backup.Description) {
	t.Helper()
	g := NewWithT(t)
	out, err := s.shell.Run(t.Context(), "find '"+s.root+"/"+folder+"' -name "+backup.DescriptionName+
		" 2>/dev/null | sort | xargs -r -d '\\n' cat") // there may be nothing yet
	g.Expect(err).NotTo(HaveOccurred())
	for objects := json.NewDecoder(strings.NewReader(out)); ; {
		var object json.RawMessage
		err := objects.Decode(&object)
		if errors.Is(err, io.EOF) {
			return all
		}
		g.Expect(err).NotTo(HaveOccurred())
		d, err := backup.Decode(object)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, d)
	}
}

// of are those sets of a kind.
func (s shelf) of(t *testing.T, folder string, kind backup.Kind) (all []backup.Description) {
	t.Helper()
	for _, d := range s.sets(t, folder) {
		if d.Kind == kind {
			all = append(all, d)
		}
	}
	return all
}

// read is an object.
func (s shelf) read(t *testing.T, key string) []byte {
	t.Helper()
	out, err := s.shell.Run(t.Context(), "base64 -w0 '"+s.root+"/"+key+"'")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	content, err := base64.StdEncoding.DecodeString(out)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

// isEncrypted looks into all files of a database's folder: none can be read, and of the full backup the key makes what
// has the words that are nowhere else. It returns how many files of backups there are, and their bytes.
func (s shelf) isEncrypted(t *testing.T, folder string, key *age.X25519Identity, words []byte) (files, size int) {
	t.Helper()
	g := NewWithT(t)
	others, err := s.shell.Run(t.Context(), "find '"+s.root+"/"+folder+"' -type f ! -name '*.age' ! -name '*.json'")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(others).To(BeEmpty(), "nothing lies there as the engine wrote it")
	sets := s.sets(t, folder)
	g.Expect(sets).NotTo(BeEmpty())
	for _, d := range sets {
		g.Expect(d.Encryption).To(Equal(&backup.Encryption{Scheme: backup.SchemeAge, Recipient: key.Recipient().String()}))
		for _, f := range d.Files {
			content := s.read(t, d.KeyOf(f.Name))
			g.Expect(content).To(HaveLen(int(f.Bytes)), "%s of the %s", f.Name, d.Set)
			g.Expect(bytes.HasPrefix(content, []byte("age-encryption.org/v1\n"))).To(BeTrue(), "%s of the %s", f.Name, d.Set)
			g.Expect(bytes.Contains(content, words)).To(BeFalse(), "%s of the %s", f.Name, d.Set)
			files, size = files+1, size+len(content)
			if d.Kind == backup.Full {
				g.Expect(bytes.Contains(opened(t, content, f, key), words)).To(BeTrue(), "%s of the %s", f.Name, d.Set)
			}
		}
	}
	return files, size
}

// opened is what the content of an object is decrypted to.
func opened(t *testing.T, content []byte, f backup.File, key *age.X25519Identity) []byte {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "opened")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	was := seal.Content{Bytes: f.Plain.Bytes, SHA256: f.Plain.SHA256}
	g.Expect(seal.Open(t.Context(), file, was, []string{key.String()})).To(Succeed())
	plain, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	return plain
}
