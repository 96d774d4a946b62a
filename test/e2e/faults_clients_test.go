// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/e2e/bed"
)

// roleRecorder is the role of the clients' login, which is the same on every replica.
const roleRecorder credentials.Role = "recorder"

// recorders are clients in pods, one at each site, that write through the group's listener and record what came of it.
type recorders struct {
	gt   *groupTest
	name string
	// login of all clients; nobody declares it.
	login tsql.Login
	pods  map[string]*corev1.Pod // by site
	// last acknowledgements that were seen of each site's clients.
	last map[string]history.Instant
}

// startRecorders gives the clients a login, and starts them.
func startRecorders(t *testing.T, gt *groupTest) *recorders {
	t.Helper()
	gt.has.recordings++
	r := &recorders{
		gt:   gt,
		name: fmt.Sprintf("%s-recorder-%d", gt.group.Name, gt.has.recordings),
		pods: map[string]*corev1.Pod{},
		last: map[string]history.Instant{},
	}
	if gt.has.recorder == nil {
		r.makeLogin(t)
		gt.has.recorder = &r.login
	} else {
		r.login = *gt.has.recorder
	}
	r.forget(t)
	r.makeSecrets(t)
	for _, site := range gt.b.Sites {
		r.start(t, site)
	}
	return r
}

// makeLogin makes the same login on both servers with data, and its user in the database.
func (r *recorders) makeLogin(t *testing.T) {
	t.Helper()
	r.login = tsql.Login{
		Name:     roleRecorder.Login(),
		SID:      credentials.SID(namespace, roleRecorder.Login()),
		Password: newPassword(),
	}
	for _, site := range copySites {
		connector := connectorFrom(t, r.gt.b, shellAt(t, r.gt.b.Site(site), namespace))
		if err := r.loginAt(t.Context(), connector, site); err != nil {
			t.Fatal(err)
		}
		if r.gt.group.Status.Primary != credentials.HostName(r.gt.server(site)) {
			continue
		}
		database := open(t, connector, r.gt.servers[site], credentials.RoleSA, "Content")
		for _, s := range []tsql.Statement{tsql.CreateUser(r.login.Name, r.login.Name),
			tsql.AddRoleMember("db_owner", r.login.Name)} {
			if err := database.Exec(t.Context(), s); err != nil {
				t.Fatalf("make the clients' user: %v", err)
			}
		}
	}
}

// forget takes away what others have recorded, drills too: it is in no history of these clients.
func (r *recorders) forget(t *testing.T) {
	t.Helper()
	r.gt.wait("the group is synchronized", 1, 2*time.Minute)
	for _, site := range copySites {
		if r.gt.group.Status.Primary != credentials.HostName(r.gt.server(site)) {
			continue
		}
		database := open(
			t,
			connectorFrom(t, r.gt.b, shellAt(t, r.gt.b.Site(site), namespace)),
			r.gt.servers[site],
			credentials.RoleSA,
			"Content",
		)
		for _, table := range []string{"dbo.Recorded", "dbo.Register"} {
			write(t, database, "IF OBJECT_ID(N'"+table+"', N'U') IS NOT NULL DROP TABLE "+table)
		}
	}
}

// makeSecrets gives the clients of every site what they log in with.
func (r *recorders) makeSecrets(t *testing.T) {
	t.Helper()
	var certificate corev1.Secret
	key := client.ObjectKey{Namespace: namespace, Name: credentials.CertificateName(r.gt.server("tukwila"))}
	if err := r.gt.b.Hub().Client.Get(t.Context(), key, &certificate); err != nil {
		t.Fatalf("read the CA: %v", err)
	}
	for _, site := range r.gt.b.Sites {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.name}, Data: map[string][]byte{
			roleRecorder.Key(): []byte(r.login.Password), credentials.KeyCA: certificate.Data[credentials.KeyCA]}}
		r.create(t, site, secret)
	}
}

// loginAt makes the clients' login on a site's server.
func (r *recorders) loginAt(ctx context.Context, connector *mssql.Connector, site string) error {
	master, err := connector.Open(
		ctx,
		mssql.Target{Namespace: namespace, Server: r.gt.server(site), Role: credentials.RoleSA, Database: "master"},
	)
	if err != nil {
		return fmt.Errorf("open the server of %s to make the clients' login: %w", site, err)
	}
	for _, s := range []tsql.Statement{tsql.CreateLogin(r.login),
		tsql.GrantServerPermission(tsql.ViewServerState, r.login.Name),
		tsql.GrantServerPermission(tsql.ViewAnyDefinition, r.login.Name)} {
		if err := master.Exec(ctx, s); err != nil {
			return fmt.Errorf("make the clients' login at %s: %w", site, err)
		}
	}
	return nil
}

// newPassword is a password of this run alone that meets SQL Server's password policy.
func newPassword() string { return fmt.Sprintf("Rec-%x-Ord", time.Now().UnixNano()) }

func (r *recorders) create(t *testing.T, site *bed.Site, o client.Object) {
	t.Helper()
	if err := site.Client.Create(t.Context(), o); err != nil {
		t.Fatalf("create %T %s at %s: %v", o, o.GetName(), site.Name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(site.Client.Delete(ctx, o, client.GracePeriodSeconds(0))); err != nil {
			t.Errorf("delete %s at %s: %v", o.GetName(), site.Name, err)
		}
	})
}

