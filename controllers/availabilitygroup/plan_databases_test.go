// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// withProperties is a group whose database has every property.
func withProperties() *v1alpha1.AvailabilityGroup {
	group := declared()
	group.Spec.Databases = []v1alpha1.Database{{Name: "Content", Collation: "Latin1_General_100_CI_AS",
		CompatibilityLevel: 150, ReadCommittedSnapshot: ptr.To(true), Owner: "shop"}}
	return group
}

func ofProperties(t *testing.T) *environ {
	e := newEnviron(t, withProperties())
	for _, s := range e.servers {
		s.logins["shop"] = mssql.Login{}
		s.mirroring.ProductVersion = "16.0.4135.4"
	}
	return e
}

// change changes a server's copy by hand.
func (e *environ) change(server v1alpha1.ServerName, how func(*mssql.Database)) {
	d := e.servers[server].mirroring.Databases["Content"]
	how(&d)
	e.servers[server].mirroring.Databases["Content"] = d
}

func TestAGroupsDatabaseHasItsProperties(t *testing.T) {
	g := NewWithT(t)
	e := ofProperties(t)
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	at := func(server v1alpha1.ServerName) mssql.Database {
		return e.servers[server].mirroring.Databases["Content"]
	}
	g.Expect(at("tukpub")).To(And(HaveField("Collation", "Latin1_General_100_CI_AS"),
		HaveField("CompatibilityLevel", 150), HaveField("ReadCommittedSnapshot", true), HaveField("Owner", "shop")))
	g.Expect(at("quisec").Owner).To(Equal("geosql_operator"), "a copy is left alone")

	e.change("tukpub", func(d *mssql.Database) {
		d.CompatibilityLevel, d.ReadCommittedSnapshot, d.Owner = 130, false, "somebody"
	})
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(at("tukpub")).To(And(HaveField("CompatibilityLevel", 150), HaveField("ReadCommittedSnapshot", true),
		HaveField("Owner", "shop")), "what was changed by hand is changed back")

	e.elect("quisec")
	e.change("quisec", func(d *mssql.Database) { d.CompatibilityLevel, d.ReadCommittedSnapshot = 150, true })
	e.settle(everything)
	g.Expect(at("quisec").Owner).To(Equal("shop"), "an instance has the owner for itself")
}

// What cannot be changed, or not now, keeps nothing else from being done, and no session is ended.
func TestWhatIsNotChangedOfADatabaseIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*environ)
		reason string
		says   string
		mended func(*environ)
	}{
		"others are in it": {
			change: func(e *environ) {
				e.change("tukpub", func(d *mssql.Database) { d.ReadCommittedSnapshot, d.Sessions = false, 2 })
			},
			reason: v1alpha1.ReasonDatabaseInUse, says: "database Content on tukpub-0 is OFF and is declared ON",
			mended: func(e *environ) { e.change("tukpub", func(d *mssql.Database) { d.Sessions = 0 }) },
		},
		"another collation": {
			change: func(e *environ) { e.d.Group.Spec.Databases[0].Collation = "Turkish_CI_AS" },
			reason: v1alpha1.ReasonDatabaseDiffers, says: "has collation Latin1_General_100_CI_AS",
			mended: func(e *environ) { e.d.Group.Spec.Databases[0].Collation = "" },
		},
		"a login that is not there": {
			change: func(e *environ) { e.d.Group.Spec.Databases[0].Owner = "nobody" },
			reason: v1alpha1.ReasonDatabaseDiffers, says: `"nobody"`,
			mended: func(e *environ) { e.servers["tukpub"].logins["nobody"] = mssql.Login{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := ofProperties(t)
			e.settle(everything)
			c.change(e)
			e.change("tukpub", func(d *mssql.Database) { d.CompatibilityLevel = 130 })
			for range 5 {
				e.round()
			}
			p := plan(e.d, e.observe())
			g.Expect(p.All()).To(BeEmpty())
			g.Expect(p.Outcome).To(And(HaveField("Ready", metav1.ConditionFalse), HaveField("Reason", c.reason),
				HaveField("Message", ContainSubstring(c.says))))
			g.Expect(e.servers["tukpub"].mirroring.Databases["Content"].CompatibilityLevel).To(Equal(150))
			c.mended(e)
			g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
			g.Expect(e.servers["tukpub"].mirroring.Databases["Content"].ReadCommittedSnapshot).To(BeTrue())
		})
	}
}

// A group that names an owner takes its database back without being told to adopt it.
func TestADatabaseOfTheDeclaredOwnerComesBack(t *testing.T) {
	g := NewWithT(t)
	e := ofProperties(t)
	e.settle(everything)
	all := e.d.Group.Spec.Databases
	e.d.Group.Spec.Databases = nil
	e.settle(everything)
	g.Expect(e.servers["tukpub"].mirroring.Databases["Content"]).
		To(And(HaveField("InGroup", false), HaveField("Owner", "shop")))
	e.d.Group.Spec.Databases = all
	delete(e.servers["quisec"].mirroring.Databases, "Content")
	g.Expect(e.settle(everything).Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(e.servers["tukpub"].mirroring.Databases["Content"].InGroup).To(BeTrue())
}
