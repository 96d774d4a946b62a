// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/mssql/conf"
)

// Object is an object that a fault consists of, and the site at which it is created; the hub's has none.
type Object struct {
	Site v1alpha1.SiteName
	*unstructured.Unstructured
}

// Probe asks from one server's pod for the TCP address of another, by the name that engines use.
type Probe struct {
	From v1alpha1.ServerName
	// To is host:port.
	To string
	// Send is how many bytes are sent to the HTTPS server there; 0 when only connections are opened.
	Send int
}

// Resolved is a fault in the world of the moment.
type Resolved struct {
	// Targets for people.
	Targets []string
	// Struck are the servers whose pods the fault is done to.
	Struck []v1alpha1.ServerName
	// Objects that are created. A Freeze has none: it is done by a process in the pod.
	Objects []Object
	// Probes tell whether a fault of the network has taken effect.
	Probes []Probe
	// Isolated are sites whose clients reach nothing while it lasts.
	Isolated []string
	// Asked says what the fault should do, for people.
	Asked string
}

// margin is by how much Chaos Mesh's own duration of a fault is longer than the drill's, which ends it: should nobody
// do that, it ends by itself.
const margin = 10 * time.Second

// maxProbes bounds the ways between engines that are probed for one fault, maxTransfers those on which data is sent as
// well, and maxLiteralProbes those of a fault whose ends are not known before. A status has room for 16 figures: two of
// a way on which data is sent, and one of the API server of a site that is lost.
const maxProbes, maxTransfers, maxLiteralProbes = 15, 7, 8

// Resolve finds out what a fault consists of. The error says what is not there.
func Resolve(w World, o drill.Occurrence) (Resolved, error) {
	var r Resolved
	var where end
	if o.Where != nil {
		var err error
		if where, err = w.find(*o.Where); err != nil {
			return r, err
		}
		r.Targets = where.names()
		for _, s := range where.servers {
			r.Struck = append(r.Struck, s.Name)
		}
	}
	b := builder{w: w, o: o, r: &r}
	var err error
	switch o.Kind {
	case v1alpha1.FaultNetwork, v1alpha1.FaultPartition:
		err = b.network(where)
	case v1alpha1.FaultPodKill:
		b.pods(where, "PodChaos", map[string]any{"action": "pod-kill", "gracePeriod": int64(0)})
		r.Asked = "the pod is replaced"
	case v1alpha1.FaultContainerKill:
		b.pods(where, "PodChaos", map[string]any{"action": "container-kill", "containerNames": []any{EngineContainer}})
		r.Asked = "the engine's container is started anew"
	case v1alpha1.FaultPodFailure:
		b.pods(where, "PodChaos", map[string]any{"action": "pod-failure"})
		r.Asked = "the engine does not run"
	case v1alpha1.FaultCPUStress, v1alpha1.FaultMemoryStress:
		b.stress(where)
	case v1alpha1.FaultDiskDelay:
		err = b.disk(where)
	case v1alpha1.FaultClockOffset:
		b.pods(
			where,
			"TimeChaos",
			map[string]any{
				"timeOffset":     o.ClockOffset.Duration.String(),
				"clockIds":       []any{"CLOCK_REALTIME"},
				"containerNames": []any{EngineContainer},
			},
		)
		r.Asked = fmt.Sprintf("the engine's clock is off by %s", o.ClockOffset.Duration)
	case v1alpha1.FaultFreeze:
		r.Asked = "the engine's process is stopped"
	case v1alpha1.FaultSwitchover, v1alpha1.FaultFailover:
		err = b.election()
	case v1alpha1.FaultChaosMesh:
		err = b.literal()
	default:
		err = fmt.Errorf("fault kind %s is not supported", o.Kind)
	}
	return r, err
}

// EngineContainer and AgentContainer are the containers of a server's pod.
const (
	EngineContainer = "mssql"
	AgentContainer  = "agent"
)

// builder adds the objects of one fault.
type builder struct {
	w World
	o drill.Occurrence
	r *Resolved
}

