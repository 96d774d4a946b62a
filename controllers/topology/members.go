// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// kinds of a Topology's objects, each after those that it refers to.
var kinds = []struct {
	name   string
	object func() client.Object
	list   func() client.ObjectList
}{
	{
		"AgentProfile",
		func() client.Object { return &v1alpha1.AgentProfile{} },
		func() client.ObjectList { return &v1alpha1.AgentProfileList{} },
	},
	{
		"BackupStore",
		func() client.Object { return &v1alpha1.BackupStore{} },
		func() client.ObjectList { return &v1alpha1.BackupStoreList{} },
	},
	{
		"SQLServer",
		func() client.Object { return &v1alpha1.SQLServer{} },
		func() client.ObjectList { return &v1alpha1.SQLServerList{} },
	},
	{
		"AvailabilityGroup",
		func() client.Object { return &v1alpha1.AvailabilityGroup{} },
		func() client.ObjectList { return &v1alpha1.AvailabilityGroupList{} },
	},
	{
		"Distributor",
		func() client.Object { return &v1alpha1.Distributor{} },
		func() client.ObjectList { return &v1alpha1.DistributorList{} },
	},
	{
		"Publication",
		func() client.Object { return &v1alpha1.Publication{} },
		func() client.ObjectList { return &v1alpha1.PublicationList{} },
	},
	{
		"Subscription",
		func() client.Object { return &v1alpha1.Subscription{} },
		func() client.ObjectList { return &v1alpha1.SubscriptionList{} },
	},
	{
		"BackupPolicy",
		func() client.Object { return &v1alpha1.BackupPolicy{} },
		func() client.ObjectList { return &v1alpha1.BackupPolicyList{} },
	},
}

// Key names an object of a Topology's namespace.
type Key struct {
	// Kind such as SQLServer.
	Kind string
	// Name of the object.
	Name string
}

// String is "Kind name", for messages.
func (k Key) String() string { return k.Kind + " " + k.Name }

// rank is the place of a kind in kinds.
func (k Key) rank() int {
	for i, kind := range kinds {
		if kind.name == k.Kind {
			return i
		}
	}
	return len(kinds)
}

// keyOf an object of one of the kinds. Objects of a cache have no TypeMeta.
func keyOf(obj client.Object) Key {
	for _, k := range kinds {
		if reflect.TypeOf(obj) == reflect.TypeOf(k.object()) {
			return Key{k.name, obj.GetName()}
		}
	}
	panic(fmt.Sprintf("%T is no object of a Topology", obj))
}

// statusOf an object; nil for an AgentProfile, which has none.
func statusOf(obj client.Object) *v1alpha1.StatusBase {
	switch x := obj.(type) {
	case *v1alpha1.SQLServer:
		return &x.Status.StatusBase
	case *v1alpha1.AvailabilityGroup:
		return &x.Status.StatusBase
	case *v1alpha1.Distributor:
		return &x.Status.StatusBase
	case *v1alpha1.Publication:
		return &x.Status.StatusBase
	case *v1alpha1.Subscription:
		return &x.Status.StatusBase
	case *v1alpha1.BackupStore:
		return &x.Status.StatusBase
	case *v1alpha1.BackupPolicy:
		return &x.Status.StatusBase
	}
	return nil
}

// specOf an object as JSON values, in canonical form: quantities and durations have been through their types.
func specOf(obj client.Object) any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		// The types are of JSON's making.
		panic(fmt.Sprintf("convert %T: %v", obj, err))
	}
	return content["spec"]
}

func sameSpec(a, b client.Object) bool { return reflect.DeepEqual(specOf(a), specOf(b)) }

// itemsOf a list, as objects.
func itemsOf(list client.ObjectList) ([]client.Object, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("read a list of %T: %w", list, err)
	}
	objects := make([]client.Object, 0, len(items))
	for _, item := range items {
		objects = append(objects, item.(client.Object))
	}
	return objects, nil
}
