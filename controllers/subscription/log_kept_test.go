// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// The log of a database that a backup has brought is kept until somebody backs it up: who has to see to that is told.
func TestWhoTruncatesTheLogOfACopyByABackup(t *testing.T) {
	t.Parallel()
	full := mssql.ReplicationDatabase{Name: "Content", State: "ONLINE", RecoveryModel: "FULL", LogChain: true}
	change := func(change func(*mssql.ReplicationDatabase)) mssql.ReplicationDatabase {
		x := full
		change(&x)
		return x
	}
	for name, c := range map[string]struct {
		database mssql.ReplicationDatabase
		policy   string
		method   v1alpha1.InitializationMethod
		status   metav1.ConditionStatus
		says     string
	}{
		"nobody": {full, "", v1alpha1.InitializeBackup, metav1.ConditionFalse, "SET RECOVERY SIMPLE"},
		"nobody, after changes in bulk": {change(func(x *mssql.ReplicationDatabase) { x.RecoveryModel = "BULK_LOGGED" }), "",
			v1alpha1.InitializeBackup, metav1.ConditionFalse, "BULK_LOGGED"},
		"a policy": {full, "nightly", v1alpha1.InitializeBackup, metav1.ConditionTrue, "BackupPolicy nightly"},
		"the engine": {change(func(x *mssql.ReplicationDatabase) { x.RecoveryModel = "SIMPLE" }), "",
			v1alpha1.InitializeBackup, metav1.ConditionTrue, "SIMPLE"},
		"the engine, before a full backup": {change(func(x *mssql.ReplicationDatabase) { x.LogChain = false }), "",
			v1alpha1.InitializeBackup, metav1.ConditionTrue, "no full backup yet"},
		"it is not online": {change(func(x *mssql.ReplicationDatabase) { x.State = "RECOVERING" }), "",
			v1alpha1.InitializeBackup, "", ""},
		"a snapshot brought it": {full, "", v1alpha1.InitializeSnapshot, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newWorld(declared())
			w.d.LogPolicy = c.policy
			w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: c.method}
			w.o.Servers[subscriber].State.Databases["content"] = c.database
			said := logKept(w.d, w.o)
			if c.status == "" {
				g.Expect(said).To(BeNil())
				return
			}
			g.Expect(said).To(HaveField("Status", c.status))
			g.Expect(said.Message).To(ContainSubstring(c.says))
			g.Expect(said.Reason).To(Equal(map[metav1.ConditionStatus]string{metav1.ConditionTrue: "LogTruncated",
				metav1.ConditionFalse: "LogGrows"}[c.status]))
		})
	}
}

// What is said of the log goes once the database came in another way, and stays while nobody knows.
func TestWhatIsSaidOfTheLogGoesWithTheBackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(declared())
	of := func(method v1alpha1.InitializationMethod) {
		w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: method}
	}
	of(v1alpha1.InitializeBackup)
	database := mssql.ReplicationDatabase{Name: "Content", State: "ONLINE", RecoveryModel: "FULL", LogChain: true}
	w.o.Servers[subscriber].State.Databases["content"] = database
	status := &w.d.Subscription.Status
	said := func() *metav1.Condition {
		tellLog(w.d, w.o, status)
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionLogTruncated)
	}
	g.Expect(said()).To(HaveField("Status", metav1.ConditionFalse))
	database.State = "RECOVERING"
	w.o.Servers[subscriber].State.Databases["content"] = database
	g.Expect(said()).To(HaveField("Status", metav1.ConditionFalse))
	of(v1alpha1.InitializeSnapshot)
	g.Expect(said()).To(BeNil())
}

// A policy has the databases that it names, or all of its target.
func TestWhichDatabasesAPolicyHas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(names ...v1alpha1.DatabaseName) *v1alpha1.BackupPolicy {
		return &v1alpha1.BackupPolicy{Spec: v1alpha1.BackupPolicySpec{Databases: names}}
	}
	g.Expect(takes(of(), "Content")).To(BeTrue())
	g.Expect(takes(of("Orders", "CONTENT"), "Content")).To(BeTrue())
	g.Expect(takes(of("Orders"), "Content")).To(BeFalse())
}

// The policy is found that has the subscriber's database, of the server or of a group that it is in: the first of a
// target, which alone is carried out.
func TestThePolicyOfACopyIsFound(t *testing.T) {
	t.Parallel()
	policy := func(name string, target v1alpha1.ServerOrGroup, databases ...v1alpha1.DatabaseName) *v1alpha1.BackupPolicy {
		return &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID(name)},
			Spec: v1alpha1.BackupPolicySpec{Target: target, Databases: databases}}
	}
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{Replicas: []v1alpha1.Replica{{Server: subscriber}},
			Databases: []v1alpha1.Database{{Name: "content"}}}}
	here := v1alpha1.ServerOrGroup{Server: subscriber}
	for name, c := range map[string]struct {
		objects []client.Object
		found   string
	}{
		"none":               {nil, ""},
		"of another server":  {[]client.Object{policy("other", v1alpha1.ServerOrGroup{Server: publisher})}, ""},
		"of other databases": {[]client.Object{policy("orders", here, "Orders")}, ""},
		"of the server":      {[]client.Object{policy("nightly", here)}, "nightly"},
		"of its group": {[]client.Object{group,
			policy("group", v1alpha1.ServerOrGroup{AvailabilityGroup: "content"})}, "group"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
			r := &Reconciler{hub: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.objects...).Build()}
			d := declared()
			d.Subscription.Namespace = "web"
			d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeBackup}
			g.Expect(r.desireLogPolicy(t.Context(), &d)).To(Succeed())
			g.Expect(d.LogPolicy).To(Equal(c.found))
		})
	}
}
