// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
	"geosql.dev/operator/test/support/bucket"
)

// bucketPod is a pod with an S3 server and its bucket.
type bucketPod struct {
	*bed.Shell
	name        string
	certificate map[string][]byte
}

const (
	accessKey = "e2e"
	secretKey = "e2e-secret-key"
)

// startBucket runs an S3 server in a pod of a site, which goes with the test.
func startBucket(t *testing.T, site *bed.Site, namespace, name string) *bucketPod {
	t.Helper()
	g := NewWithT(t)
	program, err := bucket.Program()
	g.Expect(err).NotTo(HaveOccurred())
	pod := site.StartShell(t, site.ShellPod(t, namespace, name, fmt.Sprintf("mkdir -p /tmp/buckets/backups /tmp/about && "+
		"until [ -e /tmp/begin ]; do sleep 0.2; done; ROOT_ACCESS_KEY=%s ROOT_SECRET_KEY=%s exec /tmp/versitygw "+
		"--port :9000 --cert /tmp/tls.crt --key /tmp/tls.key --quiet posix --sidecar /tmp/about /tmp/buckets",
		accessKey, secretKey)))
	t.Cleanup(func() { _ = site.Client.Delete(context.WithoutCancel(t.Context()), pod.Pod) })
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := authority.Issue([]string{pod.Pod.Status.PodIP}, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pod.Copy(t.Context(), program, "/tmp/versitygw")).To(Succeed())
	for _, key := range []string{credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA} {
		_, err := pod.Run(t.Context(), fmt.Sprintf("cat > /tmp/%s <<'END'\n%s\nEND", key, certificate[key]))
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err = pod.Run(t.Context(), "touch /tmp/begin")
	g.Expect(err).NotTo(HaveOccurred())
	return &bucketPod{pod, name, certificate}
}

// secret has what is needed to use the bucket.
func (p *bucketPod) secret() *corev1.Secret {
	at := metav1.ObjectMeta{Namespace: p.Pod.Namespace, Name: p.name}
	return &corev1.Secret{ObjectMeta: at, Data: map[string][]byte{
		v1alpha1.KeyAccessKeyID: []byte(accessKey), v1alpha1.KeySecretAccessKey: []byte(secretKey),
		v1alpha1.KeyStoreCA: p.certificate[credentials.KeyCA]}}
}

// store is how the bucket is declared, beside its secret.
func (p *bucketPod) store() v1alpha1.BackupStoreSpec {
	return v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{Endpoint: "https://" + p.Pod.Status.PodIP + ":9000",
		Bucket: "backups", Prefix: "e2e", CredentialsSecretRef: v1alpha1.SecretName{Name: p.name},
		CASecretRef: &v1alpha1.SecretReference{Name: p.name}}}
}

// put makes an object of a file, by its key below the prefix, as a person does.
func (p *bucketPod) put(t *testing.T, key, file string) {
	t.Helper()
	NewWithT(t).Expect(p.Copy(t.Context(), file, "/tmp/put")).To(Succeed())
	p.putThere(t, key, "/tmp/put")
}

// putThere makes an object of a file of the pod.
func (p *bucketPod) putThere(t *testing.T, key, file string) {
	t.Helper()
	_, err := p.Run(t.Context(), fmt.Sprintf("curl -sS --fail --cacert /tmp/%s --aws-sigv4 aws:amz:us-east-1:s3 "+
		"-H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' -u %s:%s -T '%s' %s/backups/e2e/%s", credentials.KeyCA, accessKey,
		secretKey, file, p.store().S3.Endpoint, key))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// bucketAt runs an S3 server in a pod of a site, and declares it as a BackupStore. Both go with the test.
func bucketAt(t *testing.T, b *bed.Bed, site *bed.Site, name string) *bucketPod {
	t.Helper()
	pod := startBucket(t, site, namespace, name)
	for _, obj := range []client.Object{pod.secret(), &v1alpha1.BackupStore{ObjectMeta: fresh(name), Spec: pod.store()}} {
		NewWithT(t).Expect(b.Hub().Client.Create(t.Context(), obj)).To(Succeed())
		t.Cleanup(func() { _ = b.Hub().Client.Delete(context.WithoutCancel(t.Context()), obj) })
	}
	return pod
}

// backedUp is a group with a policy for its backups.
type backedUp struct {
	*groupTest
	policy *v1alpha1.BackupPolicy
}

// minutely has logs backed up every minute, to a store.
func minutely(target v1alpha1.ServerOrGroup, store v1alpha1.ObjectName) v1alpha1.BackupPolicySpec {
	return v1alpha1.BackupPolicySpec{Target: target, Full: v1alpha1.BackupTimes{Schedule: "0 1 * * 0"},
		Log:    &v1alpha1.LogBackups{Every: &metav1.Duration{Duration: time.Minute}},
		Stores: []v1alpha1.ObjectName{store}}
}

// backUp has a group's backups taken, logs every minute, and kept in a store. The policy goes with the test.
func (gt *groupTest) backUp(name string, store v1alpha1.ObjectName) *backedUp {
	t, b := gt.t, gt.b
	t.Helper()
	p := &v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: minutely(v1alpha1.ServerOrGroup{AvailabilityGroup: v1alpha1.ObjectName(gt.group.Name)}, store)}
	NewWithT(t).Expect(b.Hub().Client.Create(t.Context(), p)).To(Succeed())
	x := &backedUp{gt, p}
	t.Cleanup(x.leaveOff)
	return x
}

