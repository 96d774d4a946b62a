// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// ca is made once: keys take time.
var ca = func() *credentials.Authority {
	a, err := credentials.NewAuthority(start)
	if err != nil {
		panic(err)
	}
	return a
}()

// otherCA is another one, made as late as some tests look.
var otherCA = func() *credentials.Authority {
	a, err := credentials.NewAuthority(start)
	if err != nil {
		panic(err)
	}
	return a
}()

// certificates are those that were issued, by their names and time: an RSA key takes longer to make than a plan.
var certificates struct {
	sync.Mutex
	issued map[string]map[string][]byte
}

// issuedAt is a certificate for the names, the same whenever it is asked for.
func issuedAt(t *testing.T, now time.Time, names ...string) map[string][]byte {
	t.Helper()
	return issuedBy(t, ca, now, names...)
}

func issuedBy(t *testing.T, ca *credentials.Authority, now time.Time, names ...string) map[string][]byte {
	t.Helper()
	certificates.Lock()
	defer certificates.Unlock()
	key := string(ca.PEM()) + now.String() + strings.Join(names, " ")
	if certificates.issued[key] == nil {
		data, err := ca.Issue(names, now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if certificates.issued == nil {
			certificates.issued = map[string]map[string][]byte{}
		}
		certificates.issued[key] = data
	}
	return maps.Clone(certificates.issued[key])
}

func server() *v1alpha1.SQLServer {
	size := func(s string) *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse(s)} }
	return &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"},
		Spec: v1alpha1.SQLServerSpec{
			Site: "tukwila", AcceptEULA: true, Edition: "Developer", Image: "mssql:2022",
			Storage: &v1alpha1.ServerStorage{Data: size("20Gi"), Log: size("10Gi"), TempDB: size("5Gi"), Backup: size("50Gi")},
			Startup: &v1alpha1.StartupOptions{CheckpointThrottleMBps: ptr.To[int32](750), TraceFlags: []int32{1222, 1204}},
		},
	}
}

func declared(s *v1alpha1.SQLServer, around Surroundings) Desired {
	return Desire(s, v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}, Spec: v1alpha1.SiteSpec{
		StorageClasses: v1alpha1.VolumeClasses{Data: "fast", Log: "fast", TempDB: "fast", Backup: "capacity"},
	}}, "geosql:1", around)
}

// environ is a site as the simulation below sees it.
type environ struct {
	d Desired
	o Observed
}

func newEnviron(t *testing.T, d Desired) *environ {
	t.Helper()
	host := func(name string, hosts ...string) storagev1.StorageClass {
		return storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: name,
			}, Provisioner: "rancher.io/local-path", AllowVolumeExpansion: ptr.To(name == "capacity"),
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelHostname, Values: hosts}}},
			},
		}
	}
	node := func(name string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	}
	return &environ{d: d, o: Observed{
		Now:    start,
		Clocks: []Clock{{Of: theHub}, {Of: "site tukwila"}},
		Claims: map[placement.Role]*corev1.PersistentVolumeClaim{}, Bound: map[placement.Role]*corev1.PersistentVolume{},
		Cluster: placement.Cluster{
			Nodes: []corev1.Node{node("tukwila-worker"), node("tukwila-worker2")},
			Classes: []storagev1.StorageClass{
				host("fast", "tukwila-worker"),
				host("capacity", "tukwila-worker", "tukwila-worker2"),
				host("archive", "tukwila-worker2"),
			},
		},
	}}
}

