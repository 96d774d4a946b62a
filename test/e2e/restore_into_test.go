// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/engine"
)

// intoTheGroup has the group's database restored beside itself, and the group take it up, which makes no empty one
// meanwhile.
func (r *returned) intoTheGroup(database v1alpha1.DatabaseName, to *v1alpha1.RestorePoint) *v1alpha1.Restore {
	r.gt.t.Helper()
	x := r.begin(v1alpha1.RestoreSpec{Source: r.source(), To: to, Target: v1alpha1.RestoreTarget{
		AvailabilityGroup: v1alpha1.ObjectName(r.gt.group.Name), Database: database}})
	r.gt.patch(func(g *v1alpha1.AvailabilityGroup) {
		g.Spec.Databases = append(g.Spec.Databases, v1alpha1.Database{Name: database})
	})
	return x
}

// outOfTheGroup puts the group back as it was: the database is taken out of it, and dropped wherever it is.
func (r *returned) outOfTheGroup(database string) {
	gt, t := r.gt, r.gt.t
	t.Helper()
	gt.patch(func(g *v1alpha1.AvailabilityGroup) {
		g.Spec.Databases = slices.DeleteFunc(g.Spec.Databases, func(d v1alpha1.Database) bool {
			return string(d.Name) == database
		})
	})
	bed.Wait(t, "the group has no "+database, time.Minute, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		return c.ObservedGeneration == gt.group.Generation && c.Status == metav1.ConditionTrue &&
			!gt.group.Status.Has(v1alpha1.DatabaseName(database)), c.Reason + ": " + c.Message, err
	})
	for _, site := range copySites {
		connector := connectorFrom(t, gt.b, shellAt(t, gt.b.Site(site), namespace))
		db := open(t, connector, gt.servers[site], credentials.RoleSA, "master")
		// The operator's own idle connections, and those of the agents, are in it for another minute.
		dropped := tsql.Statement{Text: fmt.Sprintf("IF DATABASEPROPERTYEX(N'%[1]s', 'Status') = N'ONLINE' "+
			"ALTER DATABASE [%[1]s] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE IF EXISTS [%[1]s]", database)}
		bed.Wait(t, database+" is dropped at "+site, 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			err := db.Exec(ctx, dropped)
			return err == nil, "", err
		})
	}
}

