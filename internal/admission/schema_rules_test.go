// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/test/support/apiserver"
)

const publisherMove = `
apiVersion: geosql.dev/v1alpha1
kind: PublisherMove
metadata: {name: NAME, namespace: web}
spec: {publication: articles, to: sub}
`

// plain is a manifest of each kind that its schema takes.
var plain = map[string]string{
	"AgentProfile":      with(profile, "NAME", "x", "AGENT", "Distribution"),
	"AvailabilityGroup": with(group, "NAME", "x"),
	"Backup":            with(oneBackup, "NAME", "x"),
	"BackupPolicy":      with(backupPolicy, "NAME", "x"),
	"BackupStore":       with(backupStore, "NAME", "x"),
	"Distributor":       with(distributor, "NAME", "x", "SERVER", "d"),
	"Drill":             with(drill, "{name: one", "{name: x"),
	"DrillSchedule":     with(repeat, "{name: drawn", "{name: x"),
	"Failover":          with(failover, "NAME", "x"),
	"Login":             with(login, "NAME", "x"),
	"Publication":       with(publication, "NAME", "x"),
	"PublisherMove":     with(publisherMove, "NAME", "x"),
	"Restore":           with(restore, "NAME", "x"),
	"SQLServer":         with(server, "NAME", "x"),
	"Site":              with(site, "NAME", "x"),
	"Subscription":      with(subscription, "NAME", "x"),
	"Topology":          with(topology, "NAME", "x"),
}

// unbreakable are rules that nothing breaks because another refuses it first, with the reason.
var unbreakable = map[string]string{
	"contained is immutable": "contained is refused when it is true, so nothing can change from it",
}

// said is one field of a refusal, with [] for an index, and what was said of it.
type said struct{ field, message string }

var index = regexp.MustCompile(`\[\d+\]`)

// refused reads a refusal.
func refused(err error) (all []said) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, c := range status.Status().Details.Causes {
		all = append(all, said{index.ReplaceAllString(c.Field, "[]"), c.Message})
	}
	return all
}

// answers tells that the refusal speaks of the rule's field and says what it must.
func (r rule) answers(s said) bool {
	return s.field == r.field() &&
		!slices.ContainsFunc(r.says, func(fragment string) bool { return !strings.Contains(s.message, fragment) })
}

// breakRules breaks each rule of each schema that one value breaks, and looks whether the manifests of the tables, with
// what was said of them, have broken the others. A rule of a kind that a Topology or a DrillSchedule takes over is the
// same rule where it compares fields.
func breakRules(t *testing.T, hub *apiserver.Server, tables []said) {
	broken := 0
	for kind, s := range schemas(t) {
		if plain[kind] == "" {
			t.Errorf("kind %s has no manifest to begin with", kind)
			continue
		}
		begin := parseOne(t, plain[kind])
		bare(t, kind, nil, s)
		obj, err := apiserver.Scheme.New(begin.GroupVersionKind())
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		spans(t, kind, reflect.TypeOf(obj), s)
		for _, r := range rules(kind, nil, s) {
			if r.wrong == nil && !r.absent {
				compared(t, r, tables)
				continue
			}
			broken++
			wrong := &unstructured.Unstructured{Object: placed(begin.Object, s, r.path, r.wrong, r.absent).(map[string]any)}
			err := hub.Client.Create(t.Context(), wrong, client.DryRunAll)
			if err == nil || !slices.ContainsFunc(refused(err), r.answers) {
				t.Errorf("%s\n\tit was answered: %v", r, err)
			}
		}
	}
	NewWithT(t).Expect(broken).To(BeNumerically(">=", 60))
}

// compared looks for a manifest of the tables that breaks a rule over several fields, or over what was before.
func compared(t *testing.T, r rule, tables []said) {
	for says := range unbreakable {
		if strings.HasPrefix(r.says[0], says) {
			return
		}
	}
	if !slices.ContainsFunc(tables, func(s said) bool { return s.field != "" && strings.Contains(s.message, r.says[0]) }) {
		t.Errorf("%s\n\tno manifest of the tables breaks it", r)
	}
}

// spans looks for fields of a Go type that are durations and have no rule that says how one is written: what is none
// would be refused by the webhook's decoder, which knows no field.
func spans(t *testing.T, at string, of reflect.Type, s schema) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice && s.Items != nil {
			s = *s.Items.Schema
		}
		of = of.Elem()
	}
	if of == reflect.TypeFor[metav1.Duration]() {
		if !slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool {
			return strings.Contains(v.Message, "duration")
		}) {
			t.Errorf("%s is a duration, and no rule says how one is written", at)
		}
		return
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			spans(t, at, f.Type, s)
		} else if property, ok := s.Properties[name]; ok {
			spans(t, at+"."+name, f.Type, property)
		}
	}
}

// bare looks for patterns, of which the API server says the regular expression and nothing else: a rule with a message
// and an example says what is meant. Kubernetes' own of a quantity has such a rule beside it.
func bare(t *testing.T, kind string, path []string, s schema) {
	if s.Pattern != "" && !s.XIntOrString {
		t.Errorf("%s: a pattern says nothing to who breaks it: make it a rule with a message and an example",
			rule{kind: kind, path: path, says: []string{s.Pattern}})
	}
	for name, property := range s.Properties {
		bare(t, kind, below(path, name), property)
	}
	if s.Items != nil {
		bare(t, kind, below(path, "[]"), *s.Items.Schema)
	}
}
