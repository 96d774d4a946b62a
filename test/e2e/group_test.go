// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// groupTest is a group with its servers, and pods that connect to them.
type groupTest struct {
	t       *testing.T
	b       *bed.Bed
	group   *v1alpha1.AvailabilityGroup
	servers map[string]*v1alpha1.SQLServer // by site
	// has is what was made in the group's databases and servers, for whoever uses it.
	has *groupHas
}

// groupHas is what tests that use a group one after another need only once. It is kept with the group.
type groupHas struct {
	// writers that began to write, each with numbers of its own; recordings that were begun.
	writers, recordings int
	// login of clients, where there is one, and recorder of the clients that record.
	login, recorder *tsql.Login
}

// declareGroup declares three servers, one per site, and a group over them; all goes when the test ends.
func declareGroup(
	t *testing.T,
	b *bed.Bed,
	name string,
	third v1alpha1.AvailabilityMode,
	change func(*v1alpha1.AvailabilityGroup),
) *groupTest {
	t.Helper()
	gt := declareServers(t, b, name, nil)
	gt.declare(name, third, change)
	return gt
}

// groupSites are the sites of a group's servers.
var groupSites = []string{"tukwila", "quincy", "dublin"}

func newGroupTest(t *testing.T, b *bed.Bed) *groupTest {
	return &groupTest{t: t, b: b, servers: map[string]*v1alpha1.SQLServer{}, has: &groupHas{}}
}

// declareServers declares one server per site.
func declareServers(t *testing.T, b *bed.Bed, name string, change func(*v1alpha1.SQLServerSpec)) *groupTest {
	t.Helper()
	gt := newGroupTest(t, b)
	for _, site := range groupSites {
		gt.servers[site] = declareServer(t, b, name+site[:1], site, change)
	}
	removedTogether(t, b, slices.Collect(maps.Values(gt.servers))...)
	return gt
}

// declare declares a group over the servers, which goes when the test ends.
func (gt *groupTest) declare(name string, third v1alpha1.AvailabilityMode, change func(*v1alpha1.AvailabilityGroup)) {
	gt.t.Helper()
	gt.t.Cleanup(func() { gt.remove() })
	gt.createGroup(name, third, change)
}

// createGroup declares a group over the servers.
func (gt *groupTest) createGroup(
	name string,
	third v1alpha1.AvailabilityMode,
	change func(*v1alpha1.AvailabilityGroup),
) {
	gt.t.Helper()
	gt.group = &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{
				{Server: gt.server("tukwila"), AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: gt.server("quincy"), AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: gt.server("dublin"), AvailabilityMode: third},
			},
			InitialPrimary: gt.server("tukwila"), Databases: []v1alpha1.Database{{Name: "Content"}},
			Voters:         []v1alpha1.SiteName{"tukwila", "quincy", "dublin"},
			FailoverPolicy: v1alpha1.FailoverAutomatic, ReclaimPolicy: v1alpha1.ReclaimDelete,
			RoleAtFailover: v1alpha1.RoleAtFailover(os.Getenv(roleAtFailover)),
		},
	}
	if change != nil {
		change(gt.group)
	}
	if err := gt.b.Hub().Client.Create(gt.t.Context(), gt.group); err != nil {
		gt.t.Fatalf("create AvailabilityGroup %s: %v", name, err)
	}
}

func (gt *groupTest) server(site string) v1alpha1.ServerName {
	return v1alpha1.ServerName(gt.servers[site].Name)
}

func (gt *groupTest) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if gt.t.Failed() {
		gt.explain(ctx)
	}
	if gt.group == nil {
		return
	}
	if err := client.IgnoreNotFound(gt.b.Hub().Client.Delete(ctx, gt.group)); err != nil {
		gt.t.Errorf("delete AvailabilityGroup %s: %v", gt.group.Name, err)
		return
	}
	NewWithT(gt.t).Eventually(func() bool {
		return apierrors.IsNotFound(gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(gt.group), gt.group))
	}, 90*time.Second, time.Second).Should(BeTrue(), "AvailabilityGroup %s goes", gt.group.Name)
	lease := votes.NewLease(namespace, gt.group.Name, "", votes.Configuration{})
	for _, site := range gt.b.Sites {
		if err := site.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease); !apierrors.IsNotFound(err) {
			gt.t.Errorf("the group's lease is left at %s: %v", site.Name, err)
		}
	}
	for _, f := range gt.failovers(ctx) {
		if err := client.IgnoreNotFound(gt.b.Hub().Client.Delete(ctx, &f)); err != nil {
			gt.t.Errorf("delete Failover %s: %v", f.Name, err)
		}
	}
}

