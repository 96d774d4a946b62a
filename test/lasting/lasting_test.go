// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package lasting_test shows that a statement that takes long in one group holds up no other one.
package lasting_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/stage"
)

// slow is how long the first backup of a database takes here.
const slow = 10 * time.Minute

func TestMain(m *testing.M) { stage.Main(m, delay) }

// delay makes a manager of one worker, for which a backup takes long.
func delay(struct{}) (stage.Watch, error) {
	return stage.Watch{Workers: 1, Executing: func(_ mssql.Target, s tsql.Statement) func(error) {
		if s.Task.Command == "BACKUP DATABASE" {
			time.Sleep(slow)
		}
		return func(error) {}
	}}, nil
}

func TestABackupThatTakesLongHoldsUpNoOtherGroup(t *testing.T) {
	g := NewWithT(t)
	b := stage.New(t)
	b.AddServer(t, stage.Spare)
	b.SQL(t, "dist", "master", "CREATE DATABASE Orders")
	b.SQL(t, "dist", "master", "ALTER DATABASE Orders SET RECOVERY FULL")
	b.SQL(t, "dist", "master", "BACKUP DATABASE Orders TO DISK = N'orders.bak'")
	backedUp := group("content", "Content", "tukpub", "quisec", "dubcfg")
	other := group("orders", "Orders", "dist", "dubsub", stage.Spare)
	other.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	g.Expect(b.Hub.Client.Create(t.Context(), backedUp)).To(Succeed())
	begin := time.Now()
	b.StartManager(t, struct{}{})

	ready := func(of client.Object) func() *metav1.Condition {
		return func() *metav1.Condition {
			var now v1alpha1.AvailabilityGroup
			g.Expect(b.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(of), &now)).To(Succeed())
			return apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
		}
	}
	logged := func() string { return b.Logged(t) }
	const backup = "take the first full backup of Content on server tukpub-0 goes on since"
	g.Eventually(ready(backedUp), 4*time.Minute, time.Second).
		Should(HaveField("Message", ContainSubstring(backup)), logged)
	g.Expect(b.Hub.Client.Create(t.Context(), other)).To(Succeed())
	g.Eventually(ready(other), 4*time.Minute, time.Second).Should(HaveField("Status", metav1.ConditionTrue), logged)
	g.Expect(time.Since(begin)).To(BeNumerically("<", slow))
	g.Expect(strings.ToLower(ready(backedUp)().Message)).To(ContainSubstring("goes on"), "the backup goes on meanwhile")
}

// group of two servers with data and one without.
func group(
	name string,
	database v1alpha1.DatabaseName,
	first, second, third v1alpha1.ServerName,
) *v1alpha1.AvailabilityGroup {
	return &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.Namespace, Name: name},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: first, AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: second, AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: third, AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
			InitialPrimary: first, Databases: []v1alpha1.Database{{Name: database}}, Voters: []v1alpha1.SiteName{stage.Site},
		},
	}
}
