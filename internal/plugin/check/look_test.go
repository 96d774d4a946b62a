// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/terminal"
)

// inMemory is a cluster that answers, has these objects and takes no writes; allowed says what whoever asks may do.
func inMemory(
	t *testing.T,
	allowed func(authorizationv1.ResourceAttributes) bool,
	objects ...client.Object,
) join.Cluster {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.1"}`))
	}))
	t.Cleanup(api.Close)
	writes := func() error {
		t.Error("the check writes")
		return errors.New("the check writes")
	}
	reviews := interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			review, is := obj.(*authorizationv1.SelfSubjectAccessReview)
			if !is {
				return writes()
			}
			review.Status.Allowed = allowed(*review.Spec.ResourceAttributes)
			return nil
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return writes() },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return writes()
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return writes()
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return writes() },
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return writes()
		},
		SubResource: func(client.WithWatch, string) client.SubResourceClient {
			_ = writes()
			return nil
		},
	}
	return join.Cluster{Config: &rest.Config{Host: api.URL},
		Client: terminal.Hub(objects...).WithInterceptorFuncs(reviews).Build()}
}

func anything(authorizationv1.ResourceAttributes) bool { return true }

func siteOf(name string, hub bool) *v1alpha1.Site {
	s := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, APIServer: "https://" + name + ".example"}}
	if !hub {
		s.Spec.KubeconfigSecretRef = &v1alpha1.SecretReference{Name: name}
	}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSiteReady, Message: "it answers"}}
	return s
}

// fit is what a fit cluster has.
func fit() []client.Object {
	node, class, network := fitNode(), fastClass(), daemon("kube-system", "cilium", 1, 1)
	class.Annotations = map[string]string{defaultClass: "true"}
	return []client.Object{&node, &class, &network}
}