// explain logs what a failed test wants to know.
func (gt *groupTest) explain(ctx context.Context) {
	for site, s := range gt.servers {
		for _, container := range []string{"agent", "mssql"} {
			out, _, err := gt.b.Site(site).Kubectl(ctx, "logs", "-n", namespace, s.Name+"-0", "-c", container, "--tail=25")
			gt.t.Logf("%s of %s at %s (%v):\n%s", container, s.Name, site, err, out)
		}
	}
}

// ready is the group's condition Ready.
func (gt *groupTest) ready(ctx context.Context) (metav1.Condition, error) {
	err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(gt.group), gt.group)
	if c := meta.FindStatusCondition(gt.group.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c, err
	}
	return metav1.Condition{}, err
}

// wait waits until the group is ready in a term of at least that number and returns how long it took.
func (gt *groupTest) wait(what string, term int64, timeout time.Duration) time.Duration {
	gt.t.Helper()
	began := time.Now()
	bed.Wait(gt.t, what, timeout, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		text := fmt.Sprintf(
			"%s %s, term %d, primary %s: %s",
			c.Status,
			c.Reason,
			gt.group.Status.Term,
			gt.group.Status.Primary,
			c.Message,
		)
		return c.Status == metav1.ConditionTrue && gt.group.Status.Term >= term, text, err
	})
	return time.Since(began)
}

// through connects to the primary by the listener's name from a pod; its certificate is verified.
func (gt *groupTest) through(shell *bed.Shell) *mssql.DB {
	gt.t.Helper()
	c := mssql.NewConnector(mssql.Options{
		Access:  mssql.SecretAccess{Reader: gt.b.Hub().Client},
		Dial:    dialFrom(shell),
		Address: func(mssql.Target) string { return gt.group.Name + ":1433" },
		Program: "e2e through the listener",
	})
	gt.t.Cleanup(func() { _ = c.Close() })
	return open(gt.t, c, gt.servers["tukwila"], credentials.RoleSA, "Content")
}

// killEngine ends the engine's process in its node, as kill -9 does.
func (gt *groupTest) killEngine(site string) { gt.t.Helper(); gt.signalEngine(site, "-KILL") }

// signalEngine sends a signal to the engine's process.
func (gt *groupTest) signalEngine(site, signal string) {
	gt.t.Helper()
	pod, err := podOf(gt.t.Context(), gt.b.Site(site), gt.servers[site])
	if err != nil {
		gt.t.Fatal(err)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != "mssql" || c.State.Running == nil {
			continue
		}
		id := strings.TrimPrefix(c.ContainerID, "containerd://")
		pid := strings.TrimSpace(
			gt.b.NodeExec(
				gt.t,
				pod.Spec.NodeName,
				"crictl",
				"inspect",
				"--output",
				"go-template",
				"--template",
				"{{.info.pid}}",
				id,
			),
		)
		gt.b.NodeExec(gt.t, pod.Spec.NodeName, "kill", signal, pid)
		return
	}
	gt.t.Fatalf("no engine runs in pod %s", pod.Name)
}

