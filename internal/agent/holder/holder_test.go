// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/test/support/apiserver"
)

// engine is an engine in memory: a group that the test creates, and roles that the holder changes.
type engine struct {
	mu     sync.Mutex
	run    string
	exists bool
	role   ballot.Role
	lease  time.Time
	calls  []string
}

func (e *engine) do(f func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run == "" {
		return errors.New("connection refused")
	}
	f()
	return nil
}

func (e *engine) Run() (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run, nil
}

func (e *engine) Kill() error {
	return e.do(func() { e.run = ""; e.calls = append(e.calls, "kill") })
}

func (e *engine) Observe(context.Context, string) (o ballot.Observation, err error) {
	err = e.do(func() { o = ballot.Observation{Exists: e.exists, Role: e.role, Mode: ballot.ModeSynchronous} })
	return o, err
}

func (e *engine) RenewLease(_ context.Context, _ string, validity time.Duration, _ time.Time) error {
	return e.do(func() { e.lease = time.Now().Add(validity) })
}

func (e *engine) Failover(context.Context, string, time.Duration, time.Time) error {
	return e.do(func() { e.role = ballot.RolePrimary; e.calls = append(e.calls, "failover") })
}

func (e *engine) Offline(context.Context, string) error {
	return e.do(func() { e.role = ballot.RoleResolving; e.calls = append(e.calls, "offline") })
}

func (e *engine) Force(context.Context, string, time.Duration, time.Time) error {
	return e.do(func() { e.calls = append(e.calls, "force") })
}

// Inspect is a group of this one replica.
func (e *engine) Inspect(context.Context, string) (i ballot.Inspection, err error) {
	err = e.do(func() {
		i = ballot.Inspection{
			Sequence: 1,
			Replicas: []ballot.Replica{{Server: "tukpub-0", Mode: ballot.ModeSynchronous}},
		}
	})
	return i, err
}

func (e *engine) BecomeSecondary(context.Context, string, time.Time) error { return nil }

func (e *engine) RestartEndpoint(context.Context, string) error { return nil }

func (e *engine) Resume(context.Context, string, []string) error { return nil }

func (e *engine) Copies(context.Context, string, []string) ([]keeper.Copy, error) { return nil, nil }
func (e *engine) Reseed(context.Context, string, []string) error                  { return nil }
func (e *engine) EndSessions(context.Context, string, time.Duration) error        { return nil }

func (e *engine) EndWriters(context.Context, string) (int, error) { return 0, nil }

func (e *engine) set(f func(*engine)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e)
}

// voter is a real API server with the group's Lease and an account that may change it and nothing else.
func voter(t *testing.T, api *apiserver.Server) orders.Voter {
	t.Helper()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "web", Name: "geosql-agent-content"}
	for _, obj := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
				ResourceNames: []string{"geosql-content"}, Verbs: []string{"get", "update"}},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{meta.Name},
				Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "web", Name: meta.Name}}},
		votes.NewLease("web", "content", "tukpub-0", votes.Configuration{}),
	} {
		g.Expect(api.Client.Create(t.Context(), obj)).To(Succeed())
	}
	admin, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	seconds := int64(3600)
	token, err := admin.CoreV1().ServiceAccounts("web").CreateToken(t.Context(), meta.Name,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
		}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	config := rest.CopyConfig(api.Config)
	g.Expect(rest.LoadTLSFiles(config)).To(Succeed())
	return orders.Voter{
		Site:          "tukwila",
		Server:        config.Host,
		CA:            config.CAData,
		TLSServerName: config.ServerName,
		Account:       meta.Name,
		AccountUID:    "uid",
		Token:         token.Status.Token,
		Issued:        time.Now(),
		Expires:       token.Status.ExpirationTimestamp.Time,
	}
}

// give writes orders as the manager does; without any it ends those of the group content.
func give(t *testing.T, api *apiserver.Server, groups ...orders.Group) {
	t.Helper()
	g := NewWithT(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-agent"},
		Data:       map[string][]byte{},
	}
	for _, group := range groups {
		data, err := group.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		secret.Data[orders.Key(group.Name)] = data
	}
	if len(groups) == 0 {
		secret.Data[orders.EndedKey("content")] = []byte("true")
	}
	err := api.Client.Create(t.Context(), secret)
	if err != nil {
		err = api.Client.Update(t.Context(), secret)
	}
	g.Expect(err).NotTo(HaveOccurred())
}

