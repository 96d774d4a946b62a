// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/podshape"
)

// setting is the form of a key of mssql.conf, section.key (docs/linux/sql-server-linux-configure-mssql-conf.md).
var setting = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*\.[A-Za-z0-9_/-]+$`)

// server checks a SQLServer against what it was before and the other objects.
func (w *World) server(at *field.Path, old, s *v1alpha1.SQLServer) field.ErrorList {
	errs := configuration(at.Child("mssqlConf"), s.Spec.MSSQLConf)
	errs = append(errs, memory(at, &s.Spec)...)
	errs = append(errs, selectors(at.Child("network"), s.Spec.Network)...)
	errs = append(errs, receiveWindow(at.Child("network", "receiveWindow"), s.Spec.Network)...)
	errs = append(errs, resources(at.Child("resources"), s.Spec.Resources)...)
	errs = append(errs, resources(at.Child("agent", "resources"), s.Spec.AgentResources())...)
	errs = append(errs, w.shape(at, old, s)...)
	if old == nil || !equality.Semantic.DeepEqual(old.Spec.Memory, s.Spec.Memory) ||
		!equality.Semantic.DeepEqual(old.Spec.Resources.Limits, s.Spec.Resources.Limits) {
		errs = append(errs, leastMemory(at, &s.Spec)...)
	}
	errs = append(errs, w.image(at.Child("image"), old, s)...)
	errs = append(errs, windows(at.Child("maintenanceWindows"), s.Spec.MaintenanceWindows)...)
	errs = append(errs, w.serverNameFree(s.Name)...)
	errs = append(errs, w.serverDatabases(at.Child("databases"), s)...)
	errs = append(errs, w.serverOwners(at, old, s)...)
	if _, err := time.LoadLocation(s.Spec.TimeZone); err != nil {
		errs = append(errs, field.Invalid(at.Child("timeZone"), s.Spec.TimeZone,
			"a time zone is named as in the tz database, such as Europe/Dublin or Etc/UTC"))
	}
	if !w.strict && (old == nil || old.Spec.DeclaredEdition() != s.Spec.DeclaredEdition()) {
		errs = append(errs, w.editionFits(at.Child("edition"), s)...)
	}
	if !w.strict {
		errs = append(errs, sizes(at.Child("storage"), s.Spec.Storage)...)
	}
	if old != nil {
		errs = append(errs, volumes(at.Child("storage"), old.Spec.Storage, s.Spec.Storage, w.grows(s.Name))...)
		errs = append(errs, w.classes(at.Child("storage"), old.Spec, s.Spec)...)
	}
	return errs
}

// shape refuses what a server makes of its pod and did not make of it before. What is stored was taken by an earlier
// release, or before somebody declared another server: no edit is refused for it, and the controller, which keeps such
// a pod as it was made, runs nothing of it.
func (w *World) shape(at *field.Path, old, s *v1alpha1.SQLServer) field.ErrorList {
	others := slices.Sorted(maps.Keys(w.Servers))
	_, misshapen := podshape.Of(at, s.Name, &s.Spec, others)
	if old == nil || len(misshapen) == 0 {
		return misshapen
	}
	_, before := podshape.Of(at, s.Name, &old.Spec, others)
	return slices.DeleteFunc(misshapen, func(now *field.Error) bool {
		return slices.ContainsFunc(before, func(was *field.Error) bool { return equality.Semantic.DeepEqual(*was, *now) })
	})
}

// configuration refuses settings that the operator manages: the engine would obey the one and the operator believe the
// other.
func configuration(at *field.Path, settings map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		switch {
		case !setting.MatchString(key):
			errs = append(
				errs,
				field.Invalid(at.Key(key), key, `a setting is written "section.key", such as "memory.enablecontainersharedmemory"`),
			)
		case conf.Managed(key):
			errs = append(
				errs,
				field.Forbidden(at.Key(key), "the operator manages this setting, as it does: "+strings.Join(conf.Managers(), ", ")),
			)
		case strings.ContainsAny(settings[key], "\n\r"):
			errs = append(errs, field.Invalid(at.Key(key), settings[key], "a value is one line"))
		}
	}
	return errs
}

// selectors refuses those that select nothing by mistake: the site's API server would refuse the NetworkPolicy.
func selectors(at *field.Path, n *v1alpha1.ServerNetwork) field.ErrorList {
	if n == nil {
		return nil
	}
	var errs field.ErrorList
	for _, list := range []struct {
		at  *field.Path
		who []v1alpha1.NetworkClient
	}{{at.Child("clients"), n.Clients}, {at.Child("scrapers"), n.Scrapers}} {
		for i, c := range list.who {
			for name, selector := range map[string]*metav1.LabelSelector{
				"namespaceSelector": c.NamespaceSelector, "podSelector": c.PodSelector} {
				errs = append(errs, validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{},
					list.at.Index(i).Child(name))...)
			}
		}
	}
	return errs
}

// receiveWindow refuses one that TCP has not, or that is larger than what a buffer holds.
func receiveWindow(at *field.Path, n *v1alpha1.ServerNetwork) field.ErrorList {
	if n == nil || n.ReceiveWindow == nil {
		return nil
	}
	least, most := resource.NewQuantity(link.LeastWindow, resource.BinarySI),
		resource.NewQuantity(link.MostWindow, resource.BinarySI)
	if n.ReceiveWindow.Cmp(*least) >= 0 && n.ReceiveWindow.Cmp(*most) <= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, n.ReceiveWindow.String(), fmt.Sprintf("is %s to %s, in bytes", least, most))}
}

// memory refuses an engine that may use more than its container.
func memory(at *field.Path, spec *v1alpha1.SQLServerSpec) field.ErrorList {
	limit, ok := spec.Resources.Limits["memory"]
	if spec.Memory == nil || !ok || spec.Memory.Cmp(limit) <= 0 {
		return nil
	}
	return field.ErrorList{
		field.Invalid(
			at.Child("memory"),
			spec.Memory.String(),
			fmt.Sprintf("must not exceed the container's limit, resources.limits.memory (%s)", limit.String()),
		),
	}
}

// SQL Server ends at once where it sees less memory, with the reason in the container's log alone: "This program
// requires a machine with at least 2000 megabytes of memory". Of a container's it takes 80 % unless told otherwise.
var (
	leastLimit  = resource.MustParse("2000M")
	leastEngine = resource.MustParse("1600M")
)

// leastMemory refuses less memory than an engine starts with. A server that has less already is not held to it when
// something else of it changes.
func leastMemory(at *field.Path, spec *v1alpha1.SQLServerSpec) field.ErrorList {
	var errs field.ErrorList
	if limit, ok := spec.Resources.Limits["memory"]; ok && limit.Cmp(leastLimit) < 0 {
		errs = append(errs, field.Invalid(at.Child("resources", "limits", "memory"), limit.String(),
			"must be at least 2000M, such as 2Gi: SQL Server does not start in a container with less than 2000 MB of memory"))
	}
	if m := spec.Memory; m != nil && m.Cmp(leastEngine) < 0 {
		errs = append(errs, field.Invalid(at.Child("memory"), m.String(),
			"must be at least 1600M: SQL Server needs 2000 MB of memory, of which it takes 80 % itself"))
	}
	return errs
}

// resources refuses requests above limits, which no pod may have.
func resources(at *field.Path, r corev1.ResourceRequirements) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, limit := r.Requests[name], r.Limits[name]
		if _, limited := r.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("requests").Key(string(name)), request.String(),
				fmt.Sprintf("must not exceed the limit, resources.limits.%s (%s)", name, limit.String())))
		}
	}
	return errs
}

// classes refuses another class for a volume that named none, or none for one that named another than its site does:
// the claim has the class that it was made with, and would keep it.
func (w *World) classes(at *field.Path, old, now v1alpha1.SQLServerSpec) field.ErrorList {
	site := w.Sites[string(old.Site)]
	if site == nil {
		return nil
	}
	c := site.Spec.StorageClasses
	defaults := map[string]string{"data": c.Data, "log": c.Log, "tempdb": c.TempDB, "backup": c.Backup, "agent": c.Agent}
	if data := roles(old.Storage)[0].volume; c.Agent == "" && data != nil {
		defaults["agent"] = ptr.Deref(data.StorageClassName, c.Data)
	}
	var errs field.ErrorList
	before := roles(old.Storage)
	for i, v := range roles(now.Storage) {
		was := before[i].volume
		if was == nil || v.volume == nil || (was.StorageClassName == nil) == (v.volume.StorageClassName == nil) {
			continue
		}
		a, b := ptr.Deref(was.StorageClassName, defaults[v.role]), ptr.Deref(v.volume.StorageClassName, defaults[v.role])
		if a != b && a != "" {
			errs = append(
				errs,
				field.Invalid(at.Child(v.role, "storageClassName"), b, fmt.Sprintf("a volume's class cannot change from %s, "+
					"which site %s gives it or it named: declare another server and add it to the group", a, old.Site)),
			)
		}
	}
	return errs
}

// roles lists a storage's volumes by role.
func roles(s *v1alpha1.ServerStorage) []struct {
	role   string
	volume *v1alpha1.Volume
} {
	if s == nil {
		s = &v1alpha1.ServerStorage{}
	}
	return []struct {
		role   string
		volume *v1alpha1.Volume
	}{{"data", s.Data}, {"log", s.Log}, {"tempdb", s.TempDB}, {"backup", s.Backup}, {roleAgent, s.Agent}}
}

// roleAgent is the volume that need not be declared.
const roleAgent = "agent"

// sizes refuses volumes without a size.
func sizes(at *field.Path, s *v1alpha1.ServerStorage) field.ErrorList {
	var errs field.ErrorList
	for _, v := range roles(s) {
		if v.volume == nil && v.role == roleAgent {
			continue
		}
		if v.volume == nil || v.volume.Size.Sign() <= 0 {
			errs = append(
				errs,
				field.Required(
					at.Child(v.role, "size"),
					"each of the volumes data, log, tempdb and backup needs a size greater than 0",
				),
			)
		}
	}
	return errs
}

// grows tells that nothing speaks against what the server's volumes are to grow to. Where their class does not let
// them, a size that was declared was never theirs, and can be set back: the claim keeps what it has.
func (w *World) grows(server string) bool {
	s := w.Servers[server]
	if s == nil {
		return true
	}
	// One that is suspended waits for a person to let it go on, and its reason says what for then.
	stalled := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled)
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	stuck := stalled != nil && (stalled.Status == metav1.ConditionTrue ||
		ready != nil && ready.Reason == v1alpha1.ReasonSuspended)
	return !stuck || stalled.Reason != v1alpha1.ReasonVolumeCannotGrow
}

// volumes refuses what a claim cannot do: shrink, if it has grown, or move to another class.
func volumes(at *field.Path, old, now *v1alpha1.ServerStorage, grown bool) field.ErrorList {
	if old == nil || now == nil {
		return nil
	}
	var errs field.ErrorList
	before := roles(old)
	for i, v := range roles(now) {
		was, now := before[i].volume, v.volume
		if was == nil || now == nil {
			continue
		}
		if grown && now.Size.Cmp(was.Size) < 0 {
			errs = append(
				errs,
				field.Invalid(
					at.Child(v.role, "size"),
					now.Size.String(),
					fmt.Sprintf("a volume cannot shrink: %s or more", was.Size.String()),
				),
			)
		}
		if was.StorageClassName != nil && now.StorageClassName != nil && *was.StorageClassName != *now.StorageClassName {
			errs = append(
				errs,
				field.Invalid(
					at.Child(v.role, "storageClassName"),
					*now.StorageClassName,
					fmt.Sprintf(
						"a volume's class cannot change from %s: declare another server and add it to the group",
						*was.StorageClassName,
					),
				),
			)
		}
	}
	return errs
}

// serverNameFree refuses a server whose Service would be a listener's.
func (w *World) serverNameFree(server string) field.ErrorList {
	for _, g := range sorted(w.Groups) {
		for _, service := range listenerServices(g) {
			if service == server+"-0" {
				return field.ErrorList{
					field.Invalid(
						field.NewPath("metadata", "name"),
						server,
						fmt.Sprintf("its Service %s-0 is the listener of AvailabilityGroup %s: use another name", server, g.Name),
					),
				}
			}
		}
	}
	return nil
}
