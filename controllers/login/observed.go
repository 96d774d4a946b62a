// SPDX-License-Identifier: Apache-2.0

package login

import (
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// Observed is the world around a Login as it was read.
type Observed struct {
	// Servers by name.
	Servers map[v1alpha1.ServerName]Server
	// Leads says of each group that has a database of a user, present or former, whether Desired.Primary itself says that
	// it is its primary. What any other replica says of a user may be of some time ago.
	Leads map[v1alpha1.ObjectName]reconcile.Reading[bool]
	// Users of the login on the primary, by database.
	Users map[string]User
	// FormerUsers are those that were declared.
	FormerUsers []FormerUser
	// Secrets by place: the hub under the empty name, and the sites.
	Secrets map[string]Secret
	// Former are the Secrets of former names.
	Former []FormerSecret
	// Unasked are the sites that are not asked for Secrets, with the reason.
	Unasked map[v1alpha1.SiteName]string
}

// FormerSecret is what is at a place under a name that the connection Secret had before.
type FormerSecret struct {
	Place, Name string
	Secret
}

// remains says that the operator's Secret is there still, or may be.
func (s FormerSecret) remains() bool { return s.Err != nil || s.Exists && s.Own }

// Server is what one engine says of the login.
type Server struct {
	// Err is why it did not answer.
	Err error
	// Login is nil when there is none of the name.
	Login *mssql.LoginState
	// Sessions of the login, and what it Owns that keeps it from being dropped; read for one that is to be dropped alone.
	Sessions []int
	Owns     []mssql.Owned
}

// User is what the primary says of the login's user in one database.
type User struct {
	// Err is why it is not known.
	Err error
	// NoDatabase says that the primary was asked, and has no such database.
	NoDatabase bool
	// State is nil when there is none of the name.
	State *mssql.UserState
	// Owns is what keeps it from being dropped; read for one that is to be dropped alone.
	Owns []mssql.Owned
	// Absent are schemas and objects that something is to be granted on, and that are not there.
	Absent []tsql.Securable
}

// Secret is the connection Secret at one place.
type Secret struct {
	// Err is why it is not known.
	Err error
	// Exists, and is Own when this operator made it for this Login.
	Exists, Own bool
	UID         types.UID
	Data        map[string][]byte
}
