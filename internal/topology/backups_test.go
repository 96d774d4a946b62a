// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// An entry without a target is for all that the topology has to back up and no other entry names.
func TestExpandBackups(t *testing.T) {
	const system = `
backupStores: [{name: s3, s3: {endpoint: "https://s3.example", bucket: sql, credentialsSecretRef: {name: keys}}}]
servers:
- {name: a}
- {name: b}
- {name: own, databases: [{name: Own}]}
- {name: pub}
- {name: sub}
availabilityGroups: [{name: content, replicas: [{server: a}, {server: b}]}, {name: orders}]
publications: [{name: p, publisher: {server: pub}, database: Sold}, {name: q, publisher: {availabilityGroup: content}}]
subscriptions: [{name: s, publication: p, subscriber: {server: sub}, database: Sold}]
`
	const times = `full: {schedule: "0 1 * * 0"}, stores: [s3]`
	for name, c := range map[string]struct {
		entries string
		want    []string
		of      []int
	}{
		"none": {"", nil, nil},
		"the whole topology": {"- {name: all, " + times + "}", []string{"all-content group content",
			"all-orders group orders", "all-own server own", "all-pub server pub"}, []int{0, 0, 0, 0}},
		"a target": {"- {name: mine, " + times + ", target: {server: sub}}", []string{"mine server sub"}, []int{0}},
		"the rest of it": {"- {name: all, " + times + "}\n- {name: orders, " + times + ", target: {availabilityGroup: " +
			"orders}}\n- {name: own, " + times + ", target: {server: own}}", []string{"all-content group content",
			"all-pub server pub", "orders group orders", "own server own"}, []int{0, 0, 1, 2}},
		"nothing is left for it": {"- {name: all, " + times + "}\n- {name: a, target: {availabilityGroup: content}}\n" +
			"- {name: b, target: {availabilityGroup: orders}}\n- {name: c, target: {server: own}}\n" +
			"- {name: d, target: {server: pub}}", []string{"a group content", "b group orders", "c server own",
			"d server pub"}, []int{1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			declared := &v1alpha1.Topology{}
			declared.Name, declared.Namespace = "t", "web"
			read(t, system+"backupPolicies:\n"+c.entries, &declared.Spec)
			objects, err := topology.Expand(declared)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objects.Stores).To(HaveExactElements(HaveField("Spec.S3.Bucket", "sql")))
			var got []string
			for _, p := range objects.Policies {
				target := "group " + string(p.Spec.Target.AvailabilityGroup)
				if p.Spec.Target.Server != "" {
					target = "server " + string(p.Spec.Target.Server)
				}
				got = append(got, p.Name+" "+target)
				g.Expect(p.Labels).To(HaveKeyWithValue(v1alpha1.LabelTopology, "t"))
				g.Expect(p.Namespace).To(Equal("web"))
				g.Expect(topology.Declares(declared, "BackupPolicy", p.Name)).To(BeTrue())
			}
			g.Expect(got).To(Equal(c.want))
			g.Expect(objects.PolicyEntries).To(Equal(c.of))
			g.Expect(topology.Declares(declared, "BackupPolicy", "all")).To(BeFalse(), "an entry is no object")
			g.Expect(topology.Declares(declared, "BackupStore", "s3")).To(BeTrue())
			g.Expect(topology.Declares(declared, "BackupStore", "other")).To(BeFalse())
		})
	}
}

// Databases that all servers have by default are each server's own, and policies share nothing with the entry.
func TestExpandBackupsOfDefaults(t *testing.T) {
	g := NewWithT(t)
	declared := &v1alpha1.Topology{}
	read(t, `
serverDefaults: {databases: [{name: Own}]}
servers: [{name: a}, {name: b}]
backupPolicies: [{name: all, full: {schedule: "0 1 * * 0"}, stores: [s3]}]
`, &declared.Spec)
	objects, err := topology.Expand(declared)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects.Policies).To(HaveExactElements(HaveField("Name", "all-a"), HaveField("Name", "all-b")))
	objects.Policies[0].Spec.Stores[0] = "other"
	g.Expect(declared.Spec.BackupPolicies[0].Stores).To(HaveExactElements(BeEquivalentTo("s3")))
	g.Expect(objects.Policies[1].Spec.Stores).To(HaveExactElements(BeEquivalentTo("s3")))
}
