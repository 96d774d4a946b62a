// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sql

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/ports"
)

// A statement goes to the server that is meant, by the credentials that are declared, and what comes of it is told to
// whoever reads it and by the status.
func TestSQL(t *testing.T) {
	w := newWorld(t)
	w.group(t)
	const name = "SELECT @@SERVERNAME AS server"

	t.Run("at the primary of a group", func(t *testing.T) {
		g := NewWithT(t)
		o, err := w.run(t, "", "content", "-o", "csv", "-Q", name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.ToLower(o.out)).To(Equal("server\ntukpub-0\n"))
		g.Expect(o.notes).To(Equal("connected to tukpub-0 at site tukwila (context tukwila-admin): PRIMARY of content; " +
			"database master; as login sa (Secret web/tukpub-credentials of the hub)\n(1 row affected)\n"))
		o, err = w.run(t, "", "ag/content", "-d", "Content", "-Q", "INSERT INTO dbo.Article VALUES (4)\nGO\n"+
			"DELETE FROM dbo.Article WHERE id = 4")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.out).To(BeEmpty())
		g.Expect(o.notes).To(HaveSuffix("database Content; as login sa (Secret web/tukpub-credentials of the hub)\n" +
			"(1 row affected)\n(1 row affected)\n"))
	})
	t.Run("at a secondary", func(t *testing.T) {
		g := NewWithT(t)
		o, err := w.run(t, "", "content", "--secondary", "-d", "Content", "-o", "json", "-Q",
			name+"\nGO\nSELECT COUNT(*) AS articles FROM dbo.Article")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.notes).To(ContainSubstring("connected to dubsec-0 at site dublin: SECONDARY of content; database Content"))
		decoder := json.NewDecoder(strings.NewReader(o.out))
		var rows []map[string]any
		g.Expect(decoder.Decode(&rows)).To(Succeed())
		g.Expect(rows).To(ConsistOf(HaveKeyWithValue("server", WithTransform(strings.ToLower, Equal("dubsec-0")))))
		g.Expect(decoder.Decode(&rows)).To(Succeed())
		g.Expect(rows).To(ConsistOf(HaveKeyWithValue("articles", 3.0)))
		o, err = w.run(t, "", "content", "--secondary", "-d", "Content", "-Q", "DELETE FROM dbo.Article")
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.notes).To(ContainSubstring("Msg 3906, Level 16"))
	})
	t.Run("an error", func(t *testing.T) {
		g := NewWithT(t)
		o, err := w.run(t, "", "tukpub", "-Q", "\nSELECT * FROM dbo.nowhere")
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.status).To(Equal(1))
		g.Expect(o.out).To(BeEmpty())
		g.Expect(strings.SplitN(o.notes, "\n", 2)[1]).To(MatchRegexp(
			`(?i)^Msg 208, Level 16, State \d, Server tukpub-0, Line 2\nInvalid object name 'dbo.nowhere'.\n$`))
	})
	t.Run("a script", func(t *testing.T) {
		g := NewWithT(t)
		o, err := w.run(t, "SELECT 1 AS one\nGO\nSELECT * FROM dbo.nowhere\nGO\nDELETE FROM Content.dbo.Article\nGO\n",
			"tukpub", "-o", "csv")
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.status).To(Equal(1))
		g.Expect(o.out).To(Equal("one\n1\n"))
		g.Expect(o.notes).To(HaveSuffix("batch 2 of 3 failed; nothing after it was sent\n"))
		o, err = w.run(t, "DELETE FROM Content.dbo.Article\nGO\nDELETE FROM", "tukpub")
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.status).To(Equal(2))
		g.Expect(o.notes).To(Equal("error: standard input: the text ends within the batch that begins at line 3: " +
			"end it with GO\n"))
		o, err = w.run(t, "SELECT COUNT(*) AS n FROM Content.dbo.Article\nGO 2\n", "tukpub", "-o", "csv")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.out).To(Equal("n\n3\n\nn\n3\n"), "neither script has deleted anything")
	})
	t.Run("a transaction that nobody ends", func(t *testing.T) {
		g := NewWithT(t)
		o, err := w.run(t, "", "tukpub", "-Q", "BEGIN TRANSACTION; DELETE FROM Content.dbo.Article")
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.status).To(Equal(1))
		g.Expect(o.notes).To(ContainSubstring("error: 1 open transaction at the end: the server rolls back"))
		g.Eventually(func() string {
			o, _ := w.run(t, "", "tukpub", "-o", "csv", "-Q", "SELECT COUNT(*) AS n FROM Content.dbo.Article")
			return o.out
		}, patient, often).Should(Equal("n\n3\n"))
	})
	t.Run("who is not what the status says", func(t *testing.T) {
		g := NewWithT(t)
		w.seen(t, "dubsec")
		defer w.seen(t, "tukpub")
		for role, flag := range map[string]string{"PRIMARY": "--secondary=false", "SECONDARY": "--secondary"} {
			o, err := w.run(t, "", "content", flag, "-Q", name)
			g.Expect(err).To(MatchError(errElsewhere))
			g.Expect(o.out).To(BeEmpty())
			g.Expect(o.notes).To(ContainSubstring("was taken for a " + role + " of group content, and says that it is"))
		}
		_, err := w.run(t, "", "sqlserver/dubsec", "-Q", name)
		g.Expect(err).NotTo(HaveOccurred(), "a server that is named is asked whatever it is")
	})
	t.Run("who has become another since", func(t *testing.T) { w.becomesAnother(t) })
	t.Run("who does not say what it is", func(t *testing.T) {
		g := NewWithT(t)
		rolesWithin = 0
		defer func() { rolesWithin = patient }()
		o, err := w.run(t, "", "content", "-Q", name)
		g.Expect(err).To(MatchError(errElsewhere))
		g.Expect(o.out).To(BeEmpty())
		g.Expect(o.notes).To(ContainSubstring("tukpub-0 does not say what it is in group content"))
		_, err = w.run(t, "", "tukpub", "-Q", name)
		g.Expect(err).NotTo(HaveOccurred(), "a server that is named is asked whatever it is")
	})
	t.Run("a login that is declared", func(t *testing.T) { w.declaredLogin(t) })
	t.Run("by no more than the rights that it names", func(t *testing.T) { w.rights(t) })
	t.Run("when the hub is away", func(t *testing.T) { w.withoutTheHub(t) })
	t.Run("what is not understood", func(t *testing.T) { w.misunderstood(t) })
	t.Run("a prompt", func(t *testing.T) { w.prompt(t) })
	t.Run("a server that does not answer", func(t *testing.T) {
		g := NewWithT(t)
		w.kubelets["tukpub"].Forward("web", "tukpub-0", mssql.Port, ports.Address(t))
		o, err := w.run(t, "", "tukpub", "-Q", name)
		g.Expect(mssql.Is(err, mssql.Unreachable)).To(BeTrue(), "%v", err)
		g.Expect(o.status).To(Equal(1))
		g.Expect(o.notes).To(And(ContainSubstring("log in as sa on server tukpub-0: "),
			ContainSubstring("forward to port 1433 of pod web/tukpub-0"), ContainSubstring("connection refused")))
	})
}