// looked is what a request finds.
func looked(t *testing.T, r Request) []Finding {
	t.Helper()
	r.OperatorNamespace = sites.OperatorNamespace
	o, err := r.observe(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return o.judge()
}

// A cluster is looked at before it is joined: as its administrator, by what is said of it.
func TestAClusterThatIsNotJoinedYet(t *testing.T) {
	g := NewWithT(t)
	hub := inMemory(t, anything, siteOf("dublin", false))
	member := inMemory(t, anything, fit()...)
	found := looked(t, Request{Hub: hub, Member: &member, Names: []string{"quincy"}, Said: v1alpha1.SiteSpec{
		AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"}}})
	g.Expect(bad(found)).To(BeEmpty())
	g.Expect(found).To(ContainElements(And(HaveField("Check", "rights"), HaveField("Says", "you may join it")),
		And(HaveField("Check", "namespace"), HaveField("Says", ContainSubstring("joining makes it"))),
		HaveField("Check", "clock"), HaveField("Check", "addresses")))
	g.Expect(found).To(HaveEach(HaveField("Cluster", "quincy")), "of the one site that was named")

	few := inMemory(t, func(a authorizationv1.ResourceAttributes) bool {
		return a.Verb != "*" && a.Resource != "flowschemas" && a.Verb != "escalate"
	}, fit()...)
	found = looked(t, Request{Hub: hub, Member: &few, Names: []string{"quincy"}, Said: v1alpha1.SiteSpec{
		AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"}}})
	g.Expect(bad(found)).To(ConsistOf(And(HaveField("Check", "rights"), HaveField("Says", And(
		ContainSubstring("create flowschemas.flowcontrol.apiserver.k8s.io"), Not(ContainSubstring("namespaces")))))))
}

// A cluster of which nothing is said is not found to be well.
func TestAClusterWithoutNamespaces(t *testing.T) {
	hub, member := inMemory(t, anything), inMemory(t, anything, fit()...)
	found := looked(t, Request{Hub: hub, Member: &member, Names: []string{"quincy"}})
	NewWithT(t).Expect(found).To(ContainElement(And(HaveField("Check", "namespace"), HaveField("Level", Unknown),
		HaveField("Change", ContainSubstring("--namespaces")))))
}

// What joining makes is what is looked for afterwards. A role that is not as this release makes it is found.
func TestAClusterThatIsJoined(t *testing.T) {
	g := NewWithT(t)
	hub := inMemory(t, anything, siteOf("quincy", false))
	given := target{name: "quincy", operator: sites.OperatorNamespace, site: siteOf("quincy", false).Spec}.given(false)
	made := func(but string, rules []rbacv1.PolicyRule) []client.Object {
		objects := append(fit(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		for _, role := range given {
			if role.String() == but {
				if rules == nil {
					continue
				}
				role.rules = rules
			}
			at := metav1.ObjectMeta{Namespace: role.namespace, Name: role.name}
			if role.namespace == "" {
				objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: at, Rules: role.rules},
					&rbacv1.ClusterRoleBinding{ObjectMeta: at})
			} else {
				objects = append(objects, &rbacv1.Role{ObjectMeta: at, Rules: role.rules}, &rbacv1.RoleBinding{ObjectMeta: at})
			}
		}
		return objects
	}
	rights := func(objects []client.Object) Finding {
		member := inMemory(t, anything, objects...)
		for _, f := range looked(t, Request{Hub: hub, Member: &member, Names: []string{"quincy"}}) {
			if f.Check == "rights" {
				return f
			}
		}
		return Finding{}
	}
	g.Expect(given).To(HaveLen(3), "the cluster's, that of the namespace, and that of the token")
	g.Expect(rights(made("", nil))).To(HaveField("Level", OK))
	for _, role := range given {
		g.Expect(rights(made(role.String(), nil))).To(And(HaveField("Level", Problem),
			HaveField("Says", "the manager lacks: "+role.String())))
		g.Expect(rights(made(role.String(), role.rules[1:]))).To(And(HaveField("Level", Warning),
			HaveField("Says", ContainSubstring(role.String()))))
	}
}

// Without a member the hub is looked at, as the site that it is, and what it says of all sites.
func TestTheHubAndAllItsSites(t *testing.T) {
	g := NewWithT(t)
	silent := siteOf("quincy", false)
	silent.Status.Conditions[0].Status = metav1.ConditionUnknown
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: managerName},
		Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
	hub := inMemory(t, anything, append(fit(), siteOf("dublin", true), silent, manager)...)
	found := looked(t, Request{Hub: hub})
	g.Expect(found).To(ContainElements(
		And(HaveField("Cluster", "dublin"), HaveField("Check", "manager"), HaveField("Level", OK)),
		And(HaveField("Cluster", "dublin"), HaveField("Check", "nodes"), HaveField("Level", OK)),
		And(HaveField("Cluster", "quincy"), HaveField("Check", checkSite), HaveField("Level", Problem))))
	g.Expect(found).NotTo(ContainElement(And(HaveField("Cluster", "quincy"), HaveField("Check", "nodes"))))

	one := looked(t, Request{Hub: hub, Names: []string{"quincy"}})
	g.Expect(one).To(And(Not(BeEmpty()), HaveEach(HaveField("Cluster", "quincy"))))
	_, err := Request{Hub: hub, Names: []string{"nowhere"}}.observe(t.Context())
	g.Expect(err).To(MatchError(And(ContainSubstring("no Site nowhere"), ContainSubstring("dublin, quincy"))))
	said := v1alpha1.SiteSpec{AllowedNamespaces: []string{"shop"}}
	_, err = Request{Hub: hub, Names: []string{"quincy"}, Said: said}.observe(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("--context")), "it would be compared with nothing")
	_, err = Request{Hub: hub, Names: []string{"dublin"}, Said: said}.observe(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "which is the hub")
}

// A hub that is to be a site is looked at by what is said of it.
func TestAHubThatIsToBeASite(t *testing.T) {
	g := NewWithT(t)
	hub := inMemory(t, anything, fit()...)
	found := looked(t, Request{Hub: hub, HubSite: true, Names: []string{"dublin"},
		Said: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"}}})
	g.Expect(found).To(HaveEach(HaveField("Cluster", "dublin")))
	g.Expect(bad(found)).To(ConsistOf(HaveField("Check", "manager")), "nobody has installed it")
	g.Expect(found).To(ContainElement(HaveField("Check", "addresses")))
}

// A cluster that is not the site's is found to be another one, and nothing else is said of it, but of the site as it is
// declared.
func TestAClusterThatIsAnothers(t *testing.T) {
	system := func(uid types.UID) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid}}
	}
	joined := func(name, uid string) *v1alpha1.Site {
		s := siteOf(name, false)
		s.Spec.ClusterUID, s.Spec.SourceRanges = uid, []string{"10.102.0.0/16"}
		return s
	}
	for what, c := range map[string]struct {
		uid      types.UID
		declared []client.Object
		says     string
	}{
		"the site's":         {uid: "member", declared: []client.Object{joined("quincy", "member")}},
		"that of no site":    {uid: "member"},
		"the hub's":          {"hub", []client.Object{joined("quincy", "member")}, "the hub's own cluster"},
		"the hub's, no site": {"hub", nil, "the hub's own cluster"},
		"another":            {"other", []client.Object{joined("quincy", "member")}, "has UID other, the site's has member"},
		"another site's": {"member", []client.Object{joined("quincy", ""), joined("dublin", "member")},
			"it is site dublin"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			hub := inMemory(t, anything, append(c.declared, system("hub"))...)
			member := inMemory(t, anything, append(fit(), system(c.uid))...)
			found := looked(t, Request{Hub: hub, Member: &member, Names: []string{"quincy"},
				Said: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
			if c.says == "" {
				g.Expect(found).To(ContainElement(HaveField("Check", "nodes")))
				g.Expect(found).NotTo(ContainElement(HaveField("Check", "cluster")))
				return
			}
			g.Expect(found).To(ContainElement(And(HaveField("Cluster", "quincy"), HaveField("Check", "cluster"),
				HaveField("Level", Problem), HaveField("Says", ContainSubstring(c.says)),
				HaveField("Change", Not(BeEmpty())))))
			g.Expect(found).NotTo(ContainElement(HaveField("Check", BeElementOf("rights", "nodes", "clock"))))
		})
	}
}

// A cluster that is silent has that one finding.
func TestAClusterThatIsSilent(t *testing.T) {
	g := NewWithT(t)
	hub, member := inMemory(t, anything), inMemory(t, anything)
	member.Config = &rest.Config{Host: "http://127.0.0.1:1"}
	found := looked(t, Request{Hub: hub, Member: &member, Names: []string{"quincy"},
		Said: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, SourceRanges: []string{"10.102.0.0/16"}}})
	g.Expect(found).To(ContainElement(And(HaveField("Check", "answer"), HaveField("Level", Problem),
		HaveField("Says", ContainSubstring("127.0.0.1:1")))))
	g.Expect(found).NotTo(ContainElement(HaveField("Check", "nodes")))
}

// Webhooks count that are asked when pods are made and that refuse them while they are silent.
func TestWhichWebhooksCount(t *testing.T) {
	g := NewWithT(t)
	rule := func(operation admissionv1.OperationType, group, resource string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{operation},
			Rule: admissionv1.Rule{APIGroups: []string{group}, Resources: []string{resource}}}}
	}
	for _, about := range [][]admissionv1.RuleWithOperations{rule("CREATE", "", "pods"), rule("*", "*", "*"),
		rule("CREATE", "apps", "statefulsets"), rule("CREATE", "*", "*/*")} {
		g.Expect(ofPods(about)).To(BeTrue(), "%v", about)
	}
	for _, about := range [][]admissionv1.RuleWithOperations{rule("DELETE", "", "pods"), rule("CREATE", "apps", "pods"),
		rule("CREATE", "", "pods/exec"), rule("CREATE", "", "services"), nil} {
		g.Expect(ofPods(about)).To(BeFalse(), "%v", about)
	}
	hub := inMemory(t, anything,
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionv1.
			ValidatingWebhook{{Name: "a", Rules: rule("CREATE", "", "pods"), FailurePolicy: ptr.To(admissionv1.Ignore),
			ObjectSelector: having("inject")}}},
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []admissionv1.
			MutatingWebhook{{Name: "b", Rules: rule("CREATE", "", "pods"), MatchConditions: []admissionv1.MatchCondition{
			{Name: "own", Expression: "true"}}}, {Name: "c", Rules: rule("CREATE", "", "nodes")}}})
	found, err := readWebhooks(t.Context(), hub.Client)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(Equal([]webhook{{of: "ValidatingWebhookConfiguration v", name: "a", objects: having("inject")},
		{of: "MutatingWebhookConfiguration m", name: "b", required: true, conditional: true}}))
}

