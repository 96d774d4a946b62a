// SPDX-License-Identifier: Apache-2.0

package databases_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
)

func from(name v1alpha1.DatabaseName) v1alpha1.Database {
	return v1alpha1.Database{Name: name, From: &v1alpha1.DatabaseSource{Restore: &v1alpha1.DatabaseRestore{
		BackupSource: v1alpha1.BackupSource{Policy: "nightly", Database: "Live"}}}}
}

func declarer(name string, group bool) databases.Declarer {
	return databases.Declarer{Object: &metav1.ObjectMeta{Namespace: "web", Name: name, UID: "u"}, Group: group}
}

// Who declares which Secret opens a store's keys has that in the Restore.
func TestARestoreHasTheKeysOfItsDatabase(t *testing.T) {
	g := NewWithT(t)
	declared := from("Orders")
	g.Expect(declarer("content", true).RestoreOf(declared).Spec.Keys).To(BeNil())
	declared.From.Restore.Keys = &v1alpha1.SealedKeys{SealSecretRef: v1alpha1.SecretReference{Name: "seal"}}
	g.Expect(declarer("content", true).RestoreOf(declared).Spec.Keys).To(Equal(declared.From.Restore.Keys))
}

// The hub has one Restore of a database, whoever else tries to make it, and each declarer sees those that are its own.
func TestTheHubHasOneRestoreOfADatabase(t *testing.T) {
	for name, c := range map[string]struct {
		group bool
		// others are targets that are not the declarer's.
		others []v1alpha1.RestoreTarget
	}{
		"of a group":  {group: true, others: []v1alpha1.RestoreTarget{{AvailabilityGroup: "other"}, {Server: "same"}}},
		"of a server": {others: []v1alpha1.RestoreTarget{{Server: "other"}, {AvailabilityGroup: "same"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			d := declarer("same", c.group)
			wanted := d.RestoreOf(from("Orders"))
			make := databases.MakeRestore{Restore: wanted}
			dry := v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "look"}, Spec: wanted.Spec}
			dry.Spec.DryRun = true
			objects := []client.Object{&dry}
			for i, target := range c.others {
				other := v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: string(rune('a' + i))},
					Spec: wanted.Spec}
				other.Spec.Target = target
				objects = append(objects, &other)
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			ours := func() []v1alpha1.Restore {
				all, err := databases.Bringing(t.Context(), hub, "web", d.Target())
				g.Expect(err).NotTo(HaveOccurred())
				return all
			}
			g.Expect(ours()).To(BeEmpty())
			for range 2 { // another manager's cache is behind
				g.Expect(make.Apply(t.Context(), hub, hub)).To(Succeed())
				g.Expect(ours()).To(ConsistOf(HaveField("Spec", wanted.Spec)))
			}

			g.Expect(hub.Delete(t.Context(), &v1alpha1.Restore{ObjectMeta: wanted.ObjectMeta})).To(Succeed())
			for _, target := range c.others {
				foreign := wanted.DeepCopy()
				foreign.Spec.Target = target
				g.Expect(hub.Create(t.Context(), foreign)).To(Succeed())
				g.Expect(make.Apply(t.Context(), hub, hub)).To(MatchError(And(
					ContainSubstring("does not bring database Orders to "+wanted.Spec.Target.Named()),
					ContainSubstring("delete it"))))
				g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(wanted), foreign)).To(Succeed())
				g.Expect(foreign.Spec.Target).To(Equal(target), "it is left alone")
				g.Expect(hub.Delete(t.Context(), foreign)).To(Succeed())
			}
		})
	}
}

// Names of Restores differ where those of databases do, to the engine, and where a server is named as a group is.
func TestRestoreName(t *testing.T) {
	g := NewWithT(t)
	long := "An archive of everything that was ever ordered"
	for _, group := range []bool{true, false} {
		name := func(database string) string {
			return declarer("content", group).RestoreOf(from(v1alpha1.DatabaseName(database))).Name
		}
		g.Expect(name("Content")).To(Equal(name("CONTENT")))
		g.Expect(name("a b")).NotTo(Equal(name("a-b")))
		g.Expect(name(long)).NotTo(Equal(name(long + " 2")))
		g.Expect(name(long + "\u00e4")).To(MatchRegexp("^[a-z0-9-]{1,60}$"))
	}
	g.Expect(declarer("content", true).RestoreOf(from("Orders")).Name).To(Equal("content-orders-1c168adb"),
		"a group that is there goes on with the record that it has")
	g.Expect(declarer("content", false).RestoreOf(from("Orders")).Name).NotTo(Equal("content-orders-1c168adb"))
}