// becomesAnother holds a session that was chosen for a role to it before each batch.
func (w *world) becomesAnother(t *testing.T) {
	g := NewWithT(t)
	f := &flags{}
	g.Expect(newCommand(f).ParseFlags([]string{"--kubeconfig", w.kubeconfig, "-n", "web"})).To(Succeed())
	a, err := parse("content", false)
	g.Expect(err).NotTo(HaveOccurred())
	s, err := f.open(t.Context(), a)
	g.Expect(err).NotTo(HaveOccurred())
	defer s.close()
	var screen strings.Builder
	sends := func(text string) error {
		s.looked = time.Time{}
		return execute(t.Context(), s, []batch{{text: text, times: 1}}, newSink(outputCSV, &screen, &screen), &screen)
	}
	g.Expect(sends("SELECT 'still' AS it")).To(Succeed())
	s.goal.role = secondary // it was chosen for that, and is a primary now
	err = sends("DELETE FROM Content.dbo.Article")
	g.Expect(err).To(MatchError(errElsewhere))
	g.Expect(err).To(MatchError(ContainSubstring("was taken for a SECONDARY of group content, and says that it is PRIM")))
	g.Expect(screen.String()).To(Equal("it\nstill\n(1 row affected)\n"))
	o, err := w.run(t, "", "tukpub", "-o", "csv", "-Q", "SELECT COUNT(*) AS n FROM Content.dbo.Article")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.out).To(Equal("n\n3\n"), "nothing was sent")
	s.state = &mssql.SessionState{Transactions: 1}
	g.Expect(sends("SELECT 'open' AS it")).To(Succeed(), "what is open can be ended where it is")
}