// Problems end a pipeline, warnings do with --strict; nothing at all is no good news.
func TestFindingsAreToldAndJudged(t *testing.T) {
	g := NewWithT(t)
	of := func(levels ...Level) (all []Finding) {
		for _, level := range levels {
			all = append(all, Finding{Cluster: "quincy", Check: "nodes", Level: level, Says: "why", Change: "more"})
		}
		return all
	}
	g.Expect(verdict(of(OK, Warning, Unknown), false)).To(Succeed())
	g.Expect(verdict(of(OK), true)).To(Succeed())
	g.Expect(verdict(of(OK, Warning), true)).To(MatchError("warnings: 1, unknown: 0"))
	g.Expect(verdict(of(Unknown), true)).To(MatchError("warnings: 0, unknown: 1"))
	g.Expect(verdict(of(Problem, Problem, Warning), false)).To(MatchError("problems: 2, warnings: 1, unknown: 0"))
	g.Expect(verdict(nil, false)).NotTo(Succeed())

	out := &bytes.Buffer{}
	g.Expect(write(out, of(OK, Problem), notSeen)).To(Succeed())
	g.Expect(out.String()).To(And(MatchRegexp(`(?m)^ok +quincy +nodes: why$`), MatchRegexp(`(?m)^ +change: more$`),
		ContainSubstring("MTU")))
	out.Reset()
	g.Expect(write(out, of(OK, Problem), "")).To(Succeed())
	g.Expect(strings.Count(out.String(), "nodes: why")).To(Equal(1))
	out.Reset()
	f := &findings{cluster: "quincy"}
	f.unknown("nodes", errors.New("\x1b[2Jgone\nok"))
	g.Expect(write(out, f.list, "")).To(Succeed())
	g.Expect(strings.Count(out.String(), "\n")).To(Equal(1), "a cluster's words move no cursor, and begin no line")
	g.Expect(out.String()).NotTo(ContainSubstring("\x1b"))
	out.Reset()
	g.Expect(writeJSON(out, nil)).To(Succeed())
	g.Expect(out.String()).To(MatchJSON(`{"findings": []}`))
	out.Reset()
	g.Expect(writeJSON(out, of(Problem))).To(Succeed())
	var read struct{ Findings []Finding }
	g.Expect(json.Unmarshal(out.Bytes(), &read)).To(Succeed())
	g.Expect(read.Findings).To(Equal(of(Problem)))
}