func start(t *testing.T, api *apiserver.Server, e *engine, state string) (*holder.Holder, func()) {
	t.Helper()
	g := NewWithT(t)
	site, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	h, err := holder.New(holder.Options{
		Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1", Process: e, Engine: e, StateDir: state,
		Source: holder.SecretSource{Client: site, Namespace: "web", Name: "tukpub-agent"}, Log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	var once sync.Once
	stop := func() { once.Do(func() { cancel(); g.Eventually(done, patience).Should(Receive()) }) }
	t.Cleanup(stop)
	return h, stop
}

func status(h *holder.Holder) func() holder.GroupStatus {
	return func() holder.GroupStatus {
		s, _ := h.Status().(map[string]holder.GroupStatus)
		return s["content"]
	}
}

const patience = 90 * time.Second

// From orders to votes at a real API server with the agent's own rights, through restarts of the engine and the agent.
func TestHolderFollowsItsOrders(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	api.Namespace(t, "web")
	e := &engine{run: "run1"}
	state := filepath.Join(t.TempDir(), "state")
	h, stop := start(t, api, e, state)
	told := voter(t, api)
	give(t, api, orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{told}})
	g.Eventually(status(h), patience).
		Should(And(HaveField("Term", int64(1)), HaveField("State", "Claimed")),
			"the first term is claimed before there is a group")
	e.set(func(e *engine) { e.exists, e.role = true, ballot.RolePrimary })
	g.Eventually(status(h), patience).Should(HaveField("State", "Held"))
	e.set(func(e *engine) { g.Expect(e.lease).To(BeTemporally("~", time.Now().Add(6*time.Second), 2*time.Second)) })

	e.set(func(e *engine) { e.run, e.role = "run2", ballot.RoleResolving })
	g.Eventually(status(h), patience).
		Should(And(HaveField("Term", BeNumerically(">=", 2)), HaveField("State", "Held"), HaveField("Role", "PRIMARY")),
			"a restarted engine fails over to itself in a new term (a busy machine may make it claim twice)")

	stop()
	api.Wire.Cut()
	h, stop = start(t, api, e, state)
	g.Eventually(status(h), patience).
		Should(HaveField("Votes", HaveKey("tukwila")), "the orders are remembered while the API server is away")
	api.Wire.Mend()
	g.Eventually(status(h), patience).Should(And(HaveField("Term", BeNumerically(">=", 2)), HaveField("State", "Held")))

	give(t, api)
	g.Eventually(func() any { return h.Status() }, patience).Should(BeEmpty(), "orders that have ended end the holding")
	stop()
}

func TestPausedOrdersForbidClaims(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	api.Namespace(t, "web")
	e := &engine{run: "run1"}
	h, _ := start(t, api, e, "")
	group := orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{voter(t, api)}}
	give(t, api, group)
	g.Eventually(status(h), patience).Should(HaveField("Term", int64(1)))
	e.set(func(e *engine) { e.exists, e.role = true, ballot.RolePrimary })
	g.Eventually(status(h), patience).Should(HaveField("State", "Held"))
	group.Paused = true
	give(t, api, group)
	g.Eventually(status(h), patience).Should(HaveField("Paused", true))
	e.set(func(e *engine) { e.run, e.role = "run2", ballot.RoleResolving })
	g.Eventually(status(h), patience).Should(HaveField("Action", ContainSubstring("paused")))
	g.Consistently(status(h), 3*time.Second).Should(HaveField("Role", "RESOLVING"))
	group.Paused = false
	give(t, api, group)
	g.Eventually(status(h), patience).Should(And(HaveField("Role", "PRIMARY"), HaveField("State", "Held")))
}

// Tokens are renewed with the account's own right when half of their life is over: no manager is needed for that.
func TestTokensAreRenewedByTheAgent(t *testing.T) {
	g := NewWithT(t)
	api := apiserver.StartMember(t)
	api.Namespace(t, "web")
	told := voter(t, api)
	told.Issued = time.Now().Add(-2 * time.Hour) // as if it had been made for three hours
	state := filepath.Join(t.TempDir(), "state")
	start(t, api, &engine{run: "run1"}, state)
	give(t, api, orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{told}})
	g.Eventually(func() (orders.Voter, error) {
		content, err := os.ReadFile(filepath.Join(state, "orders.json"))
		if err != nil {
			return orders.Voter{}, err
		}
		var groups map[string]orders.Group
		if err := json.Unmarshal(content, &groups); err != nil || len(groups["content"].Voters) != 1 {
			return orders.Voter{}, err
		}
		return groups["content"].Voters[0], nil
	}, patience).Should(And(
		HaveField("Token", Not(Or(BeEmpty(), Equal(told.Token)))),
		HaveField("Expires", BeTemporally(">", told.Expires))))
	info, err := os.Stat(filepath.Join(state, "orders.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600), "the file has tokens")
}
