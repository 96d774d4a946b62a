// SPDX-License-Identifier: Apache-2.0

//go:build integration

package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/ports"
)

// sidecar is an agent beside an engine.
type sidecar struct {
	// password is the file with the password of the agent's login.
	password string
	url      string
	client   *http.Client
	// token is shown when it is not empty.
	token string
	// stop ends the sidecar.
	stop func()
}

// token opens the sidecars of the tests.
const token = "a-token-that-nobody-guesses"

// secret is the Secret with the readers, as an API server tells it.
type secret chan map[string][]byte

func (s secret) Watch(ctx context.Context, update func(data map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-s:
			update(data)
		}
	}
}

func startSidecar(t *testing.T, e *engine.Engine, parts ...agent.Part) *sidecar {
	t.Helper()
	readers := make(secret, 1)
	readers <- map[string][]byte{credentials.KeyReaderToken: []byte(token)}
	s := startFor(t, e, readers, t.TempDir(), parts...)
	s.token = token
	return s
}

// startFor starts a sidecar for the readers, with its files in a folder.
func startFor(t *testing.T, e *engine.Engine, readers agent.Source, dir string, parts ...agent.Part) *sidecar {
	t.Helper()
	g := NewWithT(t)
	address := ports.Address(t)
	password := filepath.Join(t.TempDir(), "agent-password")
	g.Expect(os.WriteFile(password, []byte(e.Access.Passwords.Of(credentials.RoleAgent)+"\n"), 0o600)).To(Succeed())
	options := agent.DefaultOptions()
	options.ServerName, options.Namespace, options.Listen, options.Engine = "tukpub-0", "web", address, e.Address
	options.Elections = "127.0.0.1:0"
	options.TLSDir, options.PasswordFile, options.StateDir = e.TLSDir, password, dir
	options.Interval, options.Timeout = 50*time.Millisecond, 1500*time.Millisecond
	options.LoginPause = 300 * time.Millisecond
	options.MeasureInterval = 100 * time.Millisecond
	a, err := agent.New(options, slog.New(slog.NewTextHandler(io.Discard, nil)))
	g.Expect(err).NotTo(HaveOccurred())
	if readers != nil {
		a.Admit(readers)
	}
	for _, p := range parts {
		a.Add(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		g.Eventually(done, time.Minute).Should(Receive(BeNil()))
	})
	t.Cleanup(stop)
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(e.Access.CA)).To(BeTrue())
	return &sidecar{url: "https://" + address, password: password, stop: stop, client: &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "tukpub-0"},
			DisableKeepAlives: true,
		},
	}}
}

