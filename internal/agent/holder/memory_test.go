// SPDX-License-Identifier: Apache-2.0

package holder_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// What an agent has promised is there after its restart: one that forgot could help two candidates of one term.
func TestPromisesAreOnDisk(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "promises-content.json")
	g.Expect(holder.FileMemory{Path: path}.Load()).To(BeZero(), "nothing was ever saved")
	saved := keeper.Remembered{
		Promise: keeper.Promise{
			Term: 9,
			To:   "quisec-0",
		}, Cleared: 3, Followed: 4, Quarantined: 5, Begun: "r", BegunIn: 8, Decided: "q",
		Voters: &votes.Configuration{Term: 7, Number: 2, Voters: []string{"a", "b", "c"}}, VotersBy: "tukpub-0/pod/run",
		Sent: "quisec-0/pod/run/",
	}
	g.Expect(holder.FileMemory{Path: path}.Save(saved)).To(Succeed())
	g.Expect(holder.FileMemory{Path: path}.Load()).To(Equal(saved))
	saved.Promise.Term = 10
	g.Expect(holder.FileMemory{Path: path}.Save(saved)).To(Succeed())
	g.Expect(holder.FileMemory{Path: path}.Load()).To(Equal(saved))
}

// Promises that cannot be read may be any: that is no beginning anew.
func TestPromisesThatCannotBeReadAreAnError(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":           func(path string) error { return os.WriteFile(path, []byte(`{"promise":{"term":9`), 0o600) },
		"emptied":        func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"no file at all": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			path := filepath.Join(t.TempDir(), "promises-content.json")
			g.Expect(spoil(path)).To(Succeed())
			_, err := holder.FileMemory{Path: path}.Load()
			g.Expect(err).To(MatchError(ContainSubstring("read the promises in " + path)))
		})
	}
}

func TestPromisesThatCannotBeSavedAreAnError(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "promises-content.json")
	g.Expect(os.Mkdir(path, 0o700)).To(Succeed())
	g.Expect(holder.FileMemory{Path: path}.Save(keeper.Remembered{})).
		To(MatchError(ContainSubstring("keep the promises")))
}
