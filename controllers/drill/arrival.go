// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
)

// place is a server at which the drill's rows have to arrive.
type place struct {
	server   v1alpha1.ServerName
	kind     string
	database string
	// table of payloads that is read there; dbo.Recorded when empty.
	table tsql.PayloadTable
	// missing says why nobody can look there; empty when somebody can.
	missing string
}

// followed is what is known of the places' readers.
type followed struct {
	// readers are their pods, by the server that they read, and looked those that have looked with success.
	readers   map[v1alpha1.ServerName]*corev1.Pod
	looked    map[v1alpha1.ServerName]bool
	lookedErr map[v1alpha1.ServerName]error
	// readersLogin at a subscriber; nil when there is none.
	readersLogin *v1alpha1.Login
}

// smallPayload is what rows carry whose arrival is followed, unless the workload says how much.
const smallPayload = 64

// payload of the drill's rows: what its workload says, or where a subscription is drilled a small one in an article.
func (t *target) payload(w v1alpha1.DrillWorkload) workload.Payload {
	if w.Row != nil {
		table := tsql.ArticlePayload
		if w.Row.Type == v1alpha1.RowVarBinary {
			table = tsql.AttachmentPayload
		}
		return workload.Payload{Table: table, Bytes: int(w.Row.Bytes)}
	}
	for _, table := range []tsql.PayloadTable{tsql.ArticlePayload, tsql.AttachmentPayload} {
		if t.publishes(string(table)) {
			return workload.Payload{Table: table, Bytes: smallPayload}
		}
	}
	return workload.Payload{}
}

// publishes says whether all rows of a table in the clients' database come to the subscriber.
func (t *target) publishes(table string) bool {
	return t.subscription != nil && t.database == t.subscribed &&
		slices.ContainsFunc(t.articles, func(a v1alpha1.Article) bool {
			return strings.EqualFold(a.Table, table) && a.Filter == "" && len(a.Columns) == 0
		})
}

// places at which rows have to arrive: readable secondaries, and the subscriber.
func (t *target) places(w v1alpha1.DrillWorkload) []place {
	var list []place
	if t.group != nil {
		for _, name := range t.readable {
			list = append(list, place{server: name, kind: verdict.PlaceSecondary, database: t.database})
		}
	}
	if t.subscription == nil {
		return list
	}
	p := place{
		server:   t.subscriber,
		kind:     verdict.PlaceSubscriber,
		database: string(t.subscription.Spec.Database),
		table:    t.payload(w).Table,
	}
	switch {
	case t.subscriber == "":
		p.server = v1alpha1.ServerName(t.subscription.Spec.Subscriber.AvailabilityGroup)
		p.missing = "the subscriber is a group, whose rows are not followed"
	case p.table == "" || !t.publishes(string(p.table)):
		p.missing = fmt.Sprintf(
			"the publication has neither %s nor %s among its articles, whole, or the clients write to another database or "+
				"table: nothing of the drill arrives",
			tsql.ArticlePayload,
			tsql.AttachmentPayload,
		)
	}
	// A server has one reader.
	return append(slices.DeleteFunc(list, func(other place) bool { return other.server == p.server }), p)
}

// asksForArrival says whether readers are needed.
func asksForArrival(o v1alpha1.DrillObjectives) bool {
	return o.ArrivalP50 != nil || o.ArrivalP99 != nil
}

// readAt are the places that have a reader: where arrival is asked for and somebody can look.
func (t *target) readAt(d *v1alpha1.Drill) []place {
	if !asksForArrival(d.Spec.Objectives) {
		return nil
	}
	return slices.DeleteFunc(t.places(d.Spec.Workload), func(p place) bool { return p.missing != "" })
}

func readerName(d *v1alpha1.Drill, server v1alpha1.ServerName) string {
	return d.Name + "-arrivals-" + string(server)
}

// readersName is the name of the readers' login at a subscriber.
func readersName(d *v1alpha1.Drill) string { return d.Name + "-readers" }

// readersLogin reads at a subscriber, which knows nothing of the clients' login.
func readersLogin(d *v1alpha1.Drill, s *v1alpha1.DrillStatus, p place) *v1alpha1.Login {
	return &v1alpha1.Login{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Login"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace,
			Name:      readersName(d),
			Labels:    drill.Labels(d.Namespace, d.Name, s.RunID),
		},
		Spec: v1alpha1.LoginSpec{
			Target: v1alpha1.ServerOrGroup{
				Server: p.server,
			}, Name: loginName(d) + "_reader",
			PasswordSecretRef: &v1alpha1.SecretReference{Name: clientsName(d), Key: "password"},
			Users: []v1alpha1.LoginUser{
				{Database: v1alpha1.DatabaseName(p.database), Roles: []v1alpha1.RoleName{"db_datareader"}},
			},
			ReclaimPolicy: v1alpha1.ReclaimDelete,
		},
	}
}

