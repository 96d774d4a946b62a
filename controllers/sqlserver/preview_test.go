// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// What is announced is what is done: the preview of a new server has the steps that its creation takes, less the
// restart that only the running pod shows, and the note of the engine that has answered.
func TestPreviewIsWhatIsDone(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	announced, _ := Preview(e.d, e.o)
	_, done := e.settle(t, 100)
	var said []string
	for _, s := range announced {
		said = append(said, s.Describe())
	}
	var without []string
	for _, d := range done {
		if !strings.HasPrefix(d, "restart pod") && !strings.HasSuffix(d, "which engine writes the data") {
			without = append(without, d)
		}
	}
	g.Expect(said).To(Equal(without))
}

func TestPreviewOffline(t *testing.T) {
	g := NewWithT(t)
	steps, outcome := Preview(declared(server(), Surroundings{}), Observed{})
	g.Expect(outcome.Message).To(Equal("nothing was observed"))
	var text strings.Builder
	for _, s := range steps {
		text.WriteString(s.Describe() + "\n")
	}
	g.Expect(text.String()).To(ContainSubstring("apply PersistentVolumeClaim tukpub-backup"))
	g.Expect(text.String()).To(ContainSubstring("CREATE LOGIN [geosql_operator] WITH PASSWORD = N'***'"))
}

func TestPreviewSaysWhatStandsInTheWay(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.d.Site.Spec.StorageClasses.Backup = "archive"
	_, outcome := Preview(e.d, e.o)
	g.Expect(outcome.Reason).To(Equal(v1alpha1.ReasonNoNodeForVolumes))
}
