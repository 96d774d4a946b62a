// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// permit is what a field of a literal object may hold: a scalar or a list of scalars, one of the values where there are
// any; of what is free, anything.
type permit struct {
	values []string
	free   bool
}

var (
	scalar   = permit{}
	anything = permit{free: true}
)

func oneOf(values ...string) permit { return permit{values: values} }

// permitted are the fields, by kind, that a literal object may have. Nothing else may be set, so that what a later
// version of Chaos Mesh brings is refused until somebody has looked at it. Left out are fields that reach beyond the
// target's pods (another namespace's Secrets, nodes, another cluster), that run what they are given (options of
// stress-ng, rules and expressions of Byteman), that change what is read, written or said, and oomScoreAdj, by which
// the kernel ends somebody else's processes.
func permitted(kind string) map[string]permit {
	fields := map[string]permit{"mode": scalar, "value": scalar, "duration": scalar, "containerNames": scalar}
	maps.Copy(fields, selecting("selector."))
	maps.Copy(fields, permittedByKind[kind])
	return fields
}

func selecting(prefix string) map[string]permit {
	fields := map[string]permit{}
	for _, by := range []string{"labelSelectors", "expressionSelectors", "annotationSelectors", "fieldSelectors",
		"podPhaseSelectors"} {
		fields[prefix+by] = anything
	}
	return fields
}

var permittedByKind = map[string]map[string]permit{
	"DNSChaos": {"action": oneOf("error", "random"), "patterns": scalar},
	"HTTPChaos": {
		"target": oneOf("Request", "Response"), "port": scalar, "method": scalar, "path": scalar, "code": scalar,
		"request_headers": anything, "response_headers": anything, "abort": scalar, "delay": scalar,
	},
	"IOChaos": {
		"action": oneOf("latency", "fault"), "volumePath": scalar, "path": scalar, "methods": scalar, "percent": scalar,
		"delay": scalar, "errno": scalar,
	},
	"JVMChaos": {
		"action": oneOf("latency", "stress", "gc"), "class": scalar, "method": scalar, "latency": scalar,
		"cpuCount": scalar, "memType": scalar, "port": scalar,
	},
	"NetworkChaos": networkFields(),
	"PodChaos":     {"action": oneOf("pod-kill", "pod-failure", "container-kill"), "gracePeriod": scalar},
	"StressChaos": {
		"stressors.cpu.workers": scalar, "stressors.cpu.load": scalar, "stressors.memory.workers": scalar,
		"stressors.memory.size": scalar,
	},
	"TimeChaos": {"timeOffset": scalar, "clockIds": scalar},
}

func networkFields() map[string]permit {
	fields := selecting("target.selector.")
	fields["action"] = oneOf("netem", "delay", "loss", "duplicate", "corrupt", "partition", "bandwidth")
	for _, name := range []string{"direction", "device", "targetDevice", "externalTargets", "target.mode", "target.value",
		"delay.latency", "delay.jitter", "delay.correlation", "delay.reorder.reorder", "delay.reorder.correlation",
		"delay.reorder.gap", "loss.loss", "loss.correlation", "duplicate.duplicate", "duplicate.correlation",
		"corrupt.corrupt", "corrupt.correlation", "bandwidth.rate", "bandwidth.limit", "bandwidth.buffer",
		"bandwidth.peakrate", "bandwidth.minburst", "rate.rate"} {
		fields[name] = scalar
	}
	return fields
}

// CheckLiteral refuses an object that would not end by itself, or has a field that is not permitted. at is where its
// spec stands.
func CheckLiteral(at *field.Path, l v1alpha1.LiteralChaos) field.ErrorList {
	var spec map[string]any
	if err := json.Unmarshal(l.Spec.Raw, &spec); err != nil || spec == nil {
		return field.ErrorList{field.Invalid(at, string(l.Spec.Raw), "it must be an object")}
	}
	check := literalCheck{kind: l.Kind, fields: permitted(l.Kind)}
	check.object(at, "", spec)
	if _, ok := spec["selector"].(map[string]any); !ok {
		check.refuse(field.Required(at.Child("selector"), "it needs a selector with labelSelectors"))
	}
	action, _ := spec["action"].(string)
	if l.Kind == "PodChaos" && (action == "pod-kill" || action == "container-kill") {
		return check.errs
	}
	text, _ := spec["duration"].(string)
	if d, err := time.ParseDuration(text); err != nil || d <= 0 {
		check.refuse(field.Invalid(at.Child("duration"), text,
			"it needs a duration, such as 30s, after which it ends by itself"))
	}
	return check.errs
}

// literalCheck walks through a literal object.
type literalCheck struct {
	kind   string
	fields map[string]permit
	errs   field.ErrorList
}

func (c *literalCheck) refuse(err *field.Error) { c.errs = append(c.errs, err) }

// object looks at the fields of an object whose own name is prefix.
func (c *literalCheck) object(at *field.Path, prefix string, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		path := strings.TrimPrefix(prefix+"."+name, ".")
		permit, known := c.fields[path]
		inner, isObject := object[name].(map[string]any)
		switch {
		case known:
			c.value(at.Child(name), permit, object[name])
		case isObject && c.leads(path):
			c.object(at.Child(name), path, inner)
		default:
			c.refuse(field.Forbidden(at.Child(name), fmt.Sprintf("%s may not be set in a literal %s: a drill strikes the "+
				"servers of its target in its own namespace, which are added, and destroys nothing; allowed are %s",
				path, c.kind, strings.Join(slices.Sorted(maps.Keys(c.fields)), ", "))))
		}
	}
}

// leads tells whether there are permitted fields in the object of that name.
func (c *literalCheck) leads(name string) bool {
	for permitted := range c.fields {
		if strings.HasPrefix(permitted, name+".") {
			return true
		}
	}
	return false
}

func (c *literalCheck) value(at *field.Path, permit permit, value any) {
	if permit.free {
		return
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, one := range list {
		switch one := one.(type) {
		case map[string]any, []any:
			c.refuse(field.Invalid(at, one, "it must be a value, or a list of values"))
		case string:
			if len(permit.values) > 0 && !slices.Contains(permit.values, one) {
				c.refuse(field.NotSupported(at, one, permit.values))
			}
		default:
			if len(permit.values) > 0 {
				c.refuse(field.NotSupported(at, fmt.Sprint(one), permit.values))
			}
		}
	}
}