// start starts the site's clients. At Tukwila they are on a node where no server of the group can be, so that the loss
// of the server's node takes no client along.
func (r *recorders) start(t *testing.T, site *bed.Site) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.name}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		NodeSelector:                 map[string]string{corev1.LabelHostname: site.Nodes[len(site.Nodes)-1]},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			RunAsUser:      ptr.To[int64](65532),
			FSGroup:        ptr.To[int64](65532),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "recorder", Image: r.gt.b.Image(t, "OPERATOR_IMAGE"), ImagePullPolicy: corev1.PullNever,
			Args: []string{
				"workload",
				"record",
				"--client",
				site.Name,
				"--server",
				string(r.gt.server("tukwila")),
				"--address",
				r.gt.group.Name,
				"--listener-certificate",
				"--role",
				string(roleRecorder),
				"--database",
				"Content",
				"--workers",
				"2",
				"--rate",
				"10",
				"--stay",
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				ReadOnlyRootFilesystem:   ptr.To(true),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "credentials", MountPath: "/credentials", ReadOnly: true},
				{Name: "histories", MountPath: "/histories"},
			},
		}},
		Volumes: []corev1.Volume{
			{
				Name: "credentials",
				VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: r.name, DefaultMode: ptr.To[int32](0o440)},
				},
			},
			{Name: "histories", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	}}
	r.create(t, site, pod)
	r.pods[site.Name] = pod
}

// geosql runs the operator's program in the site's pod.
func (r *recorders) geosql(ctx context.Context, site string, arguments ...string) (string, error) {
	out, _, err := r.gt.b.Site(site).Exec(ctx, namespace, r.name, "recorder", append([]string{"/geosql"}, arguments...)...)
	return out, err
}

// acknowledgedSince tells whether a client of the site has had a write acknowledged that it sent after the instant.
func (r *recorders) acknowledgedSince(ctx context.Context, site string, since history.Instant) (bool, string, error) {
	if r.last[site].Monotonic > since.Monotonic {
		return true, "", nil
	}
	out, err := r.geosql(ctx, site, "history", "latest")
	if err != nil {
		return false, "", err
	}
	var newest history.Newest
	if err := json.Unmarshal([]byte(out), &newest); err != nil {
		return false, "", err
	}
	r.last[site] = newest.Acknowledged
	return newest.Acknowledged.Monotonic > since.Monotonic, newest.Reason, nil
}

// waitForAcknowledgements waits until the clients of all sites, but those, have had a write acknowledged that was sent
// after the instant.
func (r *recorders) waitForAcknowledgements(t *testing.T, since history.Instant, timeout time.Duration, but ...string) {
	t.Helper()
	bed.Wait(t, "clients of every site are acknowledged", timeout, func(ctx context.Context) (bool, string, error) {
		for _, site := range r.gt.b.Sites {
			if contains(but, site.Name) {
				continue
			}
			if ok, text, err := r.acknowledgedSince(ctx, site.Name, since); !ok {
				return false, site.Name + ": " + text, err
			}
		}
		return true, "", nil
	})
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// histories stops the clients and collects what they recorded, which is left as files in the folder, too.
func (r *recorders) histories(t *testing.T, folder string) history.Evidence {
	t.Helper()
	var e history.Evidence
	for _, site := range r.gt.b.Sites {
		bed.Wait(
			t,
			"the histories of "+site.Name+" are fetched",
			2*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				packed, err := r.geosql(ctx, site.Name, "history", "fetch", "--stop", "--timeout", "20s")
				if err != nil {
					return false, "", err
				}
				keep(t, folder, site.Name+".history.gz", []byte(packed))
				runs, err := history.Load(bytes.NewBufferString(packed))
				if err == nil {
					e.Runs = append(e.Runs, runs...)
				}
				return err == nil, "", err
			},
		)
	}
	return e
}

// rows collects the rows of the replicas at the sites; they are left as files in the folder, too.
func (r *recorders) rows(t *testing.T, folder string, sites []string) []history.Replica {
	t.Helper()
	var replicas []history.Replica
	for _, site := range sites {
		bed.Wait(
			t,
			"the rows of "+string(r.gt.server(site))+" are read",
			2*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				out, err := r.geosql(
					ctx,
					site,
					"workload",
					"rows",
					"--server",
					string(r.gt.server(site)),
					"--role",
					string(roleRecorder),
					"--database",
					"Content",
				)
				if err != nil {
					return false, "", err
				}
				keep(t, folder, string(r.gt.server(site))+".rows.json", []byte(out))
				var replica history.Replica
				if err := json.Unmarshal([]byte(out), &replica); err != nil {
					return false, "", err
				}
				replicas = append(replicas, replica)
				return true, "", nil
			},
		)
	}
	return replicas
}

// keep writes a file for later eyes, where a folder was named.
func keep(t *testing.T, folder, name string, data []byte) {
	t.Helper()
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
		t.Errorf("keep %s: %v", name, err)
	}
}
