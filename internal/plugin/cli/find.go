// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// MissingError says that a cluster knows a kind and has no object of a name.
type MissingError struct {
	// Kind, Namespace and Name of what was asked for; the namespace is empty for a kind that has none.
	Kind, Namespace, Name string
	// There are the names that the namespace has; Unknown is set when they could not be listed.
	There   []string
	Unknown bool
}

// Error names what is there instead.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("no %s %s", e.Kind, e.Name)
	if e.Namespace != "" {
		text += " in namespace " + e.Namespace
	}
	switch {
	case e.Unknown:
		return text
	case len(e.There) == 0 && e.Namespace != "":
		return text + ", which has none: name another namespace with -n"
	case len(e.There) == 0:
		return text + "; there is none"
	}
	return text + "; there are: " + strings.Join(e.There, ", ")
}

// Meant is an object that a name may mean.
type Meant struct {
	Object          client.Object
	Namespace, Name string
}

// FindOne reads which of several objects a person meant: the one that is there. The error is ambiguous when more are,
// and names all when none is.
func FindOne(ctx context.Context, hub client.Client, ambiguous error, all ...Meant) (found client.Object, none error) {
	for _, m := range all {
		var missing *MissingError
		err := Find(ctx, hub, m.Object, m.Namespace, m.Name)
		switch {
		case err == nil && found != nil:
			return nil, ambiguous
		case err == nil:
			found = m.Object
		case !errors.As(err, &missing):
			return nil, err
		case none == nil:
			none = missing
		default:
			none = fmt.Errorf("%w; %w", none, missing)
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, none
}

// Find reads an object that a person named, within ReadTimeout. One that is not there is a MissingError.
func Find(ctx context.Context, hub client.Client, object client.Object, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	gvk, err := apiutil.GVKForObject(object, hub.Scheme())
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := hub.Get(ctx, key, object); !apierrors.IsNotFound(err) {
		if err != nil {
			return fmt.Errorf("read %s %s: %w", gvk.Kind, key, err)
		}
		return nil
	}
	missing := &MissingError{Kind: gvk.Kind, Namespace: namespace, Name: name}
	gvk.Kind += "List"
	all, err := hub.Scheme().New(gvk)
	if list, ok := all.(client.ObjectList); err == nil && ok {
		err = hub.List(ctx, list, client.InNamespace(namespace))
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			missing.There = append(missing.There, item.(client.Object).GetName())
			return nil
		})
		slices.Sort(missing.There)
	}
	missing.Unknown = err != nil
	return missing
}
