// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/test/e2e/bed"
)

// faultKinds in the order of a round. A deleted pod follows every killed container: the kubelet waits longer each time
// it starts a container of the same pod again.
var faultKinds = []fault{
	{name: "engine killed", short: true, own: true, goal: proven, inject: killPrimaryEngine},
	{
		name:   "pod deleted",
		short:  true,
		own:    true,
		goal:   proven,
		inject: func(m *matrix, f *injected) { deletePrimaryPod(m, f, 0) },
	},
	{name: "pod ended in order", inject: func(m *matrix, f *injected) { deletePrimaryPod(m, f, 30) }},
	{name: "engine frozen", hold: 25 * time.Second, inject: freezePrimaryEngine},
	{name: "agent frozen", hold: 25 * time.Second, inject: freezePrimaryAgent},
	{name: "site cut from all", short: true, goal: expired, hold: 25 * time.Second, inject: cutPrimaryFromAll},
	{name: "site cut from one", hold: 25 * time.Second, inject: cutPrimaryFromOther},
	{name: "site cut one way", goal: expired, hold: 25 * time.Second, inject: cutPrimaryOneWay},
	{name: "hub cut off", hold: 15 * time.Second, lasting: true, inject: cutHub},
	{name: "operator gone", short: true, hold: 25 * time.Second, ended: true, inject: killEngineWithoutOperator},
	{name: "link slow", short: true, hold: 15 * time.Second, lasting: true, inject: slowLink},
	{name: "secondary killed", inject: killSecondary},
	{name: "secondary frozen", hold: 20 * time.Second, inject: freezeSecondary},
	{name: "switchover", inject: switchOver},
	{name: "all engines killed", inject: killAllEngines},
	{name: "all pods deleted", inject: deleteAllPods},
	{name: "two at once", hold: 25 * time.Second, ended: true, inject: killEngineAndCutHub},
	{name: "primary returns", hold: 40 * time.Second, inject: returnDuringElection},
	{name: "node killed", goal: expired, hold: 30 * time.Second, inject: killPrimaryNode},
	{name: "node killed and fenced", goal: proven, hold: 30 * time.Second, inject: killPrimaryNodeAndSaySo},
	{name: "site cut and fenced", goal: proven, hold: 25 * time.Second, inject: cutPrimaryAndSaySo},
	{name: "cut while paused", goal: expired, hold: 30 * time.Second, inject: failOverWhilePaused},
	{name: "volumes lost", hold: 3 * time.Minute, ended: true, inject: losePrimaryVolumes},
	{name: "node paused", hold: 20 * time.Second, lasting: true, inject: pausePrimaryNode},
}

// Goals of the time that clients go without an acknowledgement: where the end of the primary's engine is proven, and
// where its votes must expire first (D and afterExpiry; with the default D here).
const (
	proven      = 5 * time.Second
	afterExpiry = 3 * time.Second
)

var expired = ballot.NewGroup().Expiry + afterExpiry

// container is a running container of a pod.
type container struct{ node, id, pid string }

func (m *matrix) container(site, name string) container {
	m.groupTest.t.Helper()
	pod, err := podOf(m.groupTest.t.Context(), m.b.Site(site), m.servers[site])
	if err != nil {
		m.groupTest.t.Fatal(err)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == name && c.State.Running != nil {
			id := strings.TrimPrefix(c.ContainerID, "containerd://")
			pid := m.b.NodeExec(
				m.groupTest.t,
				pod.Spec.NodeName,
				"crictl",
				"inspect",
				"--output",
				"go-template",
				"--template",
				"{{.info.pid}}",
				id,
			)
			return container{pod.Spec.NodeName, id, strings.TrimSpace(pid)}
		}
	}
	m.groupTest.t.Fatalf("container %s of pod %s does not run", name, pod.Name)
	return container{}
}

func (m *matrix) signal(c container, signal string) {
	m.groupTest.t.Helper()
	m.b.NodeExec(m.groupTest.t, c.node, "kill", signal, c.pid)
}

// processState is the letter of proc(5): T is stopped; empty when the process is no more.
func (m *matrix) processState(ctx context.Context, c container) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", "exec", c.node, "sh", "-c",
		"sed 's/.*) //' /proc/"+c.pid+"/stat 2>/dev/null || true").
		Output()
	state, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return state, err
}

// ended is the proof that a container's process is no more.
func (m *matrix) ended(containers ...container) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for _, c := range containers {
			if state, err := m.processState(ctx, c); err != nil || state != "" && state != "Z" {
				return "", err
			}
		}
		return fmt.Sprintf("%d processes have ended", len(containers)), nil
	}
}