// What cannot be looked at is refused before a cluster is asked, with another exit status than problems have.
func TestWhatCannotBeLookedAt(t *testing.T) {
	for said, refused := range map[string]string{
		"-o yaml":                              "use text or json",
		"quincy --exposure Elsewhere":          "use one of [FlatNetwork NodePort LoadBalancer]",
		"quincy --storage-class nosuch":        "is not ROLE=CLASS",
		"--context quincy":                     "name the one SITE",
		"--namespaces web":                     "name the one SITE",
		"quincy dublin --context quincy":       "name the one SITE",
		"quincy --hub --context quincy":        "--hub, or another one",
		"quincy --context q --kubeconfig x":    "the hub: ",
		"--nosuch":                             "unknown flag",
		"quincy --probe":                       "--probe needs",
		"dublin --hub --probe":                 "--probe needs",
		"quincy --context q --probe-image x":   "with --probe",
		"quincy --context q --other-context x": "with --probe",
	} {
		t.Run(said, func(t *testing.T) {
			_, err := terminal.Run(t, NewCommand(), "", strings.Fields(said)...)
			g := NewWithT(t)
			g.Expect(err).To(MatchError(ContainSubstring(refused)))
			status := 2
			if refused == "the hub: " {
				status = 1
			}
			g.Expect(cli.Exit(io.Discard, err)).To(Equal(status))
		})
	}
}

// After a join only what is not well is shown.
func TestAJoinEndsWithWhatIsNotWell(t *testing.T) {
	g := NewWithT(t)
	hub, out := inMemory(t, anything, siteOf("quincy", false)), &bytes.Buffer{}
	member := inMemory(t, anything, fit()...)
	r := Request{Hub: hub, Member: &member, Names: []string{"quincy"}, OperatorNamespace: sites.OperatorNamespace}
	Joined(t.Context(), out, r)
	g.Expect(out.String()).To(And(ContainSubstring("the manager lacks"), ContainSubstring("PeersUnknown"),
		Not(ContainSubstring("checked:")), Not(ContainSubstring("it answers")), Not(MatchRegexp(`(?m)^ok `))))
}