// A group over three sites serves through its listener; its primary comes back by itself, with every acknowledged row,
// after its pod was deleted, after its engine was killed, and after it was frozen. TestSiteIsCutOff has what it does
// when it is cut off.
func TestGroupOverThreeSites(t *testing.T) {
	groupA.Beside(t, 4, 100)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	gt.backAt("tukwila")
	gt.policy(v1alpha1.FailoverManual) // nobody else may take its place
	status := gt.group.Status
	term := status.Term
	primary := credentials.HostName(gt.server("tukwila"))
	g.Expect(status.Primary).To(Equal(primary))
	g.Expect(*status.RequiredSynchronizedSecondaries).To(BeZero())
	g.Expect(status.Voters).To(HaveLen(3))
	g.Expect(status.Replicas[1]).To(And(HaveField("Role", "SECONDARY"), HaveField("SynchronizationHealth", "HEALTHY")))
	g.Expect(status.Replicas[2].Databases).To(BeEmpty(), "a configuration-only replica has no data")

	client := gt.through(shellAt(t, b.Site("dublin"), namespace))
	w := gt.startWriting(client)

	pod, err := podOf(t.Context(), b.Site("tukwila"), gt.servers["tukwila"])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.Site("tukwila").Client.Delete(t.Context(), pod)).To(Succeed())
	gone(t, b.Site("tukwila"), pod)
	t.Logf("pod deleted: a write is acknowledged %.1f s after it was gone", w.more(t, 90*time.Second).Seconds())
	gt.wait("the group is synchronized again", term+1, time.Minute)
	g.Expect(gt.group.Status.Primary).To(Equal(primary))

	gt.killEngine("tukwila")
	killed := time.Now()
	gt.wait("the group is synchronized again", term+2, 90*time.Second)
	t.Logf(
		"engine killed: a write is acknowledged %.1f s later",
		time.Since(killed).Seconds()-time.Since(w.lastAck()).Seconds(),
	)
	w.more(t, time.Minute)

	gt.signalEngine("tukwila", "-STOP")
	frozen := time.Now()
	gt.wait(
		"a frozen engine was ended by its agent and the group is synchronized again",
		gt.group.Status.Term+1,
		2*time.Minute,
	)
	t.Logf("engine frozen: the group is synchronized again %.1f s later", time.Since(frozen).Seconds())
	w.more(t, time.Minute)
	g.Expect(gt.group.Status.Primary).To(Equal(primary))
	w.end()
	w.verify(t, client)
	quincy := connectorFrom(t, b, shellAt(t, b.Site("quincy"), namespace))
	w.verify(t, open(t, quincy, gt.servers["quincy"], credentials.RoleSA, "Content"))
}

// gone waits until the pod has ended.
func gone(t *testing.T, s *bed.Site, pod *corev1.Pod) {
	t.Helper()
	uid := pod.UID
	bed.Wait(t, "the old pod is gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		var now corev1.Pod
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(pod), &now)
		return apierrors.IsNotFound(err) || err == nil && now.UID != uid, "", client.IgnoreNotFound(err)
	})
}

// cutOff cuts Tukwila off from both other sites, with a client beside the primary that goes on writing. What is given
// is done before it is healed.
func (gt *groupTest) cutOff(elsewhere *writer, meanwhile func()) {
	t, b := gt.t, gt.b
	t.Helper()
	g := NewWithT(t)
	beside := connectorFrom(t, b, shellAt(t, b.Site("tukwila"), namespace))
	near := startWriter(
		t,
		open(t, beside, gt.servers["tukwila"], credentials.RoleSA, "Content"),
		gt.has.writers*writerRows-writerRows/2,
	)
	near.more(t, time.Minute)
	term := gt.group.Status.Term
	b.Wan(t, "cut", "tukwila", "quincy")
	b.Wan(t, "cut", "tukwila", "dublin")
	cut := time.Now()
	timings := ballot.NewGroup()
	bed.Wait(t, "nothing is acknowledged for a while", time.Minute, func(context.Context) (bool, string, error) {
		return time.Since(near.lastAck()) > 12*time.Second, "", nil
	})
	after := near.lastAck().Sub(cut)
	t.Logf(
		"cut off: the last write was acknowledged %.1f s after the cut (bound %s)",
		after.Seconds(),
		timings.WriteLease+timings.Overrun,
	)
	g.Expect(after).To(BeNumerically("<", timings.WriteLease+timings.Overrun))
	role := ""
	local := open(t, beside, gt.servers["tukwila"], credentials.RoleSA, "master")
	g.Eventually(func() (string, error) {
		state, err := mssql.ReadGroup(t.Context(), local, gt.group.Name)
		if state != nil {
			role = state.Role
		}
		return role, err
	}, 30*time.Second, time.Second).Should(Equal("RESOLVING"), "the primary that was cut off is none any more")
	waitForReadyStatus(gt, metav1.ConditionUnknown)
	meanwhile()

	b.Wan(t, "heal", "tukwila", "quincy")
	b.Wan(t, "heal", "tukwila", "dublin")
	t.Logf("healed: a write is acknowledged %.1f s later", near.more(t, 90*time.Second).Seconds())
	elsewhere.more(t, time.Minute)
	gt.wait("the group is synchronized again", term+1, 2*time.Minute)
	near.end()
	near.verify(t, open(t, beside, gt.servers["tukwila"], credentials.RoleSA, "Content"))
}