// declaredLogin asks as an application does.
func (w *world) declaredLogin(t *testing.T) {
	g := NewWithT(t)
	const password = "R3ader-Password"
	w.tukpub.Execute(t, "CREATE LOGIN web_reader WITH PASSWORD = N'"+password+"'")
	g.Expect(w.hub.Client.Create(t.Context(), &v1alpha1.Login{ObjectMeta: inWeb("reader"),
		Spec: v1alpha1.LoginSpec{Name: "web_reader", Target: v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}}})).
		To(Succeed())
	_, err := w.run(t, "", "content", "--login", "reader", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("read Secret web/reader-connection in the hub")))
	secret := &corev1.Secret{ObjectMeta: inWeb("reader-connection"), Data: map[string][]byte{
		"username": []byte("web_reader"), "password": []byte(password), "ca.crt": w.tukpub.Access.CA}}
	g.Expect(w.hub.Client.Create(t.Context(), secret)).To(Succeed())
	o, err := w.run(t, "", "content", "--login", "reader", "-o", "csv", "-Q", "SELECT SUSER_SNAME() AS me")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.out).To(Equal("me\nweb_reader\n"))
	g.Expect(o.notes).To(ContainSubstring("as login web_reader (Secret web/reader-connection of the hub)"))
	g.Expect(o.notes).To(ContainSubstring("role unknown, READ_WRITE"), "it may not see roles, and nothing is made up")

	secret.Data["password"] = []byte("An0ther-Password")
	g.Expect(w.hub.Client.Update(t.Context(), secret)).To(Succeed())
	o, err = w.run(t, "", "content", "--login", "reader", "-Q", "SELECT 1")
	g.Expect(mssql.Is(err, mssql.LoginFailed)).To(BeTrue(), "%v", err)
	g.Expect(o.notes).To(ContainSubstring("the server refuses login web_reader"))
	g.Expect(w.hub.Client.Create(t.Context(), &v1alpha1.Login{ObjectMeta: inWeb("elsewhere"),
		Spec: v1alpha1.LoginSpec{Target: v1alpha1.ServerOrGroup{Server: "dubsec"}}})).To(Succeed())
	_, err = w.run(t, "", "tukpub", "--login", "elsewhere", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("login elsewhere is for server dubsec")))
	_, err = w.run(t, "", "tukpub", "--login", "nobody", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("no Login nobody in namespace web; there are: elsewhere, reader")))
	g.Expect(w.printed.String()).NotTo(Or(ContainSubstring(password), ContainSubstring("An0ther-Password")))
}

// person is the configuration of somebody who may do this in namespace web, and read Sites, and nothing else.
func person(t *testing.T, at *apiserver.Server, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: inWeb("person")}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "web", Name: "person"}}
	for _, object := range []client.Object{account, &rbacv1.Role{ObjectMeta: inWeb("person"), Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: inWeb("person"), Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "person"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "person"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"sites"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "person"}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "person"}},
	} {
		g.Expect(at.Client.Create(t.Context(), object)).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	g.Expect(at.Client.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	config := rest.AnonymousClientConfig(at.Config)
	config.BearerToken = token.Status.Token
	return config
}

// rights are those that the command's help names.
func (w *world) rights(t *testing.T) {
	g := NewWithT(t)
	get := func(group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names,
			Verbs: []string{"get"}}
	}
	kinds := v1alpha1.GroupVersion.Group
	kubeconfig := apiserver.Contexts(t, "hub", map[string]*rest.Config{
		"hub": person(t, w.hub, get(kinds, "sqlservers"), get(kinds, "availabilitygroups"),
			get("", "secrets", "tukpub-credentials", "tukpub-tls")),
		"at-tukwila": person(t, w.member, get("", "pods"),
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}}),
	})
	o, err := w.runWith(t, kubeconfig, "", "content", "-o", "csv", "-Q", "SELECT 1 AS one")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o.out).To(Equal("one\n1\n"))
	g.Expect(o.notes).To(ContainSubstring("(context at-tukwila)"))
	o, err = w.runWith(t, kubeconfig, "", "content", "--login", "reader", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("forbidden")))
	g.Expect(o.status).To(Equal(1))
}

