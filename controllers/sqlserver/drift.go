// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stamp writes the hash of the object into its annotations and returns it. A Secret's hash would tell about its content
// and is not written: what Secrets hold is compared directly.
func stamp[T client.Object](obj T) T {
	annotations := map[string]string{}
	for key, value := range obj.GetAnnotations() {
		annotations[key] = value
	}
	annotations[annotationApplied] = hashOf(obj)
	obj.SetAnnotations(annotations)
	return obj
}

// drift says why the object at the site must be applied again; empty when it need not. A field that is no longer
// declared shows by the stamp, one that somebody changed by comparison.
func drift(want, have client.Object) string {
	if !exists(have) {
		return "it does not exist"
	}
	if have.GetAnnotations()[annotationApplied] != want.GetAnnotations()[annotationApplied] {
		return "what is declared has changed"
	}
	if at := difference(plain(want), plain(have), ""); at != "" {
		return "somebody changed " + at
	}
	return ""
}

// exists tells an object from none, which may be a nil pointer of its type.
func exists(have client.Object) bool { return have != nil && !reflect.ValueOf(have).IsNil() }

// plain is the object as JSON values, without what the API server writes.
func plain(obj client.Object) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		// Only types of Kubernetes' API come here; they convert.
		panic(fmt.Sprintf("convert %T: %v", obj, err))
	}
	delete(content, "status")
	delete(content, "apiVersion")
	delete(content, "kind")
	return content
}

// difference is the path of the first field of want that have lacks or has otherwise; empty when there is none. What
// have holds beyond want are defaults and other people's fields. A null or an empty value that is wanted is not looked
// at: the API server leaves those out.
func difference(want, have any, path string) string {
	switch w := want.(type) {
	case nil:
		return ""
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && len(w) > 0 && !empty(w) {
			return path
		}
		for key, value := range w {
			if at := difference(value, h[key], join(path, key)); at != "" {
				return at
			}
		}
		return ""
	case []any:
		h, ok := have.([]any)
		if (!ok && len(w) > 0) || len(h) != len(w) {
			return path
		}
		for i, value := range w {
			if at := difference(value, h[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, have) {
		return path
	}
	return ""
}

func empty(m map[string]any) bool {
	for _, value := range m {
		switch v := value.(type) {
		case nil:
		case map[string]any:
			if !empty(v) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
