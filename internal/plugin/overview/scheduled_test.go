// SPDX-License-Identifier: Apache-2.0

//go:build integration

package overview_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// What is copied by a schedule has no log reader that would be unknown, and nothing that is pending.
func TestStatusOfCopiesByASchedule(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	p, x := &s.Publications[0], &s.Subscriptions[0]
	p.Spec.Type, p.Spec.Schedule, p.Status.LogReader = v1alpha1.PublicationSnapshot, "0 3 * * *", nil
	made := metav1.NewTime(now)
	x.Status.Snapshot = &v1alpha1.AppliedSnapshot{Transaction: "0x01", Made: &made}
	x.Status.PendingCommands, x.Status.Latency = nil, nil
	var agents []string
	for line := range strings.Lines(status(s)) {
		if strings.Contains(line, p.Name) || strings.Contains(line, "distribution") {
			agents = append(agents, strings.TrimSpace(line))
		}
	}
	text := strings.Join(agents, "\n")
	g.Expect(text).NotTo(ContainSubstring("log reader"))
	g.Expect(text).To(MatchRegexp(`distribution .* InProgress +\S+ +- +-`))
	g.Expect(s.Graph().Mermaid()).To(And(ContainSubstring("publication articles, copied at 0 3 * * *"),
		ContainSubstring("copy of "+now.UTC().Format("2006-01-02T15:04:05Z"))))
}