func waitForReadyStatus(gt *groupTest, want metav1.ConditionStatus) {
	gt.t.Helper()
	bed.Wait(
		gt.t,
		"the group's condition Ready is "+string(want),
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			c, err := gt.ready(ctx)
			return c.Status == want, fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message), err
		},
	)
}

// Three synchronous replicas need one of two secondaries for each commit: losing one stops nothing, and it catches up.
func TestGroupOfThreeSynchronousReplicas(t *testing.T) {
	onlyInAll(t)
	bed.Beside(t, 160)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	gt := declareGroup(t, b, "e2ethree", v1alpha1.SynchronousCommit, nil)
	gt.wait("the group is synchronized", 1, 4*time.Minute)
	g.Expect(*gt.group.Status.RequiredSynchronizedSecondaries).To(BeEquivalentTo(1))
	client := gt.through(shellAt(t, b.Site("quincy"), namespace))
	w := gt.startWriting(client)
	gt.killEngine("quincy")
	began, before := time.Now(), w.count()
	bed.Wait(t, "fifty more writes are acknowledged", time.Minute, func(context.Context) (bool, string, error) {
		return w.count() >= before+50, "", nil
	})
	t.Logf("a secondary's engine killed: fifty writes are acknowledged in %.1f s", time.Since(began).Seconds())
	gt.wait("the group is synchronized again", 1, 2*time.Minute)
	gt.deleteInVain("quincy")
	w.more(t, time.Minute)
	w.end()
	w.verify(t, client)
	for _, site := range []string{"quincy", "dublin"} {
		replica := gt.servers[site]
		state, err := mssql.ReadGroup(
			t.Context(),
			open(t, connectorFrom(t, b, shellAt(t, b.Site(site), namespace)), replica, credentials.RoleSA, "master"),
			gt.group.Name,
		)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(state.Role).To(Equal("SECONDARY"))
		g.Expect(state.States).To(ContainElement(And(HaveField("Local", true), HaveField("State", "SYNCHRONIZED"))))
	}
}

// The server of a group is deleted in vain: its deletion waits for the group. The group goes with it then.
func TestServerThatAGroupNeedsStays(t *testing.T) {
	groupB.Disturbs(t, 10, 30) // whoever comes after it finds no server
	inTurn(t, groupB).deleteInVain("quincy")
}

// deleteInVain deletes the server of a site, which the group still names: it serves on under its name.
func (gt *groupTest) deleteInVain(site string) {
	gt.t.Helper()
	g, server := NewWithT(gt.t), gt.servers[site]
	g.Expect(gt.b.Hub().Client.Delete(gt.t.Context(), server)).To(Succeed())
	bed.Wait(
		gt.t,
		"the server's deletion waits for the group",
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := gt.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
			c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
			return c != nil && c.Reason == v1alpha1.ReasonDeleting &&
					strings.Contains(c.Message, gt.group.Name), fmt.Sprintf(
					"%+v",
					c,
				), err
		},
	)
	for _, at := range gt.b.Sites {
		g.Consistently(func() error {
			return at.Client.Get(
				gt.t.Context(),
				client.ObjectKey{Namespace: namespace, Name: credentials.HostName(gt.server(site))},
				&corev1.Service{},
			)
		}, 3*time.Second, time.Second).Should(Succeed(), "its name at %s", at.Name)
	}
	gt.wait("the group is synchronized without a break", gt.group.Status.Term, time.Minute)
}

