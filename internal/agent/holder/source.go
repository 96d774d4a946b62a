// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the Secret, now and after each change, until ctx ends. A Secret that is not
	// there is not told: orders end by a mark (orders.EndedKey), not by somebody deleting the Secret.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// SecretSource watches the one Secret that the server's account may read.
type SecretSource struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string
	// TellsMissing says that update is called without data when the API server says that there is no Secret. It must not
	// be set where Secrets hold orders.
	TellsMissing bool
}

// Watch implements Source.
func (s SecretSource) Watch(ctx context.Context, update func(data map[string][]byte)) error {
	var store cache.Store
	var one sync.Mutex
	changed := func(obj any) {
		one.Lock()
		defer one.Unlock()
		if secret, ok := obj.(*corev1.Secret); ok && secret.Name == s.Name {
			update(secret.Data)
		}
	}
	// A Secret that has come since is in the store, and what is told of it is told after this.
	missing := func() {
		one.Lock()
		defer one.Unlock()
		if s.TellsMissing && len(store.List()) == 0 {
			update(nil)
		}
	}
	var controller cache.Controller
	store, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(s.Client.CoreV1().RESTClient(), "secrets", s.Namespace,
			fields.OneTermEqualSelector("metadata.name", s.Name)),
		ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    changed,
			UpdateFunc: func(_, obj any) { changed(obj) },
			DeleteFunc: func(any) { missing() },
		},
	})
	var first sync.WaitGroup
	first.Go(func() {
		// One that was deleted while nobody listened makes no event.
		if cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
			missing()
		}
	})
	controller.RunWithContext(ctx)
	first.Wait()
	return ctx.Err()
}

// memory keeps the last orders, so that an agent that starts while its API server is gone knows what to hold. The file
// has tokens: nobody else may read it, and the engine sees the data volume, where it was once. This agent is its only
// reader, so it goes from there as soon as it is where this agent reads it first.
type memory struct {
	file durable.Moved
	log  *slog.Logger
}

func (m memory) load() map[string]orders.Group {
	if m.file.Path == "" {
		return nil
	}
	content, err := m.file.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var groups map[string]orders.Group
	if err == nil {
		err = json.Unmarshal(content, &groups)
	}
	if err != nil {
		// The decoder's message may quote a token.
		m.log.Warn("the remembered orders cannot be read", "file", m.file.Path)
		return nil
	}
	return groups
}

func (m memory) save(groups map[string]orders.Group) {
	if m.file.Path == "" {
		return
	}
	if err := m.write(groups); err != nil {
		m.log.Warn("the orders cannot be remembered", "error", err)
	}
}

func (m memory) write(groups map[string]orders.Group) error {
	content, err := json.Marshal(groups)
	if err != nil {
		return fmt.Errorf("encode the orders: %w", err)
	}
	return m.file.Replace(content)
}