// stopped is the proof that a container's process is frozen.
func (m *matrix) stopped(c container) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if state, err := m.processState(ctx, c); state != "T" {
			return "", err
		}
		return "process " + c.pid + " on " + c.node + " is stopped", nil
	}
}

func killPrimaryEngine(m *matrix, f *injected) {
	c := m.container(m.primary, "mssql")
	m.signal(c, "-KILL")
	f.proof = m.ended(c)
}

func killSecondary(m *matrix, f *injected) {
	c := m.container(m.other(), "mssql")
	f.Target = string(m.server(m.other()))
	m.signal(c, "-KILL")
	f.proof = m.ended(c)
}

// other is the site of the replica with data that is not primary.
func (m *matrix) other() string {
	if m.primary == "tukwila" {
		return "quincy"
	}
	return "tukwila"
}

func killAllEngines(m *matrix, f *injected) {
	f.Target = "all servers"
	var all []container
	for _, site := range m.b.Sites {
		all = append(all, m.container(site.Name, "mssql"))
	}
	for _, c := range all {
		m.signal(c, "-KILL")
	}
	f.proof = m.ended(all...)
}

func (m *matrix) deletePod(site string, grace int64) types.UID {
	m.groupTest.t.Helper()
	pod, err := podOf(m.groupTest.t.Context(), m.b.Site(site), m.servers[site])
	if err == nil {
		err = m.b.Site(site).Client.Delete(m.groupTest.t.Context(), pod, client.GracePeriodSeconds(grace))
	}
	if err != nil {
		m.groupTest.t.Fatalf("delete the pod of %s: %v", m.server(site), err)
	}
	return pod.UID
}

// deletePods deletes the pods of sites. A pod that is no more is no proof: its API server forgets one that has no time
// to end in at once, and the kubelet ends its processes after that.
func (m *matrix) deletePods(grace int64, sites ...string) (proof func(context.Context) (string, error)) {
	m.groupTest.t.Helper()
	old := map[string]types.UID{}
	var engines []container
	for _, site := range sites {
		engines = append(engines, m.container(site, "mssql"))
	}
	for _, site := range sites {
		old[site] = m.deletePod(site, grace)
	}
	replaced, ended := m.replaced(old), m.ended(engines...)
	return func(ctx context.Context) (string, error) {
		pods, err := replaced(ctx)
		if pods == "" || err != nil {
			return "", err
		}
		processes, err := ended(ctx)
		if processes == "" || err != nil {
			return "", err
		}
		return pods + ", " + processes, nil
	}
}

// replaced is the proof that pods, by site, are other ones than they were.
func (m *matrix) replaced(pods map[string]types.UID) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for site, old := range pods {
			pod, err := podOf(ctx, m.b.Site(site), m.servers[site])
			if client.IgnoreNotFound(err) != nil || err == nil && pod.UID == old {
				return "", client.IgnoreNotFound(err)
			}
		}
		return fmt.Sprintf("%d pods are gone", len(pods)), nil
	}
}

func deletePrimaryPod(m *matrix, f *injected, grace int64) { f.proof = m.deletePods(grace, m.primary) }

func deleteAllPods(m *matrix, f *injected) {
	f.Target = "all servers"
	var all []string
	for _, site := range m.b.Sites {
		all = append(all, site.Name)
	}
	f.proof = m.deletePods(0, all...)
}

func freezePrimaryEngine(m *matrix, f *injected) { m.freeze(f, "mssql") }
func freezePrimaryAgent(m *matrix, f *injected)  { m.freeze(f, "agent") }

// freeze stops a container's process; thawing one that was ended meanwhile does nothing.
func (m *matrix) freeze(f *injected, name string) { m.freezeAt(m.primary, f, name) }

func (m *matrix) freezeAt(site string, f *injected, name string) {
	c := m.container(site, name)
	m.signal(c, "-STOP")
	f.proof = m.stopped(c)
	f.heal = func() {
		m.b.NodeExec(m.groupTest.t, c.node, "sh", "-c", "kill -CONT "+c.pid+" 2>/dev/null || true")
	}
}

func freezeSecondary(m *matrix, f *injected) {
	f.Target = string(m.server(m.other()))
	m.freezeAt(m.other(), f, "mssql")
}