// fromElsewhere has a server that the operator knows nothing of write rows to a database, take a full backup in the
// middle and a backup of the log at the end, and puts these files into the bucket.
func (r *returned) fromElsewhere(pod *bucketPod, rows int) (files []v1alpha1.ObjectKey) {
	t, g := r.gt.t, NewWithT(r.gt.t)
	t.Helper()
	legacy := engine.Start(t, "elsewhere", "legacy")
	connector := legacy.Connector(t)
	sa, err := connector.Open(t.Context(), legacy.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	write(t, sa, "CREATE DATABASE Sales; ALTER DATABASE Sales SET RECOVERY FULL")
	target := legacy.Target(credentials.RoleSA)
	target.Database = "Sales"
	sales, err := connector.Open(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	write(t, sales, "CREATE TABLE dbo.Returned (id int NOT NULL PRIMARY KEY, padding varbinary(max) NULL)")
	backUp := map[int]string{rows / 2: "BACKUP DATABASE Sales TO DISK = N'%s' WITH FORMAT, CHECKSUM",
		rows: "BACKUP LOG Sales TO DISK = N'%s' WITH FORMAT, CHECKSUM"}
	for id := range rows {
		write(t, sales, fmt.Sprintf("INSERT dbo.Returned VALUES (%d, NULL)", id+1))
		if statement := backUp[id+1]; statement != "" {
			file := fmt.Sprintf("/var/opt/mssql-backup/%d.bak", id+1)
			g.Expect(os.MkdirAll(filepath.Dir(legacy.OnDisk(file)), 0o700)).To(Succeed())
			write(t, sa, fmt.Sprintf(statement, file))
			key := fmt.Sprintf("imports/sales/%d.bak", id+1)
			pod.put(t, key, legacy.OnDisk(file))
			files = append(files, v1alpha1.ObjectKey(key))
		}
	}
	return files
}

// declareBack declares a Topology of one server, e2eback in Quincy, which goes with the test.
func declareBack(t *testing.T, b *bed.Bed) (*v1alpha1.Topology, *v1alpha1.SQLServer) {
	t.Helper()
	server, hub := newServer(t, b, "e2eback", "quincy", nil), b.Hub().Client
	topology := &v1alpha1.Topology{ObjectMeta: fresh("e2eback"), Spec: v1alpha1.TopologySpec{
		Servers: []v1alpha1.TopologyServer{{Name: "e2eback", SQLServerSpec: server.Spec}}}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(hub.Delete(ctx, topology)); err != nil {
			t.Errorf("delete Topology %s: %v", topology.Name, err)
		}
		NewWithT(t).Eventually(func() bool {
			return apierrors.IsNotFound(hub.Get(ctx, client.ObjectKeyFromObject(topology), topology))
		}, 2*time.Minute, time.Second).Should(BeTrue(), "Topology %s goes", topology.Name)
	})
	NewWithT(t).Expect(hub.Create(t.Context(), topology)).To(Succeed())
	return topology, server
}

// beginsWith lets the Topology go on with a group of one replica whose database comes from the other group's backups,
// as it was at the end of the full one, and has that backed up, too.
func (r *returned) beginsWith(topology *v1alpha1.Topology, pod *bucketPod) {
	t := r.gt.t
	t.Helper()
	folder, err := pod.Run(t.Context(), "cd /tmp/buckets/backups/e2e/"+r.gt.folder()+" && echo *-full-*")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, id, _ := strings.Cut(folder, "-full-")
	before := client.MergeFrom(topology.DeepCopy())
	server := topology.Spec.Servers[0].Name
	spec := &topology.Spec
	spec.BackupStores = []v1alpha1.TopologyBackupStore{{Name: "e2e-back", BackupStoreSpec: pod.store()}}
	spec.AvailabilityGroups = []v1alpha1.TopologyAvailabilityGroup{{Name: "e2eagain",
		AvailabilityGroupSpec: v1alpha1.AvailabilityGroupSpec{
			Replicas:       []v1alpha1.Replica{{Server: server, AvailabilityMode: v1alpha1.SynchronousCommit}},
			InitialPrimary: server, ClusterType: v1alpha1.ClusterNone, FailoverPolicy: v1alpha1.FailoverManual,
			ReclaimPolicy: v1alpha1.ReclaimDelete,
			Databases: []v1alpha1.Database{{Name: "Content", From: &v1alpha1.DatabaseSource{
				Restore: &v1alpha1.DatabaseRestore{BackupSource: v1alpha1.BackupSource{Store: "e2e-back",
					Path: r.gt.folder()}, To: &v1alpha1.RestorePoint{Backup: id}}}}}}}}
	spec.BackupPolicies = []v1alpha1.TopologyBackupPolicy{{Name: "e2e",
		BackupPolicySpec: minutely(v1alpha1.ServerOrGroup{}, "e2e-back")}}
	NewWithT(t).Expect(r.gt.b.Hub().Client.Patch(t.Context(), topology, before)).To(Succeed())
}

// begun waits until all objects of a Topology are ready.
func (r *returned) begun(topology *v1alpha1.Topology) {
	r.gt.t.Helper()
	bed.Wait(r.gt.t, "Topology "+topology.Name+" is ready", 3*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			if err := r.gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(topology), topology); err != nil {
				return false, "", err
			}
			c := meta.FindStatusCondition(topology.Status.Conditions, v1alpha1.ConditionReady)
			if c == nil {
				return false, "", nil
			}
			var waits []string
			for _, m := range topology.Status.Members {
				if m.Ready != string(metav1.ConditionTrue) {
					waits = append(waits, fmt.Sprintf("%s %s: %s", m.Kind, m.Name, m.Reason))
				}
			}
			return c.Status == metav1.ConditionTrue && c.ObservedGeneration == topology.Generation,
				strings.Join(append(waits, c.Message), "; "), nil
		})
}