// withoutTheHub asks at a site that only knows what it was told.
func (w *world) withoutTheHub(t *testing.T) {
	g := NewWithT(t)
	names, err := orders.Names{Servers: []orders.NamedServer{{Name: "tukpub", Site: "tukwila"},
		{Name: "dubsec", Site: "dublin"}},
		Groups: []orders.NamedGroup{{Name: "content", Listener: "content", Port: 1433, Primary: "tukpub",
			Servers: []string{"tukpub", "dubsec"}, Readable: []string{"tukpub", "dubsec"}}}}.Keys()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := orders.NamesData(names)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.member.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: inWeb(orders.NamesObject), Data: data})).
		To(Succeed())
	w.hub.Wire.Cut()
	defer w.hub.Wire.Mend()
	for _, name := range []string{"tukpub", "tukpub-0", "content"} {
		o, err := w.run(t, "", name, "--context", "tukwila-admin", "-o", "csv", "-Q", "SELECT @@SERVERNAME AS server")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.ToLower(o.out)).To(Equal("server\ntukpub-0\n"))
		g.Expect(o.notes).To(ContainSubstring("connected to tukpub-0 at site tukwila (context tukwila-admin): PRIMARY of " +
			"content; database master; as login sa (Secret web/tukpub-credentials of the site)"))
	}
	for name, why := range map[string]string{
		"dubsec":     "server dubsec is at site dublin: name a context of that site",
		"nobody":     "knows no nobody in namespace web; there are: tukpub, gag/content",
		"gag/nobody": "there are: tukpub, gag/content",
	} {
		_, err := w.run(t, "", name, "--context", "tukwila-admin", "-Q", "SELECT 1")
		g.Expect(err).To(MatchError(ContainSubstring(why)))
	}
	_, err = w.run(t, "", "content", "--secondary", "--context", "tukwila-admin", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("this site has no readable secondary of group content")))
}

// misunderstood is refused before anything is asked of anybody.
func (w *world) misunderstood(t *testing.T) {
	g := NewWithT(t)
	for _, arguments := range [][]string{{}, {"a", "b"}, {"tukpub", "-o", "xml", "-Q", "SELECT 1"}, {"tukpub", "--loud"},
		{"Bad_Name", "-Q", "SELECT 1"}, {"sqlserver/tukpub", "--secondary", "-Q", "SELECT 1"}, {"tukpub", "-Q", " "},
		{"tukpub"}} {
		o, err := w.runWith(t, "/nowhere", "", arguments...)
		g.Expect(err).To(HaveOccurred())
		g.Expect(o.status).To(Equal(2), "%v: %v", arguments, err)
	}
	o, err := w.run(t, "", "nobody", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring("no SQLServer nobody in namespace web; there are: dubsec, tukpub")))
	g.Expect(o.status).To(Equal(1))
	o, err = w.run(t, "", "tukpub", "--site-context", "tukwila=hub", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring(`context "hub" leads to another cluster than that of Site tukwila`)))
	g.Expect(o.status).To(Equal(1))
	elsewhere := apiserver.Contexts(t, "hub", map[string]*rest.Config{"hub": w.hub.Config, "tukwila": w.hub.Config,
		"member": w.member.Config})
	_, err = w.runWith(t, elsewhere, "", "tukpub", "-Q", "SELECT 1")
	g.Expect(err).To(MatchError(ContainSubstring(
		"looked at tukwila (another cluster); say --site-context tukwila=CONTEXT")))
	_, err = w.runWith(t, elsewhere, "", "tukpub", "--site-context", "tukwila=member", "-Q", "SELECT 1")
	g.Expect(err).NotTo(HaveOccurred())
}
