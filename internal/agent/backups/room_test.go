// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

// The volume of a folder has room, and one that is not there says so.
func TestFileSystem(t *testing.T) {
	g := NewWithT(t)
	capacity, free, err := FileSystem(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(capacity).To(BeNumerically(">", 0))
	g.Expect(free).To(And(BeNumerically(">=", 0), BeNumerically("<=", capacity)))
	_, _, err = FileSystem("/none/of/that/name")
	g.Expect(err).To(MatchError(os.ErrNotExist))
}