// add adds an object of Chaos Mesh at a site.
func (b builder) add(site v1alpha1.SiteName, kind string, spec map[string]any) {
	if lasts := b.o.Lasts(); lasts > 0 {
		if b.w.Left > 0 {
			lasts = min(lasts, b.w.Left)
		}
		// One that was given literally may end earlier by itself.
		text, _ := spec["duration"].(string)
		if own, err := time.ParseDuration(text); err != nil || own > lasts+margin {
			spec["duration"] = (lasts + margin).String()
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion("chaos-mesh.org/v1alpha1")
	u.SetKind(kind)
	b.name(u, site)
	b.r.Objects = append(b.r.Objects, Object{site, u})
}

// name gives the next object of the fault its name and labels. They follow from the run, so that one that is made again
// is the same.
func (b builder) name(u *unstructured.Unstructured, site v1alpha1.SiteName) {
	u.SetNamespace(b.w.Namespace)
	u.SetName(fmt.Sprintf("%s-%s-%s-%d", b.w.Drill, b.w.RunID, b.o.Name, len(b.r.Objects)+1))
	u.SetLabels(drill.Labels(b.w.Namespace, b.w.Drill, b.w.RunID))
	if site != "" {
		labels := u.GetLabels()
		labels[v1alpha1.LabelSite] = string(site)
		u.SetLabels(labels)
	}
}

// selecting adds the pods by their names to a spec of Chaos Mesh.
func (b builder) selecting(spec map[string]any, pods []string) map[string]any {
	spec["mode"] = "all"
	spec["selector"] = map[string]any{
		"namespaces": []any{b.w.Namespace},
		"pods":       map[string]any{b.w.Namespace: anys(pods)},
	}
	return spec
}

// pods adds an object for the pods of each site.
func (b builder) pods(where end, kind string, spec map[string]any) {
	where.site = "" // its clients are no part of what breaks
	pods := b.w.pods(where)
	for _, site := range slices.Sorted(maps.Keys(pods)) {
		b.add(site, kind, b.selecting(maps.Clone(spec), pods[site]))
	}
}

func (b builder) stress(where end) {
	spec := map[string]any{"containerNames": []any{EngineContainer}}
	if b.o.Kind == v1alpha1.FaultMemoryStress {
		spec["stressors"] = map[string]any{"memory": map[string]any{"workers": int64(1), "size": b.o.Memory.Size}}
		b.r.Asked = b.o.Memory.Size + " of memory are taken"
	} else {
		cpu := v1alpha1.CPUFault{Workers: 1, Load: 100}
		if b.o.CPU != nil {
			cpu = v1alpha1.CPUFault{Workers: max(b.o.CPU.Workers, 1), Load: b.o.CPU.Load}
			if cpu.Load == 0 {
				cpu.Load = 100
			}
		}
		spec["stressors"] = map[string]any{"cpu": map[string]any{"workers": int64(cpu.Workers), "load": int64(cpu.Load)}}
		b.r.Asked = fmt.Sprintf("%d workers burn %d %% of a processor each", cpu.Workers, cpu.Load)
	}
	b.pods(where, "StressChaos", spec)
}

// Volumes of an engine by their role.
var Volumes = map[string]string{
	"data":   conf.DataMount,
	"log":    conf.LogMount,
	"tempdb": conf.TempDBMount,
	"backup": conf.BackupMount,
}

func (b builder) disk(where end) error {
	path, ok := Volumes[b.o.Disk.Volume]
	if !ok {
		return fmt.Errorf("a server has no volume %q", b.o.Disk.Volume)
	}
	percent := int64(b.o.Disk.Percent)
	if percent == 0 {
		percent = 100
	}
	b.pods(
		where,
		"IOChaos",
		map[string]any{"action": "latency", "delay": b.o.Disk.Delay.Duration.String(), "percent": percent,
			"volumePath": path, "containerNames": []any{EngineContainer}},
	)
	b.r.Asked = fmt.Sprintf("files of %s are slower by %s", path, b.o.Disk.Delay.Duration)
	return nil
}

// election adds a Failover in the hub.
func (b builder) election() error {
	if b.w.Group == "" {
		return fmt.Errorf("the target has no group")
	}
	primary, ok := b.w.Roles[v1alpha1.RolePrimary]
	if !ok && b.o.Kind == v1alpha1.FaultSwitchover {
		return fmt.Errorf("nobody is primary now: a switchover needs one")
	}
	to := b.o.To
	if to == "" && b.o.Kind == v1alpha1.FaultSwitchover {
		if to, ok = b.w.Roles[v1alpha1.RoleSecondary]; !ok {
			return fmt.Errorf("there is no synchronous secondary to which the primary could move")
		}
	}
	if to == primary && to != "" {
		return fmt.Errorf("%s is primary already", to)
	}
	spec := map[string]any{"group": b.w.Group, "kind": string(b.o.Kind), "expires": "1m0s"}
	if to != "" {
		spec["to"] = string(to)
	}
	if b.o.AllowDataLoss {
		if b.w.Term == 0 {
			return fmt.Errorf("the status of group %s tells no term, which a failover that may lose data must name", b.w.Group)
		}
		spec["allowDataLoss"], spec["expectedTerm"] = true, b.w.Term
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(v1alpha1.GroupVersion.String())
	u.SetKind("Failover")
	b.name(u, "")
	b.r.Objects = append(b.r.Objects, Object{"", u})
	b.r.Targets = []string{string(primary)}
	b.r.Asked = fmt.Sprintf("%s is primary", cmp.Or(string(to), "another replica"))
	return nil
}

// literal adds the object that was given, for servers of the target.
func (b builder) literal() error {
	l := *b.o.ChaosMesh
	if err := CheckLiteral(field.NewPath("chaosMesh", "spec"), l).ToAggregate(); err != nil {
		return err
	}
	var spec map[string]any
	if err := json.Unmarshal(l.Spec.Raw, &spec); err != nil {
		return fmt.Errorf("read the literal %s: %w", l.Kind, err)
	}
	mine := map[string]any{
		"key":      v1alpha1.LabelServer,
		"operator": "In",
		"values":   anys(slices.Sorted(maps.Keys(b.w.Servers))),
	}
	for _, s := range selectors(spec) {
		s["namespaces"] = []any{b.w.Namespace}
		// Whatever it selects, it strikes servers of the target alone: only that has been said to allow drills.
		given, _ := s["expressionSelectors"].([]any)
		s["expressionSelectors"] = append(slices.Clone(given), mine)
	}
	// Which of them its selector names is seen when Chaos Mesh has selected them; what they are before is looked at in
	// all.
	here := end{}
	for _, name := range slices.Sorted(maps.Keys(b.w.Servers)) {
		if s := b.w.Servers[name]; s.Site == l.Site {
			here.servers = append(here.servers, s)
			b.r.Struck = append(b.r.Struck, s.Name)
		}
	}
	if m := MeasuredAs(b.o); m.Kind == v1alpha1.FaultNetwork || m.Kind == v1alpha1.FaultPartition {
		b.r.Probes = withTransfers(b.w.probes(here, b.w.rest(here)[:1], false, maxLiteralProbes), m)
	}
	b.r.Targets = []string{"site " + string(l.Site)}
	b.r.Asked = "a literal " + l.Kind
	b.add(l.Site, l.Kind, spec)
	return nil
}

// selectors of a spec, and of its target.
func selectors(spec map[string]any) []map[string]any {
	var list []map[string]any
	if s, ok := spec["selector"].(map[string]any); ok {
		list = append(list, s)
	}
	if target, ok := spec["target"].(map[string]any); ok {
		if s, ok := target["selector"].(map[string]any); ok {
			list = append(list, s)
		}
	}
	return list
}

func anys[S ~string](list []S) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func words(list []string) string { return strings.Join(list, ", ") }

func seconds(d *metav1.Duration) string { return d.Duration.String() }
