// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// push pushes the image, tagged by the version, with the credentials that `docker login` and its like have kept. A tag
// that is another image already is left as it is: who has installed that release would get another by its name.
func (r *release) push(ctx context.Context, out io.Writer) error {
	tag, err := name.NewTag(r.repository + ":" + r.version.String())
	if err != nil {
		return err
	}
	how := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	there, err := remote.Head(tag, how...)
	refused := (*transport.Error)(nil)
	switch {
	case err == nil && there.Digest == r.digest:
		_, _ = fmt.Fprintf(out, "release: %s is there already, digest %s\n", tag, r.digest)
		return nil
	case err == nil:
		return fmt.Errorf("push %s: the tag is another image already, %s; this one is %s", tag, there.Digest, r.digest)
	case !errors.As(err, &refused) || refused.StatusCode != http.StatusNotFound:
		return fmt.Errorf("look whether %s is there already: %w", tag, err)
	}
	if err := remote.WriteIndex(tag, r.index, how...); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	_, _ = fmt.Fprintf(out, "release: pushed %s, digest %s\n", tag, r.digest)
	return nil
}
