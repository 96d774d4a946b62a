// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// Passwords that are changed in the Secrets, sa's and the sidecar's at the site, the operator's in the hub, reach the
// engine; the pod is neither restarted nor unready, also not when the sidecar must log in anew.
func TestPasswordsAreChanged(t *testing.T) {
	serverInQuincy.Beside(t, 2, 50)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	quincy := b.Site("quincy")
	server := serverInQuincy.Get(t)
	connector := connectorFrom(t, b, shellAt(t, quincy, namespace))
	g.Expect(open(t, connector, server, credentials.RoleSA, "master").Ping(t.Context())).To(Succeed())
	pod, err := podOf(t.Context(), quincy, server)
	g.Expect(err).NotTo(HaveOccurred())
	missed := time.Duration(0)
	// A machine that is busy with other tests may miss two probes once, at whatever moment; a fault does so each time.
	for range 2 {
		unready := watchReadiness(t, quincy, server, pod)
		changePasswords(t, b, server, connector)
		if missed = unready(); missed == 0 {
			break
		}
		t.Logf("the pod was not ready for %s", missed)
	}
	g.Expect(missed).To(BeZero(), "the pod was ready all the while")
	after, err := podOf(t.Context(), quincy, server)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.UID).To(Equal(pod.UID))
	for i, c := range after.Status.ContainerStatuses {
		g.Expect(c.ContainerID).To(Equal(pod.Status.ContainerStatuses[i].ContainerID), "%s was not restarted", c.Name)
	}
}

// changePasswords changes the passwords of a server in Quincy in their Secrets, waits until the engine has them, and
// has the sidecar log in anew.
func changePasswords(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer, connector *mssql.Connector) {
	t.Helper()
	g := NewWithT(t)
	quincy := b.Site("quincy")
	changed := map[string]string{}
	change := func(at *bed.Site, keys ...string) {
		secret := &corev1.Secret{}
		g.Expect(at.Client.Get(t.Context(),
			client.ObjectKey{Namespace: namespace, Name: credentials.PasswordsName(v1alpha1.ServerName(server.Name))}, secret)).
			To(Succeed())
		before := client.MergeFrom(secret.DeepCopy())
		for _, key := range keys {
			password, err := credentials.NewPassword()
			g.Expect(err).NotTo(HaveOccurred())
			secret.Data[key], changed[key] = []byte(password), password
		}
		g.Expect(at.Client.Patch(t.Context(), secret, before)).To(Succeed())
	}
	change(b.Hub(), credentials.KeyOperator)
	change(quincy, credentials.KeySA, credentials.KeyAgent)
	bed.Wait(
		t,
		"site and hub agree on the new passwords, and the engine has taken sa's",
		2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			for _, at := range []*bed.Site{quincy, b.Hub()} {
				secret := &corev1.Secret{}
				if err := at.Client.Get(ctx, client.ObjectKey{Namespace: namespace,
					Name: credentials.PasswordsName(v1alpha1.ServerName(server.Name))}, secret); err != nil {
					return false, "", err
				}
				for key, password := range changed {
					if string(secret.Data[key]) != password {
						return false, fmt.Sprintf("%s has the old %s", at.Name, key), nil
					}
				}
				if _, ok := secret.Data[credentials.KeyPreviousSA]; ok {
					return false, at.Name + " keeps the previous sa password", nil
				}
			}
			return true, "", nil
		},
	)
	waitForServer(t, b, server, time.Minute)
	for _, role := range append(credentials.Roles(), credentials.RoleSA) {
		g.Expect(open(t, connector, server, role, "master").Ping(t.Context())).To(Succeed(), role.Login())
	}
	endSessions(t, open(t, connector, server, credentials.RoleSA, "master"), credentials.RoleAgent.Login())
	g.Consistently(func() error {
		return open(t, connector, server, credentials.RoleAgent, "master").Ping(t.Context())
	}, "10s", "1s").Should(Succeed())
}

// watchReadiness looks at a pod all the time and returns for how long it was not ready.
func watchReadiness(t *testing.T, at *bed.Site, server *v1alpha1.SQLServer, pod *corev1.Pod) func() time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	total := make(chan time.Duration, 1)
	go func() {
		var unready time.Duration
		last := time.Now()
		ticker := time.NewTicker(300 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				total <- unready
				return
			case <-ticker.C:
			}
			now := time.Now()
			if p, err := podOf(ctx, at, server); err == nil && (p.UID != pod.UID || !bed.Ready(p)) {
				unready += now.Sub(last)
			}
			last = now
		}
	}()
	return func() time.Duration { cancel(); return <-total }
}

// endSessions ends all sessions of a login, so that whoever uses it logs in anew.
func endSessions(t *testing.T, sa *mssql.DB, login string) {
	t.Helper()
	g := NewWithT(t)
	var sessions []int
	g.Expect(sa.Query(t.Context(), tsql.LoginSessions(login),
		func(r mssql.Row) error {
			var id int
			err := r.Scan(&id)
			sessions = append(sessions, id)
			return err
		})).To(Succeed())
	g.Expect(sessions).NotTo(BeEmpty())
	for _, id := range sessions {
		// One that has ended by itself meanwhile is no failure.
		_ = sa.Exec(t.Context(), tsql.EndLoginSession(login, id))
	}
}