// readerPod has the reader of a place, at the place's site. What it has recorded lives as long as the pod.
func readerPod(d *v1alpha1.Drill, s *v1alpha1.DrillStatus, t *target, p place, image string) *corev1.Pod {
	site := t.site(p.server)
	pod := clientPod(d, s, t, site, image)
	pod.Name = readerName(d, p.server)
	arguments := []string{
		"workload",
		"arrive",
		"--server",
		string(p.server),
		"--address",
		net.JoinHostPort(credentials.HostName(p.server), strconv.Itoa(mssql.Port)),
		"--database",
		p.database,
		"--table",
		string(p.table),
		"--since",
		since(s).Format(time.RFC3339Nano),
		"--after",
		strconv.FormatInt(ptr.Deref(s.RecordedAfter, 0), 10),
		"--late",
		operationTimeout(d).String(),
		"--writer-server",
		string(t.publisher),
		"--writer-address",
		t.address,
		"--writer-database",
		s.Database,
		"--timeout",
		(drill.TimeLimit(d.Spec) + drill.Recovery(d.Spec) + keepWithin).String(),
		"--stay",
	}
	if s.Group != "" {
		arguments = append(arguments, "--writer-listener-certificate")
	}
	container := &pod.Spec.Containers[0]
	container.Args = arguments
	// The clients' Secret is that of the writer; at a secondary it is that of the server, too.
	container.VolumeMounts[0].MountPath = "/writer-credentials"
	secret := connectionSecret(d)
	if p.kind == verdict.PlaceSubscriber {
		secret = readersName(d) + "-connection"
	}
	container.VolumeMounts = append(
		container.VolumeMounts,
		corev1.VolumeMount{Name: "reader", MountPath: "/credentials", ReadOnly: true},
	)
	pod.Spec.Volumes = append(
		pod.Spec.Volumes,
		corev1.Volume{
			Name: "reader",
			VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: ptr.To[int32](0o440)},
			},
		},
	)
	return pod
}

// clocksApart is how far clocks may be apart for a payload to be taken for one of the run.
const clocksApart = 10 * time.Minute

// since is a time before which no payload of the run was sent; zero of a run that has not begun.
func since(s *v1alpha1.DrillStatus) time.Time {
	if s.Accepted == nil {
		return time.Time{}
	}
	return s.Accepted.UTC().Add(-clocksApart)
}

// observeReaders reads what the readers are made of, and while the clients are started asks whether they have looked.
func (r *Reconciler) observeReaders(ctx context.Context, w *Observed) {
	w.followed = followed{
		readers:   map[v1alpha1.ServerName]*corev1.Pod{},
		looked:    map[v1alpha1.ServerName]bool{},
		lookedErr: map[v1alpha1.ServerName]error{},
	}
	var l v1alpha1.Login
	if err := r.hub.Get(ctx, client.ObjectKey{Namespace: w.drill.Namespace, Name: readersName(w.drill)}, &l); err == nil {
		w.readersLogin = &l
	}
	for _, p := range w.target.readAt(w.drill) {
		member := w.members[w.target.site(p.server)]
		if member == nil {
			continue
		}
		var pod corev1.Pod
		if member.Client.Get(
			ctx,
			client.ObjectKey{Namespace: w.drill.Namespace, Name: readerName(w.drill, p.server)},
			&pod,
		) != nil {
			continue
		}
		w.readers[p.server] = &pod
		if w.drill.Status.Phase != v1alpha1.DrillPreparing || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		var first time.Time
		out, err := r.inReader(ctx, w, p, askTimeout, "history", "looked")
		if err == nil {
			err = json.Unmarshal(out, &first)
		}
		w.looked[p.server], w.lookedErr[p.server] = !first.IsZero(), err
	}
}