// leaveOff deletes the policy and waits until it is gone.
func (x *backedUp) leaveOff() {
	x.t.Helper()
	ctx := context.WithoutCancel(x.t.Context())
	hub := x.b.Hub().Client
	NewWithT(x.t).Expect(client.IgnoreNotFound(hub.Delete(ctx, x.policy))).To(Succeed())
	gone := func(ctx context.Context) (bool, string, error) {
		err := hub.Get(ctx, client.ObjectKeyFromObject(x.policy), x.policy)
		return client.IgnoreNotFound(err) == nil && err != nil, "", client.IgnoreNotFound(err)
	}
	NewWithT(x.t).Expect(bed.Until(x.t, "the policy is gone", time.Minute, gone)).To(Succeed())
}

// restorableTo waits until a moment can be restored.
func (x *backedUp) restorableTo(what string, moment time.Time, within time.Duration) {
	x.t.Helper()
	bed.Wait(x.t, what, within, func(ctx context.Context) (bool, string, error) {
		if err := x.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(x.policy), x.policy); err != nil {
			return false, "", err
		}
		c := meta.FindStatusCondition(x.policy.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return false, "", nil
		}
		at := x.policy.Status.Restorable
		return c.Status == metav1.ConditionTrue && at != nil && !at.Time.Before(moment),
			fmt.Sprint(c.Reason, ": ", c.Message, "; restorable: ", at), nil
	})
}

// folder of the group's database in the store.
func (gt *groupTest) folder() string { return namespace + "/group/" + gt.group.Name + "/Content" }

// The agents of a group back it up as its policy says, to a bucket at another site, and after a switchover those of the
// other side go on with the same chain: what was written before and after it can be restored, and the log is let go of.
// Last it is restored, from the bucket alone, to a server that is no replica, into the group beside itself, and as what
// another group begins with; and what a server of somebody else's has backed up is restored, too.
func TestAGroupIsBackedUpThroughASwitchover(t *testing.T) {
	groupA.Beside(t, 2, 240)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	pod := bucketAt(t, b, b.Site("dublin"), "e2e-bucket")
	topology, target := declareBack(t, b)
	rows := &returned{gt: gt, db: gt.wherever(shellAt(t, b.Site("dublin"), namespace)), store: "e2e-bucket"}
	rows.write(10)
	began := time.Now()
	x := gt.backUp("e2e-backups", "e2e-bucket")
	x.restorableTo("the group can be restored", time.Time{}, 3*time.Minute)
	t.Logf("it could be restored %.0f s after the policy was declared", time.Since(began).Seconds())
	rows.beginsWith(topology, pod)

	_, err := gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server("quincy")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	gt.primaryAt("quincy")
	moment := rows.moment()
	rows.write(10)
	after := time.Now()
	files := rows.fromElsewhere(pod, 30) // meanwhile the log is backed up
	x.restorableTo("what is written after the switchover can be restored", after.Truncate(time.Second), 3*time.Minute)
	t.Logf("it could be restored to the moment of the switchover %.0f s after it", time.Since(after).Seconds())
	for _, d := range x.policy.Status.Databases {
		g.Expect(d.Windows).To(HaveLen(1), "%s: one chain over both primaries", d.Name)
	}

	// The topology's group has a policy of its own.
	out, err := pod.Run(t.Context(), "cd /tmp/buckets/backups/e2e/"+namespace+"/group/"+gt.group.Name+
		" && find . -name set.json")
	g.Expect(err).NotTo(HaveOccurred())
	fulls := 0
	for _, file := range strings.Fields(out) {
		if strings.Contains(filepath.Base(filepath.Dir(file)), "-full-") {
			fulls++
		}
	}
	g.Expect(fulls).To(Equal(len(x.policy.Status.Databases)), "one full backup each, though the primary moved:\n%s", out)

	rows.returnEverywhere(target, files, &v1alpha1.RestorePoint{Time: &moment})
	rows.begun(topology)
	rows.areAt(target, "Content", 10)
}

// returnEverywhere has the first twenty rows come back, or the first ten, by all kinds of Restore at once.
func (r *returned) returnEverywhere(
	target *v1alpha1.SQLServer,
	files []v1alpha1.ObjectKey,
	ten *v1alpha1.RestorePoint,
) {
	r.gt.t.Helper()
	beside := r.intoTheGroup("Beside", ten)
	waitForServer(r.gt.t, r.gt.b, target, 3*time.Minute)
	elsewhere := r.begin(v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Store: r.store, Files: files},
		Target: v1alpha1.RestoreTarget{Server: v1alpha1.ServerName(target.Name), Database: "Elsewhere"}})
	r.comeBack(target, "Newest", nil, 20)
	r.comeBack(target, "Before", ten, 10)
	r.succeeds(elsewhere)
	r.areAt(target, "Elsewhere", 30)
	r.succeeds(beside)
	for _, site := range copySites {
		r.areAt(r.gt.servers[site], "Beside", 10)
	}
	r.outOfTheGroup("Beside")
}