// Engines that are killed while the group is being created and while it is being seeded end up in the same group. The
// database has data of somebody else's making, which the group may adopt, and a narrow link makes the seeding slow.
func TestGroupWhoseEnginesAreKilledInTheMaking(t *testing.T) {
	groupA.Beside(t, 1, 140)
	g := NewWithT(t)
	shared := groupA.Get(t, func(t *testing.T, gt *groupTest) { gt.createServers(t, "e2ea") })
	gt := shared.of(t)
	b := gt.b
	b.ResetWan(t)
	for _, s := range gt.servers {
		waitForServer(t, b, s, 4*time.Minute)
	}
	const rows = 2000
	tukwila := connectorFrom(t, b, shellAt(t, b.Site("tukwila"), namespace))
	write(t, open(t, tukwila, gt.servers["tukwila"], credentials.RoleSA, "master"), "CREATE DATABASE Content")
	content := open(t, tukwila, gt.servers["tukwila"], credentials.RoleSA, "Content")
	write(t, content, "CREATE TABLE dbo.Filler (id int NOT NULL PRIMARY KEY, v varbinary(8000) NOT NULL)")
	for from := 0; from < rows; from += 500 {
		write(
			t,
			content,
			fmt.Sprintf(
				"DECLARE @i int = %d; WHILE @i < %d BEGIN INSERT dbo.Filler VALUES (@i, CRYPT_GEN_RANDOM(8000)); SET @i = @i + "+
					"1 END",
				from,
				from+500,
			),
		)
	}
	b.Wan(t, "set", "tukwila", "quincy", "--rate", "8mbit")

	gt.createGroup("e2ea", v1alpha1.ConfigurationOnly, usual)
	shared.group = gt.group
	waitForGroupReason(gt, "DatabaseConflict")
	before := client.MergeFrom(gt.group.DeepCopy())
	gt.group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	g.Expect(b.Hub().Client.Patch(t.Context(), gt.group, before)).To(Succeed())
	bed.Wait(t, "the votes are claimed for the creation", time.Minute, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		return gt.group.Status.Term == 1, c.Message, err
	})
	gt.killEngine("tukwila")
	quincy := connectorFrom(t, b, shellAt(t, b.Site("quincy"), namespace))
	primary := open(t, tukwila, gt.servers["tukwila"], credentials.RoleSA, "master")
	for _, site := range []string{"quincy", "tukwila"} {
		bed.Wait(t, "the database is being seeded", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			state, err := mssql.ReadGroup(ctx, primary, gt.group.Name)
			if err != nil || state == nil {
				return false, "", err
			}
			c, err := gt.ready(ctx)
			if c.Status == metav1.ConditionTrue {
				t.Fatal("the seeding was over too soon")
			}
			return len(state.Seeding) > 0, c.Message, err
		})
		t.Logf("engine of %s killed while the database is being seeded", site)
		gt.killEngine(site)
	}
	t.Logf(
		"synchronized %.1f s after the last kill",
		gt.wait("the group is synchronized", gt.group.Status.Term+1, 3*time.Minute).Seconds(),
	)
	var count int
	g.Eventually(func() error {
		return open(t, quincy, gt.servers["quincy"], credentials.RoleSA, "Content").Query(t.Context(),
			tsql.Statement{Text: "SELECT COUNT(*) FROM dbo.Filler"}, func(r mssql.Row) error { return r.Scan(&count) })
	}, time.Minute, time.Second).Should(Succeed())
	g.Expect(count).To(Equal(rows))
}

func waitForGroupReason(gt *groupTest, want string) {
	gt.t.Helper()
	bed.Wait(gt.t, "the group's reason is "+want, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		c, err := gt.ready(ctx)
		return c.Reason == want, c.Reason + " " + c.Message, err
	})
}
