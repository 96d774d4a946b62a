// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// maxPlanned and maxPlannedBytes bound the objects that a dry run shows, so that the status can be kept.
const maxPlanned, maxPlannedBytes = 256, 768 << 10

// dryRun shows what would be created, as roles and addresses are now.
func (p *planner) dryRun() {
	d, t := p.drill, p.target
	p.s.Database, p.s.Group = t.database, ""
	if t.group != nil {
		p.s.Group = t.group.Name
	}
	list := drill.ClientSites(d.Spec, t.sites())
	var count shown
	password := secret(d, p.s, "REDACTED")
	password.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	p.show(&count, "", "", nil, password)
	p.show(&count, "", "", nil, login(d, p.s, t))
	for _, site := range list {
		pod := clientPod(d, p.s, t, site, p.image)
		pod.SetGroupVersionKind(podKind)
		p.show(&count, "", string(site), nil, pod)
	}
	for _, one := range t.readAt(d) {
		if one.kind == verdict.PlaceSubscriber {
			p.show(&count, "", "", nil, readersLogin(d, p.s, one))
		}
		pod := readerPod(d, p.s, t, one, p.image)
		pod.SetGroupVersionKind(podKind)
		p.show(&count, "", string(t.site(one.server)), nil, pod)
	}
	var open, told []string
	for _, o := range drill.Expand(d.Spec.Faults) {
		r, err := fault.Resolve(p.resolved, o)
		if err != nil {
			open = append(open, fmt.Sprintf("%s: %v", o.Name, err))
			continue
		}
		if err, first := p.tried[o.DrillFault.Name], !slices.Contains(told, o.DrillFault.Name); err != nil && first {
			told = append(told, o.DrillFault.Name)
			open = append(open, fmt.Sprintf("%s: %v", o.DrillFault.Name, err))
		}
		for _, object := range r.Objects {
			p.show(&count, o.Name, string(object.Site), &metav1.Duration{Duration: o.At}, object)
		}
	}
	message := fmt.Sprintf("%d objects would be created", count.all)
	if count.all > len(p.s.Plan) {
		message += fmt.Sprintf(", of which the first %d are shown", len(p.s.Plan))
	}
	for _, text := range open {
		message += "; fault " + text
	}
	if len(p.ungranted) > 0 {
		message += "; " + p.notGranted()
	}
	p.complete("", v1alpha1.ReasonDryRun, message)
}

// shown counts the objects of a dry run, and the bytes of those that are in the status.
type shown struct{ all, bytes int }

// show adds an object to the plan, while there is room.
func (p *planner) show(count *shown, fault, site string, when *metav1.Duration, object client.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		// The types are of JSON's making.
		panic("convert an object: " + err.Error())
	}
	delete(content, "status")
	manifest, err := yaml.Marshal(content)
	if err != nil {
		panic("write an object as YAML: " + err.Error())
	}
	text := conditions.Shorten(string(manifest), 16384)
	count.all++
	if len(p.s.Plan) < count.all-1 || len(p.s.Plan) == maxPlanned || count.bytes+len(text) > maxPlannedBytes {
		return
	}
	count.bytes += len(text)
	p.s.Plan = append(p.s.Plan, v1alpha1.PlannedObject{Fault: fault, Site: site, At: when, Manifest: text})
}