// get is the code and body of a path; 0 when nobody answers.
func (s *sidecar) get(path string) (int, string) {
	request, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

func (s *sidecar) code(path string) func() int {
	return func() int { code, _ := s.get(path); return code }
}

func (s *sidecar) state() agent.EngineState {
	var status agent.Status
	_, body := s.get("/status")
	_ = json.Unmarshal([]byte(body), &status)
	return status.Engine
}

type election struct{}

func (election) Name() string { return "election" }
func (election) Run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (election) Status() any { return map[string]int{"term": 7} }

func TestSidecar(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	s := startSidecar(t, e, election{})
	const patient = time.Minute

	g.Eventually(s.state, patient).Should(Equal(agent.EngineBootstrapping), "the engine answers and has no logins yet")
	g.Expect(s.code("/readyz")()).To(Equal(200))

	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	login := credentials.RoleAgent.Login()
	g.Expect(db.Exec(t.Context(), tsql.CreateLogin(tsql.Login{
		Name: login, SID: credentials.SID("web", login), Password: e.Access.Passwords.Of(credentials.RoleAgent),
	}))).To(Succeed())
	g.Eventually(s.state, patient).Should(Equal(agent.EngineReady))
	_, body := s.get("/status")
	var status agent.Status
	g.Expect(json.Unmarshal([]byte(body), &status)).To(Succeed())
	g.Expect(status.InstanceName).To(BeEquivalentTo("tukpub-0"))
	g.Expect(status.CertificateExpires).NotTo(BeNil())
	g.Expect(status.TrustedCAs).To(HaveLen(1))
	g.Expect(status.Parts).To(HaveKeyWithValue("election", HaveKeyWithValue("term", BeNumerically("==", 7))))
	_, metrics := s.get("/metrics")
	g.Expect(metrics).To(ContainSubstring(`geosql_agent_engine_state{state="Ready"} 1`))

	e.Freeze()
	g.Eventually(s.state, patient).Should(Equal(agent.EngineFrozen))
	g.Expect(s.code("/readyz")()).To(Equal(503), "a frozen engine is not ready")
	g.Expect(s.code("/livez")()).To(Equal(200), "the sidecar lives on")
	e.Thaw()
	g.Eventually(s.state, patient).Should(Equal(agent.EngineReady))

	e.Kill(t)
	g.Eventually(s.state, patient).Should(Equal(agent.EngineStarting))
	g.Expect(s.code("/readyz")()).To(Equal(503))
	e.Launch(t)
	g.Eventually(s.state, patient).Should(Equal(agent.EngineReady))
	g.Expect(s.code("/readyz")()).To(Equal(200))
}

// A password is changed in the Secret and in the engine, and the change may be cut short between the two: the agent
// goes on with what the engine takes. One that the engine took before and takes no more is no engine that begins.
func TestARotationThatIsCutShort(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	dir := t.TempDir()
	readers := make(secret, 1)
	readers <- map[string][]byte{credentials.KeyReaderToken: []byte(token)}
	s := startFor(t, e, readers, dir)
	s.token = token
	const patient = time.Minute
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	login := tsql.Login{
		Name:     credentials.RoleAgent.Login(),
		SID:      credentials.SID("web", credentials.RoleAgent.Login()),
		Password: e.Access.Passwords.Of(credentials.RoleAgent),
	}
	g.Expect(db.Exec(t.Context(), tsql.CreateLogin(login))).To(Succeed())
	g.Eventually(s.state, patient).Should(Equal(agent.EngineReady))

	const next, others = "Next-password.1", "Others-password.1"
	g.Expect(os.WriteFile(s.password, []byte(next), 0o600)).To(Succeed())
	g.Consistently(s.state, time.Second).Should(Equal(agent.EngineReady), "the former password is tried too")
	login.Password = next
	g.Expect(db.Exec(t.Context(), tsql.AlterLoginPassword(login))).To(Succeed())
	g.Consistently(s.state, time.Second).Should(Equal(agent.EngineReady))

	login.Password = others
	g.Expect(db.Exec(t.Context(), tsql.AlterLoginPassword(login))).To(Succeed())
	e.Kill(t)
	e.Launch(t)
	g.Eventually(s.state, patient).Should(Equal(agent.EngineUnhealthy))
	g.Expect(s.code("/readyz")()).To(Equal(503), "nobody is sent to an engine that gets no lease")
	s.stop()
	again := startFor(t, e, nil, dir)
	g.Eventually(func() string { _, body := again.get("/readyz"); return strings.TrimSpace(body) }, patient).
		Should(Equal(string(agent.EngineUnhealthy)),
			"a sidecar that starts anew knows that the engine let it in before")
}

func TestOptions(t *testing.T) {
	g := NewWithT(t)
	options := agent.DefaultOptions()
	options.ServerName, options.Engine = "tukpub", "10.0.0.1:1433"
	err := options.Validate()
	g.Expect(err).To(MatchError(ContainSubstring(`"tukpub" is not of the form <object name>-0`)))
	g.Expect(err).To(MatchError(ContainSubstring("10.0.0.1 is not a loopback address")))
	options.ServerName, options.Engine = "tukpub-0", "127.0.0.1:1433"
	g.Expect(options.Validate()).To(Succeed())
}

// What the engine's views say is told as metrics, under the rights that the agent's login has; also that a view has not
// been read for long is told, by what is missing.
func TestTheEnginesFiguresAreMetrics(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	login := credentials.RoleAgent.Login()
	for _, s := range []tsql.Statement{
		tsql.CreateLogin(tsql.Login{Name: login, SID: credentials.SID("web", login),
			Password: e.Access.Passwords.Of(credentials.RoleAgent)}),
		tsql.GrantServerPermission(tsql.ViewServerState, login),
		tsql.GrantServerPermission(tsql.ViewServerPerformanceState, login),
		tsql.GrantServerPermission(tsql.ViewAnyDefinition, login),
		tsql.GrantServerPermission(tsql.AlterAnyAvailabilityGroup, login),
		tsql.CreateDatabase("Content"), tsql.SetRecoveryFull("Content"),
		tsql.BackupDatabaseFull("Content", t.TempDir()+"/first.bak"),
		tsql.CreateGroup(tsql.Group{Name: "content", ClusterType: tsql.ClusterExternal, WriteLease: time.Hour,
			Databases: []string{"Content"},
			Replicas:  []tsql.Replica{{Server: "tukpub-0", EndpointURL: "TCP://tukpub-0:5022", Mode: tsql.SynchronousCommit}}}),
	} {
		g.Expect(db.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	_, err = db.Handle().ExecContext(t.Context(), "CREATE TABLE Content.dbo.Article (Id int NOT NULL PRIMARY KEY)")
	g.Expect(err).NotTo(HaveOccurred())
	s := startSidecar(t, e)
	metrics := func() string { _, body := s.get("/metrics"); return body }
	g.Eventually(metrics, time.Minute, 100*time.Millisecond).Should(And(
		ContainSubstring(`geosql_agent_replica_role{group="content",role="PRIMARY",server="tukpub-0"} 1`),
		ContainSubstring(
			`geosql_agent_database_synchronization_state{database="Content",group="content",server="tukpub-0",state="SYNCHRONIZED"} 1`,
		),
		MatchRegexp(`geosql_agent_database_last_commit_timestamp_seconds\{.*\} 1\.\d+e\+09`),
		MatchRegexp(`geosql_agent_log_used_bytes\{database="Content"\} [1-9]`),
		MatchRegexp(`geosql_agent_log_reuse_wait\{database="Content",wait="[A-Z_]+"\} 1`),
		ContainSubstring(`geosql_agent_database_state{database="Content",state="ONLINE"} 1`),
		ContainSubstring(`geosql_agent_diagnostics_state{component="system",type="instance"} 1`),
		ContainSubstring(`geosql_agent_measurement_timestamp_seconds`),
	))
	var status agent.Status
	_, body := s.get("/status")
	g.Expect(json.Unmarshal([]byte(body), &status)).To(Succeed())
	g.Expect(status.Roles).To(Equal(map[string]string{"content": "PRIMARY"}))
	_, ready := s.get("/readyz")
	g.Expect(ready).To(Equal("Ready\n"), "everybody may ask: no names of groups, and no roles")
	e.Kill(t)
	g.Eventually(metrics, time.Minute, 100*time.Millisecond).
		Should(And(ContainSubstring(`geosql_agent_engine_state{state="Starting"} 1`),
			Not(ContainSubstring("geosql_agent_replica_role"))))
	g.Expect(metrics()).NotTo(ContainSubstring(e.Access.Passwords.Of(credentials.RoleAgent)))
}

// Status and metrics are for those who show a token of the Secret, by what the sidecar was told last, also when it
// starts again and nobody tells it. The kubelet's probes show none, and are told the engine's state.
func TestStatusAndMetricsAreForReaders(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "tukpub")
	dir, readers := t.TempDir(), make(secret)
	s := startFor(t, e, readers, dir)
	private := map[string]string{"/status": `"serverName":"tukpub-0"`, "/metrics": "geosql_agent_engine_state"}
	shows := func(shown string, code int) {
		t.Helper()
		s.token = shown
		for path, what := range private {
			g.Eventually(s.code(path), time.Minute, 50*time.Millisecond).Should(Equal(code), path)
			says := ContainSubstring(what)
			if code != http.StatusOK {
				says = And(ContainSubstring(credentials.ReaderName), Not(says))
			}
			g.Eventually(func() string { _, body := s.get(path); return body }, time.Minute, 50*time.Millisecond).
				Should(says, path)
		}
	}
	shows("", http.StatusUnauthorized)
	shows(token, http.StatusUnauthorized)
	g.Eventually(s.code("/readyz"), time.Minute).Should(Equal(200), "without a token")
	_, ready := s.get("/readyz")
	g.Expect(strings.TrimSpace(ready)).To(Equal(string(agent.EngineBootstrapping)), "and without what the probe met")
	g.Expect(s.code("/livez")()).To(Equal(200))

	readers <- map[string][]byte{"token": []byte(token + "\n"), "token-of-another": []byte("another-token-of-theirs"),
		"token-short": []byte("short")}
	shows(token, http.StatusOK)
	shows("another-token-of-theirs", http.StatusOK)
	for _, wrong := range []string{"", "short", token[1:], token + "x"} {
		shows(wrong, http.StatusUnauthorized)
	}
	readers <- map[string][]byte{"token": []byte("the-next-token-after-it")}
	shows(token, http.StatusUnauthorized)
	shows("the-next-token-after-it", http.StatusOK)

	s.stop()
	content, err := os.ReadFile(filepath.Join(dir, "readers.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).NotTo(ContainSubstring("the-next-token"), "the tokens themselves stay in the Secret")
	s = startFor(t, e, make(secret), dir)
	shows("the-next-token-after-it", http.StatusOK)
	shows(token, http.StatusUnauthorized)
	s.stop()
	s = startFor(t, e, nil, dir)
	shows("the-next-token-after-it", http.StatusUnauthorized)
}
