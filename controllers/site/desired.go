// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"

	"geosql.dev/operator/api/v1alpha1"
)

// Desired is what a Site asks for: itself, as it refers to nothing but the Secret that the provider reads.
type Desired struct{ site *v1alpha1.Site }

func desire(_ context.Context, site *v1alpha1.Site) (Desired, error) { return Desired{site}, nil }
