// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// The Subscription's word is before the Publication's, and the annotation makes Compare of a snapshot alone.
func TestMethod(t *testing.T) {
	const snapshot, none = v1alpha1.InitializeSnapshot, v1alpha1.InitializeReplicationSupportOnly
	const backup = v1alpha1.InitializeBackup
	const compare v1alpha1.InitializationMethod = v1alpha1.InitializeCompare
	for name, c := range map[string]struct {
		published, subscribed v1alpha1.InitializationMethod
		annotated             bool
		method                v1alpha1.InitializationMethod
		// snapshots tells whether the Publication makes some for this Subscription or others.
		snapshots bool
		noCopies  string
	}{
		"nothing is said":                      {"", "", false, snapshot, true, "Publication articles"},
		"annotated":                            {"", "", true, compare, true, "Publication articles"},
		"the Publication compares":             {compare, "", false, compare, true, "Publication articles"},
		"the Publication copies nothing":       {none, "", false, none, false, "Publication articles"},
		"an annotation copies nothing":         {none, "", true, none, false, "Publication articles"},
		"a snapshot of one alone":              {none, snapshot, false, snapshot, true, "Subscription dublin"},
		"one that is compared alone":           {none, compare, false, compare, true, "Subscription dublin"},
		"a snapshot of one, annotated":         {none, snapshot, true, compare, true, "Subscription dublin"},
		"one that gets nothing":                {snapshot, none, false, none, true, "Subscription dublin"},
		"one that gets nothing, annotated":     {snapshot, none, true, none, true, "Subscription dublin"},
		"one that begins with a backup":        {none, backup, false, backup, false, "Subscription dublin"},
		"all begin with a backup":              {backup, "", false, backup, false, "Publication articles"},
		"a backup, annotated":                  {backup, "", true, compare, true, "Publication articles"},
		"a snapshot where others are compared": {compare, snapshot, false, snapshot, true, "Subscription dublin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, s := &v1alpha1.Publication{}, v1alpha1.Subscription{}
			p.Name, s.Name = "articles", "dublin"
			if c.published != "" {
				p.Spec.Initialization = &v1alpha1.Initialization{Method: c.published}
			}
			if c.subscribed != "" {
				s.Spec.Initialization = &v1alpha1.Initialization{Method: c.subscribed}
			}
			if c.annotated {
				s.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
			}
			g.Expect(p.InitializationOf(&s)).To(Equal(c.method))
			g.Expect(p.Copies(&s)).To(Equal(c.method != none && c.method != backup))
			g.Expect(Snapshots(p, []v1alpha1.Subscription{s})).To(Equal(c.snapshots))
			g.Expect(Snapshots(p, nil)).To(Equal(c.published != none && c.published != backup))
			g.Expect(NoCopies(p, &s)).To(Equal(c.noCopies))
		})
	}
}