// switchOver asks at the hub for the other replica to become primary.
func switchOver(m *matrix, f *injected) {
	t, to := m.groupTest.t, m.other()
	o := &v1alpha1.Failover{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: m.group.Name + "-"},
		Spec: v1alpha1.FailoverSpec{
			Group: v1alpha1.ObjectName(m.group.Name),
			Kind:  v1alpha1.FailoverSwitchover,
			To:    m.server(to),
		}}
	m.create(t, m.b.Hub(), o)
	f.proof = func(ctx context.Context) (string, error) {
		if err := m.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return "", err
		}
		if o.Status.Phase == v1alpha1.FailoverCompleted && o.Status.Outcome != v1alpha1.FailoverSucceeded {
			t.Fatalf("switchover to %s: %s %s: %s", m.server(to), o.Status.Outcome, o.Status.Reason, o.Status.Message)
		}
		if o.Status.Phase != v1alpha1.FailoverCompleted {
			return "", fmt.Errorf("%s %s %s", o.Status.Phase, o.Status.Reason, o.Status.Message)
		}
		return string(o.Spec.To) + " is primary", nil
	}
}

// cut drops what the first site sends to the others, and what they send to it unless it is one-way: all at once, for a
// primary that is cut off from its secondary alone acknowledges nothing and yet keeps its votes.
func (m *matrix) cut(f *injected, site string, oneWay bool, others ...string) {
	arguments := append([]string{"cut", site}, others...)
	if oneWay {
		arguments = append(arguments, "--one-way")
	}
	m.b.Wan(m.groupTest.t, arguments...)
	f.proof = func(ctx context.Context) (string, error) {
		var all errgroup.Group
		for _, other := range others {
			all.Go(func() error {
				took, err := m.connects(ctx, site, other)
				if err == nil {
					return fmt.Errorf("the API server of %s answers %s after %s", other, site, took)
				}
				if !errors.Is(err, errNoConnection) {
					return err
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			return "", err
		}
		return site + " reaches no API server of " + strings.Join(others, ", "), nil
	}
	f.heal = func() { m.b.Wan(m.groupTest.t, append([]string{"heal", site}, others...)...) }
}

var errNoConnection = errors.New("no connection")

// connects measures how long a pod of one site needs for a connection to the API server of another.
func (m *matrix) connects(ctx context.Context, from, to string) (time.Duration, error) {
	out, err := m.shells[from].Run(
		ctx,
		fmt.Sprintf("curl -ks -o /dev/null -m 3 -w '%%{time_connect}' https://%s:6443/livez || true", m.b.Site(to).Address),
	)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(out, 64)
	if err != nil || seconds == 0 {
		return 0, errNoConnection
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// elsewhere are the sites other than those.
func (m *matrix) elsewhere(but ...string) []string {
	var others []string
	for _, s := range m.b.Sites {
		if !slices.Contains(but, s.Name) {
			others = append(others, s.Name)
		}
	}
	return others
}

func cutPrimaryFromAll(m *matrix, f *injected) {
	f.Isolated = []string{m.primary}
	m.cut(f, m.primary, false, m.elsewhere(m.primary)...)
}

// What the cut site's own clients and those behind the cut see depends on where the primary is then: both are shown
// apart.
func cutPrimaryFromOther(m *matrix, f *injected) {
	f.Isolated = []string{m.primary, m.other()}
	m.cut(f, m.primary, false, m.other())
}

func cutPrimaryOneWay(m *matrix, f *injected) {
	f.Isolated = []string{m.primary}
	m.cut(f, m.primary, true, m.elsewhere(m.primary)...)
}

func cutHub(m *matrix, f *injected) {
	hub := m.b.Hub().Name
	f.Target, f.Isolated = hub, []string{hub}
	m.cut(f, hub, false, m.elsewhere(hub)...)
}

func slowLink(m *matrix, f *injected) {
	f.Target = "tukwila-quincy"
	before, err := m.connects(m.groupTest.t.Context(), "tukwila", "quincy")
	if err != nil {
		m.groupTest.t.Fatalf("the link to be slowed does not work: %v", err)
	}
	m.b.Wan(m.groupTest.t, "set", "tukwila", "quincy", "--rtt", "500ms", "--loss", "5%")
	f.proof = func(ctx context.Context) (string, error) {
		took, err := m.connects(ctx, "tukwila", "quincy")
		if err != nil || took < 450*time.Millisecond {
			return "", err
		}
		return fmt.Sprintf("a connection takes %d ms, %d ms before", took.Milliseconds(), before.Milliseconds()), nil
	}
	f.heal = func() { m.b.Wan(m.groupTest.t, "set", "tukwila", "quincy", "--rtt", "4ms", "--loss", "0%") }
}

// killEngineWithoutOperator takes the hub's operator away before the primary's engine is killed.
func killEngineWithoutOperator(m *matrix, f *injected) {
	t, hub := m.groupTest.t, m.b.Hub()
	scale := func(replicas int) {
		if _, _, err := hub.Kubectl(context.Background(), "-n", "geosql-system", "scale", "deploy/geosql-operator",
			"--replicas", strconv.Itoa(replicas)); err != nil {
			t.Errorf("scale the operator: %v", err)
		}
	}
	scale(0)
	f.heal = func() {
		scale(1)
		bed.Wait(t, "the operator runs again", time.Minute, func(ctx context.Context) (bool, string, error) {
			out, _, err := hub.Kubectl(
				ctx,
				"-n",
				"geosql-system",
				"get",
				"deploy",
				"geosql-operator",
				"-o",
				"jsonpath={.status.readyReplicas}",
			)
			return out == "1", "", err
		})
	}
	bed.Wait(t, "no pod of the operator is left", time.Minute, func(ctx context.Context) (bool, string, error) {
		var pods corev1.PodList
		err := hub.Client.List(
			ctx,
			&pods,
			client.InNamespace("geosql-system"),
			client.MatchingLabels{"app.kubernetes.io/name": "geosql-operator"},
		)
		return err == nil && len(pods.Items) == 0, fmt.Sprintf("%d pods", len(pods.Items)), err
	})
	killPrimaryEngine(m, f)
}

func killEngineAndCutHub(m *matrix, f *injected) {
	killPrimaryEngine(m, f)
	killed, target := f.proof, f.Target
	cutHub(m, f)
	cut := f.proof
	f.Target = target + " and the hub"
	f.proof = func(ctx context.Context) (string, error) {
		first, err := killed(ctx)
		if err != nil || first == "" {
			return "", err
		}
		second, err := cut(ctx)
		if err != nil || second == "" {
			return "", err
		}
		return first + "; " + second, nil
	}
}

// returnDuringElection heals the cut of the primary's site at the moment when another server has claimed the votes: at
// a majority of the voters that it was cut off from somebody else's name stands. Where nobody claims, the cut ends with
// its time.
func returnDuringElection(m *matrix, f *injected) {
	cutPrimaryFromAll(m, f)
	old := string(m.server(m.primary)) + "-0/"
	others := m.elsewhere(m.primary)
	f.healWhen = func(ctx context.Context) bool {
		claimed := 0
		for _, site := range others {
			var lease coordinationv1.Lease
			err := m.b.Site(
				site,
			).Client.Get(
				ctx,
				client.ObjectKey{Namespace: namespace, Name: votes.LeaseName(m.group.Name)},
				&lease,
			)
			if err == nil && lease.Spec.HolderIdentity != nil && !strings.HasPrefix(*lease.Spec.HolderIdentity, old) {
				claimed++
			}
		}
		return claimed == len(others)
	}
}

func (m *matrix) nodeOfPrimary() string {
	pod, err := podOf(m.groupTest.t.Context(), m.b.Site(m.primary), m.servers[m.primary])
	if err != nil {
		m.groupTest.t.Fatal(err)
	}
	return pod.Spec.NodeName
}

// isolate notes that the loss of a site's only node is the loss of the site.
func (m *matrix) isolate(f *injected) {
	if len(m.b.Site(m.primary).Nodes) == 1 {
		f.Isolated = []string{m.primary}
	}
}

// dockerState is the proof that a node's container is in a state.
func dockerState(node, field string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := exec.CommandContext(ctx, "docker", "inspect", "-f", "{{.State."+field+"}}", node).Output()
		if strings.TrimSpace(string(out)) != map[string]string{"Running": "false", "Paused": "true"}[field] {
			return "", err
		}
		return "node " + node + ": " + field + " is " + strings.TrimSpace(string(out)), nil
	}
}

func killPrimaryNode(m *matrix, f *injected) {
	node := m.nodeOfPrimary()
	f.Target = node
	m.isolate(f)
	m.b.Docker(m.groupTest.t, "kill", node)
	f.proof = dockerState(node, "Running")
	f.heal = func() {
		m.b.Docker(m.groupTest.t, "start", node)
		bed.Wait(
			m.groupTest.t,
			"hack/bed/up finds nothing amiss",
			5*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				output, err := exec.CommandContext(ctx, filepath.Join(m.b.Repo, "hack/bed/up")).CombinedOutput()
				lines := strings.Split(strings.TrimSpace(string(output)), "\n")
				return err == nil, lines[len(lines)-1], nil
			},
		)
	}
}

// pausePrimaryNode freezes everything on the node: engine, agent, kubelet and, where it is a site's only node, its API
// server.
func pausePrimaryNode(m *matrix, f *injected) {
	node := m.nodeOfPrimary()
	f.Target = node
	m.isolate(f)
	m.b.Docker(m.groupTest.t, "pause", node)
	f.proof = dockerState(node, "Paused")
	f.heal = func() { m.b.Docker(m.groupTest.t, "unpause", node) }
}
