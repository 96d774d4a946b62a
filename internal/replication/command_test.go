// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Agents demand TLS unless a profile says otherwise; the parameter is on the command line once.
func TestEncryptionOfAgents(t *testing.T) {
	s := replication.System{Server: "dist", Login: "agents"}
	for name, command := range map[string]func(*v1alpha1.AgentProfileSpec) tsql.Command{
		"log reader": func(p *v1alpha1.AgentProfileSpec) tsql.Command {
			return s.LogReaderCommand("tukpub-0", "Content", p, false)
		},
		"snapshot": func(p *v1alpha1.AgentProfileSpec) tsql.Command {
			return s.SnapshotCommand("tukpub-0", "Content", "articles", p)
		},
		"distribution": func(p *v1alpha1.AgentProfileSpec) tsql.Command {
			return s.DistributionCommand("tukpub-0", "Content", tsql.Subscription{Publication: "articles"}, p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, c := range []struct {
				profile *v1alpha1.AgentProfileSpec
				says    string
			}{
				{nil, "-EncryptionLevel 1"}, {&v1alpha1.AgentProfileSpec{}, "-EncryptionLevel 1"},
				{&v1alpha1.AgentProfileSpec{EncryptionLevel: ptr.To(int32(0))}, "-EncryptionLevel 0"},
				{&v1alpha1.AgentProfileSpec{EncryptionLevel: ptr.To(int32(2))}, "-EncryptionLevel 2"},
			} {
				text := command(c.profile).String()
				g.Expect(text).To(ContainSubstring(c.says))
				g.Expect(strings.Count(text, "-EncryptionLevel")).To(Equal(1))
			}
		})
	}
}

// Each parameter of a profile is a word of the command line: none is declared and forgotten.
func TestEachParameterOfAProfileIsOnTheCommandLine(t *testing.T) {
	s := replication.System{Server: "dist", Login: "agents"}
	parameters := 0
	for field := range reflect.TypeFor[v1alpha1.AgentProfileSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "agent" {
			continue
		}
		parameters++
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			profile, word := &v1alpha1.AgentProfileSpec{}, "777"
			switch at := reflect.ValueOf(profile).Elem().FieldByIndex(field.Index).Addr().Interface().(type) {
			case **int32:
				*at = ptr.To(int32(777))
			case *[]int32:
				*at, word = []int32{2601, 20598}, "2601:20598"
			default:
				t.Fatalf("%T has no value here: say one", at)
			}
			line := s.DistributionCommand("tukpub-0", "Content", tsql.Subscription{Publication: "articles"}, profile)
			g.Expect(line.String()).To(MatchRegexp("(?i) -%s %s( |$)", name, word))
		})
	}
	NewWithT(t).Expect(parameters).To(BeNumerically(">=", 18))
}