// do carries out a step as the clusters and the engine would.
func (e *environ) do(t *testing.T, step reconcile.Step) {
	t.Helper()
	o := &e.o
	switch s := step.(type) {
	case AgreePasswords:
		a, err := o.administrator(o.DeclaredSA.Value).Agree(o.SitePasswords, o.HubPasswords, s.VolumesExist)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		o.SitePasswords, o.HubPasswords = a.Passwords, a.Passwords
	case IssueCertificate:
		if o.Authority == nil {
			o.Authority = ca
		}
		data := issuedBy(t, o.Authority, o.Now, s.Names...)
		data[credentials.KeyIssuers] = credentials.MergeCAs(o.Authority.PEM(), s.Issuers)
		data[credentials.KeyCA] = credentials.MergeCAs(o.Authority.PEM(), s.Trust)
		o.SiteCertificate, o.HubCertificate = data, data
	case MakeAuthority:
		o.Authority = otherCA
	case CopyCertificate:
		o.SiteCertificate, o.HubCertificate = s.Data, e.hubCertificate(s.Data)
	case CompleteReaders:
		data, err := credentials.CompleteReader(o.Readers, s.CA)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		o.Readers = data
	case ForgetCAs:
		o.Readers = credentials.DropCAs(o.Readers, s.CAs)
		o.ReadersFormer = reconcile.Read[[]byte](nil)
	case ApplyObject:
		switch obj := s.Object.(type) {
		case *corev1.PersistentVolumeClaim:
			for _, role := range roles() {
				if claimName(e.d.Server.Name, role) == obj.Name {
					o.Claims[role] = obj.DeepCopy()
				}
			}
		case *corev1.ServiceAccount:
			o.Account.ServiceAccount = obj.DeepCopy()
		case *rbacv1.Role:
			o.Account.Role = obj.DeepCopy()
		case *rbacv1.RoleBinding:
			o.Account.Binding = obj.DeepCopy()
		case *policyv1.PodDisruptionBudget:
			o.Budget = obj.DeepCopy()
		case *networkingv1.NetworkPolicy:
			o.Policy = obj.DeepCopy()
			o.Policy.UID = "policy"
		case *corev1.Secret:
			o.ProductKey = obj.Data
		case *unstructured.Unstructured:
			o.Issue.Certificate = obj.DeepCopy()
		case *corev1.ConfigMap:
			o.ConfigMap = obj.DeepCopy()
		case *appsv1.StatefulSet:
			o.StatefulSet = obj.DeepCopy()
			if o.Pod == nil {
				e.startPod()
			}
		}
	case TellStaging:
		value, err := orders.EncodeStaging(s.Bounds)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		o.order(orders.StagingKey, value)
	case RestartPod:
		NewWithT(t).Expect(s.UID).To(Equal(o.Pod.UID))
		if s.Once != "" {
			o.StatefulSet.Annotations[annotationRestarted] = s.Once
		}
		e.startPod()
		for i := range o.Engine.TempDB {
			o.Engine.TempDB[i].Path = o.Engine.TempDB[i].Next
		}
	case TellLinks:
		value, err := orders.EncodeLinks(s.Links)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		o.order(orders.LinksKey, value)
	case ReplaceSidecar:
		NewWithT(t).Expect(s.UID).To(Equal(o.Pod.UID))
		o.Pod = o.Pod.DeepCopy()
		o.Pod.Spec.Containers[1].Image = s.Image
		o.Pod.Annotations[annotationTemplate], o.Pod.Annotations[annotationReplaced] = s.Template, fmt.Sprint(s.Restarts)
		status := &o.Pod.Status.ContainerStatuses[1]
		if status.State.Waiting == nil || status.RestartCount > 0 {
			NewWithT(t).Expect(plan(e.d, *o).Outcome.Message).To(Or(Equal("the sidecar is being replaced"),
				ContainSubstring("is restarted")))
			status.RestartCount++
		}
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	case RemoveProductKey:
		o.ProductKey = nil
	case RemoveIssued:
		o.Issue, o.UserCertificate, o.UserCertificateError = Issue{}, nil, nil
	case LabelPod:
		NewWithT(t).Expect(s.UID).To(Equal(o.Pod.UID))
		o.Pod = o.Pod.DeepCopy()
		o.Pod.Labels, o.Pod.Annotations = patched(o.Pod.Labels, s.Labels), patched(o.Pod.Annotations, s.Annotations)
	case RemovePolicy:
		NewWithT(t).Expect(s.UID).To(Equal(o.Policy.UID))
		o.Policy = nil
	case TakeTurn:
		o.Turns[0].Holder = e.d.name()
	case ReleaseTurn:
		o.Turns[0].Holder = ""
	case ForgetPreviousSA:
		o.SitePasswords, o.HubPasswords = credentials.Settled(o.SitePasswords), credentials.Settled(o.HubPasswords)
	case RefreshPod:
		NewWithT(t).Expect(s.Name).To(Equal(o.Pod.Name))
	case mssql.Execute:
		e.execute(t, s)
	case ArrangeTempDB:
		e.execute(t, s.Execute)
	default:
		t.Fatalf("step %T is not known", step)
	}
}

// outdated gives the declared server a new startup option while its engine hosts the turn's group.
func (e *environ) outdated(t Turn) {
	e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
	e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
	e.hosts(t)
	e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
}

// sidecarOutdated gives the declared server another image of its sidecar, while its engine hosts the turn's group if
// there is one.
func (e *environ) sidecarOutdated(t *Turn) {
	if t != nil {
		e.hosts(*t)
		e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
	}
	e.d.AgentImage = "geosql:2"
	e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
}

// hosts puts the engine into the turn's group.
func (e *environ) hosts(t Turn) {
	e.d.Groups, e.o.Engine.Groups, e.o.Turns = []string{t.Group}, []string{t.Group}, []Turn{t}
}

// changeSA changes the sa password in the Secrets of site and hub; the agreement keeps the former one.
func (e *environ) changeSA(password string) {
	changed := maps.Clone(e.o.SitePasswords)
	changed[credentials.KeySA] = []byte(password)
	a, err := credentials.Agree(changed, e.o.HubPasswords, true)
	if err != nil {
		panic(err)
	}
	e.o.SitePasswords, e.o.HubPasswords = a.Passwords, a.Passwords
}

