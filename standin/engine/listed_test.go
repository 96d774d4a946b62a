// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/test/limits"
)

// What a setting does here stands in docs/limits.md, for each that is shown: one that is kept and changes nothing would
// else be taken for one that is obeyed.
func TestSettingsAreListed(t *testing.T) {
	g := NewWithT(t)
	all := func(heading string) []string {
		names, err := limits.All(heading)
		g.Expect(err).NotTo(HaveOccurred())
		return names
	}
	var configurations []string
	for _, o := range options {
		configurations = append(configurations, o.name)
	}
	g.Expect(all("Server options: sys.configurations")).To(ConsistOf(configurations))

	r := newRegistry(nil)
	installProperties(r)
	var properties []string
	for _, name := range all("SERVERPROPERTY") {
		properties = append(properties, strings.ToLower(name))
	}
	g.Expect(properties).To(ConsistOf(slices.Collect(maps.Keys(r.properties))))

	// Those that are judged one by one, and those that are only kept.
	judged := []string{"RECOVERY", "ALLOW_SNAPSHOT_ISOLATION", "READ_COMMITTED_SNAPSHOT", "COMPATIBILITY_LEVEL",
		"QUERY_STORE"}
	for _, group := range optionGroups {
		judged = append(judged, group...)
	}
	judged = append(judged, slices.Collect(maps.Keys(recordedOptions))...)
	slices.Sort(judged)
	judged = slices.DeleteFunc(slices.Compact(judged), func(name string) bool { return name == "EMERGENCY" }) // refused
	g.Expect(all("Database options: ALTER DATABASE ... SET")).To(ConsistOf(judged))

	lists, err := limits.Under("Server options: sys.configurations")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists["Obeyed"]).To(ContainElement("max text repl size (B)"), "an operator of replication sets it")
}
