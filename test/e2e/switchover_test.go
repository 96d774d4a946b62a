// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/x509"
	"database/sql"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// geosql runs the plugin as a person at a site would.
func (gt *groupTest) geosql(site string, arguments ...string) (string, error) {
	gt.t.Helper()
	return plugin(gt.t, gt.b, site, 3*time.Minute, arguments...)
}

// primaryAt waits until the group's status names the server of a site as primary and everything is synchronized.
func (gt *groupTest) primaryAt(site string) {
	gt.t.Helper()
	bed.Wait(
		gt.t,
		gt.servers[site].Name+" is primary and the group is synchronized",
		2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			c, err := gt.ready(ctx)
			return c.Status == metav1.ConditionTrue && gt.group.Status.Primary == credentials.HostName(gt.server(site)),
				c.Reason + ": " + c.Message, err
		},
	)
}

// backAt makes the server of a site primary again, should another one be.
func (gt *groupTest) backAt(site string) {
	gt.t.Helper()
	gt.wait("the group is still synchronized", 1, 2*time.Minute)
	if gt.group.Status.Primary != credentials.HostName(gt.server(site)) {
		_, err := gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server(site)), "--wait")
		NewWithT(gt.t).Expect(err).NotTo(HaveOccurred())
	}
	gt.primaryAt(site)
}

