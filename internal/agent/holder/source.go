// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"geosql.dev/operator/internal/orders"
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the Secret, now and after each change, until ctx ends. A Secret that is not there
	// is not told: orders end by their key, not by somebody deleting the Secret.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// SecretSource watches the one Secret that the server's account may read.
type SecretSource struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string
}

// Watch implements Source.
func (s SecretSource) Watch(ctx context.Context, update func(data map[string][]byte)) error {
	changed := func(obj any) {
		if secret, ok := obj.(*corev1.Secret); ok && secret.Name == s.Name {
			update(secret.Data)
		}
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(s.Client.CoreV1().RESTClient(), "secrets", s.Namespace,
			fields.OneTermEqualSelector("metadata.name", s.Name)),
		ObjectType: &corev1.Secret{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }},
	})
	controller.RunWithContext(ctx)
	return ctx.Err()
}

// memory keeps the last orders on the data volume, so that an agent that starts while its API server is gone knows what
// to hold. The file has tokens: nobody else may read it.
type memory struct {
	file string
	log  *slog.Logger
}

func (m memory) load() map[string]orders.Group {
	if m.file == "" {
		return nil
	}
	content, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var groups map[string]orders.Group
	if err == nil {
		err = json.Unmarshal(content, &groups)
	}
	if err != nil {
		// The decoder's message may quote a token.
		m.log.Warn("the remembered orders cannot be read", "file", m.file)
		return nil
	}
	return groups
}

func (m memory) save(groups map[string]orders.Group) {
	if m.file == "" {
		return
	}
	if err := m.write(groups); err != nil {
		m.log.Warn("the orders cannot be remembered", "error", err)
	}
}

// write replaces the file as a whole.
func (m memory) write(groups map[string]orders.Group) error {
	content, err := json.Marshal(groups)
	if err != nil {
		return fmt.Errorf("encode the orders: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return err
	}
	next, err := os.OpenFile(m.file+".next", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), m.file)
	}
	return err
}