// startPod is what the StatefulSet's controller and the kubelet do.
func (e *environ) startPod() {
	template := e.o.StatefulSet.Spec.Template
	e.o.Pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "web",
			Name:        e.d.host(),
			UID:         types.UID(fmt.Sprint("pod-", time.Now().UnixNano())),
			Labels:      template.Labels,
			Annotations: template.Annotations,
		},
		Spec: template.Spec,
		Status: corev1.PodStatus{
			PodIP:      "10.101.1.7",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name:  ContainerEngine,
					Image: "mssql:2022",
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				},
				{Name: ContainerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			},
		},
	}
	e.o.Pod.Spec.NodeName = "tukwila-worker"
	if !e.o.Engine.Asked {
		e.o.Engine = Engine{
			Asked:       true,
			GroupsKnown: true,
			Instance: mssql.Instance{
				ServerName:     strings.ToUpper(e.d.host()),
				NetworkName:    e.d.host(),
				ProductVersion: "16.0.4000.0",
				Engine:         "an engine",
			},
			Logins:      map[string]mssql.Login{"sa": {SID: []byte{1}}},
			Permissions: map[string][]string{}, Denied: map[string][]string{}, Refused: map[credentials.Role]error{},
			TempDB: []mssql.TempDBFile{
				{Name: "tempdev", Path: "/var/opt/mssql/data/tempdb.mdf", Next: "/var/opt/mssql/data/tempdb.mdf"},
				{Name: "templog", Log: true, Path: "/var/opt/mssql/data/templog.ldf", Next: "/var/opt/mssql/data/templog.ldf"},
			},
		}
	}
}

// execute understands the statements by their text, as the engine does.
func (e *environ) execute(t *testing.T, s mssql.Execute) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(s.Role).To(Equal(credentials.RoleSA))
	g.Expect(s.Database).To(Equal("master"))
	engine := &e.o.Engine
	words := strings.Fields(s.Statement.Text)
	last := strings.Trim(words[len(words)-1], "[]")
	switch text := s.Statement.Text; {
	case strings.Contains(text, "CREATE LOGIN"):
		for _, role := range credentials.Roles() {
			if strings.Contains(text, "CREATE LOGIN ["+role.Login()+"]") {
				g.Expect(text).To(ContainSubstring(e.o.SitePasswords.Of(role)))
				engine.Logins[role.Login()] = mssql.Login{SID: credentials.SID("web", role.Login())}
				engine.Permissions[role.Login()] = append(engine.Permissions[role.Login()], "CONNECT SQL")
			}
		}
	case strings.HasPrefix(text, "GRANT "):
		permission, login, _ := strings.Cut(strings.TrimPrefix(text, "GRANT "), " TO ")
		login = strings.Trim(login, "[]")
		g.Expect(engine.Logins).To(HaveKey(login), "a grant comes after its login")
		engine.Permissions[login] = append(engine.Permissions[login], permission)
		engine.Denied[login] = slices.DeleteFunc(engine.Denied[login], func(p string) bool { return p == permission })
	case strings.Contains(text, "ADD MEMBER"):
		engine.Sysadmins = append(engine.Sysadmins, last)
	case strings.Contains(text, "DROP MEMBER"):
		engine.Sysadmins = slices.DeleteFunc(engine.Sysadmins, func(m string) bool { return m == last })
	case strings.HasPrefix(text, "ALTER LOGIN"):
		for _, role := range credentials.Roles() {
			if strings.Contains(text, "["+role.Login()+"]") {
				delete(engine.Refused, role)
				l := engine.Logins[role.Login()]
				l.Disabled = false
				engine.Logins[role.Login()] = l
			}
		}
	case strings.Contains(text, "MODIFY FILE"):
		for i, f := range engine.TempDB {
			if strings.Contains(text, "["+f.Name+"]") {
				engine.TempDB[i].Next = "/var/opt/mssql-tempdb/" + f.Path[strings.LastIndex(f.Path, "/")+1:]
			}
		}
	case strings.Contains(text, "ADD FILE"):
		path := fmt.Sprintf("/var/opt/mssql-tempdb/%d.ndf", len(engine.TempDB))
		engine.TempDB = append(
			engine.TempDB,
			mssql.TempDBFile{Name: fmt.Sprint("temp", len(engine.TempDB)), Path: path, Next: path},
		)
	default:
		t.Fatalf("statement %q is not known", text)
	}
}

// settle plans and does until nothing is left to do, and returns the last plan and all steps. Every step may be the
// last of its plan: only the first `most` steps of each plan are done.
func (e *environ) settle(t *testing.T, most int) (reconcile.Plan, []string) {
	t.Helper()
	var done []string
	for range 200 {
		p := plan(e.d, e.o)
		if len(p.All()) == 0 {
			return p, done
		}
		for i, s := range p.All() {
			if i == most {
				break
			}
			done = append(done, s.Describe())
			e.do(t, s)
		}
	}
	t.Fatalf("the plan does not come to an end: %q ...", done[len(done)-8:])
	return reconcile.Plan{}, nil
}

// order has the Secret of the sidecar's orders say something beside what it says.
func (o *Observed) order(key string, value []byte) {
	told := maps.Clone(o.Orders)
	if told == nil {
		told = map[string][]byte{}
	}
	told[key] = value
	o.Orders = told
}