// failovers are the group's Failovers in the hub.
func (gt *groupTest) failovers(ctx context.Context) []v1alpha1.Failover {
	gt.t.Helper()
	var list, own v1alpha1.FailoverList
	NewWithT(gt.t).Expect(gt.b.Hub().Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	for _, f := range list.Items {
		if string(f.Spec.Group) == gt.group.Name {
			own.Items = append(own.Items, f)
		}
	}
	return own.Items
}

// failoversSince are those that were not known, and are not the record of a term up to that.
func (gt *groupTest) failoversSince(ctx context.Context, known []v1alpha1.Failover, term int64) []v1alpha1.Failover {
	gt.t.Helper()
	return slices.DeleteFunc(gt.failovers(ctx), func(f v1alpha1.Failover) bool {
		return f.Spec.RecordedTerm != nil && *f.Spec.RecordedTerm <= term ||
			slices.ContainsFunc(known, func(k v1alpha1.Failover) bool { return k.UID == f.UID })
	})
}

// A person switches over at the hub and back at a site that is not the hub, while a client writes through the listener:
// nothing acknowledged is lost, what would lose is refused before anything is touched, and everything leaves its
// record.
func TestSwitchoverByCommand(t *testing.T) {
	groupA.Beside(t, 2, 110)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	db := gt.wherever(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(db)
	term := gt.group.Status.Term
	known := gt.failovers(t.Context())

	out, err := gt.geosql("dublin", "status")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(MatchRegexp(`%s +SECONDARY .* yes `, credentials.HostName(gt.server("quincy"))))
	out, err = gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server("dublin")), "--wait")
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring("nothing was changed"), ContainSubstring("holds no databases")))
	g.Expect(gt.failoversSince(t.Context(), known, term)).To(BeEmpty())

	began := time.Now()
	out, err = gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server("quincy")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring("Succeeded"), MatchRegexp(`promoted +\S+ +\+`)))
	t.Logf(
		"switchover at the hub: the command took %.1f s, the next write was acknowledged %.1f s later",
		time.Since(began).Seconds(),
		w.more(t, time.Minute).Seconds(),
	)
	gt.primaryAt("quincy")
	g.Expect(gt.group.Status.Term).To(BeNumerically(">", term))
	g.Expect(gt.failoversSince(t.Context(), known, term)).
		To(ConsistOf(And(HaveField("Status.Outcome", v1alpha1.FailoverSucceeded),
			HaveField("Status.Timeline.Promoted", Not(BeNil())))))

	began = time.Now()
	out, err = gt.geosql("tukwila", "switchover", gt.group.Name, "--to", string(gt.server("tukwila")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("is written on Lease"))
	t.Logf(
		"switchover at a site: the command took %.1f s, the next write was acknowledged %.1f s later",
		time.Since(began).Seconds(),
		w.more(t, time.Minute).Seconds(),
	)
	gt.primaryAt("tukwila")
	bed.Wait(t, "the hub has a record of it", time.Minute, func(context.Context) (bool, string, error) {
		for _, f := range gt.failoversSince(t.Context(), known, term) {
			if f.Spec.RecordedTerm != nil && f.Status.Cause == "Switchover" && f.Status.Outcome == v1alpha1.FailoverSucceeded {
				return true, "", nil
			}
		}
		return false, "", nil
	})

	shown := And(
		HavePrefix("Site quincy, namespace "+namespace),
		ContainSubstring("Availability group "+gt.group.Name),
		MatchRegexp(
			`(?m)^  `+string(gt.server("quincy"))+`-0 .* Ready .*`+gt.group.Name+` (PRIMARY|SECONDARY)`,
		),
		MatchRegexp(`(?m)^  dublin +.*Held`),
	)
	bed.Wait(
		t,
		"Quincy shows what its agents answer through its API server, without the hub",
		time.Minute,
		func(context.Context) (bool, string, error) {
			out, err := gt.geosql("quincy", "status")
			if err != nil {
				return false, "", err
			}
			ok, err := shown.Match(out)
			return ok, "not all of it", err
		},
	)
	// The request of the switchover at the hub stands on the vote here until the hub takes it away, or it expires.
	bed.Wait(t, "Quincy takes a request", 3*time.Minute, func(context.Context) (bool, string, error) {
		out, err := gt.geosql("quincy", "pause", gt.group.Name, "--wait")
		if err != nil && strings.Contains(out, "waits on Lease") {
			return false, out, nil
		}
		return err == nil, "", err
	})
	paused := func(want bool) {
		bed.Wait(
			t,
			"status.voters says whether elections are paused",
			time.Minute,
			func(ctx context.Context) (bool, string, error) {
				_, err := gt.ready(ctx)
				for _, v := range gt.group.Status.Voters {
					if v.Paused != want {
						return false, v.Site, err
					}
				}
				return len(gt.group.Status.Voters) == 3, "", err
			},
		)
	}
	paused(true)
	_, err = gt.geosql("dublin", "resume", gt.group.Name, "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	paused(false)
	term = gt.group.Status.Term
	gt.renewsACertificate(t, w, "quincy")
	gt.primaryAt("tukwila")
	g.Expect(gt.group.Status.Term).To(Equal(term), "a renewed certificate is no failover")
	w.end()
	w.verify(t, db)
	t.Run("a declared login follows", func(t *testing.T) { gt.loginFollows(t) })
}

// loginFollows declares a login of the group and connects with it through the listener after a switchover.
func (gt *groupTest) loginFollows(t *testing.T) {
	g := NewWithT(t)
	hub := gt.b.Hub().Client
	name := gt.group.Name + "-app"
	password := newPassword()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	login := &v1alpha1.Login{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.LoginSpec{
		Target: v1alpha1.ServerOrGroup{
			AvailabilityGroup: v1alpha1.ObjectName(gt.group.Name),
		}, PasswordSecretRef: &v1alpha1.SecretReference{Name: name},
		Users: []v1alpha1.LoginUser{
			{Database: "Content", Roles: []v1alpha1.RoleName{"db_datareader"}},
		}, ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
	for _, obj := range []client.Object{secret, login} {
		g.Expect(hub.Create(t.Context(), obj)).To(Succeed())
		t.Cleanup(func() { _ = hub.Delete(context.Background(), obj) })
	}
	waitForReady(t, gt.b, login, &login.Status.StatusBase, "LoginReady", time.Minute)
	_, err := gt.geosql("dublin", "switchover", gt.group.Name, "--to", string(gt.server("quincy")), "--wait")
	g.Expect(err).NotTo(HaveOccurred())
	gt.primaryAt("quincy")
	var connection corev1.Secret
	g.Expect(gt.b.Site("tukwila").Client.Get(t.Context(),
		client.ObjectKey{Namespace: namespace, Name: name + "-connection"}, &connection)).
		To(Succeed())
	g.Expect(string(connection.Data["password"])).To(Equal(password))
	shell := shellAt(t, gt.b.Site("tukwila"), namespace)
	config, err := msdsn.Parse(string(connection.Data["url"]))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(connection.Data["ca.crt"])).To(BeTrue())
	config.TLSConfig.RootCAs = roots
	connector := driver.NewConnectorConfig(config)
	connector.Dialer = podDialer{dialFrom(shell), config.Host}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	bed.Wait(t, "the login reads through the listener", time.Minute, func(ctx context.Context) (bool, string, error) {
		rows := 0
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.Acked").Scan(&rows); err != nil {
			return false, err.Error(), nil
		}
		return rows > 0, "", nil
	})
}

// podDialer dials from a pod, which resolves the name.
type podDialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	host string
}

// DialContext implements the driver's Dialer.
func (d podDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.dial(ctx, network, address)
}

// HostName lets the driver leave the name to the dialer.
func (d podDialer) HostName() string { return d.host }