// inReader runs the operator's program in a reader's pod.
func (r *Reconciler) inReader(
	ctx context.Context,
	w *Observed,
	p place,
	timeout time.Duration,
	arguments ...string,
) ([]byte, error) {
	member := w.members[w.target.site(p.server)]
	if member == nil {
		return nil, w.unusable(w.target.site(p.server))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.pods.Run(
		ctx,
		member.RESTConfig,
		w.drill.Namespace,
		readerName(w.drill, p.server),
		clientContainer,
		append([]string{"/geosql"}, arguments...)...)
}

// StartReader starts the reader of a place.
type StartReader struct{ Server v1alpha1.ServerName }

// Describe implements reconcile.Step.
func (s StartReader) Describe() string {
	return "start to look for rows that arrive at " + string(s.Server)
}

// MakeReadersLogin declares the readers' login at the subscriber.
type MakeReadersLogin struct{}

// Describe implements reconcile.Step.
func (MakeReadersLogin) Describe() string { return "declare the readers' login" }

// prepareReaders brings the readers to work before the clients are. It says what is waited for.
func (p *planner) prepareReaders() []string {
	var waits []string
	for _, one := range p.target.readAt(p.drill) {
		name := string(one.server)
		if one.kind == verdict.PlaceSubscriber {
			if p.readersLogin == nil {
				p.do(MakeReadersLogin{})
				waits = append(waits, "a login at "+name)
				continue
			}
			if text := notReady("Login "+p.readersLogin.Name, p.readersLogin.Status.Conditions); text != "" {
				waits = append(waits, text)
				continue
			}
		}
		if p.readers[one.server] == nil {
			p.do(StartReader{one.server})
			waits = append(waits, "a reader at "+name)
			continue
		}
		if !p.looked[one.server] {
			text := "the reader at " + name + " has not looked with success yet"
			if err := p.lookedErr[one.server]; err != nil {
				text += ": " + conditions.Shorten(err.Error(), 300)
			}
			waits = append(waits, text)
		}
	}
	return waits
}

// makeReadersLogin declares it.
func (r *Reconciler) makeReadersLogin(ctx context.Context, w *Observed) error {
	for _, p := range w.target.readAt(w.drill) {
		if p.kind == verdict.PlaceSubscriber {
			return client.IgnoreAlreadyExists(r.direct.Create(ctx, readersLogin(w.drill, &w.drill.Status, p)))
		}
	}
	return nil
}

// startReader starts a reader.
func (r *Reconciler) startReader(ctx context.Context, w *Observed, server v1alpha1.ServerName) error {
	for _, p := range w.target.readAt(w.drill) {
		if p.server == server {
			return r.startPod(ctx, w, w.target.site(server), readerPod(w.drill, &w.drill.Status, w.target, p, r.image))
		}
	}
	return nil
}

// collectArrivals fetches what the readers recorded. One that does not answer is an error, unless no time is left.
func (r *Reconciler) collectArrivals(
	ctx context.Context,
	w *Observed,
	a *archive.Archive,
	budget *archive.Budget,
	last bool,
) error {
	a.Arrivals = map[string][]byte{}
	for _, p := range w.target.readAt(w.drill) {
		out, err := r.inReader(ctx, w, p, timeLeft(ctx, fetchTimeout), "history", "arrivals", "--stop", "--timeout", "20s")
		if err != nil && last {
			// What lies there is worth having; that the reader has not ended is in it.
			out, err = r.inReader(ctx, w, p, timeLeft(ctx, fetchTimeout), "history", "arrivals")
		}
		if err == nil {
			err = budget.Take(out)
		}
		if err != nil {
			if !last {
				return fmt.Errorf("fetch what arrived at %s: %w", p.server, err)
			}
			continue
		}
		a.Arrivals[string(p.server)] = out
	}
	return nil
}

// missingRows counts rows of one that the other lacks.
func missingRows(of, in history.Replica) int {
	there := map[history.RowID]bool{}
	for _, id := range in.Rows {
		there[id] = true
	}
	n := 0
	for _, id := range of.Rows {
		if !there[id] {
			n++
		}
	}
	return n
}

// arrived puts together how rows came to each place, from what is kept.
func (w *Observed) arrived(a archive.Archive) ([]verdict.Place, error) {
	runs, err := a.Runs()
	if err != nil {
		return nil, err
	}
	arrivals, err := a.Arrived()
	if err != nil {
		return nil, err
	}
	var list []verdict.Place
	for _, p := range w.target.places(w.drill.Spec.Workload) {
		one := verdict.Place{Server: p.server, Kind: p.kind, Missing: p.missing}
		if seen, ok := arrivals[string(p.server)]; ok {
			local := func(server string) bool { return p.kind == verdict.PlaceSecondary && sameServer(p.server, server) }
			figures := history.MeasureArrivals(seen, runs, local)
			one.Figures = &figures
		} else if one.Missing == "" {
			one.Missing = "what its reader recorded is lost"
			if !asksForArrival(w.drill.Spec.Objectives) {
				one.Missing = "no objective asks how long rows took"
			}
		}
		switch {
		case p.kind != verdict.PlaceSubscriber:
		case p.missing != "":
			one.NotCompared = p.missing
		case len(a.Payloads) == 2:
			delivery := history.CheckDelivery(runs, a.Payloads[0], a.Payloads[1])
			one.Delivery = &delivery
		default:
			one.NotCompared = "its rows and those of its publisher could not be read, so nobody can say what was delivered"
		}
		if one.Followed() || asksForArrival(w.drill.Spec.Objectives) {
			list = append(list, one)
		}
	}
	return list, nil
}
